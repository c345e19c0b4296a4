import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openNativeRuntime } from "../../../test/support/native-runtime.js";
import type { ISandbox, REPLConfig } from "../../backends/backend.js";
import type { NativeRuntime } from "../../backends/native/runtime.js";
import type { ToolOutput, ToolSource } from "../tool.js";
import { declarationSource } from "./source.js";

const PYTHON = `
import os
import time
from .words import shout

COUNT = []

def add(a, b=1):
    return a + b

def remember(path):
    COUNT.append(1)
    before = os.path.exists(path)
    open(path, "w").close()
    return [len(COUNT), before]

def odd():
    import numpy_that_is_not_there

def fail(text):
    raise ValueError(text)

def sleep():
    time.sleep(100)

def die():
    os._exit(3)

def kinds():
    import datetime
    import statistics
    return {1: (1, 2.5, None), "set": {2, 1}, "nan": float("nan"), "big": 2 ** 70,
            "day": datetime.date(2020, 1, 2), "z": 1 + 2j, "mean": statistics.mean([1, 2, 3])}

def thing():
    return {"a": [object()]}

def huge():
    return ["x"] * 200_000

def deep():
    value = []
    for _ in range(100):
        value = [value]
    return value

def image():
    from IPython.display import Image, display
    display(Image(data=b"\\x89PNG\\r\\n\\x1a\\n" + b"0" * 20, format="png"))
    return "shown"

def loud():
    print("x" * 1_000_000)
    return shout("done")

def slow_count():
    return remember("/tmp/slow")
`;

const SLOW = `
import os
import time
time.sleep(0.2)
STARTED = time.monotonic()
COUNT = []

def started():
    COUNT.append(1)
    before = os.path.exists("/tmp/started")
    open("/tmp/started", "w").close()
    return [STARTED, len(COUNT), before]
`;

const FUNCTIONS = [...PYTHON.matchAll(/^def (\w+)\((.*)\)/gm)].map(([, name = "", names = ""]) => {
  const parameters = names
    .split(", ")
    .filter((one) => one !== "")
    .map((one) => `${one.replace(/=.*/, "")}: {type: [string, number]}`);
  const file = "code.py";
  return [
    `  ${name}:`,
    "    description: d",
    "    timeout: 20",
    `    parameters: {${parameters.join(", ")}}`,
    `    implementation: {type: python, file: ${file}, function: ${name}}`,
  ].join("\n");
});

