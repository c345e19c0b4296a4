import { requireText } from "../../config/kinds.js";
import { MAX_SOURCE_BYTES } from "../../protocol/bounds.js";
import type { Params, Result } from "../../protocol/messages.js";
import type { Completeness, Completion } from "../backend.js";
import { checkLimit } from "./checks.js";

/** The runner stops looking after a part of this; later its process is ended. */
export const COMPLETION_MS = 10_000;

/** What a terminal or a page could obey, or show in another order than it is. */
const UNFIT = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

type Ask = (at: Params<"complete">) => Promise<Result<"complete">>;

/** Asks for what could stand at a place of the code; places are those of JavaScript's strings. */
export async function completeAt(code: string, cursor: number, ask: Ask): Promise<Completion> {
  requireText("the code", code);
  checkLimit("cursor", cursor, 0, code.length);
  // A message has its limit.
  if (Buffer.byteLength(code) > MAX_SOURCE_BYTES)
    return { matches: [], start: cursor, end: cursor };
  const points = [...code.slice(0, cursor)];
  const answer = await ask({ code, cursor: points.length });
  const end = Math.min(answer.end, points.length);
  const start = Math.min(answer.start, end);
  const place = (count: number) => points.slice(0, count).join("").length;
  const matches = answer.matches.filter((match) => !UNFIT.test(match));
  return { matches, start: place(start), end: place(end) };
}

/** Asks whether code can be run; what is too long for a message cannot be. */
export async function completenessOf(
  code: string,
  ask: (code: string) => Promise<Completeness>,
): Promise<Completeness> {
  requireText("the code", code);
  return Buffer.byteLength(code) > MAX_SOURCE_BYTES ? { status: "invalid" } : await ask(code);
}

/** The same for a client that counts in code points. */
export async function completeFor(
  sandbox: { complete(code: string, cursor: number): Promise<Completion> },
  { code, cursor }: Params<"complete">,
): Promise<Result<"complete">> {
  const points = [...code];
  const place = points.slice(0, cursor).join("").length;
  const { matches, start, end } = await sandbox.complete(code, place);
  const counted = (at: number) => [...code.slice(0, at)].length;
  return { matches: [...matches], start: counted(start), end: counted(end) };
}
