import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { FarEnd } from "../../../../test/support/far-end.js";
import { encodeFrame } from "../../../protocol/frames.js";
import { Listener } from "./listener.js";
import type { SpawnOrder } from "./session-forker.js";
import { Zygote } from "./zygote.js";

const ORDER = { limits: {}, keepCheckpoints: 0, warmUp: false } as unknown as SpawnOrder;
const BOOT = { preload: [], group: null, sharesNetwork: false, tracksWrites: false };

const folder = mkdtempSync(join(tmpdir(), "cellar-zygote-end-"));
const listener = await Listener.open(folder, undefined);
afterAll(async () => {
  await listener[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

/** A zygote whose link the test plays, and whose process only waits for its end. */
function zygoteWith(control: FarEnd): Zygote {
  const process = spawn("cat", { stdio: ["pipe", "ignore", "ignore"] });
  control.once("close", () => process.stdin.end());
  const ended = once(process, "exit").then(([code]) => `exit ${code}`);
  const wall = { process, ended, control, said: () => "", fileSocket: new Socket() };
  return new Zygote(
    { ...wall, groupNumbers: [], fileSocketNumber: 0, tellScope() {} },
    listener,
    BOOT,
  );
}

describe("sessions of a zygote", () => {
  it.each([
    ["that fell by itself are lost, also when it is cleared away first", true, "SESSION_LOST"],
    ["that is closed while it lives are closed", false, "SESSION_CLOSED"],
  ])("%s", async (_, falls, code) => {
    const control = new FarEnd();
    const zygote = zygoteWith(control);
    const session = zygote.forker.spawn(ORDER);
    await expect.poll(() => control.received.some(({ method }) => method === "spawn")).toBe(true);
    const asked = control.received.find(({ method }) => method === "spawn");
    await control.send(encodeFrame({ jsonrpc: "2.0", id: asked?.id ?? 0, result: {} }));
    if (falls) {
      control.destroy();
      await expect.poll(() => zygote.isAlive).toBe(false);
    }
    await zygote.close();
    expect(await session.ended).toMatchObject({ code });
  });
});
