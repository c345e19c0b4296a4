import { randomUUID } from "node:crypto";
import { kindOf } from "../../config/kinds.js";
import { CellarError } from "../../errors.js";
import type { ToolSpec } from "../../protocol/messages.js";
import { encodeValue, type Json } from "../../protocol/values.js";
import {
  type HostTool,
  type HostToolOptions,
  type HostTools,
  isToolProvider,
  type ToolProvider,
} from "./host-tool.js";
import { lastOf } from "./last-value.js";
import { checkToolName } from "./names.js";
import { parameterLines, signatureOf } from "./parameters.js";
import { readSchema, type Validate } from "./schema.js";

const MOST_TOOLS = 256;
const MOST_PARAMETERS = 256;
const LONGEST_DESCRIPTION = 20_000;
const LONGEST_DOC = 100_000;

/** What a model sees of a tool. */
export interface ToolDescription {
  readonly name: string;
  /** How Python calls it. */
  readonly signature: string;
  readonly description: string;
}

/** However many a registry has, a prompt has two lines of them. */
const PROVIDED: readonly ToolDescription[] = [
  {
    name: "list_tools",
    signature: 'list_tools(pattern="*")',
    description: "Lists the tools of the host, by a pattern of their names or a word about them.",
  },
  {
    name: "tools",
    signature: "tools.NAME(...)",
    description:
      "Calls one of them: also tools.GROUP.NAME(...); help(tools.NAME) explains it. Call as many as you need in one cell.",
  },
];

export interface PreparedTool {
  readonly spec: ToolSpec;
  /** What the tool makes of what Python gave, in the form in which Python gets it. */
  run(input: unknown, signal: AbortSignal): Promise<Json>;
}

export type PreparedTools = ReadonlyMap<string, PreparedTool>;

/** A tool of another process, which describes it and validates its input. */
export class RelayedTool implements HostTool {
  readonly spec: ToolSpec;
  readonly execute: (input: unknown, options: HostToolOptions) => Promise<unknown>;

  constructor(spec: ToolSpec, execute: RelayedTool["execute"]) {
    this.spec = spec;
    this.execute = execute;
  }
}

interface ReadTool {
  readonly spec: ToolSpec;
  readonly signature: string;
  readonly execute: (input: unknown, options: HostToolOptions) => unknown;
  readonly validate: Validate;
}

/** The checked tools by name; undefined if there are none. */
export function prepareTools(
  tools: HostTools | ToolProvider | undefined,
  options: { readonly isPrivate?: () => boolean } = {},
): PreparedTools | undefined {
  const read = readTools(
    tools !== undefined && isToolProvider(tools) ? tools.sessionTools(options) : tools,
  );
  if (read.length === 0) return undefined;
  return new Map(
    read.map((tool): [string, PreparedTool] => [
      tool.spec.name,
      { spec: tool.spec, run: (input, signal) => runTool(tool, input, signal) },
    ]),
  );
}

/** Descriptions of the tools for a model. */
export function describeTools(
  tools: HostTools | ToolProvider | undefined,
): readonly ToolDescription[] {
  if (tools !== undefined && isToolProvider(tools)) return PROVIDED;
  return readTools(tools).map(({ spec, signature }) => ({
    name: spec.name,
    signature,
    description: spec.doc,
  }));
}

export function requireTools<T extends HostTools | ToolProvider>(tools: T): T {
  if (typeof tools === "object" && tools !== null && !Array.isArray(tools)) return tools;
  throw new CellarError("INVALID_CONFIG", `tools must be an object, not ${kindOf(tools)}`, {
    remedy: "Give functions by name, as { search: { execute } }, or a ToolRegistry.",
  });
}

function readTools(tools: HostTools | undefined): readonly ReadTool[] {
  if (tools === undefined) return [];
  const entries = Object.entries(requireTools(tools));
  if (entries.length > MOST_TOOLS) {
    throw new CellarError("INVALID_CONFIG", `too many tools: ${entries.length}`, {
      remedy: `Offer at most ${MOST_TOOLS}.`,
    });
  }
  return entries.map(([name, tool]) => readTool(name, tool));
}

function readTool(name: string, tool: HostTool): ReadTool {
  // The names of relayed ones were checked where they come from.
  if (!(tool instanceof RelayedTool)) checkToolName(name);
  if (typeof tool !== "object" || tool === null || typeof tool.execute !== "function") {
    throw refused(
      name,
      "has no execute function",
      "Add execute(input): it answers Python's calls.",
    );
  }
  if (Reflect.get(tool, "needsApproval")) {
    const remedy = "Give it to a ToolRegistry with onApproval, and pass that as tools.";
    throw refused(name, "has needsApproval, which only a registry asks for", remedy);
  }
  const execute = tool.execute.bind(tool) as ReadTool["execute"];
  if (tool instanceof RelayedTool) {
    return { spec: tool.spec, signature: name, execute, validate: async (value) => ({ value }) };
  }
  const { description = "", inputSchema } = tool;
  if (typeof description !== "string" || description.length > LONGEST_DESCRIPTION) {
    const most = LONGEST_DESCRIPTION.toLocaleString("en-US");
    throw refused(name, `needs a description of up to ${most} characters`, "Shorten it.");
  }
  const schema = readSchema(inputSchema);
  if (schema === undefined) {
    const remedy = "Give it a zod object, or jsonSchema(...) of the AI SDK.";
    throw refused(name, "has an inputSchema that does not describe an object", remedy);
  }
  const { parameters, validate } = schema;
  const doc = [description, parameterLines(parameters).join("\n")].filter(Boolean).join("\n\n");
  if (parameters.listed.length > MOST_PARAMETERS || doc.length > LONGEST_DOC) {
    throw refused(
      name,
      "has too many arguments, or descriptions that are too long",
      "Combine some, or shorten the descriptions.",
    );
  }
  const { open, listed } = parameters;
  const spec: ToolSpec = {
    name,
    doc,
    parameters: listed.map(({ name: own, required }) => ({ name: own, required })),
    open,
  };
  return { spec, signature: signatureOf(name, parameters), execute, validate };
}

async function runTool(tool: ReadTool, input: unknown, signal: AbortSignal): Promise<Json> {
  const { name } = tool.spec;
  const validated = isFields(input)
    ? await tool.validate(input)
    : { wrong: "arguments have names" };
  if ("wrong" in validated) {
    throw new CellarError("INVALID_INPUT", `${name} got invalid arguments: ${validated.wrong}`, {
      remedy: `call it as ${tool.signature}; see help(${name})`,
    });
  }
  signal.throwIfAborted();
  const toolCallId = randomUUID();
  const options = { signal, abortSignal: signal, toolCallId, messages: [] };
  return encodeOutput(name, await lastOf(await tool.execute(validated.value, options), signal));
}

function encodeOutput(name: string, output: unknown): Json {
  try {
    return encodeValue(output);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CellarError(
      "INVALID_INPUT",
      `${name} returned a value that Python cannot use: ${reason}`,
      {
        remedy: "return numbers, strings, lists or plain objects from the tool",
        cause: error,
      },
    );
  }
}

/** Whether it is an object, which a dict with keys other than strings does not become. */
function isFields(input: unknown): boolean {
  return (
    typeof input === "object" && input !== null && Object.getPrototypeOf(input) === Object.prototype
  );
}

function refused(name: string, why: string, remedy: string): CellarError {
  return new CellarError("INVALID_CONFIG", `the tool ${name} ${why}`, { remedy });
}
