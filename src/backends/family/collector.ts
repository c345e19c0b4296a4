import type { MimeBundle, Params } from "../../protocol/messages.js";
import type { Output, REPLConfig } from "../backend.js";

/** What a session may send beyond its limit before it is cut: the notice and rounding. */
const SLACK_CHARACTERS = 1024;
const MAX_DISPLAYS = 256;
const MAX_DISPLAY_BYTES = 64 * 1024 * 1024;
const MAX_METADATA_CHARACTERS = 1024 * 1024;

type Callbacks = Pick<REPLConfig, "onStdout" | "onStderr" | "onDisplay">;
type StreamName = "stdout" | "stderr";

interface Entry {
  /** Text follows the barrier of its number, a display stands just before it. */
  readonly rank: number;
  readonly output: Output;
}

/** Gathers one cell's output in order, within bounds that do not trust the sender. */
export class Collector {
  readonly #callbacks: Callbacks;
  readonly #limit: number;
  readonly #entries: Entry[] = [];
  readonly #length: Record<StreamName, number> = { stdout: 0, stderr: 0 };
  #displays = 0;
  #displayBytes = 0;
  #metadataCharacters = 0;

  constructor(callbacks: Callbacks, maxOutputLength: number) {
    this.#callbacks = callbacks;
    this.#limit = maxOutputLength + SLACK_CHARACTERS;
  }

  text({ stream, text, seq }: Params<"output">): void {
    const kept = text.slice(0, Math.max(0, this.#limit - this.#length[stream]));
    if (kept === "") return;
    this.#length[stream] += kept.length;
    this.#entries.push({ rank: 2 * seq + 1, output: { type: stream, text: kept } });
    const callback = stream === "stdout" ? this.#callbacks.onStdout : this.#callbacks.onStderr;
    if (callback !== undefined) for (const line of splitLines(kept)) callback(line);
  }

  display(params: Params<"display">, attachments: readonly Buffer[]): void {
    const bytes = attachments.reduce((sum, part) => sum + part.length, textBytes(params.data));
    this.#displays += 1;
    this.#displayBytes += bytes;
    if (this.#displays > MAX_DISPLAYS || this.#displayBytes > MAX_DISPLAY_BYTES) return;
    const binary = partsByType(params.attachments, attachments);
    const metadata = this.#boundedMetadata(params.metadata);
    const output = { type: "display", data: params.data, binary, metadata } as const;
    this.#entries.push({ rank: 2 * params.seq, output });
    this.#callbacks.onDisplay?.(output);
  }

  #boundedMetadata(metadata: Params<"display">["metadata"]): Params<"display">["metadata"] {
    this.#metadataCharacters += JSON.stringify(metadata).length;
    return this.#metadataCharacters > MAX_METADATA_CHARACTERS ? {} : metadata;
  }

  /** Everything in order, neighbouring pieces of one stream joined. */
  outputs(): Output[] {
    const ordered = [...this.#entries].sort((a, b) => a.rank - b.rank);
    const joined: Output[] = [];
    for (const { output } of ordered) {
      const last = joined.at(-1);
      if (output.type !== "display" && last?.type === output.type) {
        joined[joined.length - 1] = { type: output.type, text: last.text + output.text };
      } else {
        joined.push(output);
      }
    }
    return joined;
  }

  whole(stream: StreamName): string {
    return this.#entries.map(({ output }) => (output.type === stream ? output.text : "")).join("");
  }
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
