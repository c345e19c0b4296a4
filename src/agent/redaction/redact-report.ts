import type { AgentCall, Finding, Variable } from "../../protocol/messages.js";

const MOST_ARGUMENTS = 16;
const LONGEST_NAME = 64;
/** The runner sends less; a forged report may hold anything. */
const LONGEST_TEXT = 500;

export type Redact = (text: string) => Promise<string>;

/** Calls without secrets and within limits, whatever the session sent. */
export function redactCalls(calls: readonly AgentCall[], redact: Redact): Promise<AgentCall[]> {
  return Promise.all(
    calls.map(async (call) => ({
      ...call,
      name: call.name.slice(0, LONGEST_NAME),
      arguments: await redactArguments(call.arguments, redact),
      preview: await bounded(call.preview, redact),
      error: call.error === null ? null : await bounded(call.error, redact),
    })),
  );
}

async function redactArguments(
  given: AgentCall["arguments"],
  redact: Redact,
): Promise<AgentCall["arguments"]> {
  const kept = Object.entries(given).slice(0, MOST_ARGUMENTS);
  const redacted = kept.map(async ([name, value]) => {
    const shown = typeof value === "object" && value !== null ? "object" : value;
    const text = typeof shown === "string" ? await bounded(shown, redact) : shown;
    return [name.slice(0, LONGEST_NAME), text];
  });
  return Object.fromEntries(await Promise.all(redacted));
}

export function redactVariables(
  variables: readonly Variable[],
  redact: Redact,
): Promise<Variable[]> {
  return Promise.all(variables.map(async (one) => ({ ...one, text: await redact(one.text) })));
}

export function redactFindings(findings: readonly Finding[], redact: Redact): Promise<Finding[]> {
  return Promise.all(
    findings.map(async (one) => ({
      ...one,
      text: await redact(one.text),
      source: one.source === null ? null : await redact(one.source),
    })),
  );
}

/** Redacts before it cuts: half of a secret would not be recognised. */
async function bounded(text: string, redact: Redact): Promise<string> {
  return (await redact(text)).slice(0, LONGEST_TEXT);
}
