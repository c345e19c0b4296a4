import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";
import { openNativeRuntime } from "../../../test/support/native-runtime.js";
import type { REPLConfig } from "../backend.js";

const { runtime, unavailable } = await openNativeRuntime();
afterAll(() => runtime[Symbol.asyncDispose]());

const SMALL = { preload: "none", poolSize: 0, grace: 500 } as const;

/** Asks on the link itself, as fast as it can, for so many seconds. */
const FLOOD = `
import json, select, socket, struct, os, time
link = socket.socket(fileno=os.dup(1100))
def flood(name, step, seconds):
    call = {"step": step, "name": name, "input": json.dumps({"prompt": "x", "model": None})}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "host_call", "params": call}).encode()
    frames = (struct.pack(">I", len(body)) + body) * 2000
    end = time.time() + seconds
    while time.time() < end:
        link.sendall(frames)
        while select.select([link], [], [], 0)[0]:
            if not link.recv(1 << 20): break
`;

function check(name: string, body: () => Promise<void>): void {
  it(name, async (context) => {
    if (unavailable !== undefined) context.skip(unavailable);
    await body();
  });
}

const open = (config: REPLConfig = {}) => runtime.createSandbox({ ...SMALL, ...config });

describe("a cell that floods the host with calls", () => {
  check("keeps its time limit when nobody answers that name", async () => {
    await using sandbox = await open({ timeout: 1000 });
    expect((await sandbox.execute(FLOOD)).status).toBe("ok");
    const run = await sandbox.execute("flood('nobody', 2, 3)\nprint('its own end')");
    expect([run.status, run.error?.message, run.stdout]).toEqual([
      "timeout",
      "The cell exceeded its time limit of 1 s",
      "",
    ]);
  });

  check("is answered no more often than the bound, and leaves turns to others", async () => {
    let calls = 0;
    await using sandbox = await open({
      timeout: 30_000,
      onLLMQuery: async () => {
        calls += 1;
        return "x";
      },
    });
    await using neighbour = await open();
    await sandbox.execute(FLOOD);
    const started = performance.now();
    const run = sandbox.execute("flood('llm_query', 2, 2)");
    let isOver = false;
    run.finally(() => {
      isOver = true;
    });
    let served = 0;
    while (!isOver) {
      if ((await neighbour.execute("1")).status === "ok") served += 1;
      await sleep(20);
    }
    await run;
    const seconds = (performance.now() - started) / 1000;
    expect(calls).toBeLessThanOrEqual(5_000 * (seconds + 1.5));
    expect(served).toBeGreaterThan(3);
  });

  check("an ordinary loop of calls is answered one by one, however many", async () => {
    let calls = 0;
    await using sandbox = await open({ timeout: 60_000, onLLMQuery: async () => `${++calls}` });
    const batch = "len([a for a in llm_query_batched(['x'] * 6000) if a])";
    expect((await sandbox.execute(batch)).result?.["text/plain"]).toBe("6000");
  });
});
