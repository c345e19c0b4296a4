import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { openNativeRuntime } from "../../../test/support/native-runtime.js";
import {
  makeSessionDir,
  type SessionDir,
  STATE_FILE,
  sessionDirPath,
} from "../host/session-dir.js";
import { NativeRuntime } from "./runtime.js";
import type { NativePythonSandbox } from "./sandbox.js";

const CONFIG = { preload: "none", timeout: 20_000, checkpoints: "always" } as const;
const MOST = 64 * 1024 * 1024;

const { runtime, unavailable } = await openNativeRuntime();

describe("a session in a folder of the host", () => {
  beforeEach((context) => {
    if (unavailable !== undefined) context.skip(unavailable);
  });

  const base = mkdtempSync(join(tmpdir(), "cellar-dirs-"));
  const root = join(base, "rooms");

  afterAll(async () => {
    await runtime[Symbol.asyncDispose]();
    rmSync(base, { recursive: true, force: true, maxRetries: 10 });
  });

  function dir(name: string, more: Partial<SessionDir> = {}): SessionDir {
    const made = { root, name, hasEgress: false, ...more };
    makeSessionDir(made);
    return made;
  }

  const open = (place: SessionDir, config = {}) =>
    runtime.createSandbox({ ...CONFIG, ...config }, undefined, place);

  async function captured(sandbox: NativePythonSandbox, options = {}) {
    const pieces: Uint8Array[] = [];
    const write = async (piece: Uint8Array) => {
      pieces.push(piece);
    };
    const told = await sandbox.capture(() => write, { maxBytes: MOST, ...options });
    return { ...told, bytes: Buffer.concat(pieces) };
  }

  it("has its workspace as /workspace, and sees nothing else of it or of others", async () => {
    dir("neighbour");
    writeFileSync(join(sessionDirPath({ root, name: "neighbour" }), "workspace", "theirs"), "x");
    const place = dir("mine");
    await using sandbox = await open(place);
    const code = [
      "import os",
      "open('made', 'w').write('by the cell')",
      "(os.getcwd(), os.listdir('/workspace'), os.path.exists('/run/sessions/mine'), os.listdir('/run'))",
    ].join("\n");
    const { result, error } = await sandbox.execute(code);
    expect(error).toBeNull();
    expect(result?.["text/plain"]).toContain("('/workspace', ['made'], False");
    const workspace = join(sessionDirPath(place), "workspace");
    expect(readFileSync(join(workspace, "made"), "utf8")).toBe("by the cell");
    const found = await sandbox.execute(
      "[os.path.join(d, f) for d, _, fs in os.walk('/') for f in fs if f == 'theirs']",
    );
    expect(found.result?.["text/plain"]).toBe("[]");
  });

  it("is captured from its checkpoint while cells go on, and restored in another folder", async () => {
    const first = dir("first");
    await using sandbox = await open(first);
    await sandbox.execute("x = list(range(1000)); y = 'kept'");
    const taking = captured(sandbox);
    await sandbox.execute("y = 'changed since'");
    const { manifest, bytes, cell, blocked } = await taking;
    expect({ cell, blocked }).toEqual({ cell: 1, blocked: false });
    expect(manifest.variables.map(({ name }) => name).sort()).toEqual(["x", "y"]);
    const second = dir("second");
    writeFileSync(join(sessionDirPath(second), STATE_FILE), bytes, { mode: 0o644 });
    await using other = await open(second);
    const report = await other.restore();
    expect([...report.restored].sort()).toEqual(["x", "y"]);
    const { result } = await other.execute("(sum(x), y)");
    expect(result?.["text/plain"]).toBe("(499500, 'kept')");
  });

  it("comes back from a crash of the first cell with what was restored", async () => {
    await using source = await open(dir("crash-source"));
    await source.execute("x = 42");
    const { bytes } = await captured(source);
    const place = dir("crash");
    writeFileSync(join(sessionDirPath(place), STATE_FILE), bytes, { mode: 0o644 });
    await using sandbox = await open(place);
    await sandbox.restore();
    const crash = await sandbox.execute("import os; os.kill(os.getpid(), 9)");
    expect(crash).toMatchObject({ status: "crashed", state: { survived: true } });
    expect(await sandbox.getVariable("x")).toBe(42);
  });

  it("cannot write to the state that it is restored from, which may be the host's own copy", async () => {
    await using source = await open(dir("curious"));
    const look = [
      "[os.access(p, os.W_OK) for os in [__import__('os')] for n in os.listdir('/proc/self/fd')",
      "for p in ['/proc/self/fd/' + n] if os.path.exists(p) and os.readlink(p).endswith('/state')]",
    ].join(" ");
    const code = `class Look:\n    def __reduce__(self):\n        return eval, (${JSON.stringify(look)},)`;
    await source.execute(`${code}\nx = Look()`);
    const { bytes } = await captured(source);
    const place = dir("curious-2");
    writeFileSync(join(sessionDirPath(place), STATE_FILE), bytes, { mode: 0o644 });
    await using sandbox = await open(place);
    await sandbox.restore();
    expect(await sandbox.getVariable("x")).toEqual([false]);
  });

  it("is captured by the head where no checkpoint can be", async () => {
    await using off = await open(dir("off"), { checkpoints: "off" });
    await off.execute("x = 1");
    expect(await captured(off)).toMatchObject({ blocked: false, cell: 1 });
    await using threads = await open(dir("threads"));
    await threads.execute(
      "import threading, time\nx = 2\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
    );
    expect(await captured(threads)).toMatchObject({ blocked: true, cell: 1 });
    expect((await threads.execute("x")).result?.["text/plain"]).toBe("2");
    await captured(threads);
    expect((await threads.execute("x + 1")).result?.["text/plain"]).toBe("3");
  });

  it("captures the next states after a lent link too", async () => {
    await using sandbox = await open(dir("again"), { checkpoints: "auto" });
    for (let value = 1; value <= 3; value += 1) {
      await sandbox.execute(`x = ${value}`);
      expect((await captured(sandbox)).cell).toBe(value);
    }
    expect((await sandbox.execute("x")).result?.["text/plain"]).toBe("3");
  });

  it("tells a state that is too large, and one that hangs is ended with its signal", async () => {
    await using sandbox = await open(dir("large"));
    await sandbox.execute("import os\nx = os.urandom(3_000_000)");
    await expect(captured(sandbox, { maxBytes: 1_000_000 })).rejects.toMatchObject({
      code: "TOO_LARGE",
    });
    await sandbox.execute(
      "class Slow:\n    def __reduce__(self):\n        import time\n        while True: time.sleep(1)\nslow = Slow()",
    );
    const aborting = new AbortController();
    const taking = captured(sandbox, { signal: aborting.signal });
    setTimeout(() => aborting.abort(), 200);
    await expect(taking).rejects.toMatchObject({ name: "AbortError" });
    const { result } = await sandbox.execute("len(x)");
    expect(result?.["text/plain"]).toBe("3000000");
  });

  it("is not reborn by itself", async () => {
    const place = dir("lost");
    const sandbox = await open(place);
    await sandbox.execute("x = 1");
    const other = new NativeRuntime();
    await other[Symbol.asyncDispose]();
    await sandbox.destroy();
    await expect(sandbox.execute("x")).rejects.toMatchObject({ code: "SESSION_CLOSED" });
    expect(readdirSync(sessionDirPath(place))).toEqual(["workspace"]);
  });

  it("may wait before its folder has a name, and moves with it", async () => {
    await using _first = await open(dir("pooled"));
    const place = { root, name: "claimed", hasEgress: false };
    const spares = () => readdirSync(root).filter((name) => name.startsWith("spare-"));
    const isClaimed = async () => {
      const before = spares();
      await runtime.prepareDir(CONFIG, place);
      const isMoved = spares().length < before.length;
      if (!isMoved) rmSync(sessionDirPath(place), { recursive: true });
      return isMoved;
    };
    await expect.poll(isClaimed, { timeout: 10_000 }).toBe(true);
    await using sandbox = await open(place);
    const workspace = join(sessionDirPath(place), "workspace");
    writeFileSync(join(workspace, "given"), "by the host", { mode: 0o644 });
    await sandbox.execute("text = open('given').read(); open('made', 'w').close()");
    expect(await sandbox.getVariable("text")).toBe("by the host");
    expect(readdirSync(workspace).sort()).toEqual(["given", "made"]);
    const { bytes } = await captured(sandbox);
    writeFileSync(join(sessionDirPath(place), STATE_FILE), bytes, { mode: 0o644 });
    expect((await sandbox.restore()).restored).toEqual(["text"]);
    await runtime.prepareDir(CONFIG, { ...place, name: "existing" });
    expect(readdirSync(sessionDirPath({ root, name: "existing" }))).toEqual(["workspace"]);
  });

  it("works without walls too", async () => {
    await using plain = new NativeRuntime({ walls: false });
    const first = dir("plain");
    const config = { ...CONFIG, minIsolation: "L0" } as const;
    await using sandbox = await plain.createSandbox(config, undefined, first);
    await sandbox.execute("x = 5; open('made', 'w').close()");
    expect(readdirSync(join(sessionDirPath(first), "workspace"))).toEqual(["made"]);
    const { bytes, blocked } = await captured(sandbox);
    expect(blocked).toBe(true);
    const second = dir("plain-2");
    const file = join(sessionDirPath(second), STATE_FILE);
    writeFileSync(file, bytes, { mode: 0o644 });
    await using other = await plain.createSandbox(config, undefined, second);
    await other.restore(file);
    expect(await other.getVariable("x")).toBe(5);
  });
});
