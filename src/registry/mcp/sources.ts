import { PythonNames } from "../source/python-names.js";
import type { ToolSource } from "../tool.js";
import { readServers } from "./server-config.js";
import { McpServerSource, type McpSourceOptions } from "./server-source.js";

/** One source for each server of an `mcpServers` block; none is started yet. */
export function mcpSources(block: unknown, options: McpSourceOptions = {}): ToolSource[] {
  const groups = new PythonNames("server");
  return readServers(block).map(
    (server) => new McpServerSource(groups.take(server.name), server, options),
  );
}
