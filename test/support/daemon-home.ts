import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type DaemonAddress, daemonAddress } from "../../src/backends/daemon/address.js";
import { DaemonConnection } from "../../src/backends/daemon/connection.js";
import { DaemonRuntime } from "../../src/backends/daemon/runtime.js";
import { hostEnvironment } from "../../src/config/environment.js";

const MAIN = fileURLToPath(new URL("../../dist/server/daemon/main.js", import.meta.url));

/** Small, so that a daemon of a test is there soon. */
export const SMALL = { preload: "standard" } as const;

/** A home folder for a test's own daemon; the daemon of whoever runs the tests is never met. */
export class DaemonHome implements AsyncDisposable {
  readonly path: string;
  readonly address: DaemonAddress;
  readonly #children: ChildProcess[] = [];
  readonly #runtimes: DaemonRuntime[] = [];

  /** `path` is a home that is there, and is removed in the end as its own one is. */
  constructor(path = mkdtempSync(join(tmpdir(), "ch-"))) {
    this.path = path;
    this.address = daemonAddress(path);
  }

  /** The environment of a process that lives here. */
  get environment(): Record<string, string> {
    const { PATH = "", TMPDIR } = process.env;
    return {
      PATH,
      ...(TMPDIR !== undefined && { TMPDIR }),
      HOME: this.path,
      CELLAR_PRELOAD: SMALL.preload,
      CELLAR_POOL_SIZE: "1",
    };
  }

  /** Starts a daemon as a child, and gives it when it listens or has ended. */
  async start(...options: string[]): Promise<ChildProcess> {
    const child = spawn(process.execPath, [MAIN, ...options], {
      env: this.environment,
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#children.push(child);
    const silent = once(child.stdout, "close").then(() => {
      throw new Error("the daemon ended without a word");
    });
    await Promise.race([once(child.stdout, "data"), silent]);
    silent.catch(() => {});
    return child;
  }

  runtime(): DaemonRuntime {
    const runtime = new DaemonRuntime({
      hostEnvironment: { ...hostEnvironment(), home: this.path },
    });
    this.#runtimes.push(runtime);
    return runtime;
  }

  async status() {
    const link = await DaemonConnection.open(this.address);
    try {
      return await link.request("daemon_status", { settled: false });
    } finally {
      link.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const runtime of this.#runtimes) await runtime[Symbol.asyncDispose]();
    for (const child of this.#children) await end(child, "SIGTERM");
    rmSync(this.path, { recursive: true, force: true, maxRetries: 10 });
  }
}

export async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill(signal);
  await ended;
}

/** Looks until it is so; what never becomes so is seen by the test's own limit. */
export async function until(isSo: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 20));
}
