import { matchesName } from "./control/policy.js";
import type { RegisteredTool } from "./tool.js";

/** A pattern with `*`, or words of the name or of what it does. */
export function isAbout(pattern: string, name: string, { description }: RegisteredTool): boolean {
  if (pattern.includes("*")) return matchesName(pattern, name);
  return `${name} ${description}`.toLowerCase().includes(pattern.toLowerCase());
}
