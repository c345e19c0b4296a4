import { z } from "zod";
import type { AgentSandbox } from "../backends/backend.js";
import { CellarError, describeError, isCellarError } from "../errors.js";
import { AGENT_FUNCTIONS } from "../protocol/agent/functions.js";
import { type Finding, findingSchema } from "../protocol/agent/messages.js";
import { decodeValue, encodeValue, type Json, UnconvertedValue } from "../protocol/values.js";

const VERSION = 1;
/** Of variables: from here on a checkpoint is large, and from there on too large. */
const LARGE_BYTES = 50 * 1024 * 1024;
const LARGEST_BYTES = 100 * 1024 * 1024;
export const MOST_FINDINGS = 500;
/** A number that a cell made up must not use them all up. */
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
  /** Set where the variables take much room. */
  warning: z.string().optional(),
});

/** An agent's REPL as JSON: what it found, what it looked at, and those variables that JSON can say. */
export type AgentRecord = z.infer<typeof recordSchema>;

export function readRecord(value: unknown): AgentRecord {
  const parsed = recordSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const { version } = (value ?? {}) as { version?: unknown };
  const message =
    typeof version === "number" && version > VERSION
      ? `the checkpoint is of version ${version}, and this Cellar knows ${VERSION}`
      : `this is no checkpoint of an agent: ${z.prettifyError(parsed.error)}`;
  throw new CellarError("STATE_REFUSED", message, { remedy: "Give what checkpoint() gave." });
}

type Variables = Pick<AgentRecord, "variables" | "skipped" | "agent" | "warning">;

/** What of a session's variables can be written as JSON, and what cannot and why. */
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
      skipped.push({ name, type, reason: "there is no space for it in a checkpoint" });
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
    const opaque = unconvertedIn(value);
    if (opaque?.items !== undefined) return { reason: "it is too long for a checkpoint" };
    if (opaque !== undefined) return { reason: `${opaque.type} has no form in JSON` };
    return { value: encodeValue(value) };
  } catch (error) {
    if (isCellarError(error, "SESSION_CLOSED") || isCellarError(error, "SESSION_LOST")) throw error;
    return { reason: describeError(error) };
  }
}

/** A part of a value that only its session knows. */
function unconvertedIn(value: unknown): UnconvertedValue | undefined {
  if (value instanceof UnconvertedValue) return value;
  if (Array.isArray(value)) return firstOf(value);
  if (value instanceof Map) return firstOf([...value.keys(), ...value.values()]);
  if (value instanceof Set) return firstOf([...value]);
  if (typeof value === "object" && value !== null && value.constructor === Object) {
    return firstOf(Object.values(value));
  }
  return undefined;
}

function firstOf(values: readonly unknown[]): UnconvertedValue | undefined {
  for (const value of values) {
    const found = unconvertedIn(value);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Puts the variables of a record into a new session; gives the names that were refused. */
export async function unpackVariables(
  sandbox: AgentSandbox,
  { variables, agent }: AgentRecord,
): Promise<readonly string[]> {
  const refused: string[] = [];
  for (const [name, value] of Object.entries(variables)) {
    // It would hide the function.
    if (Object.hasOwn(AGENT_FUNCTIONS, name)) refused.push(name);
    else await sandbox.setVariable(name, decodeValue(value));
  }
  await sandbox.setAgentState(decodeValue(agent));
  return refused;
}

/** The findings in a record, as far as they are some. */
export function findingsIn({ agent }: Pick<AgentRecord, "agent">): Finding[] {
  const state = decodeValue(agent);
  const findings = state instanceof Object && "findings" in state ? state.findings : [];
  if (!Array.isArray(findings)) return [];
  return findings.slice(0, MOST_FINDINGS).flatMap((one) => {
    const parsed = findingSchema.safeParse(one);
    return parsed.success ? [parsed.data] : [];
  });
}

/** After a loss, tells a session what was known: its calls must not get numbers that others have. */
export async function catchUp(
  sandbox: AgentSandbox,
  numbers: ReadonlyMap<string, number>,
  findings: readonly Finding[],
): Promise<void> {
  const state = await sandbox.getAgentState();
  if (typeof state !== "object" || state === null) return;
  const known = [...numbers].filter(([, number]) => number <= HIGHEST_NUMBER);
  await sandbox.setAgentState({
    ...state,
    counters: Object.fromEntries(known),
    findings,
  });
}