describe("a tool in Python", () => {
  const folder = mkdtempSync(join(tmpdir(), "cellar-python-tools-"));
  const opened: ISandbox[] = [];
  let runtime: NativeRuntime;
  let unavailable: string | undefined;
  let source: ToolSource;

  beforeAll(async () => {
    ({ runtime, unavailable } = await openNativeRuntime());
    writeFileSync(join(folder, "code.py"), PYTHON);
    writeFileSync(join(folder, "words.py"), "def shout(text):\n    return text.upper()\n");
    // Named like a module of Python's own, which must stay reachable.
    writeFileSync(join(folder, "statistics.py"), SLOW);
    const started =
      "  started:\n    description: d\n    implementation: {type: python, file: statistics.py, function: started}";
    writeFileSync(join(folder, "tools.yaml"), ["tools:", ...FUNCTIONS, started].join("\n"));
    const open = async (config: REPLConfig) => {
      const sandbox = await runtime.createSandbox({ preload: "none", poolSize: 1, ...config });
      opened.push(sandbox);
      return sandbox;
    };
    source = declarationSource(join(folder, "tools.yaml"), { open });
  });
  beforeEach((context) => {
    if (unavailable !== undefined) context.skip(unavailable);
  });
  afterAll(async () => {
    await source?.[Symbol.asyncDispose]();
    await runtime?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  async function call(
    name: string,
    given: Record<string, unknown> = {},
    signal = new AbortController().signal,
  ): Promise<ToolOutput> {
    const tool = (await source.tools()).find((one) => one.name === name);
    if (tool === undefined) throw new Error(`no tool ${name}`);
    return await tool.run({ arguments: given, signal });
  }

  it("gets plain arguments and gives a plain value", async () => {
    expect(await call("add", { a: 2, b: 3 })).toEqual({ value: 5, displays: undefined });
    expect(await call("add", { a: 2 })).toMatchObject({ value: 3 });
    expect((await call("kinds")).value).toEqual({
      "1": [1, 2.5, null],
      set: [1, 2],
      nan: Number.NaN,
      big: 2n ** 70n,
      day: "2020-01-02",
      z: { re: 1, im: 2 },
      mean: 2,
    });
  });

  it("shares no variable and no file with another call", async () => {
    expect((await call("remember", { path: "/tmp/seen" })).value).toEqual([1, false]);
    expect((await call("remember", { path: "/tmp/seen" })).value).toEqual([1, false]);
  });

  it("is loaded in advance if that takes long, and still shares neither variables nor files", async () => {
    await call("started");
    for (let again = 0; again < 3; again++) {
      expect((await call("started")).value).toEqual([expect.any(Number), 1, false]);
    }
  });

  it("is loaded again if the sandbox that was loaded in advance was lost", async () => {
    await call("started");
    await call("started");
    await Promise.all(opened.map((sandbox) => sandbox.destroy()));
    expect((await call("started")).value).toEqual([expect.any(Number), 1, false]);
  });

  it("fails with the error line of Python", async () => {
    await expect(call("fail", { text: "no such row" })).rejects.toMatchObject({
      code: "FAILED",
      isRetryable: false,
      message: "fail failed: ValueError: no such row",
    });
    await expect(call("add", { a: 1, b: "x" })).rejects.toMatchObject({
      code: "FAILED",
      message: /^add failed: TypeError: /,
    });
  });

  it("names the library that is not there", async () => {
    await expect(call("odd")).rejects.toMatchObject({
      code: "UNAVAILABLE",
      isRetryable: false,
      message: "odd needs the Python library numpy_that_is_not_there, which is not installed",
      remedy: "Add it from outside: cellar install numpy_that_is_not_there",
    });
  });

  it("hurts only its own call when it dies", async () => {
    const [died, sum] = await Promise.allSettled([call("die"), call("add", { a: 1, b: 1 })]);
    expect(died).toMatchObject({ reason: { code: "FAILED", message: /process ended/ } });
    expect(sum).toMatchObject({ value: { value: 2 } });
    expect(await call("add", { a: 1, b: 1 })).toMatchObject({ value: 2 });
  });

  it("stops when its signal aborts", async () => {
    const controller = new AbortController();
    const running = call("sleep", {}, controller.signal);
    setTimeout(() => controller.abort(), 200);
    await expect(running).rejects.toMatchObject({ code: "CANCELLED" });
    await expect(call("add", { a: 1 }, AbortSignal.abort())).rejects.toMatchObject({
      code: "CANCELLED",
    });
  });

  it("is refused a result that is not plain, too large or too deep", async () => {
    await expect(call("thing")).rejects.toMatchObject({ code: "BAD_RESULT", message: /object/ });
    await expect(call("huge")).rejects.toMatchObject({ code: "TOO_LARGE" });
    await expect(call("deep")).rejects.toMatchObject({ code: "TOO_LARGE" });
  });

  it("shows an image beside its value, and what it prints stays inside", async () => {
    const { value, displays } = await call("image");
    expect(value).toBe("shown");
    expect(displays).toMatchObject([{ mime: "image/png" }]);
    expect(
      Buffer.from(displays?.[0]?.data ?? "", "base64")
        .subarray(1, 4)
        .toString(),
    ).toBe("PNG");
    expect(await call("loud")).toEqual({ value: "DONE", displays: undefined });
  });

  it("ends with its source", async () => {
    const open = async (config: REPLConfig) =>
      await runtime.createSandbox({ preload: "none", poolSize: 0, ...config });
    const other = declarationSource(join(folder, "tools.yaml"), { open });
    const tool = (await other.tools()).find(({ name }) => name === "sleep");
    const running = tool?.run({ arguments: {}, signal: new AbortController().signal });
    const outcome = expect(running).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await other[Symbol.asyncDispose]();
    await outcome;
  });
});

describe("the time limit of a tool in Python", () => {
  it("ends the call as TIMEOUT", async (context) => {
    const { runtime, unavailable } = await openNativeRuntime({ poolSize: 0 });
    await using _ = runtime;
    if (unavailable !== undefined) context.skip(unavailable);
    const folder = mkdtempSync(join(tmpdir(), "cellar-python-time-"));
    writeFileSync(join(folder, "a.py"), "def spin():\n    while True:\n        pass\n");
    const path = join(folder, "t.yaml");
    writeFileSync(
      path,
      "tools: {spin: {description: d, timeout: 300ms, implementation: {type: python, file: a.py, function: spin}}}",
    );
    await using source = declarationSource(path, {
      open: async (config) =>
        await runtime.createSandbox({ preload: "none", poolSize: 0, ...config }),
    });
    const [spin] = await source.tools();
    const running = spin?.run({ arguments: {}, signal: new AbortController().signal });
    await expect(running).rejects.toMatchObject({
      code: "TIMEOUT",
      isRetryable: true,
      message: "spin took longer than its limit of 0.3 s",
    });
    rmSync(folder, { recursive: true, force: true });
  });
});
