import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { HostTool, HostTools } from "../backends/host-tools/host-tool.js";
import { lastOf } from "../backends/host-tools/last-value.js";
import { readSchema } from "../backends/host-tools/schema.js";
import { nearestName } from "../config/names.js";
import { invalidOptions } from "../config/problems.js";
import { CellarError } from "../errors.js";
import { checkToolNames } from "./arguments.js";
import { limitsSchema } from "./options.js";
import {
  CALLER_TYPES,
  PERMISSIONS,
  type RegisteredTool,
  ToolError,
  type ToolRequest,
  type ToolSource,
} from "./tool.js";

const LONGEST_DESCRIPTION = 20_000;

/** Loose: tools of the AI SDK have fields of their own. */
const fieldsSchema = z.looseObject({
  description: z.string().max(LONGEST_DESCRIPTION).optional(),
  category: z.string().optional(),
  returns: z.string().optional(),
  isTable: z.boolean().optional(),
  permissions: z.array(z.enum(PERMISSIONS)).optional(),
  allowedCallers: z.array(z.enum(CALLER_TYPES)).optional(),
  isReadOnly: z.boolean().optional(),
  isDestructive: z.boolean().optional(),
  effects: z
    .strictObject({
      reads: z.array(z.string()).optional(),
      writes: z.array(z.string()).optional(),
    })
    .optional(),
  examples: z.array(z.string()).optional(),
  limits: limitsSchema.optional(),
});
const FIELDS: readonly string[] = [
  ...Object.keys(fieldsSchema.shape),
  "inputSchema",
  "execute",
  "needsApproval",
];

const ANYTHING = { type: "object", additionalProperties: true };

/** What a function may say of itself beside what the AI SDK knows. */
export type FunctionTool = HostTool &
  Partial<
    Pick<
      RegisteredTool,
      | "category"
      | "returns"
      | "isTable"
      | "permissions"
      | "allowedCallers"
      | "isReadOnly"
      | "isDestructive"
      | "effects"
      | "examples"
      | "limits"
    >
  > & {
    /** As in the AI SDK: true, or a function of the input that says whether to ask. */
    readonly needsApproval?: unknown;
  };

export type FunctionTools = Readonly<Record<string, FunctionTool>> | HostTools;

/** Functions of the host as tools. */
export function functionSource(functions: FunctionTools): ToolSource {
  checkToolNames(Object.keys(functions), "the option tools");
  const tools = Object.entries(functions).map(([name, tool]) => registered(name, tool));
  return {
    group: undefined,
    tools: async () => tools,
    [Symbol.asyncDispose]: async () => {},
  };
}

/** A misspelt field would silently mean the default: a destructive tool would not ask. */
function checkFields(name: string, tool: FunctionTool): void {
  const parsed = fieldsSchema.safeParse(tool);
  if (!parsed.success) {
    throw invalidOptions(`the tool ${name} cannot be offered`, parsed.error.issues, {
      input: tool,
      known: FIELDS,
      nameOf: (path) => `its field ${path}`,
    });
  }
  for (const field of Object.keys(tool)) {
    const meant = FIELDS.includes(field)
      ? undefined
      : nearestName(field, FIELDS, { strictly: true });
    if (meant === undefined) continue;
    const message = `the tool ${name} has an unknown field ${field}; did you mean ${meant}?`;
    throw new CellarError("INVALID_CONFIG", message, { remedy: "Correct it, or leave it out." });
  }
}

function registered(name: string, tool: FunctionTool): RegisteredTool {
  checkFields(name, tool);
  const execute = tool.execute?.bind(tool) as
    | ((input: unknown, options: object) => unknown)
    | undefined;
  if (typeof execute !== "function") {
    throw new CellarError("INVALID_CONFIG", `the tool ${name} has no execute function`, {
      remedy: "Add execute(input): it answers Python's calls.",
    });
  }
  const schema = readSchema(tool.inputSchema);
  if (schema === undefined) {
    const message = `the tool ${name} has an inputSchema that does not describe an object`;
    throw new CellarError("INVALID_CONFIG", message, {
      remedy: "Give it a zod object, or jsonSchema(...) of the AI SDK.",
    });
  }
  const { needsApproval } = tool;
  return {
    name,
    description: tool.description ?? "",
    category: tool.category,
    parameters: schema.json ?? ANYTHING,
    returns: tool.returns,
    isTable: tool.isTable,
    permissions: tool.permissions ?? [],
    allowedCallers: tool.allowedCallers ?? ["cell", "host"],
    isReadOnly: tool.isReadOnly ?? false,
    isDestructive: tool.isDestructive ?? false,
    effects: tool.effects,
    examples: tool.examples ?? [],
    limits: tool.limits,
    ...(needsApproval !== undefined && {
      asks: async (input) =>
        typeof needsApproval === "function" ? Boolean(await needsApproval(input)) : true,
    }),
    async run({ arguments: input, signal }: ToolRequest) {
      const validated = await schema.validate(input);
      if ("wrong" in validated) {
        throw new ToolError("BAD_ARGUMENTS", `${name} got invalid arguments: ${validated.wrong}`);
      }
      const options = { signal, abortSignal: signal, toolCallId: randomUUID(), messages: [] };
      return { value: await lastOf(await execute(validated.value, options), signal) };
    },
  };
}
