import { stripVTControlCharacters } from "node:util";
import { unlessAborted } from "../../concurrency/abort.js";
import { loadTokenizer, wholeCharacters } from "./tokens.js";

export const WORKER_TAIL = 4000;
const WORKER_LINES = 10;
const WORKER_TOKENS = 512;
const WORKER_TIMEOUT_MS = 30_000;
/** Longer answers are cut before their tokens are counted. */
const WORKER_LENGTH = 16 * 1024;
const HEAD_LINES = 15;
const TAIL_LINES = 5;
/** Rather than shorten lines further, show fewer. */
const SHORTEST_LINE = 24;

/** Brings a summary up to date with the end of a new output. */
export type SummaryWorker = (
  previous: string | undefined,
  tail: string,
  signal: AbortSignal,
) => Promise<string>;

export interface Summary {
  readonly text: string;
  readonly source: "worker" | "static";
  /** Why the worker's summary is missing. */
  readonly fault?: "failed" | "timeout" | "empty";
}

export interface RollingSummaryOptions {
  readonly worker?: SummaryWorker | undefined;
  readonly workerTimeout?: number | undefined;
}

/** One summary that each new output updates. */
export class RollingSummary {
  latest: string | undefined;
  readonly #worker: SummaryWorker | undefined;
  readonly #timeout: number;

  constructor({ worker, workerTimeout = WORKER_TIMEOUT_MS }: RollingSummaryOptions = {}) {
    this.#worker = worker;
    this.#timeout = workerTimeout;
  }

  /** A text of at most `room` characters. */
  async of(output: string, room: number, signal?: AbortSignal): Promise<Summary> {
    signal?.throwIfAborted();
    if (this.#worker === undefined) return { text: excerpt(output, room), source: "static" };
    const answer = await this.#ask(this.#worker, output, signal);
    if (typeof answer === "object") {
      return { text: excerpt(output, room), source: "static", ...answer };
    }
    this.latest = answer;
    return { text: shorten(answer, room), source: "worker" };
  }

  async #ask(
    worker: SummaryWorker,
    output: string,
    signal: AbortSignal | undefined,
  ): Promise<string | Required<Pick<Summary, "fault">>> {
    const limit = new AbortController();
    const stop = AbortSignal.any([limit.signal, ...(signal === undefined ? [] : [signal])]);
    const timer = setTimeout(() => limit.abort(), this.#timeout);
    try {
      const asked = worker(this.latest, tailOf(output, WORKER_TAIL), stop);
      // A worker may ignore its signal, or be no promise at all.
      const answer: unknown = await unlessAborted(Promise.resolve(asked), stop);
      if (typeof answer !== "string") return { fault: "failed" };
      const cut = await shortSummary(answer);
      return cut === "" ? { fault: "empty" } : cut;
    } catch {
      signal?.throwIfAborted();
      return { fault: limit.signal.aborted ? "timeout" : "failed" };
    } finally {
      clearTimeout(timer);
    }
  }
}

async function shortSummary(answer: string): Promise<string> {
  const lines = answer.slice(0, WORKER_LENGTH).split("\n").map(readable);
  const filled = lines.filter((line) => line !== "").slice(0, WORKER_LINES);
  const text = wholeCharacters(filled.join("\n"));
  // No token is shorter than a byte.
  if (Buffer.byteLength(text) <= WORKER_TOKENS) return text;
  return (await loadTokenizer()).cut(text, WORKER_TOKENS).trimEnd();
}

/** A last line without a line break counts too. */
export function countLines(text: string): number {
  let ends = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) ends += 1;
  return text === "" || text.endsWith("\n") ? ends : ends + 1;
}

/** The first and the last lines, shortened so that all fit into `room` characters. */
export function excerpt(text: string, room: number): string {
  const count = countLines(text);
  const most = Math.max(2, Math.floor(room / SHORTEST_LINE) - 1);
  if (count <= Math.min(most, HEAD_LINES + TAIL_LINES))
    return fitted(firstLines(text, count), room);
  const tail = Math.min(TAIL_LINES, Math.ceil(most / 4));
  const head = Math.min(HEAD_LINES, most - tail);
  const gap = `… ${(count - head - tail).toLocaleString("en-US")} lines between …`;
  return fitted([...firstLines(text, head), gap, ...lastLines(text, tail)], room);
}

function firstLines(text: string, count: number): string[] {
  const lines: string[] = [];
  for (let start = 0; lines.length < count; ) {
    const end = text.indexOf("\n", start);
    lines.push(text.slice(start, end < 0 ? text.length : end));
    if (end < 0) break;
    start = end + 1;
  }
  return lines;
}

function lastLines(text: string, count: number): string[] {
  const lines: string[] = [];
  for (let end = text.endsWith("\n") ? text.length - 1 : text.length; lines.length < count; ) {
    const start = end === 0 ? 0 : text.lastIndexOf("\n", end - 1) + 1;
    lines.unshift(text.slice(start, end));
    if (start === 0) break;
    end = start - 1;
  }
  return lines;
}

/** Shortens only the longest lines: those that fit stay whole. */
function fitted(lines: readonly string[], room: number): string {
  const clean = lines.map((line) => readable(clipped(line, 2 * room)));
  let left = room - (clean.length - 1);
  let waiting = clean.length;
  let width = 0;
  for (const { length } of [...clean].sort((a, b) => a.length - b.length)) {
    width = Math.max(0, Math.floor(left / waiting));
    if (length > width) break;
    left -= length;
    waiting -= 1;
    width = room;
  }
  return clean
    .map((line) => clipped(line, width))
    .join("\n")
    .slice(0, Math.max(0, room));
}

function clipped(line: string, width: number): string {
  if (line.length <= width) return line;
  const tail = Math.floor(Math.max(0, width - 1) / 4);
  const head = wholeCharacters(line.slice(0, Math.max(0, width - 1 - tail)));
  return `${head}…${tail === 0 ? "" : tailOf(line, tail)}`.slice(0, width);
}

function shorten(text: string, room: number): string {
  return text.length <= room ? text : `${wholeCharacters(text.slice(0, Math.max(0, room - 1)))}…`;
}

/** The last characters, without a half of a surrogate pair at the beginning. */
function tailOf(text: string, length: number): string {
  const tail = text.slice(-length);
  const first = tail.charCodeAt(0);
  return first >= 0xdc00 && first <= 0xdfff ? tail.slice(1) : tail;
}

function readable(line: string): string {
  return stripVTControlCharacters(line)
    .replace(/\p{Cc}/gu, " ")
    .trimEnd();
}
