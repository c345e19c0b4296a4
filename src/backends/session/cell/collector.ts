import type { MimeBundle, Params } from "../../../protocol/messages.js";
import type { Output, REPLConfig } from "../../backend.js";

/** What a session may send beyond its limit before it is cut: the notice. */
const SLACK_CHARACTERS = 1024;
const MAX_DISPLAYS = 256;
export const MAX_DISPLAY_BYTES = 64 * 1024 * 1024;
const MAX_METADATA_CHARACTERS = 1024 * 1024;
/** What is handed on of a cell that clears or updates what it shows; its result has the last of it. */
const MAX_STREAMED_BYTES = 4 * MAX_DISPLAY_BYTES;
/** Handing on costs, however little is shown. */
const STREAMED_OVERHEAD_BYTES = 1024;
/** Requests to clear that wait for an output after them. */
const MAX_PENDING = 1000;

type Callbacks = Pick<REPLConfig, "onStdout" | "onStderr" | "onDisplay">;
type StreamName = "stdout" | "stderr";

interface Entry {
  /** Text comes after the barrier of its number, a display just before it. */
  readonly rank: number;
  readonly output: Output;
  readonly bytes: number;
}

/** Gathers one cell's output in order, within bounds that do not trust the sender. */
export class Collector {
  readonly #callbacks: Callbacks;
  readonly #limit: number;
  #entries: Entry[] = [];
  readonly #length: Record<StreamName, number> = { stdout: 0, stderr: 0 };
  #displays = 0;
  #displayBytes = 0;
  #metadataCharacters = 0;
  #streamedBytes = 0;
  /** Everything before it was cleared. */
  #floor = 0;
  #highest = -1;
  #pending: number[] = [];
  #end = Number.POSITIVE_INFINITY;

  constructor(callbacks: Callbacks, maxOutputLength: number) {
    this.#callbacks = callbacks;
    this.#limit = maxOutputLength + SLACK_CHARACTERS;
  }

