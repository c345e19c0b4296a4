import { crc32 } from "node:zlib";
import { CellarError } from "../../../errors.js";
import type { WrittenState } from "../../../protocol/messages.js";
import type { StateSink } from "../../stateful-sandbox.js";

/** Where the file of a state ends: place and length of its index, two checks, and a mark. */
const TAIL_BYTES = 28;
const END_MARK = Buffer.from("\nRALLEC\x89", "latin1");

/** The bytes of one state as one writer sends them: bounded, and checked before they count as whole. */
export class IncomingState {
  readonly #write: StateSink;
  readonly #maxBytes: number;
  #bytes = 0;
  #crc = 0;
  #tail: Uint8Array = Buffer.alloc(0);
  #isOver = false;

  constructor(write: StateSink, maxBytes: number) {
    this.#write = write;
    this.#maxBytes = maxBytes;
  }

  async take(piece: Uint8Array): Promise<void> {
    if (this.#isOver)
      throw new CellarError("PROTOCOL_ERROR", "the session sent more state after its end");
    this.#bytes += piece.length;
    if (this.#bytes > this.#maxBytes) throw tooLarge(this.#maxBytes);
    this.#crc = crc32(piece, this.#crc);
    const end = Buffer.concat([this.#tail, piece.subarray(-TAIL_BYTES)]);
    this.#tail = end.subarray(-TAIL_BYTES);
    await this.#write(piece);
  }

  /** Nothing that still arrives is taken. */
  end(): void {
    this.#isOver = true;
  }

  /** Fails unless all that was written, and nothing else, has arrived. */
  verify(written: WrittenState): void {
    this.end();
    if (this.#bytes !== written.bytes) {
      throw torn(`received ${this.#bytes} of ${written.bytes} bytes`);
    }
    if (this.#crc !== written.crc32) throw torn("its checksum does not match");
    if (!endsWithIndex(this.#tail, this.#bytes)) throw torn("it does not end with its index");
  }
}

function endsWithIndex(tail: Uint8Array, bytes: number): boolean {
  const end = Buffer.from(tail);
  if (end.length < TAIL_BYTES || !end.subarray(-END_MARK.length).equals(END_MARK)) return false;
  return (
    end.readBigUInt64LE(0) + BigInt(end.readUInt32LE(8)) + BigInt(TAIL_BYTES) === BigInt(bytes)
  );
}

function torn(how: string): CellarError {
  return new CellarError("PROTOCOL_ERROR", `the saved state is incomplete or damaged: ${how}`);
}

function tooLarge(most: number): CellarError {
  return new CellarError("TOO_LARGE", `the state is larger than the ${most} bytes allowed`, {
    remedy: "Delete variables that are no longer needed, or raise stateMaxSizeMb.",
  });
}
