import { afterAll, beforeEach, describe, expect, it, vi } from "vitest";
import { resolveSettings } from "../../../config.js";
import { isCellarError } from "../../../errors.js";
import type { SandboxInfo } from "../../backend.js";
import type { Session } from "../../session/session.js";
import { openWalls } from "../walls.case.test.js";
import { wireLimits } from "../zygote/zygote-host.js";
import { Rehearsal } from "./rehearsal.js";

const POOLED = { preload: "none", poolSize: 2, minIsolation: "L0" } as const;
const ROUNDS = 30;
const IDLE_MS = 1500;

const { runtime, unavailable } = await openWalls();
const settings = resolveSettings(POOLED);
const info: SandboxInfo = {
  backend: "native",
  mode: "zygote",
  isolation: { level: "L0", missing: [] },
  python: { version: "", executable: "" },
  reason: "",
};

/** A session of the pool. */
async function waiting(): Promise<Session> {
  const zygotes = runtime.zygotes(settings);
  await zygotes.warm();
  const limits = wireLimits(settings.limits);
  return (await zygotes.acquire(limits, settings.keepCheckpoints)).session;
}

afterAll(() => runtime[Symbol.asyncDispose]());

describe("a rehearsal", () => {
  beforeEach((context) => {
    if (unavailable !== undefined) context.skip(unavailable);
  });

  it("goes to its end, whatever policy the first owner wished for", async () => {
    const session = await waiting();
    for (const wish of [{}, { policy: "ast", sanitise: true } as const]) {
      const rehearsal = new Rehearsal({ ...settings, ...wish }, info);
      const stage = await rehearsal.prepare(session);
      expect(await rehearsal.play(stage)).toBe(true);
    }
    const head = await session.head(0, 0);
    const step = { step: 1, number: 1, max_output: 1000, checkpoint: "off" } as const;
    const open = await head.request("execute", { ...step, code: "().__class__.__bases__" });
    expect(open.status).toBe("ok");
    session.close();
  });

  it("leaves nothing in the session", async () => {
    const session = await waiting();
    const rehearsal = new Rehearsal(settings, info);
    const stage = await rehearsal.prepare(session);
    for (let round = 0; round < ROUNDS; round += 1) await rehearsal.play(stage);
    const head = await session.head(0, 0);
    expect((await head.request("variables", {})).variables).toEqual([]);
    const code = "import builtins\nprint(_ == '', len(In), Out, sorted(globals()))";
    const step = { step: 1, number: 1, max_output: 1000, checkpoint: "idle" } as const;
    const answer = await head.request("execute", { ...step, code });
    expect(answer.output?.pieces.map(({ text }) => text)).toEqual([
      "True 2 {} ['__builtins__', '__doc__', '__loader__', '__name__', '__package__', '__spec__', 'builtins']\n",
    ]);
    session.close();
  });

  it("is refused once the session has run a cell", async () => {
    const session = await waiting();
    const rehearsal = new Rehearsal(settings, info);
    const stage = await rehearsal.prepare(session);
    const head = await session.head(0, 0);
    const step = { number: 1, code: "x = 1", max_output: 1000, checkpoint: "off" } as const;
    await head.request("execute", { step: 1, ...step });
    const late = head.request("execute", { step: 0, ...step });
    await expect(late).rejects.toSatisfy((error) => isCellarError(error, "REMOTE_ERROR"));
    session.close();
    expect(await rehearsal.play(stage)).toBe(false);
  });

  it("cannot end the session, however it goes", async () => {
    const session = await waiting();
    const stage = await new Rehearsal(settings, info).prepare(session);
    stage.kill(0, 0);
    stage.interrupt(0, 1);
    stage.close();
    const head = await session.head(0, 0);
    expect((await head.request("variables", {})).variables).toEqual([]);
    expect(session.isAlive).toBe(true);
    session.close();
  });

  it("leaves no timers, however often it is played", async () => {
    const session = await waiting();
    const rehearsal = new Rehearsal(settings, info);
    const stage = await rehearsal.prepare(session);
    const made = vi.spyOn(globalThis, "setInterval");
    const cleared = vi.spyOn(globalThis, "clearInterval");
    for (let round = 0; round < ROUNDS; round += 1) await rehearsal.play(stage);
    const timers = made.mock.results.map(({ value }) => value);
    made.mockRestore();
    expect(timers.length).toBeGreaterThan(0);
    // The pool may be rehearsing another session meanwhile.
    await vi.waitFor(() => {
      const ended = new Set(cleared.mock.calls.map(([timer]) => timer));
      expect(timers.filter((timer) => !ended.has(timer))).toEqual([]);
    }, 10_000);
    cleared.mockRestore();
    session.close();
  });

  it("is answered whole, and tells nobody what it wrote, also when it is slow", async () => {
    const session = await waiting();
    const heard: unknown[] = [];
    const hear = (event: unknown) => heard.push(event);
    session.watch(0, { output: hear, settled() {}, parked() {}, died: hear });
    const head = await session.head(0, 0);
    const cell = { number: 1, max_output: 1000, checkpoint: "off" } as const;
    const code = "import time\ntime.sleep(0.1)\nprint('rehearsed', flush=True)";
    const answer = await head.request("execute", { ...cell, step: 0, code });
    expect(answer).toMatchObject({ status: "ok", output: { pieces: [] } });
    const real = await head.request("execute", { ...cell, step: 1, code: "print('real')" });
    expect(real.status).toBe("ok");
    await session.askInit("checkpoints", { branch: 0 });
    expect(heard.filter((event) => (event as { step?: number | null }).step === null)).toEqual([]);
    session.close();
  });

  it("finds out a session that has lost its head, which is not handed out", async () => {
    const prepared = vi.spyOn(Rehearsal.prototype, "prepare");
    const config = { ...POOLED, timeout: 3000, keepCheckpoints: 3 };
    const zygotes = runtime.zygotes(resolveSettings(config));
    await zygotes.warm();
    const lost = prepared.mock.calls.map(([session]) => session);
    prepared.mockRestore();
    expect(lost).toHaveLength(POOLED.poolSize);
    for (const family of lost) (await family.head(0, 0)).close();
    await using sandbox = await runtime.createSandbox(config);
    expect(await sandbox.execute("1")).toMatchObject({ status: "ok", state: { survived: true } });
    expect(lost.some(({ isAlive }) => isAlive)).toBe(false);
  });

  it("is played where sessions follow each other, and not for a single one", async () => {
    const played = vi.spyOn(Rehearsal.prototype, "play");
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
    played.mockClear();
    const open = () => runtime.createSandbox(POOLED);
    const sandboxes = [await open()];
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
    expect(played).not.toHaveBeenCalled();
    sandboxes.push(await open(), await open());
    await vi.waitFor(() => expect(played).toHaveBeenCalled(), 10_000);
    played.mockRestore();
    await Promise.all(sandboxes.map((sandbox) => sandbox.destroy()));
  });
});
