import { crc32 } from "node:zlib";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type FarEnd, open } from "../../../../test/support/far-end.js";
import { encodeBinaryFrame, encodeFrame } from "../../../protocol/frames.js";
import type { SandboxInfo } from "../../backend.js";
import type { Captured } from "../../stateful-sandbox.js";
import { Branch } from "../branch.js";
import { Session } from "../session.js";
import { StepHistory } from "../step-history.js";
import { StateCapture } from "./state-capture.js";

const HELLO = { protocol: 1, session: "s", token: "t", branch: 0, python: "3.11.7", abilities: [] };
const MANIFEST = { format: 1, python: "3.11.7", codec: "pickle+zlib", libraries: {}, omitted: 0 };
const ZYGOTE = { mode: "zygote" } as SandboxInfo;

/** Bytes that end as the file of a state does. */
function stateOf(text: string): Buffer {
  const body = Buffer.from(text);
  const tail = Buffer.alloc(28);
  tail.writeBigUInt64LE(BigInt(body.length), 0);
  tail.write("\nRALLEC\x89", 20, "latin1");
  return Buffer.concat([body, tail]);
}

/** A capture of a session whose links the test plays; the sink keeps the last opening alone. */
class Stage {
  readonly init = open();
  readonly session = new Session("s", {});
  readonly captured: Promise<Captured>;
  opened = 0;
  kept = "";

  constructor() {
    this.session.welcome({ ...HELLO, role: "init", generation: 0 }, this.init.peer);
    const line = new StepHistory();
    line.issue(1);
    line.add({ id: 1, cell: 1 });
    line.parked(1);
    const branch = new Branch(
      this.session,
      0,
      line,
      () => {},
      () => {},
    );
    const sink = () => {
      this.opened += 1;
      this.kept = "";
      return async (piece: Uint8Array) => {
        this.kept += Buffer.from(piece).toString("latin1");
      };
    };
    const capture = new StateCapture(branch, { maxBytes: 1 << 20 }, sink, (work) => work());
    this.captured = capture.run(ZYGOTE);
    this.captured.catch(() => {});
  }

  /** A copy connects to write its state. */
  writer(number: number): Writer {
    const { far, peer } = open();
    this.session.welcome({ ...HELLO, role: "writer", generation: number }, peer);
    return new Writer(far);
  }

  async answer(method: string, result: object): Promise<void> {
    const asked = await until(() => this.init.far.received.find((one) => one.method === method));
    await this.init.far.send(encodeFrame({ jsonrpc: "2.0", id: asked.id ?? 0, result }));
  }
}

class Writer {
  #asked = 0;

  constructor(readonly far: FarEnd) {}

  async part(bytes: Buffer): Promise<void> {
    await this.#ask("state_part", { attachments: [{ bytes: bytes.length }] }, bytes);
  }

  async end(whole: Buffer): Promise<void> {
    const written = { bytes: whole.length, crc32: crc32(whole) };
    const manifest = { ...MANIFEST, variables: [] };
    await this.#ask("state_end", { done: true, manifest, written });
  }

  async #ask(method: string, params: object, body?: Buffer): Promise<void> {
    this.#asked += 1;
    const frame = encodeFrame({ jsonrpc: "2.0", id: this.#asked, method, params });
    await this.far.send(frame, ...(body === undefined ? [] : [encodeBinaryFrame(body)]));
  }
}

async function until<T>(look: () => T | undefined): Promise<T> {
  for (;;) {
    const seen = look();
    if (seen !== undefined) return seen;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe("a state on its way out", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it("is given up after half an hour, however steadily its writer goes on", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const stage = new Stage();
    await stage.answer("capture", { done: true });
    const writer = stage.writer(1);
    const MINUTE = 60_000;
    for (let passed = 0; passed < 29; passed += 1) {
      await writer.part(Buffer.from("a little more, "));
      await until(() => (stage.kept.length === 15 * (passed + 1) ? true : undefined));
      await vi.advanceTimersByTimeAsync(MINUTE - 1_000);
    }
    expect(writer.far.destroyed).toBe(false);
    for (let more = 0; more < 3 && !writer.far.destroyed; more += 1) {
      await writer.part(Buffer.from("a little more, "));
      await vi.advanceTimersByTimeAsync(MINUTE - 1_000);
    }
    expect(writer.far.destroyed).toBe(true);
    await expect(stage.captured).rejects.toThrow("only partly written");
  });

  it("that is begun again has nothing of the first writer, whose link is closed", async () => {
    const stage = new Stage();
    await until(() => stage.init.far.received.find(({ method }) => method === "capture"));
    const first = stage.writer(1);
    await first.part(Buffer.from("half of a first state, "));
    // The copy died, or took too long to tell, after it had made its writer.
    await stage.answer("capture", { done: false, reason: "the checkpoint could not be woken" });
    await until(() => (first.far.destroyed ? true : undefined));
    await stage.answer("lend_writer", { done: true });
    const head = open();
    stage.session.welcome({ ...HELLO, role: "head", generation: 0 }, head.peer);
    const asked = await until(() => head.far.received.find((one) => one.method === "write_state"));
    const forked = { jsonrpc: "2.0", id: asked.id ?? 0, result: { forked: true } };
    await head.far.send(encodeFrame(forked));
    const second = stage.writer(2);
    const whole = stateOf("the second state");
    await second.part(whole);
    await second.end(whole);
    await stage.captured;
    expect(stage.opened).toBe(2);
    expect(stage.kept).toBe(whole.toString("latin1"));
  });

  const whole = stateOf("a state of one writer");
  const torn: readonly (readonly [what: string, arrived: Buffer, said: Buffer])[] = [
    ["a part is missing", whole.subarray(3), whole],
    ["something else is before it", Buffer.concat([Buffer.from("more"), whole]), whole],
    ["a byte is another one", Buffer.concat([Buffer.from("A"), whole.subarray(1)]), whole],
    ["it has no index at its end", Buffer.from("no state"), Buffer.from("no state")],
  ];
  for (const [what, arrived, said] of torn) {
    it(`does not count as kept when ${what}`, async () => {
      const stage = new Stage();
      await stage.answer("capture", { done: true });
      const writer = stage.writer(1);
      await writer.part(arrived);
      await writer.end(said);
      await expect(stage.captured).rejects.toMatchObject({ code: "PROTOCOL_ERROR" });
    });
  }
});
