import { Duplex } from "node:stream";
import { describe, expect, it } from "vitest";
import { CellarError } from "../errors.js";
import { MAX_CHECKED_VALUES, MAX_FRAME_BYTES } from "./bounds.js";
import type { ChannelOptions } from "./channel.js";
import type { Params, Result } from "./messages.js";
import { Peer } from "./peer.js";

/** Two ends of one line. */
function line(): [Duplex, Duplex] {
  const ends: Duplex[] = [0, 1].map(
    (own) =>
      new Duplex({
        read: () => {},
        write: (chunk, _, done) => {
          ends[1 - own]?.push(chunk);
          done();
        },
      }),
  );
  return [ends[0] as Duplex, ends[1] as Duplex];
}

function pair(client: ChannelOptions, daemon: ChannelOptions): [Peer, Peer] {
  const [left, right] = line();
  return [new Peer(left, client), new Peer(right, daemon)];
}

const EXECUTE: Params<"session_execute"> = { session: "a", cell: 1, code: "", cancelled: false };

function execution(result: Record<string, string>): Result<"session_execute"> {
  return {
    number: 1,
    status: "ok",
    error: null,
    result,
    outputs: [],
    omitted: { stdout: 0, stderr: 0 },
    exit_code: null,
    background: 0,
    duration_ms: 0,
    isolation: { level: "L3", missing: [] },
    state: { survived: true, checkpoint: null },
  };
}

const MANY = Object.fromEntries(Array.from({ length: MAX_CHECKED_VALUES }, (_, i) => [`${i}`, ""]));

describe("a channel", () => {
  it("takes as many values as it was made for", async () => {
    for (const [options, outcome] of [
      [{}, "rejected"],
      [{ maxValues: 2 * MAX_CHECKED_VALUES }, "fulfilled"],
    ] as const) {
      const [client, daemon] = pair(options, {});
      daemon.serve("session_execute", async () => execution(MANY));
      const [settled] = await Promise.allSettled([client.request("session_execute", EXECUTE)]);
      expect([options, settled?.status]).toEqual([options, outcome]);
    }
  });

  it("sends and takes frames as long as it was made for", async () => {
    const long = { maxFrameBytes: 2 * MAX_FRAME_BYTES };
    const text = "x".repeat(MAX_FRAME_BYTES);
    for (const [near, far, outcome] of [
      [long, long, "fulfilled"],
      [{}, long, "rejected"],
      [long, {}, "rejected"],
    ] as const) {
      const [client, daemon] = pair(near, far);
      daemon.serve("session_execute", async () => execution({ "text/plain": text }));
      const [settled] = await Promise.allSettled([client.request("session_execute", EXECUTE)]);
      expect([near, far, settled?.status]).toEqual([near, far, outcome]);
    }
  });

  it("tells the details of an error only where it was made to", async () => {
    const loop: Record<string, unknown> = {};
    loop.itself = loop;
    for (const [options, details, told] of [
      [{}, { path: "/a" }, undefined],
      [{ tellsDetails: true }, { path: "/a" }, { path: "/a" }],
      [{ tellsDetails: true }, loop, undefined],
    ] as const) {
      const [client, daemon] = pair({}, options);
      daemon.serve("daemon_stop", async () => {
        throw new CellarError("UNSUPPORTED", "no", { remedy: "go", details });
      });
      const error = await client.request("daemon_stop", {}).catch((reason: CellarError) => reason);
      const data = { code: "UNSUPPORTED", remedy: "go", ...(told && { details: told }) };
      expect((error as CellarError).details.data).toEqual(data);
    }
  });

  it("carries attachments behind their message, empty ones too", async () => {
    const [client, daemon] = pair({}, {});
    const received = new Promise((resolve) => {
      client.on("session_display", ({ attachments }, bodies) => resolve([attachments, bodies]));
    });
    const bodies = [new Uint8Array([0, 1, 255]), new Uint8Array()];
    const attachments = bodies.map(({ length }, index) => ({ mime: `x/${index}`, bytes: length }));
    const display = { session: "a", data: {}, attachments, metadata: "{}" };
    daemon.notify("session_display", display, bodies);
    expect(await received).toEqual([attachments, bodies.map((body) => Buffer.from(body))]);
  });
});
