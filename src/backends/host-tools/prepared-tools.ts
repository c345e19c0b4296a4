import { randomUUID } from "node:crypto";
import { CellarError } from "../../errors.js";
import type { ToolSpec } from "../../protocol/messages.js";
import { encodeValue, type Json } from "../../protocol/values.js";
import type { HostTool, HostToolOptions, HostTools } from "./host-tool.js";
import { checkToolName } from "./names.js";
import { parameterLines, signatureOf } from "./parameters.js";
import { readSchema, type Validate } from "./schema.js";

const MOST_TOOLS = 256;
const MOST_PARAMETERS = 256;
const LONGEST_DESCRIPTION = 20_000;
const LONGEST_DOC = 100_000;

/** What a model is told of a tool. */
export interface ToolDescription {
  readonly name: string;
  /** How Python calls it. */
  readonly signature: string;
  readonly description: string;
}

export interface PreparedTool {
  readonly spec: ToolSpec;
  /** What the tool makes of what Python gave, in the form in which Python gets it. */
  run(input: unknown, signal: AbortSignal): Promise<Json>;
}

export type PreparedTools = ReadonlyMap<string, PreparedTool>;

/** A tool of another process, whose words for it stay as they are and who judges its input. */
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

/** The tools by name, looked through; undefined where there are none. */
export function prepareTools(tools: HostTools | undefined): PreparedTools | undefined {
  const read = readTools(tools);
  if (read.length === 0) return undefined;
  return new Map(
    read.map((tool): [string, PreparedTool] => [
      tool.spec.name,
      { spec: tool.spec, run: (input, signal) => runTool(tool, input, signal) },
    ]),
  );
}

/** What to tell a model of the tools that `tools` offers. */
export function describeTools(tools: HostTools | undefined): readonly ToolDescription[] {
  return readTools(tools).map(({ spec, signature }) => ({
    name: spec.name,
    signature,
    description: spec.doc,
  }));
}

function readTools(tools: HostTools | undefined): readonly ReadTool[] {
  if (tools === undefined) return [];
  if (typeof tools !== "object" || tools === null || Array.isArray(tools)) {
    throw new CellarError("INVALID_CONFIG", "tools must be an object of tools by name");
  }
  const entries = Object.entries(tools);
  if (entries.length > MOST_TOOLS) {
    throw new CellarError("INVALID_CONFIG", `there are ${entries.length} tools`, {
      remedy: `Offer up to ${MOST_TOOLS}.`,
    });
  }
  return entries.map(([name, tool]) => readTool(name, tool));
}

function readTool(name: string, tool: HostTool): ReadTool {
  checkToolName(name);
  if (typeof tool !== "object" || tool === null || typeof tool.execute !== "function") {
    throw refused(name, "has no execute function", "Give it one: it answers what Python asks.");
  }
  if (Reflect.get(tool, "needsApproval")) {
    const remedy = "Ask for it inside execute, and offer the tool without needsApproval.";
    throw refused(name, "wants an approval, and nobody is asked while a cell runs", remedy);
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
    throw refused(name, "has an inputSchema that describes no object", remedy);
  }
  const { parameters, validate } = schema;
  const doc = [description, parameterLines(parameters).join("\n")].filter(Boolean).join("\n\n");
  if (parameters.listed.length > MOST_PARAMETERS || doc.length > LONGEST_DOC) {
    throw refused(name, "takes too many arguments to be told of", "Put some of them together.");
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
    throw new CellarError("INVALID_INPUT", `${name} does not take this: ${validated.wrong}`, {
      remedy: `call it as ${tool.signature}; help(${name}) tells more`,
    });
  }
  signal.throwIfAborted();
  const toolCallId = randomUUID();
  const options = { signal, abortSignal: signal, toolCallId, messages: [] };
  return encodeOutput(name, await lastOf(await tool.execute(validated.value, options), signal));
}

/** Some tools of the AI SDK give one value after the other, of which the last counts. */
async function lastOf(output: unknown, signal: AbortSignal): Promise<unknown> {
  if (typeof output !== "object" || output === null || !(Symbol.asyncIterator in output)) {
    return output;
  }
  let last: unknown;
  for await (const value of output as AsyncIterable<unknown>) {
    signal.throwIfAborted();
    last = value;
  }
  return last;
}

function encodeOutput(name: string, output: unknown): Json {
  try {
    return encodeValue(output);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CellarError("INVALID_INPUT", `${name} gave what Python cannot have: ${reason}`, {
      remedy: "whoever offers the tool can give numbers, texts, lists and plain objects",
      cause: error,
    });
  }
}

/** An object of names; what a dict of other keys becomes is none. */
function isFields(input: unknown): boolean {
  return (
    typeof input === "object" && input !== null && Object.getPrototypeOf(input) === Object.prototype
  );
}

function refused(name: string, why: string, remedy: string): CellarError {
  return new CellarError("INVALID_CONFIG", `the tool ${name} ${why}`, { remedy });
}
