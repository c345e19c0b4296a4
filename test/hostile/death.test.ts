import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { NativeRuntime } from "../../src/index.js";
import { needWalls } from "./attack-fixture.js";
import { CONFIG, descendants } from "./attack-runner.js";

const PATIENCE_MS = 20_000;

/** Processes that do all they can to stay. */
const BACKGROUND = `
import os, subprocess, time
subprocess.Popen(["sh", "-c", "trap '' TERM HUP INT; while :; do sleep 1; done"], start_new_session=True)
if os.fork() == 0:
    os.setsid()
    time.sleep(1000)
`;

const HOST = `
import { createSandbox } from ${JSON.stringify(new URL("../../dist/index.js", import.meta.url).href)};
const config = ${JSON.stringify({ ...CONFIG, backend: "native" })};
const sandboxes = await Promise.all([1, 2, 3].map(() => createSandbox(config)));
await Promise.all(sandboxes.map((sandbox) => sandbox.execute(${JSON.stringify(BACKGROUND)})));
sandboxes[0].execute("while True: pass");
console.log("ready");
setInterval(() => {}, 1000);
`;

needWalls();

describe("kill -9 of the host", () => {
  it("leaves no process", async () => {
    const host = spawn(process.execPath, ["--input-type=module", "-e", HOST], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      for await (const line of createInterface(host.stdout)) if (line === "ready") break;
      const before = scan(descendants(host.pid));
      // A zygote, and of each session init, head, a checkpoint and two left running.
      expect(before.length).toBeGreaterThan(3 * 5);
      host.kill("SIGKILL");
      expect(await remaining(before)).toEqual([]);
    } finally {
      host.kill("SIGKILL");
    }
  });
});

describe("the end of the zygote", () => {
  it("ends its cells with the truth, and the next cell has a new session", async () => {
    await using runtime = new NativeRuntime();
    await using other = new NativeRuntime();
    const begun = signalled();
    const victim = await runtime.createSandbox({ ...CONFIG, onStdout: begun.signal });
    await victim.execute(`kept = 7${BACKGROUND}`);
    const before = descendants();
    const beside = await other.createSandbox(CONFIG);
    await beside.execute("kept = 8");
    const sessions = scan(before);

    const running = victim.execute("print('begun')\nwhile True: pass");
    await begun.promise;
    process.kill(zygoteAmong(before), "SIGKILL");
    const run = await running;
    expect(run.status).toBe("crashed");
    expect(run.state).toMatchObject({ survived: false, reason: "the sandbox process ended" });
    expect(await remaining(sessions)).toEqual([]);

    const next = await victim.execute("'kept' in globals()");
    expect(next.status).toBe("ok");
    expect(next.result).toEqual({ "text/plain": "False" });
    expect(await beside.getVariable("kept")).toBe(8);
  });

  it("between two cells is told by the next one", async () => {
    await using runtime = new NativeRuntime();
    const sandbox = await runtime.createSandbox(CONFIG);
    await sandbox.execute("kept = 7");
    const before = descendants();
    process.kill(zygoteAmong(before), "SIGKILL");
    // The host has heard of it when it has seen its own child off.
    const reaped = () => !descendants().some((pid) => before.includes(pid));
    await vi.waitFor(() => expect(reaped()).toBe(true), PATIENCE_MS);
    await new Promise((resolve) => setImmediate(resolve));
    const next = await sandbox.execute("1");
    expect(next.status).toBe("ok");
    expect(next.state).toMatchObject({ survived: false, reason: "the sandbox process ended" });
  });
});

function signalled(): { promise: Promise<void>; signal: () => void } {
  let signal = () => {};
  const promise = new Promise<void>((resolve) => {
    signal = resolve;
  });
  return { promise, signal };
}

/** Pids with their start times: a number that is used again is another process. */
function scan(pids: readonly number[]): string[] {
  return pids.flatMap((pid) => {
    const fields = statOf(pid);
    const isGone = fields === undefined || fields[0] === "Z";
    return isGone ? [] : [`${pid}@${fields[19]}`];
  });
}

/** What is left of these processes when there was time enough to go. */
async function remaining(before: readonly string[]): Promise<string[]> {
  const pids = before.map((entry) => Number(entry.split("@")[0]));
  const deadline = Date.now() + PATIENCE_MS;
  let left = [...before];
  while (left.length > 0 && Date.now() < deadline) {
    await sleep(50);
    left = scan(pids).filter((entry) => before.includes(entry));
  }
  return left;
}

/** The fields of /proc/PID/stat from the state on. */
function statOf(pid: number): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined;
  }
}

/** It is the interpreter in the outer wall; sessions live a pid namespace deeper. */
function zygoteAmong(pids: readonly number[]): number {
  const found = pids.find((pid) => {
    const [program = ""] = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
    const namespaces = /^NSpid:\s+(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return program.includes("python") && namespaces?.split(/\s+/).length === 2;
  });
  if (found === undefined) throw new Error("no zygote was found");
  return found;
}
