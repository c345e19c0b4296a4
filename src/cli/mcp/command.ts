import type { Command } from "commander";
import { addPlaceOptions } from "../options/notebook-place.js";
import { addSandboxOptions } from "../options/sandbox-options.js";
import type { McpOptions } from "./serve.js";

const NOTES = `
It speaks the Model Context Protocol on stdin and stdout, for an agent that starts it. --check prints
what to put into the settings of your agent; docs/mcp.md says where they are.

Limits, network and folders come from these flags and the settings, never from the model.

Examples:
  cellar mcp --check                     does it work here, and what do I put into the settings?
  cellar mcp --memory 2GB --timeout 50s  other limits than the defaults
  cellar mcp --mount ~/data:/data        show a folder, read-only

Exit codes: 0 when the agent ends it, 2 wrong usage, 125 no sandbox; of --check: 1 something failed.`;

/** More than for others: what is long is not shown, but it can be read later. */
const KEPT = "characters kept of each of stdout and stderr (default: 10000000)";

/** Loaded when needed: help should not wait for what serves. */
const serving = () => import("./serve.js");
const checking = () => import("./check.js");

export function registerMcp(program: Command, finish: (code: number) => void): void {
  const command = program
    .command("mcp")
    .description("give any agent a notebook (MCP over stdio)")
    .option("--check", "start it, list its tools through a client, run one cell, and report")
    .option("--json", "with --check: print one JSON object");
  addSandboxOptions(addPlaceOptions(command), "full", { backends: "hidden" });
  const kept = command.options.find(({ long }) => long === "--max-output");
  if (kept !== undefined) kept.description = KEPT;
  command
    .addHelpText("after", NOTES)
    .action(async (options: McpOptions) =>
      finish(
        options.check === true
          ? await (await checking()).checkServer(options)
          : await (await serving()).serveNotebooks(options),
      ),
    );
}
