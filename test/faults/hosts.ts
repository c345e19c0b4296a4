import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { afterEach } from "vitest";
import { z } from "zod";
import type { NotebookOptions } from "../../src/notebook/index.js";

const SCRIPT = fileURLToPath(new URL("host.mjs", import.meta.url));

const saidSchema = z.discriminatedUnion("at", [
  z.strictObject({
    at: z.literal("open"),
    restored: z.int().nullable(),
    refused: z.array(z.unknown()),
    warnings: z.array(z.string()),
  }),
  z.strictObject({
    at: z.literal("answer"),
    value: z.unknown().optional(),
    error: z.strictObject({ code: z.string().optional(), message: z.string() }).optional(),
  }),
  z.strictObject({ at: z.literal("failed"), code: z.string().nullable(), message: z.string() }),
]);

export type Said = z.infer<typeof saidSchema>;
export type Opened = Extract<Said, { at: "open" }>;
export type Answer = Extract<Said, { at: "answer" }>;

/** A process of its own that holds a notebook. */
export class Host implements AsyncDisposable {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #closed: Promise<unknown>;
  readonly #heard: Said[] = [];
  #isOver = false;
  #wake: () => void = () => {};

  constructor(order: NotebookOptions) {
    this.#child = spawn(process.execPath, [SCRIPT, JSON.stringify(order)], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#child.stdin.on("error", () => {});
    this.#closed = once(this.#child, "close");
    const lines = createInterface(this.#child.stdout);
    lines.on("line", (line) => {
      this.#heard.push(saidSchema.parse(JSON.parse(line)));
      this.#wake();
    });
    lines.on("close", () => {
      this.#isOver = true;
      this.#wake();
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** The next thing it says; undefined when it says nothing any more. */
  async next(): Promise<Said | undefined> {
    while (this.#heard.length === 0 && !this.#isOver) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.#heard.shift();
  }

  async opened(): Promise<Opened> {
    const said = await this.next();
    if (said?.at === "open") return said;
    throw new Error(`it was not opened: ${JSON.stringify(said)}`);
  }

  async ask(deed: "run" | "delete" | "close", code?: string): Promise<Answer> {
    this.#child.stdin.write(`${JSON.stringify({ deed, code })}\n`);
    const said = await this.next();
    if (said?.at === "answer") return said;
    throw new Error(`it did not answer: ${JSON.stringify(said)}`);
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** Ends it at once; gives what it had said until then and nobody had heard. */
  async kill(): Promise<readonly Said[]> {
    this.signal("SIGKILL");
    await this.#closed;
    return this.#heard.splice(0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}

/** Hosts of a test file, killed after each test. */
export class Hosts {
  readonly #all: Host[] = [];

  constructor() {
    afterEach(async () => {
      await Promise.all(this.#all.splice(0).map((host) => host.kill()));
    });
  }

  start(order: NotebookOptions): Host {
    const host = new Host(order);
    this.#all.push(host);
    return host;
  }
}
