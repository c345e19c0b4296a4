import { Duplex } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { FrameDecoder } from "../../src/protocol/frames.js";
import { Peer } from "../../src/protocol/peer.js";

/** The far end of a link, played by the test. */
export class FarEnd extends Duplex {
  readonly #decoder = new FrameDecoder();
  readonly received: { id?: number; method: string; params: unknown }[] = [];

  constructor() {
    super({ allowHalfOpen: true });
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    for (const frame of this.#decoder.push(chunk)) {
      this.received.push(JSON.parse(frame.body.toString()));
    }
    done();
  }

  async send(...chunks: Buffer[]): Promise<void> {
    for (const chunk of chunks) this.push(chunk);
    // On a slow machine a link may be given a turn for each frame.
    for (const _ of chunks) await nextTurn();
  }
}

export function open(): { far: FarEnd; peer: Peer } {
  const far = new FarEnd();
  return { far, peer: new Peer(far) };
}
