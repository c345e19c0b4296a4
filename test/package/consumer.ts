import { execFile, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { root } from "./blocks.js";

const run = promisify(execFile);

/** Other packages that the examples import; a reader installs them. */
const BESIDE = ["@anthropic-ai/sdk", "@opentelemetry/sdk-trace-base", "@types/node", "ai", "openai"];

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** An empty project of somebody who installed the package. */
export class Consumer {
  readonly folder: string;
  readonly tarball: string;
  readonly #base: string;

  private constructor(base: string, tarball: string) {
    this.#base = base;
    this.tarball = tarball;
    this.folder = join(base, "project");
  }

  static async make(): Promise<Consumer> {
    const base = mkdtempSync(join(tmpdir(), "cellar-consumer-"));
    const script = join(root, "scripts", "pack.mjs");
    const { stdout } = await run(process.execPath, [script, base], { timeout: 120_000 });
    const consumer = new Consumer(base, stdout.trim());
    mkdirSync(join(base, "home"));
    mkdirSync(consumer.folder);
    consumer.write("package.json", '{ "type": "module", "private": true }\n');
    return consumer;
  }

  async install(): Promise<void> {
    const quiet = ["--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"];
    const args = ["install", ...quiet, "--fetch-retries=1", this.tarball];
    await run("npm", args, { cwd: this.folder, timeout: 150_000 });
  }

  /** Links the other packages that examples import. */
  linkOthers(): void {
    for (const name of BESIDE) {
      const link = join(this.folder, "node_modules", name);
      mkdirSync(dirname(link), { recursive: true });
      symlinkSync(join(root, "node_modules", name), link);
    }
  }

  write(path: string, text: string): void {
    const file = join(this.folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  /** Runs a program in the project, as a user whose home is empty. */
  async start(
    command: readonly [string, ...string[]],
    env: Readonly<Record<string, string>> = {},
    input = "",
  ): Promise<Finished> {
    const [file, ...args] = command;
    const home = join(this.#base, "home");
    const child = spawn(file, args, {
      cwd: this.folder,
      env: { PATH: process.env.PATH, HOME: home, LANG: "C.UTF-8", ...env },
      timeout: 150_000,
    });
    child.stdin.on("error", () => {}).end(input);
    let [stdout, stderr] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    return await new Promise((resolve, reject) => {
      child.on("error", reject);
      child.on("close", (code) => resolve({ code, stdout, stderr }));
    });
  }

  [Symbol.dispose](): void {
    rmSync(this.#base, { recursive: true, force: true });
  }
}
