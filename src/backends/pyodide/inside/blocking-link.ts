import { readSync, writeSync } from "node:fs";

const HEADER_BYTES = 4;
const READ_BYTES = 64 * 1024;
/** As in the protocol; what the host sends is within it. */
const MAX_FRAME_BYTES = 16 * 1024 * 1024;
const RETRY_MS = 1;

/** One end of a stream that is read and written by waiting, as a thread of its own may. */
export class BlockingLink {
  readonly #descriptor: number;
  readonly #pause = new Int32Array(new SharedArrayBuffer(4));
  #held = new Uint8Array(0);

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  /** The body of the next frame; undefined at the end of the stream. */
  read(): Uint8Array | undefined {
    const header = this.#take(HEADER_BYTES);
    if (header === undefined) return undefined;
    const size = new DataView(header.buffer, header.byteOffset).getUint32(0);
    if (size === 0 || size > MAX_FRAME_BYTES) return undefined;
    return this.#take(size);
  }

  write(data: Uint8Array): void {
    let written = 0;
    while (written < data.length) {
      written += this.#patiently(() => writeSync(this.#descriptor, data, written));
    }
  }

  #take(size: number): Uint8Array | undefined {
    if (this.#held.length < size) {
      const whole = new Uint8Array(Math.max(size, READ_BYTES));
      whole.set(this.#held);
      let have = this.#held.length;
      while (have < size) {
        const got = this.#patiently(() =>
          readSync(this.#descriptor, whole, have, whole.length - have, null),
        );
        if (got === 0) return undefined;
        have += got;
      }
      this.#held = whole.subarray(0, have);
    }
    const taken = this.#held.subarray(0, size);
    this.#held = this.#held.subarray(size);
    return taken;
  }

  /** Some systems hand over streams that do not block. */
  #patiently(work: () => number): number {
    for (;;) {
      try {
        return work();
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
        Atomics.wait(this.#pause, 0, 0, RETRY_MS);
      }
    }
  }
}

/** Cuts what arrives piece by piece into the bodies of frames. */
export function framesIn(receive: (body: Uint8Array) => void): (chunk: Uint8Array) => void {
  let held = Buffer.alloc(0);
  return (chunk) => {
    held = Buffer.concat([held, chunk]);
    while (held.length >= HEADER_BYTES) {
      const end = HEADER_BYTES + held.readUInt32BE(0);
      if (held.length < end) return;
      receive(Uint8Array.from(held.subarray(HEADER_BYTES, end)));
      held = held.subarray(end);
    }
  };
}
