import { z } from "zod";
import type { AgentSandbox } from "../backends/backend.js";
import { CellarError, describeError, isCellarError } from "../errors.js";
import { AGENT_FUNCTIONS } from "../protocol/agent/functions.js";
import { type Finding, findingSchema } from "../protocol/agent/messages.js";
import { decodeValue, encodeValue, type Json, UnconvertedValue } from "../protocol/values.js";

const VERSION = 1;
/** Variables above the first size cause a warning; above the second they are left out. */
const LARGE_BYTES = 50 * 1024 * 1024;
const LARGEST_BYTES = 100 * 1024 * 1024;
export const MOST_FINDINGS = 500;
/** A forged number must not use up all the others. */
const HIGHEST_NUMBER = 1_000_000;

const recordSchema = z.strictObject({
  version: z.literal(VERSION),
  turn: z.int().nonnegative(),
  createdAt: z.string(),
  /** In the form of "Values" of the protocol. */
  variables: z.record(z.string(), z.json()),
  skipped: z.array(z.strictObject({ name: z.string(), type: z.string(), reason: z.string() })),
  agent: z.json(),
  research: z.json(),
  exploration: z.json(),
  spill: z.json(),
  warning: z.string().optional(),
});

/** An agent's REPL as JSON, with the variables that JSON can express. */
export type AgentRecord = z.infer<typeof recordSchema>;

export function readRecord(value: unknown): AgentRecord {
  const parsed = recordSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const { version } = (value ?? {}) as { version?: unknown };
  const message =
    typeof version === "number" && version > VERSION
      ? `the checkpoint has version ${version}, but this Cellar reads version ${VERSION}`
      : `not a checkpoint of an agent: ${z.prettifyError(parsed.error)}`;
  throw new CellarError("STATE_REFUSED", message, { remedy: "Pass what checkpoint() returned." });
}

type Variables = Pick<AgentRecord, "variables" | "skipped" | "agent" | "warning">;

/** The variables that can be written as JSON, and the reasons why others cannot. */
export async function packVariables(sandbox: AgentSandbox): Promise<Variables> {
  const variables: Record<string, Json> = {};
  const skipped: { name: string; type: string; reason: string }[] = [];
  let bytes = 0;
  for (const { name, type } of await sandbox.variables()) {
    if (name === "context") continue;
    const packed = await pack(sandbox, name);
    if ("reason" in packed) {
      skipped.push({ name, type, reason: packed.reason });
      continue;
    }
    const size = Buffer.byteLength(JSON.stringify(packed.value));
    if (bytes + size > LARGEST_BYTES) {
      skipped.push({ name, type, reason: "it exceeds the size limit of a checkpoint" });
      continue;
    }
    bytes += size;
    variables[name] = packed.value;
  }
  const agent = encodeValue(await sandbox.getAgentState());
  const megabytes = Math.round(bytes / 1024 / 1024);
  return {
    variables,
    skipped,
    agent,
    ...(bytes > LARGE_BYTES && { warning: `the variables take ${megabytes} MB` }),
  };
}

async function pack(
  sandbox: AgentSandbox,
  name: string,
): Promise<{ readonly value: Json } | { readonly reason: string }> {
  try {
    const value = await sandbox.getVariable(name);
    const unconverted = unconvertedIn(value);
    if (unconverted?.items !== undefined) return { reason: "it is too long for a checkpoint" };
    if (unconverted !== undefined) return { reason: `JSON cannot express ${unconverted.type}` };
    return { value: encodeValue(value) };
  } catch (error) {
    if (isCellarError(error, "SESSION_CLOSED") || isCellarError(error, "SESSION_LOST")) throw error;
    return { reason: describeError(error) };
  }
}

/** The first part of a value that did not cross the wire. */
function unconvertedIn(value: unknown): UnconvertedValue | undefined {
  if (value instanceof UnconvertedValue) return value;
  for (const part of partsOf(value)) {
    const found = unconvertedIn(part);
    if (found !== undefined) return found;
  }
  return undefined;
}

function partsOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value) || value instanceof Set) return [...value];
  if (value instanceof Map) return [...value.keys(), ...value.values()];
  const isPlain = typeof value === "object" && value?.constructor === Object;
  return isPlain ? Object.values(value) : [];
}

/** Sets the variables of a record in a new session; returns the names that were refused. */
export async function unpackVariables(
  sandbox: AgentSandbox,
  { variables, agent }: AgentRecord,
): Promise<readonly string[]> {
  const refused: string[] = [];
  for (const [name, value] of Object.entries(variables)) {
    // A variable would hide the function.
    if (Object.hasOwn(AGENT_FUNCTIONS, name)) refused.push(name);
    else await sandbox.setVariable(name, decodeValue(value));
  }
  await sandbox.setAgentState(decodeValue(agent));
  return refused;
}

export function findingsIn({ agent }: Pick<AgentRecord, "agent">): Finding[] {
  const state = decodeValue(agent);
  const findings = state instanceof Object && "findings" in state ? state.findings : [];
  if (!Array.isArray(findings)) return [];
  return findings.slice(0, MOST_FINDINGS).flatMap((one) => {
    const parsed = findingSchema.safeParse(one);
    return parsed.success ? [parsed.data] : [];
  });
}

/** After a loss, restores findings and counters, so that no two calls get the same id. */
export async function restoreCounters(
  sandbox: AgentSandbox,
  numbers: ReadonlyMap<string, number>,
  findings: readonly Finding[],
): Promise<void> {
  const state = await sandbox.getAgentState();
  if (typeof state !== "object" || state === null) return;
  const known = [...numbers].filter(([, number]) => number <= HIGHEST_NUMBER);
  await sandbox.setAgentState({ ...state, counters: Object.fromEntries(known), findings });
}
