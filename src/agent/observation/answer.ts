import { inspect } from "node:util";
import type { AgentReport } from "../../protocol/messages.js";
import { decodeValue } from "../../protocol/values.js";

export interface FinalAnswer {
  readonly value: unknown;
  readonly text: string;
  readonly via: string;
  /** What the value lacks. */
  readonly loss: string | null;
}

export function answerOf(report: AgentReport | undefined): FinalAnswer | undefined {
  const final = report?.final ?? null;
  if (final === null) return undefined;
  const value = decodeValue(final.value);
  // A session that keeps to the protocol sends a text for everything but a str.
  const text = final.text ?? (typeof value === "string" ? value : inspect(value));
  return { value, text, via: final.via, loss: final.loss };
}
