import { CellarError } from "../errors.js";
import { MAX_FRAME_BYTES } from "./bounds.js";

const HEADER_BYTES = 4;
const MEBIBYTE = 1024 * 1024;
const FIRST_STORE_BYTES = 64 * 1024;

/** First byte of a frame that carries raw bytes; JSON text can never begin with it. */
const BINARY_MARK = 0;

export type Frame =
  | { readonly kind: "json"; readonly body: Buffer }
  | { readonly kind: "binary"; readonly body: Buffer };

export function encodeFrame(message: unknown, limit = MAX_FRAME_BYTES): Buffer {
  const body = Buffer.from(JSON.stringify(message), "utf8");
  if (body.length > limit) {
    const size = (body.length / MEBIBYTE).toFixed(1);
    throw new CellarError(
      "TOO_LARGE",
      `it has ${size} MB as JSON; one message may have ${limit / MEBIBYTE} MB`,
      {
        remedy: "Give large data as a file: with putFile(), mounts or initialize({ file }).",
        details: { bytes: body.length, limit },
      },
    );
  }
  const frame = Buffer.allocUnsafe(HEADER_BYTES + body.length);
  frame.writeUInt32BE(body.length, 0);
  body.copy(frame, HEADER_BYTES);
  return frame;
}

export function encodeBinaryFrame(bytes: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(HEADER_BYTES + 1 + bytes.length);
  frame.writeUInt32BE(1 + bytes.length, 0);
  frame[HEADER_BYTES] = BINARY_MARK;
  frame.set(bytes, HEADER_BYTES + 1);
  return frame;
}

/**
 * Cuts a byte stream into frames. The length is checked before any of the body is stored, and
 * what is kept grows with what arrived: neither a length nor tiny chunks can claim more memory.
 */
export class FrameDecoder {
  readonly #limit: number;
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #headerHeld = 0;
  #length = 0;
  #store = Buffer.alloc(0);
  #held = 0;

  constructor(limit = MAX_FRAME_BYTES) {
    this.#limit = limit;
  }

  /** Bytes set aside for a frame that is not complete yet. */
  get reserved(): number {
    return this.#store.length;
  }

  *push(chunk: Buffer): Generator<Frame> {
    let at = 0;
    while (at < chunk.length) {
      if (this.#length === 0) {
        at += this.#readHeader(chunk, at);
        continue;
      }
      const end = at + Math.min(this.#length - this.#held, chunk.length - at);
      if (end - at === this.#length) {
        yield this.#complete(chunk.subarray(at, end));
      } else {
        this.#keep(chunk.subarray(at, end));
        if (this.#held === this.#length) yield this.#complete(this.#store.subarray(0, this.#held));
      }
      at = end;
    }
  }

  #readHeader(chunk: Buffer, at: number): number {
    const used = chunk.copy(this.#header, this.#headerHeld, at);
    this.#headerHeld += used;
    if (this.#headerHeld < HEADER_BYTES) return used;
    this.#headerHeld = 0;
    const length = this.#header.readUInt32BE(0);
    if (length === 0 || length > this.#limit) {
      throw new CellarError("PROTOCOL_ERROR", `a message announces ${length} bytes`, {
        details: { bytes: length, limit: this.#limit },
      });
    }
    this.#length = length;
    return used;
  }

  #keep(part: Buffer): void {
    const needed = this.#held + part.length;
    if (needed > this.#store.length) {
      const size = Math.min(this.#length, Math.max(FIRST_STORE_BYTES, 2 * needed));
      const store = Buffer.allocUnsafeSlow(size);
      this.#store.copy(store, 0, 0, this.#held);
      this.#store = store;
    }
    part.copy(this.#store, this.#held);
    this.#held = needed;
  }

  #complete(bytes: Buffer): Frame {
    this.#store = Buffer.alloc(0);
    this.#held = 0;
    this.#length = 0;
    return bytes[0] === BINARY_MARK
      ? { kind: "binary", body: bytes.subarray(1) }
      : { kind: "json", body: bytes };
  }
}
