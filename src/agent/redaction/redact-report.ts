import type { AgentCall, Finding, Variable } from "../../protocol/messages.js";

const MOST_ARGUMENTS = 16;
const LONGEST_NAME = 64;
/** What a session tells is shorter; what a cell made up may be anything. */
const LONGEST_TEXT = 500;

/** Takes the secrets out of a text. */
export type Redact = (text: string) => Promise<string>;

type Plain = string | number | boolean | null;

/** Calls as they are kept and shown: without secrets, and bounded whatever their session said. */
export function coverCalls(
  calls: readonly AgentCall[],
  redact: Redact,
): Promise<readonly AgentCall[]> {
  return Promise.all(
    calls.map(async (call) => ({
      ...call,
      name: call.name.slice(0, LONGEST_NAME),
      arguments: await coverArguments(call.arguments, redact),
      preview: await covered(call.preview, redact),
      error: call.error === null ? null : await covered(call.error, redact),
    })),
  );
}

async function coverArguments(
  given: AgentCall["arguments"],
  redact: Redact,
): Promise<Record<string, Plain>> {
  const kept: [string, Plain][] = [];
  for (const [name, value] of Object.entries(given).slice(0, MOST_ARGUMENTS)) {
    const isText = typeof value !== "number" && typeof value !== "boolean" && value !== null;
    const text = typeof value === "string" ? value : typeof value;
    kept.push([name.slice(0, LONGEST_NAME), isText ? await covered(text, redact) : value]);
  }
  return Object.fromEntries(kept);
}

export function coverVariables(
  variables: readonly Variable[],
  redact: Redact,
): Promise<readonly Variable[]> {
  return Promise.all(variables.map(async (one) => ({ ...one, text: await redact(one.text) })));
}

export function coverFindings(
  findings: readonly Finding[],
  redact: Redact,
): Promise<readonly Finding[]> {
  return Promise.all(
    findings.map(async (one) => ({
      ...one,
      text: await redact(one.text),
      source: one.source === null ? null : await redact(one.source),
    })),
  );
}

/** Only then cut: half of a secret would not be known as one. */
async function covered(text: string, redact: Redact): Promise<string> {
  return (await redact(text)).slice(0, LONGEST_TEXT);
}
