import type { AgentReport } from "../protocol/messages.js";
import { decodeValue } from "../protocol/values.js";

export interface FinalAnswer {
  readonly value: unknown;
  readonly text: string;
  readonly via: string;
  /** What of the value is missing. */
  readonly loss: string | null;
}

/** The answer of a cell that gave one. */
export function answerOf(report: AgentReport | undefined): FinalAnswer | undefined {
  const final = report?.final ?? null;
  if (final === null) return undefined;
  const value = decodeValue(final.value);
  const text = final.text ?? (typeof value === "string" ? value : JSON.stringify(value));
  return { value, text, via: final.via, loss: final.loss };
}
