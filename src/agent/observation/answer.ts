import type { AgentReport } from "../../protocol/messages.js";
import { decodeValue } from "../../protocol/values.js";

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
  const text = final.text ?? (typeof value === "string" ? value : textOf(value));
  return { value, text, via: final.via, loss: final.loss };
}

/** A session that keeps to the rules tells the text of all but texts. */
function textOf(value: unknown): string {
  const text = JSON.stringify(value, (_, part) =>
    typeof part === "bigint" ? part.toString() : part,
  );
  return text ?? "null";
}
