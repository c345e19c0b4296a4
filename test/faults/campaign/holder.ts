import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import type { HolderOrder, Reply } from "./holder-program.js";

/** Far more than anything takes on a loaded machine. */
export const DEADLINE_MS = 90_000;

export type Heard =
  | { readonly kind: "reply"; readonly reply: Reply }
  /** The process ended first. */
  | { readonly kind: "gone" }
  | { readonly kind: "hung" };

/** A process of its own that holds a notebook, as the campaign sees it. */
export class Holder {
  readonly pid: number;
  /** Errors that nobody was waiting for. */
  readonly stray: string[] = [];
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #waiting = new Map<number, (heard: Heard) => void>();
  readonly #closed: Promise<unknown>;
  #isGone = false;
  #isKilled = false;
  #count = 0;
  #complaints = "";

  constructor(program: string, order: HolderOrder, environment: NodeJS.ProcessEnv) {
    this.#child = spawn(process.execPath, [program, JSON.stringify(order)], {
      stdio: ["pipe", "pipe", "pipe"],
      env: { ...process.env, ...environment },
    });
    this.pid = this.#child.pid ?? 0;
    this.#child.stdin.on("error", () => {});
    this.#child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#complaints = (this.#complaints + text).slice(-4_000);
    });
    createInterface(this.#child.stdout).on("line", (line) => this.#hear(JSON.parse(line)));
    this.#closed = once(this.#child, "close").then(() => {
      this.#isGone = true;
      for (const wake of this.#waiting.values()) wake({ kind: "gone" });
    });
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  get isKilled(): boolean {
    return this.#isKilled;
  }

  /** What it wrote beside its answers. */
  get complaints(): string {
    return this.#complaints;
  }

  ask(deed: string, ...args: unknown[]): Promise<Heard> {
    if (this.#isGone) return Promise.resolve({ kind: "gone" });
    this.#count += 1;
    const id = this.#count;
    return new Promise((resolve) => {
      const timer = setTimeout(() => finish({ kind: "hung" }), DEADLINE_MS);
      const finish = (heard: Heard) => {
        clearTimeout(timer);
        this.#waiting.delete(id);
        resolve(heard);
      };
      this.#waiting.set(id, finish);
      this.#child.stdin.write(`${JSON.stringify({ id, deed, args })}\n`);
    });
  }

  signal(name: NodeJS.Signals): void {
    if (name === "SIGKILL") this.#isKilled = true;
    this.#child.kill(name);
  }

  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.#closed;
  }

  /** Whether it ends by itself when it has nothing to do any more. */
  async leaves(milliseconds: number): Promise<boolean> {
    this.#child.stdin.end();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<false>((resolve) => {
      timer = setTimeout(() => resolve(false), milliseconds);
    });
    const isOver = await Promise.race([this.#closed.then(() => true as const), late]);
    clearTimeout(timer);
    return isOver;
  }

  #hear(reply: Reply): void {
    const wake = this.#waiting.get(reply.id);
    if (wake !== undefined) wake({ kind: "reply", reply });
    else if (reply.id === -1) this.stray.push(reply.error?.message ?? "");
  }
}
