import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const OUTPUT_LIMIT = 1_000_000;
const USUAL_LIMIT_MS = 120_000;

/** The processes of a trial, each with a time limit; all end with the trial. */
export class Processes {
  #groups = new Set();
  #isOver = false;

  /** Runs a command until it exits; never throws: failures are in the result. */
  async run([file, ...args], { env, cwd, input = "", limit = USUAL_LIMIT_MS }) {
    if (this.#isOver) return failure("the trial was ended");
    const started = performance.now();
    const child = spawn(file, args, { cwd, env, detached: true, stdio: ["pipe", "pipe", "pipe"] });
    const result = { code: null, stdout: "", stderr: "", isLate: false };
    const forget = this.watch(child.pid);
    const timer = setTimeout(() => {
      result.isLate = true;
      endGroup(child.pid);
    }, limit);
    collect(child, result);
    child.stdin.on("error", () => {});
    child.stdin.end(input);
    const code = await new Promise((resolve) => {
      child.on("error", (error) => {
        result.stderr += error.message;
        resolve(null);
      });
      child.on("close", resolve);
      // Its leftover processes may hold the pipes open; another check looks for them.
      child.on("exit", (status) =>
        sleep(2_000, undefined, { ref: false }).then(() => resolve(status)),
      );
    });
    clearTimeout(timer);
    forget();
    return { ...result, code, limit, ms: Math.round(performance.now() - started) };
  }

  /** Ends this process with its group when the trial ends, unless the returned function is called. */
  watch(pid) {
    if (pid === undefined || pid === null) return () => {};
    this.#groups.add(pid);
    return () => this.#groups.delete(pid);
  }

  endAll() {
    this.#isOver = true;
    for (const pid of this.#groups) endGroup(pid);
  }
}

/** Processes that were started with this unique text in their environment. */
export function startedWith(text) {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((name) => {
      try {
        const environment = readFileSync(`/proc/${name}/environ`, "latin1");
        const words = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0").join(" ").trim();
        // A zombie has neither.
        return environment.includes(text) && words !== "" ? [{ pid: Number(name), words }] : [];
      } catch {
        return [];
      }
    });
}

export function endProcess(pid) {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has already exited.
  }
}

function endGroup(pid) {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    endProcess(pid);
  }
}

function collect(child, result) {
  for (const stream of ["stdout", "stderr"]) {
    child[stream].setEncoding("utf8").on("data", (text) => {
      result[stream] = (result[stream] + text).slice(-OUTPUT_LIMIT);
    });
  }
}

function failure(stderr) {
  return { code: null, stdout: "", stderr, isLate: false, limit: 0, ms: 0 };
}
