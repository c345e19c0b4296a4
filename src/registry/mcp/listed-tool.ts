import { z } from "zod";
import { boundedDescription, boundedParameters, returnsOf } from "../source/schema-bounds.js";
import type { ToolDeclaration } from "../tool.js";
import type { McpServer } from "./server-config.js";

const hint = z.boolean().optional().catch(undefined);
const text = z.string().optional().catch(undefined);

/** A tool as a server lists it. */
export const listedToolSchema = z.object({
  name: z.string().min(1).max(1_000),
  title: text,
  description: text,
  inputSchema: z.unknown().optional(),
  outputSchema: z.unknown().optional(),
  annotations: z
    .object({
      readOnlyHint: hint,
      destructiveHint: hint,
      idempotentHint: hint,
      openWorldHint: hint,
    })
    .optional()
    .catch(undefined),
});
export type ListedTool = z.infer<typeof listedToolSchema>;

/** What a listed tool declares under its name in Python. */
export function declarationOf(
  tool: ListedTool,
  name: string,
  transport: McpServer["transport"],
): ToolDeclaration {
  const { isReadOnly, isDestructive } = effectsOf(tool.annotations ?? {});
  // MCP takes what says nothing as open to the world; a program of the host can reach everything.
  const isRemote = transport === "http" || tool.annotations?.openWorldHint !== false;
  return {
    name,
    description: boundedDescription(tool.description ?? tool.title ?? ""),
    parameters: boundedParameters(tool.inputSchema),
    returns: returnsOf(tool.outputSchema),
    permissions: isRemote ? ["network"] : [],
    allowedCallers: isReadOnly ? ["cell", "chain", "host"] : ["cell", "host"],
    isReadOnly,
    isDestructive,
    examples: [],
  };
}

/** MCP takes what says nothing as destructive, which is followed for servers that give hints at all. */
function effectsOf(hints: NonNullable<ListedTool["annotations"]>) {
  const { readOnlyHint, destructiveHint } = hints;
  const hasHints = Object.values(hints).some((value) => value !== undefined);
  const isReadOnly = readOnlyHint === true && destructiveHint !== true;
  return { isReadOnly, isDestructive: hasHints && !isReadOnly && (destructiveHint ?? true) };
}
