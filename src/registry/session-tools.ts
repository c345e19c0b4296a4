import { z } from "zod";
import type { HostTools } from "../backends/host-tools/host-tool.js";
import { parameterLines, parametersOf, signatureOf } from "../backends/host-tools/parameters.js";
import { RelayedTool } from "../backends/host-tools/prepared-tools.js";
import { unlessAborted } from "../concurrency/abort.js";
import type { InvocationListener } from "./control/invocation-log.js";
import type { ToolRegistry } from "./registry.js";
import { type RegisteredTool, ToolError } from "./tool.js";
import { isAbout } from "./tool-search.js";

const LONGEST_SCHEMA = 4_000;
/** A list is given without the servers that take longer; they go on starting. */
const LIST_MS = 20_000;
const LONGEST_ABOUT = 160;

const callInput = z.strictObject({
  name: z.string().max(200),
  arguments: z.record(z.string(), z.unknown()),
  chain: z
    .strictObject({ id: z.string().max(64), index: z.int().nonnegative().max(100_000) })
    .nullish(),
});

const specsInput = z.strictObject({ group: z.string().max(100).nullish() });
const searchInput = z.strictObject({ pattern: z.string().max(200).nullish() });

export interface SessionOptions {
  readonly isPrivate?: (() => boolean) | undefined;
  readonly listMs?: number | undefined;
  /** Told of the calls of this session alone; the log has those of all. */
  readonly onInvocation?: InvocationListener | undefined;
}

/**
 * The functions behind `tools`, `tool_call` and `list_tools` of a session. There are three of them, however many
 * tools there are: the session asks for the others when somebody looks.
 */
export function sessionTools(
  registry: ToolRegistry,
  { isPrivate, onInvocation, listMs = LIST_MS }: SessionOptions,
): HostTools {
  return {
    tool_call: relayed("tool_call", async (input, signal) => {
      const call = read(callInput, input);
      try {
        const caller = call.chain ? "chain" : "cell";
        const {
          value,
          displays = [],
          inSession,
        } = await registry.call(call.name, call.arguments, {
          caller,
          chain: call.chain ?? undefined,
          signal,
          isPrivate: isPrivate?.() ?? false,
          onInvocation,
        });
        return inSession === undefined
          ? { value, displays }
          : { value, displays, in_session: inSession };
      } catch (error) {
        return { error: told(error) };
      }
    }),
    tool_specs: relayed("tool_specs", async (input, signal) => {
      const { group } = read(specsInput, input);
      try {
        const tools = await registry.tools(group ?? undefined, signal);
        const groups = group === undefined || group === null ? registry.groups : [];
        return { groups, tools: [...tools].map(([name, tool]) => specOf(name, tool)) };
      } catch (error) {
        return { error: told(error) };
      }
    }),
    tool_list: relayed("tool_list", async (input, signal) => {
      const { pattern } = read(searchInput, input);
      return await listed(registry, pattern ?? "*", signal, listMs);
    }),
  };
}

function relayed(name: string, execute: (input: unknown, signal: AbortSignal) => Promise<unknown>) {
  const spec = { name, doc: "", parameters: [], open: true };
  return new RelayedTool(spec, (input, { signal }) => execute(input, signal));
}

function read<T>(schema: z.ZodType<T>, input: unknown): T {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  throw new ToolError(
    "BAD_ARGUMENTS",
    `a call that cannot be read: ${z.prettifyError(parsed.error)}`,
  );
}

function told(error: unknown) {
  const failure = error instanceof ToolError ? error : new ToolError("FAILED", String(error));
  const { code, message, isRetryable, remedy } = failure;
  return { code, message, retryable: isRetryable, remedy: remedy ?? null };
}

/** All that match; a server that cannot be reached is listed with its trouble. */
async function listed(
  registry: ToolRegistry,
  pattern: string,
  signal: AbortSignal,
  listMs: number,
) {
  const late = AbortSignal.any([signal, AbortSignal.timeout(listMs)]);
  const groups = [undefined, ...registry.groups];
  const found = await Promise.all(
    groups.map(async (group) => {
      try {
        const tools = await unlessAborted(
          registry.tools(group, signal),
          late,
          () => new ToolError("TIMEOUT", "has not answered yet: ask again later"),
        );
        return [...tools]
          .filter(([name, tool]) => isAbout(pattern, name, tool))
          .map(([name, tool]) => ({
            name,
            signature: signatureOf(
              name,
              parametersOf(tool.parameters) ?? { listed: [], open: true },
            ),
            about: firstSentence(tool.description),
          }));
      } catch (error) {
        return [
          { name: `${group}`, signature: "", about: `[${told(error).message.slice(0, 200)}]` },
        ];
      }
    }),
  );
  return found.flat();
}

function specOf(name: string, tool: RegisteredTool) {
  const parameters = parametersOf(tool.parameters) ?? { listed: [], open: true };
  const { properties } = tool.parameters;
  const schemas = typeof properties === "object" && properties !== null ? properties : {};
  const paragraphs = [
    tool.description,
    parameterLines(parameters).join("\n"),
    tool.returns === undefined ? "" : `Returns ${tool.returns}.`,
    tool.examples.map((example) => `>>> ${example}`).join("\n"),
  ];
  return {
    name,
    signature: signatureOf(name, parameters),
    doc: paragraphs.filter(Boolean).join("\n\n"),
    open: parameters.open,
    table: tool.isTable ?? false,
    read_only: tool.isReadOnly,
    destructive: tool.isDestructive,
    chain: tool.allowedCallers.includes("chain"),
    reads: tool.effects === undefined ? null : (tool.effects.reads ?? []),
    writes: tool.effects === undefined ? null : (tool.effects.writes ?? []),
    parameters: parameters.listed.map(({ name: own, required, type, fallback }) => ({
      name: own,
      required,
      type,
      fallback,
      schema: small(Reflect.get(schemas, own)),
    })),
  };
}

/** What Python checks before it sends anything; larger schemas are checked here alone. */
function small(schema: unknown): unknown {
  return JSON.stringify(schema ?? {}).length > LONGEST_SCHEMA ? {} : (schema ?? {});
}

/** What a list shows of a tool; help() has the rest. */
function firstSentence(description: string): string {
  const [line = ""] = description.split("\n", 1);
  const sentence = /^.{20,160}?[.!?](?=\s|$)/u.exec(line)?.[0] ?? line;
  return sentence.length <= LONGEST_ABOUT ? sentence : `${sentence.slice(0, LONGEST_ABOUT - 1)}…`;
}
