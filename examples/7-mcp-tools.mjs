// The tools of an MCP server, called forty-one times in one cell, of which a model reads one line.
import { fileURLToPath } from "node:url";
import { AgentRepl, shutdown } from "cellar";
import { ToolRegistry } from "cellar/registry";

const server = fileURLToPath(new URL("mcp-tools/server.mjs", import.meta.url));
// The block that you have in your MCP client.
const registry = await ToolRegistry.open({
  mcpServers: { tracker: { command: process.execPath, args: [server] } },
});
const agent = await AgentRepl.open({ tools: registry });
const look = await agent.turn("list_tools('tracker')");
console.log(look.observation);
const { observation } = await agent.turn(`
issues = [tools.tracker.get_issue(n) for n in tools.tracker.list_issues()]
f"{len(issues)} issues; {sum(i['votes'] for i in issues if i['label'] == 'bug')} votes for bugs"
`);
console.log(observation);
await agent.close();
await registry[Symbol.asyncDispose]();
await shutdown();
