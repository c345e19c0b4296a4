import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { type ISandbox, NativeRuntime, type REPLConfig } from "../../src/index.js";
import { LoopWatch } from "./loop-watch.js";

export const SECRET = "host-secret-7f3a9c";
export const SHARED_MEMORY_KEY = 0x1234;

/** Small limits let a cell meet them quickly. */
export const CONFIG: REPLConfig = {
  // What cells must not lose is looked for after each of them.
  checkpoints: "always",
  preload: "none",
  poolSize: 2,
  keepCheckpoints: 3,
  timeout: 20_000,
  grace: 400,
  limits: { memoryMb: 256, workspaceMb: 32, tmpMb: 16, fileMb: 32 },
};

const STALL_MS = 2_000;
const GROWTH_BYTES = 256 * 1024 * 1024;
const DEADLINE_MS = 20_000;

/** A host worth attacking, with a session beside the attacked one. */
export class AttackRunner implements AsyncDisposable {
  readonly runtime: NativeRuntime;
  readonly folder = mkdtempSync(join(tmpdir(), "runner-"));
  readonly canary = join(this.folder, "canary");
  /** Connections that reached the host's port; there must be none. */
  connections = 0;
  readonly #server: Server;
  readonly #neighbour: ISandbox;
  readonly #sharedMemory: number | undefined;
  readonly #loop = new LoopWatch();
  readonly #memory = process.memoryUsage().rss;
  #processes = 0;

  private constructor(server: Server, neighbour: ISandbox, runtime: NativeRuntime) {
    this.#server = server;
    this.#neighbour = neighbour;
    this.runtime = runtime;
    writeFileSync(this.canary, SECRET);
    server.on("connection", (socket) => {
      this.connections += 1;
      socket.destroy();
    });
    this.#sharedMemory = holdSharedMemory();
  }

  static async open(): Promise<AttackRunner> {
    process.env.HOST_SECRET = SECRET;
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const runtime = new NativeRuntime();
    const neighbour = await runtime.createSandbox(CONFIG);
    const runner = new AttackRunner(server, neighbour, runtime);
    await runner.furnishNeighbour();
    // Until it keeps as many checkpoints as it may, each question adds a process.
    for (let asked = 0; asked < 3; asked += 1) await runner.expectNeighbour();
    await runner.#rest();
    return runner;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get holdsSharedMemory(): boolean {
    return this.#sharedMemory !== undefined;
  }

  sandbox(config: REPLConfig = {}): Promise<ISandbox> {
    return this.runtime.createSandbox({ ...CONFIG, ...config });
  }

  /** Gives the session beside the attacked one what it has to lose; again, where it has lost it. */
  async furnishNeighbour(): Promise<void> {
    await this.#neighbour.execute(
      "kept = 7; open('/workspace/other-session-canary', 'w').write('x')",
    );
  }

  /** The session beside the attacked one still answers, with its state. */
  async expectNeighbour(): Promise<void> {
    const { status, result } = await this.#neighbour.execute(
      "import os\n(kept, sorted(os.listdir('/workspace')), sorted(os.listdir('/tmp')))",
    );
    expect(status).toBe("ok");
    expect(result?.["text/plain"]).toBe("(7, ['other-session-canary'], [])");
  }

  /** Nothing of the attack is left, and the host was never in trouble. */
  async expectHealth(): Promise<void> {
    await this.expectNeighbour();
    await this.expectNoLeftovers();
    expect(this.connections).toBe(0);
    expect(this.#loop.worst).toBeLessThan(STALL_MS);
    expect(process.memoryUsage().rss - this.#memory).toBeLessThan(GROWTH_BYTES);
    this.#loop.reset();
  }

  /** The tree below this process is what it was before: zygote, full pool, neighbour. */
  async expectNoLeftovers(): Promise<void> {
    const deadline = Date.now() + DEADLINE_MS;
    let seen = descendants();
    while (seen.length !== this.#processes && Date.now() < deadline) {
      await sleep(20);
      seen = descendants();
    }
    expect(seen.map(describeProcess)).toHaveLength(this.#processes);
  }

  async #rest(): Promise<void> {
    let steady = 0;
    while (steady < 10) {
      await sleep(50);
      const seen = descendants().length;
      steady = seen === this.#processes ? steady + 1 : 0;
      this.#processes = seen;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#loop[Symbol.dispose]();
    await this.runtime[Symbol.asyncDispose]();
    this.#server.close();
    if (this.#sharedMemory !== undefined) {
      python(`import ctypes; ctypes.CDLL(None).shmctl(${this.#sharedMemory}, 0, None)`);
    }
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 10 });
    delete process.env.HOST_SECRET;
    expect(descendants().map(describeProcess)).toEqual([]);
    expect(runFolders()).toEqual([]);
  }
}

/** Pids of everything that descends from this process, or from another one. */
export function descendants(root = process.pid): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const parent = parentOf(Number(name));
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const found: number[] = [];
  const open = [root];
  for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
    const below = (children.get(pid) ?? []).filter((child) => !isHelper(child));
    found.push(...below);
    open.push(...below);
  }
  return found;
}

function parentOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    return undefined;
  }
}

/** Vite keeps a compiler of its own beside the tests. */
function isHelper(pid: number): boolean {
  return describeProcess(pid).includes("esbuild");
}

function describeProcess(pid: number): string {
  try {
    return `${pid} ${readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").slice(0, 120)}`;
  } catch {
    return `${pid} gone`;
  }
}

function runFolders(): string[] {
  return readdirSync(tmpdir()).filter((name) => name.startsWith(`cellar-${process.pid}-`));
}

/** A segment under a key that cells try to find; undefined where there is no Python to make it. */
function holdSharedMemory(): number | undefined {
  const made = python(
    `import ctypes; print(ctypes.CDLL(None).shmget(${SHARED_MEMORY_KEY}, 4096, 0o1600))`,
  );
  const id = made === undefined ? -1 : Number(made);
  return id >= 0 ? id : undefined;
}

function python(code: string): string | undefined {
  try {
    return execFileSync("python3", ["-c", code], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
  } catch {
    return undefined;
  }
}
