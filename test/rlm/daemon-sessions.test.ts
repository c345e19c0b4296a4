import { lstatSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { DaemonRuntime } from "../../src/backends/daemon/runtime.js";
import { type REPLConfig, rlm, shutdown } from "../../src/index.js";
import { scripted } from "../../src/rlm/index.js";
import { DaemonHome, end, SMALL } from "../support/daemon-home.js";
import { openNativeRuntime } from "../support/native-runtime.js";
import { fence, text } from "./rlm-fixture.js";

const { runtime: probed, unavailable } = await openNativeRuntime();
await probed[Symbol.asyncDispose]();

const home = new DaemonHome();
let runtime: DaemonRuntime;

beforeAll(async () => {
  if (unavailable !== undefined) return;
  await home.start();
  runtime = home.runtime();
});

beforeEach((context) => {
  if (unavailable !== undefined) context.skip(unavailable);
});

afterAll(() => home[Symbol.asyncDispose]());

const open = (config: REPLConfig = {}) =>
  runtime.createSandbox({ ...SMALL, timeout: 20_000, grace: 500, ...config });

/** Resolves with the first thing that is printed. */
function firstPrint(): { readonly onStdout: () => void; readonly printed: Promise<void> } {
  let onStdout: () => void = () => {};
  const printed = new Promise<void>((resolve) => {
    onStdout = resolve;
  });
  return { onStdout: () => onStdout(), printed };
}

describe("a sandbox of the daemon", () => {
  it("keeps its own session, however many others work at the same time", async () => {
    const sandboxes = await Promise.all(Array.from({ length: 5 }, () => open()));
    await Promise.all(sandboxes.map((each, index) => each.execute(`mine = [${index}]`)));
    for (let round = 1; round <= 3; round += 1) {
      const order = round === 2 ? [...sandboxes].reverse() : sandboxes;
      await Promise.all(order.map((each) => each.execute(`mine.append(mine[0] * ${round})`)));
    }
    const found = await Promise.all(sandboxes.map((each) => each.getVariable("mine")));
    expect(found).toEqual([0, 1, 2, 3, 4].map((index) => [index, index, 2 * index, 3 * index]));
    await using late = await open();
    expect(await late.getVariable("mine")).toBeUndefined();
    await Promise.all(sandboxes.map((each) => each.destroy()));
  });

  it("has its questions answered by its own host", async () => {
    const create = (name: string) =>
      open({
        onLLMQuery: (prompt) => `${name} heard ${prompt}`,
        onRLMQuery: (task, context) => `${name} did ${task} with ${context}`,
      });
    await using first = await create("first");
    await using second = await create("second");
    const code = "[llm_query('q'), *llm_query_batched(['r', 's']), rlm_query('t', 'c')]";
    const runs = await Promise.all([first.execute(code), second.execute(code)]);
    expect(runs.map(text)).toEqual(
      ["first", "second"].map(
        (name) =>
          `['${name} heard q', '${name} heard r', '${name} heard s', '${name} did t with c']`,
      ),
    );
  });

  it("serves a loop with its sub-calls and children", async () => {
    vi.stubEnv("HOME", home.path);
    try {
      const result = await rlm({
        query: "What is it?",
        context: "xyz",
        model: scripted([fence("FINAL([llm_query('q'), rlm_query('how long?')])")]),
        subModel: scripted([
          { text: "heard", when: ({ messages }) => messages.length === 1 },
          fence("FINAL(len(context))"),
        ]),
        config: { ...SMALL, backend: "daemon" },
        agent: { spillDir: join(home.path, "spilled") },
      });
      expect(result).toMatchObject({ status: "answered", output: ["heard", "3"] });
      expect(result.trace[0]).toMatchObject({ sandbox: { backend: "daemon" } });
    } finally {
      vi.unstubAllEnvs();
      await shutdown();
    }
  });

  it("gives variables", async () => {
    await using sandbox = await open();
    await sandbox.execute("found = {'n': [1, 2.5, None, 'é']}");
    expect(await sandbox.getVariable("found")).toEqual({ n: [1, 2.5, null, "é"] });
    expect(await sandbox.getVariable("missing")).toBeUndefined();
  });

  it("can be cancelled, and goes on", async () => {
    const { onStdout, printed } = firstPrint();
    await using sandbox = await open({ timeout: 600_000, onStdout });
    await sandbox.execute("kept = 1");
    const running = sandbox.execute("print('on', flush=True)\nwhile True: pass");
    await printed;
    await sandbox.cancel();
    expect((await running).status).toBe("cancelled");
    expect(text(await sandbox.execute("kept"))).toBe("1");
  });

  it("is alive after a timeout, and after its process died", async () => {
    await using sandbox = await open({ timeout: 700 });
    await sandbox.execute("kept = 1");
    expect((await sandbox.execute("while True: pass")).status).toBe("timeout");
    expect((await sandbox.execute("import os\nos._exit(1)")).status).toBe("crashed");
    expect(text(await sandbox.execute("kept"))).toBe("1");
  });
});

describe("the daemon", () => {
  it("listens in the home of its user, where the specification says", () => {
    expect(lstatSync(join(home.path, ".rlm", "daemon.sock")).isSocket()).toBe(true);
  });

  it("that dies leaves nobody waiting", async () => {
    await using own = new DaemonHome();
    const daemon = await own.start();
    const { onStdout, printed } = firstPrint();
    const sandbox = await own.runtime().createSandbox({ ...SMALL, timeout: 600_000, onStdout });
    const running = sandbox.execute("print('on', flush=True)\nwhile True: pass");
    const waiting = sandbox.getVariable("x");
    const settled = Promise.allSettled([running, waiting]);
    await printed;
    await end(daemon, "SIGKILL");
    const [ran, asked] = await settled;
    if (ran.status === "fulfilled") expect(ran.value.status).toBe("crashed");
    else expect(ran.reason).toMatchObject({ code: "SESSION_LOST" });
    expect(asked.status).toBe("rejected");
  });
});
