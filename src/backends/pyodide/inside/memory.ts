import { Buffer } from "node:buffer";
import { readSync } from "node:fs";

/** What a start is spared: compiled code of Pyodide's own script, and Python's memory. */
export interface Remembered {
  readonly code: Uint8Array;
  readonly memory: Uint8Array;
}

/** An open file in which something remembered begins at an offset. */
export interface Store {
  readonly descriptor: number;
  readonly offset: number;
}

/** A part of the memory that is not all zeros. */
interface Stretch {
  readonly start: number;
  readonly length: number;
}

const WORD = 4;
const PAGE_WORDS = 1024;
/** Code, head and memory in bytes, and the number of stretches. */
const COUNTS = 4;
/** Alignment: some of it is read as words. */
const ALIGNMENT = 16;
/** Offset of the length of what precedes the memory in Pyodide's snapshot. */
const HEAD_WORD = 1;

/** Zeros are left out, which is two fifths of it. */
export function pack({ code, memory }: Remembered): Uint8Array {
  const head = wordsOf(memory)[HEAD_WORD] ?? 0;
  const stretches = stretchesOf(memory, head);
  const counts = Uint32Array.from([
    ...[code.length, head, memory.length, stretches.length],
    ...stretches.flatMap(({ start, length }) => [start, length]),
  ]);
  const parts = [
    new Uint8Array(counts.buffer),
    code,
    memory.subarray(0, head),
    ...stretches.map(({ start, length }) => memory.subarray(start, start + length)),
  ];
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + aligned(part.length), 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += aligned(part.length);
  }
  return whole;
}

/** `heap` gives the memory that is to become as the remembered one was. */
export function recall(store: Store, heap: () => Uint8Array): Remembered {
  const counts = wordsOf(readPart(store, 0, COUNTS * WORD));
  const [code = 0, head = 0, memory = 0, count = 0] = counts;
  const table = wordsOf(readPart(store, COUNTS * WORD, 2 * count * WORD));
  const codeAt = aligned((COUNTS + 2 * count) * WORD);
  const headAt = codeAt + aligned(code);
  const stretches = Array.from({ length: count }, (_, index) => ({
    start: table[2 * index] ?? 0,
    length: table[2 * index + 1] ?? 0,
  }));
  const fill = () => {
    const target = heap();
    if (target.length < memory - head) throw new Error("the snapshot is larger than the memory");
    let at = headAt + aligned(head);
    let done = head;
    for (const { start, length } of stretches) {
      clear(target.subarray(done - head, start - head));
      done = start + length;
      readInto(target.subarray(start - head, done - head), store, at);
      at += aligned(length);
    }
    clear(target.subarray(done - head, memory - head));
  };
  return {
    code: readPart(store, codeAt, code),
    memory: new FiledMemory(readPart(store, headAt, head), memory, fill),
  };
}

/**
 * Stands for a snapshot of which only the head was read. Pyodide takes the rest of it to copy it into
 * its memory: at that moment it is read there directly, and nothing is left to copy.
 */
class FiledMemory extends Uint8Array {
  readonly #fill: () => void;

  constructor(head: Uint8Array, length: number, fill: () => void) {
    super(head.buffer as ArrayBuffer, head.byteOffset, head.length);
    this.#fill = fill;
    // Pyodide allocates this much.
    Object.defineProperty(this, "length", { value: length });
  }

  override subarray(start = 0, end?: number): Uint8Array<ArrayBuffer> {
    if (end !== undefined) return new Uint8Array(this.buffer, this.byteOffset + start, end - start);
    if (start !== this.byteLength) throw new Error("Pyodide's snapshot has an unknown format");
    this.#fill();
    return new Uint8Array(0);
  }
}

function stretchesOf(memory: Uint8Array, head: number): Stretch[] {
  const words = wordsOf(memory);
  const found: { start: number; length: number }[] = [];
  for (let at = head / WORD; at < words.length; at += PAGE_WORDS) {
    const page = words.subarray(at, at + PAGE_WORDS);
    if (page.every((word) => word === 0)) continue;
    const start = at * WORD;
    const last = found.at(-1);
    if (last !== undefined && last.start + last.length === start) last.length += page.length * WORD;
    else found.push({ start, length: page.length * WORD });
  }
  return found;
}

/** What was zero then need not be so in a new memory; but mostly it is, and is not written to. */
function clear(part: Uint8Array): void {
  const bytes = Buffer.from(part.buffer, part.byteOffset, part.length);
  const isEmpty = bytes[0] === 0 && bytes.subarray(1).equals(bytes.subarray(0, -1));
  if (!isEmpty) part.fill(0);
}

function readPart(store: Store, at: number, length: number): Uint8Array {
  const part = new Uint8Array(length);
  readInto(part, store, at);
  return part;
}

function readInto(target: Uint8Array, { descriptor, offset }: Store, at: number): void {
  for (let have = 0; have < target.length; ) {
    const got = readSync(descriptor, target, have, target.length - have, offset + at + have);
    if (got === 0) throw new Error("the snapshot is truncated");
    have += got;
  }
}

function wordsOf(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(bytes.buffer, bytes.byteOffset, Math.floor(bytes.length / WORD));
}

function aligned(size: number): number {
  return Math.ceil(size / ALIGNMENT) * ALIGNMENT;
}
