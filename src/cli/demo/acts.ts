import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { CodeExecution, ISandbox } from "../../backends/backend.js";
import { hostEnvironment } from "../../config/environment.js";
import { temporaryTrouble } from "../../isolation/temporary-trouble.js";
import { replayRun } from "./recorded-run.js";
import { callTools } from "./tool-calls.js";

const LOOP_MS = 1_000;
const TIMED_CELLS = 10;
/** Enough for the checkpoint after each cell. */
const REST_MS = 50;

export class Bait implements Disposable {
  readonly path: string;
  readonly port: number;
  readonly #folder: string;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    const { temporary } = hostEnvironment();
    try {
      this.#folder = mkdtempSync(join(temporary, "cellar-demo-"));
      this.path = join(this.#folder, "secret.txt");
      writeFileSync(this.path, "a secret of the host\n", { mode: 0o644 });
    } catch (error) {
      throw temporaryTrouble("a file of the demo", temporary, error);
    }
  }

  static async lay(): Promise<Bait> {
    const server = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(0, "127.0.0.1", resolve);
    });
    return new Bait(server);
  }

  /** The control: otherwise a blocked attempt would prove nothing. */
  async isReachableFromHost(): Promise<boolean> {
    const connects = await new Promise<boolean>((resolve) => {
      const socket = connect(this.port, "127.0.0.1", () => resolve(true));
      socket.once("error", () => resolve(false));
      socket.once("close", () => resolve(false));
    });
    return connects && readFileSync(this.path, "utf8") !== "";
  }

  [Symbol.dispose](): void {
    this.#server.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

export interface Act {
  readonly name: string;
  /** The probe (or "checkpoints", "threads") that the step needs, and what to say without it. */
  readonly need?: string;
  readonly otherwise?: string;
  /** Returns a line about what happened; throws when the step fails. */
  readonly play: (sandbox: ISandbox, bait: Bait) => Promise<string>;
}

const NO_CHECKPOINTS = "only sandboxed CPython has checkpoints";

export const ACTS: readonly Act[] = [
  { name: "state", play: state },
  {
    name: "file",
    need: "canary",
    otherwise: "without isolation a cell can read your files",
    play: blockedRead,
  },
  {
    name: "network",
    need: "network",
    otherwise: "without isolation a cell can use your network",
    play: blockedConnection,
  },
  { name: "endless", play: endlessLoop },
  { name: "segfault", need: "checkpoints", otherwise: NO_CHECKPOINTS, play: segfault },
  { name: "undo", need: "checkpoints", otherwise: NO_CHECKPOINTS, play: undo },
  { name: "speed", play: speed },
  {
    name: "tools",
    need: "threads",
    otherwise: "Pyodide makes one call after the other",
    play: (sandbox) => callTools(sandbox.info),
  },
  { name: "rlm", play: (sandbox) => replayRun(sandbox.info) },
];

async function state(sandbox: ISandbox): Promise<string> {
  await expectOk(sandbox, "squares = (n * n for n in range(100)); x = 20");
  await expectValue(sandbox, "x + 22", "42");
  return "x = 20 in one cell, x + 22 in the next → 42";
}

async function blockedRead(sandbox: ISandbox, bait: Bait): Promise<string> {
  if (!(await bait.isReachableFromHost())) throw new Error("the host cannot read its own file");
  const error = await expectError(sandbox, `open(${JSON.stringify(bait.path)}).read()`);
  return `open("${bait.path}") → ${error.type}: the host's files are not there`;
}

async function blockedConnection(sandbox: ISandbox, bait: Bait): Promise<string> {
  if (!(await bait.isReachableFromHost())) throw new Error("the host cannot reach its own port");
  const error = await expectError(
    sandbox,
    `import socket; socket.create_connection(("127.0.0.1", ${bait.port}), 2)`,
  );
  return `connect to 127.0.0.1:${bait.port} of the host → ${error.type}: no network`;
}

async function endlessLoop(sandbox: ISandbox): Promise<string> {
  const run = await sandbox.execute("while True: pass", { timeout: LOOP_MS });
  expectStatus(run, "timeout");
  await expectValue(sandbox, "x", "20");
  return `while True: pass → stopped after ${LOOP_MS / 1000} s, and x is still 20`;
}

async function segfault(sandbox: ISandbox): Promise<string> {
  await expectValue(sandbox, "next(squares), next(squares), next(squares)", "(0, 1, 4)");
  const run = await sandbox.execute("import ctypes; ctypes.string_at(0)");
  expectStatus(run, "crashed");
  await expectValue(sandbox, "next(squares)", "9");
  return "ctypes.string_at(0) → the process died; even a half-read generator continues";
}

async function undo(sandbox: ISandbox): Promise<string> {
  await expectOk(sandbox, "x = None");
  await sandbox.undo();
  await expectValue(sandbox, "x", "20");
  return "x = None, then undo → x is 20 again";
}

async function speed(sandbox: ISandbox): Promise<string> {
  const times: number[] = [];
  for (let count = 0; count < TIMED_CELLS; count += 1) {
    await delay(REST_MS);
    times.push((await expectOk(sandbox, "x += 1")).duration);
  }
  times.sort((a, b) => a - b);
  const median = times[TIMED_CELLS / 2] ?? 0;
  return `x += 1, ${TIMED_CELLS} times → ${median.toFixed(1)} ms a cell (median)`;
}

async function expectOk(sandbox: ISandbox, code: string): Promise<CodeExecution> {
  const run = await sandbox.execute(code);
  expectStatus(run, "ok");
  return run;
}

async function expectValue(sandbox: ISandbox, code: string, wanted: string): Promise<void> {
  const { result } = await expectOk(sandbox, code);
  const found = result?.["text/plain"];
  if (found !== wanted) throw new Error(`${code} gave ${found ?? "nothing"}, not ${wanted}`);
}

async function expectError(
  sandbox: ISandbox,
  code: string,
): Promise<NonNullable<CodeExecution["error"]>> {
  const run = await sandbox.execute(code);
  if (run.status !== "error" || run.error === null) {
    throw new Error(`${code} was not blocked (${run.status})`);
  }
  if (!/^(?:FileNotFound|Permission|ConnectionRefused|Timeout|OS)Error$/.test(run.error.type)) {
    throw new Error(`${code} failed for another reason: ${run.error.type}: ${run.error.message}`);
  }
  return run.error;
}

function expectStatus(run: CodeExecution, wanted: CodeExecution["status"]): void {
  if (run.status === wanted) return;
  throw new Error(`${run.code} ended as ${run.status}, not ${wanted}: ${run.error?.message ?? ""}`);
}
