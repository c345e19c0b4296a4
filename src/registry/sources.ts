import { CellarError } from "../errors.js";
import { functionSource } from "./function-source.js";
import type { RegistryOptions } from "./options.js";
import type { ToolSource } from "./tool.js";

/** All sources that the options name. */
export async function openSources(options: RegistryOptions): Promise<readonly ToolSource[]> {
  const { tools, sources = [] } = options;
  const opened = [...(tools === undefined ? [] : [functionSource(tools)]), ...sources];
  checkGroups(opened);
  return opened;
}

function checkGroups(sources: readonly ToolSource[]): void {
  const seen = new Set<string>();
  for (const { group } of sources) {
    if (group === undefined) continue;
    if (seen.has(group)) {
      throw new CellarError("INVALID_CONFIG", `two sources of tools are called ${group}`, {
        remedy: "Give one of them another name.",
      });
    }
    seen.add(group);
  }
}