  text({ stream, text, seq }: Pick<Params<"output">, "stream" | "text" | "seq">): void {
    const kept = firstCharacters(text, this.#limit - this.#length[stream]);
    if (kept === "") return;
    this.#length[stream] += countCharacters(kept);
    this.#add({ rank: 2 * seq + 1, output: { type: stream, text: kept }, bytes: 0 });
    const callback = stream === "stdout" ? this.#callbacks.onStdout : this.#callbacks.onStderr;
    if (callback !== undefined) for (const line of splitLines(kept)) callback(line);
  }

  display(params: Params<"display">, attachments: readonly Buffer[]): void {
    const bytes = attachments.reduce((sum, part) => sum + part.length, textBytes(params.data));
    const { role, display_id: displayId } = params;
    const isUpdate = role === "update";
    const rank = 2 * params.seq;
    this.#clearBefore(rank);
    this.#displays += isUpdate ? 0 : 1;
    const added = (isUpdate ? 0 : bytes) + this.#growth(displayId, bytes);
    if (this.#displays > MAX_DISPLAYS || this.#displayBytes + added > MAX_DISPLAY_BYTES) return;
    const output = {
      type: "display",
      data: params.data,
      binary: partsByType(params.attachments, attachments),
      metadata: this.#boundedMetadata(params.metadata),
      ...(displayId !== undefined && { displayId }),
      ...(isUpdate && { isUpdate }),
      ...(role === "result" && { isResult: true as const }),
    } as const;
    if (displayId !== undefined) this.#replace(displayId, output, bytes);
    if (!isUpdate) {
      this.#displayBytes += bytes;
      this.#add({ rank, output, bytes });
    }
    this.#streamedBytes += bytes + STREAMED_OVERHEAD_BYTES;
    if (this.#streamedBytes <= MAX_STREAMED_BYTES) this.#callbacks.onDisplay?.(output);
  }

  /** Takes back what was shown so far, or waits with it until something else is shown. */
  clear({ seq, wait }: Params<"clear_output">): void {
    const rank = 2 * seq;
    if (!wait || this.#highest > rank) this.#forget(rank);
    else if (this.#pending.length < MAX_PENDING) this.#pending.push(rank);
  }

  /** The value or the error is shown here, after all else or at a barrier. */
  end(seq?: number): void {
    this.#end = seq === undefined ? Number.POSITIVE_INFINITY : 2 * seq;
    this.#clearBefore(this.#end);
  }

  #add(entry: Entry): void {
    if (entry.rank < this.#floor) return;
    this.#highest = Math.max(this.#highest, entry.rank);
    this.#clearBefore(entry.rank);
    this.#entries.push(entry);
  }

  #clearBefore(rank: number): void {
    const due = this.#pending.filter((waiting) => waiting < rank);
    if (due.length > 0) this.#forget(Math.max(...due));
  }

  #forget(rank: number): void {
    this.#floor = Math.max(this.#floor, rank);
    this.#pending = this.#pending.filter((waiting) => waiting > rank);
    for (const entry of this.#entries) {
      if (entry.rank >= rank || entry.output.type !== "display") continue;
      this.#displays -= 1;
      this.#displayBytes -= entry.bytes;
    }
    this.#entries = this.#entries.filter((entry) => entry.rank >= rank);
  }

  /** The size of these bytes in every place that shows the id. */
  #growth(displayId: string | undefined, bytes: number): number {
    if (displayId === undefined) return 0;
    return this.#entries.reduce(
      (sum, { output, bytes: before }) =>
        output.type === "display" && output.displayId === displayId ? sum + bytes - before : sum,
      0,
    );
  }

  /** What has the same id shows the same, as in Jupyter. */
  #replace(displayId: string, output: Output & { type: "display" }, bytes: number): void {
    this.#entries = this.#entries.map((entry) => {
      if (entry.output.type !== "display" || entry.output.displayId !== displayId) return entry;
      this.#displayBytes += bytes - entry.bytes;
      return { ...entry, output, bytes };
    });
  }

  #boundedMetadata(metadata: Params<"display">["metadata"]): Params<"display">["metadata"] {
    this.#metadataCharacters += JSON.stringify(metadata).length;
    return this.#metadataCharacters > MAX_METADATA_CHARACTERS ? {} : metadata;
  }

  /** Everything in order, neighbouring pieces of one stream joined. */
  outputs(): Output[] {
    const ordered = [...this.#entries].sort((a, b) => a.rank - b.rank);
    const joined: Output[] = [];
    for (const { rank, output } of ordered) {
      const isAfter = rank > this.#end;
      const last = joined.at(-1);
      const isSamePlace = (last?.afterResult === true) === isAfter;
      if (output.type !== "display" && last?.type === output.type && isSamePlace) {
        joined[joined.length - 1] = { ...last, text: last.text + output.text };
      } else {
        joined.push(isAfter ? { ...output, afterResult: true } : output);
      }
    }
    return joined;
  }

  whole(stream: StreamName): string {
    return this.#entries.map(({ output }) => (output.type === stream ? output.text : "")).join("");
  }
}

const BEYOND_BMP = /[\ud800-\udbff][\udc00-\udfff]/g;

/** Code points, as Python counts them. */
function countCharacters(text: string): number {
  return text.length - (text.match(BEYOND_BMP)?.length ?? 0);
}

function firstCharacters(text: string, count: number): string {
  if (count <= 0) return "";
  return countCharacters(text) <= count
    ? text
    : [...text.slice(0, 2 * count)].slice(0, count).join("");
}

/** Pieces that end where a line ends or is drawn again. */
export function splitLines(text: string): string[] {
  return text.match(/[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$/g) ?? [];
}

/** Not by assignment, which takes `__proto__` for something else than a name. */
export function partsByType(
  announced: readonly { readonly mime: string }[],
  bodies: readonly Buffer[],
): Record<string, Uint8Array> {
  const parts = announced.flatMap(({ mime }, index): [string, Uint8Array][] => {
    const body = bodies[index];
    return body === undefined ? [] : [[mime, Uint8Array.from(body)]];
  });
  return Object.fromEntries(parts);
}

function textBytes(data: MimeBundle): number {
  return Object.values(data).reduce((sum, text) => sum + text.length, 0);
}
