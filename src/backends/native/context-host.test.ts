import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, expect, it, vi } from "vitest";
import { openNativeRuntime } from "../../../test/support/native-runtime.js";

const { runtime, unavailable } = await openNativeRuntime();

afterAll(() => runtime[Symbol.asyncDispose]());

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Gives a large context to a sandbox that is soon over, and a way to see whether it is still held. */
async function giveAndForget(round: number): Promise<WeakRef<object>> {
  const context = { round, text: "x".repeat(2_000_000) };
  await using sandbox = await runtime.createSandbox({ preload: "none", poolSize: 0 });
  await sandbox.initialize(context);
  await sandbox.execute("len(context['text'])");
  return new WeakRef(context);
}

it("the host holds no context of sandboxes that are gone, but for those kept for the next", async (context) => {
  if (unavailable !== undefined) context.skip(unavailable);
  const given: WeakRef<object>[] = [];
  for (let round = 0; round < 6; round++) given.push(await giveAndForget(round));
  await vi.waitFor(
    () => {
      collect();
      const held = given.filter((reference) => reference.deref() !== undefined);
      expect(held.length).toBeLessThanOrEqual(3);
    },
    { timeout: 20_000, interval: 200 },
  );
});

it("a file that is being appended to is taken as far as it went when it was given", async (context) => {
  if (unavailable !== undefined) context.skip(unavailable);
  const folder = mkdtempSync(join(tmpdir(), "cellar-growing-"));
  const file = join(folder, "log");
  writeFileSync(file, "line\n".repeat(500_000));
  const writing = setInterval(() => appendFileSync(file, "more\n"), 1);
  try {
    await using sandbox = await runtime.createSandbox({ preload: "none", poolSize: 0 });
    await sandbox.initialize({ file });
    const run = await sandbox.execute(
      "len(context) >= 2_500_000 and context.count('line') == 500_000",
    );
    expect([run.error, run.result]).toEqual([null, { "text/plain": "True" }]);
  } finally {
    clearInterval(writing);
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  }
});
