import { Duplex } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { open } from "../../test/support/far-end.js";
import { CellarError } from "../errors.js";
import { encodeFrame } from "./frames.js";
import { MAX_FRAME_BYTES } from "./messages.js";
import { Peer } from "./peer.js";

describe("questions of the other side", () => {
  const ask = (id: number, input = "{}") =>
    encodeFrame({
      jsonrpc: "2.0",
      id,
      method: "host_call",
      params: { step: 1, name: "llm_query", input },
    });

  test("are answered, refused with the reason, or refused for want of a responder", async () => {
    const { far, peer } = open();
    await far.send(ask(1));
    peer.serve("host_call", async ({ input }) => {
      if (input === "throw") throw new CellarError("UNSUPPORTED", "not here", { remedy: "go" });
      if (input === "mute") throw new Error("");
      return { output: input };
    });
    await far.send(ask(2, "two"), ask(3, "throw"), ask(4, "mute"));
    await vi.waitUntil(() => far.received.length >= 4);
    expect(far.received).toEqual([
      { jsonrpc: "2.0", id: 1, error: { code: -32601, message: "unknown method host_call" } },
      { jsonrpc: "2.0", id: 2, result: { output: "two" } },
      {
        jsonrpc: "2.0",
        id: 3,
        error: { code: -32000, message: "not here", data: { code: "UNSUPPORTED", remedy: "go" } },
      },
      { jsonrpc: "2.0", id: 4, error: { code: -32000, message: "no reason given" } },
    ]);
  });

  test("that do not fit end the link, an answer that is too large does not", async () => {
    const { far, peer } = open();
    peer.serve("host_call", async () => ({ output: "x".repeat(MAX_FRAME_BYTES) }));
    await far.send(ask(1));
    await vi.waitUntil(() => far.received.length >= 1);
    expect(far.received[0]).toMatchObject({ id: 1, error: { data: { code: "TOO_LARGE" } } });
    const wrong = { jsonrpc: "2.0", id: 2, method: "host_call", params: { step: "x" } };
    await far.send(encodeFrame(wrong));
    expect(await peer.closed).toMatchObject({ code: "PROTOCOL_ERROR" });
  });

  test("beyond what can be worked on are refused", async () => {
    const { far, peer } = open();
    peer.serve("host_call", () => new Promise(() => {}));
    for (let id = 1; id <= 4097; id++) await far.send(ask(id));
    expect(far.received).toMatchObject([
      { id: 4097, error: { message: "too many open requests" } },
    ]);
    expect(peer.isOpen).toBe(true);
  }, 20_000);

  test("whose answers are not read end the link before they fill the memory", async () => {
    const deaf = new (class extends Duplex {
      override _read(): void {}
      override _write(): void {}
    })();
    const peer = new Peer(deaf);
    peer.serve("host_call", async () => ({ output: "x".repeat(10_000_000) }));
    for (let id = 1; id <= 12; id++) {
      deaf.push(ask(id));
      await nextTurn();
    }
    expect(await peer.closed).toMatchObject({
      message: "the other side does not read its answers",
    });
  });
});
