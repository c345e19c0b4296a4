import { afterAll, describe, expect, it, vi } from "vitest";
import { openNativeRuntime } from "../../../../test/support/native-runtime.js";
import { resolveSettings } from "../../../config.js";
import { wireLimits } from "../../host/wire-limits.js";
import { SessionForker } from "../zygote/session-forker.js";

const POOLED = { preload: "none", poolSize: 2, minIsolation: "L0" } as const;

const { runtime, unavailable } = await openNativeRuntime();

afterAll(() => runtime[Symbol.asyncDispose]());

describe("a session of the pool", () => {
  it("has nothing left of the cells that warmed it up", async (context) => {
    if (unavailable !== undefined) context.skip(unavailable);
    const settings = resolveSettings(POOLED);
    const zygotes = await runtime.zygotes(settings);
    await zygotes.warm();
    const limits = wireLimits(settings.limits);
    const { session } = await zygotes.acquire(limits, settings.keepCheckpoints);
    const heard: unknown[] = [];
    const hear = (event: unknown) => heard.push(event);
    const calls = { display() {}, clear() {}, hostCall: () => Promise.reject(new Error("none")) };
    session.watch(0, { ...calls, output: hear, settled() {}, parked() {}, died: hear });
    const head = await session.head(0, 0);
    expect((await head.request("variables", {})).variables).toEqual([]);
    const code = "import builtins\nprint(_ == '', len(In), Out, sorted(globals()))";
    const step = {
      step: 1,
      number: 1,
      max_output: 1000,
      checkpoint: "auto",
      interval_ms: 1000,
    } as const;
    const answer = await head.request("execute", { ...step, code });
    expect(answer.output?.pieces.map(({ text }) => text)).toEqual([
      "True 2 {} ['__builtins__', '__doc__', '__loader__', '__name__', '__package__', '__spec__', 'builtins']\n",
    ]);
    expect(heard).toEqual([]);
    session.close();
  });

  it("is not handed out when it has lost its head", async (context) => {
    if (unavailable !== undefined) context.skip(unavailable);
    const config = { ...POOLED, timeout: 3000, keepCheckpoints: 3 };
    const spawned = vi.spyOn(SessionForker.prototype, "spawn");
    const zygotes = await runtime.zygotes(resolveSettings(config));
    await zygotes.warm();
    // Another pool may be refilled meanwhile.
    const lost = spawned.mock.calls.flatMap(([{ warmUp, keepCheckpoints }], index) => {
      const made = spawned.mock.results[index];
      const isPooled = warmUp && keepCheckpoints === config.keepCheckpoints;
      return isPooled && made?.type === "return" ? [made.value] : [];
    });
    spawned.mockRestore();
    expect(lost).toHaveLength(POOLED.poolSize);
    for (const session of lost) (await session.head(0, 0)).close();
    await using sandbox = await runtime.createSandbox(config);
    expect(await sandbox.execute("1")).toMatchObject({ status: "ok", state: { survived: true } });
    expect(lost.some(({ isAlive }) => isAlive)).toBe(false);
  });
});
