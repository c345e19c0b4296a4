// An MCP server over stdio with two tools: a tracker with forty issues.
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const ISSUES = 40;
const LABELS = ["bug", "docs", "idea"];

function issue(number) {
  const votes = (number * 7) % 23;
  return { number, title: `Issue ${number}`, label: LABELS[number % LABELS.length], votes };
}

function answer(value) {
  return { content: [{ type: "text", text: JSON.stringify(value) }] };
}

const server = new McpServer({ name: "tracker", version: "1.0.0" });
const annotations = { readOnlyHint: true, openWorldHint: false };

server.registerTool("list_issues", { description: "The numbers of all issues.", annotations }, () =>
  answer(Array.from({ length: ISSUES }, (_, place) => place + 1)),
);

server.registerTool(
  "get_issue",
  {
    description: "An issue: number, title, label and votes.",
    inputSchema: z.object({ number: z.int().min(1).max(ISSUES) }),
    annotations,
  },
  ({ number }) => answer(issue(number)),
);

await server.connect(new StdioServerTransport());
