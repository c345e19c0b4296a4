import type { Command } from "commander";
import type { CallFlags, ListFlags, SourceFlags } from "./run.js";

const NOTES = `
Tools come from declaration files (--file), from the MCP servers in the settings of your client (--mcp-config), and,
where neither is given, from the catalogue that comes with Cellar.

Examples:
  cellar tools list                                    the catalogue
  cellar tools list --mcp-config .mcp.json "github.*"  what a server offers
  cellar tools call calculate '{"expression": "6 * 7"}'
  cellar tools check my-tools.yaml                     all mistakes of a declaration file

Exit codes: 0 done, 1 the call failed, 2 wrong usage or a file with mistakes, 125 no sandbox.`;

/** Loaded when needed: help should not wait for what runs. */
const running = () => import("./run.js");

export function registerTools(program: Command, finish: (code: number) => void): void {
  const tools = program
    .command("tools")
    .description("list, call and check the tools of agents")
    .addHelpText("after", NOTES);
  addSources(tools.command("list [pattern]"))
    .description("list the tools: all, those that match a pattern with *, or those about a word")
    .action(async (pattern: string | undefined, flags: ListFlags) =>
      finish(await (await running()).listTools(pattern, flags)),
    );
  addSources(tools.command("call <name> [arguments]"))
    .description("call a tool; its arguments are a JSON object, or - for stdin")
    .option("--yes", "approve what asks, without a question")
    .action(async (name: string, given: string | undefined, flags: CallFlags) =>
      finish(await (await running()).callTool(name, given, flags)),
    );
  tools
    .command("check <file>")
    .description("check a declaration file, and print every mistake with its line")
    .option("--json", "print one JSON object")
    .action(async (file: string, flags: Pick<SourceFlags, "json">) =>
      finish(await (await running()).checkFile(file, flags)),
    );
}

function addSources(command: Command): Command {
  const collect = (value: string, before: readonly string[] = []) => [...before, value];
  return command
    .option("--file <path>", "a declaration file; may be repeated", collect)
    .option("--mcp-config <path>", "a JSON file with an mcpServers block")
    .option("--catalogue", "the catalogue, beside the others")
    .option("--json", "print one JSON object");
}
