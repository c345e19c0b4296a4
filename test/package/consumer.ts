import { execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { root } from "./blocks.js";

const run = promisify(execFile);

/** Other packages that examples import; their readers install them. */
const OTHERS = ["@anthropic-ai/sdk", "@opentelemetry/sdk-trace-base", "ai", "openai"];

/** Above all of what the examples do; it ends what hangs. */
const PATIENCE_MS = 150_000;

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A project of somebody who installed the package, in a home that was empty. */
export class Consumer {
  readonly folder: string;
  /** The installed package. */
  readonly cellar: string;
  readonly #base: string;

  private constructor(base: string) {
    this.#base = base;
    this.folder = join(base, "project");
    this.cellar = join(this.folder, "node_modules", "cellar");
  }

  static open(): Consumer {
    const consumer = new Consumer(mkdtempSync(join(tmpdir(), "cellar-consumer-")));
    consumer.write("package.json", '{ "type": "module", "private": true }\n');
    return consumer;
  }

  /** Gives the path of the package. */
  async pack(): Promise<string> {
    const pack = [join(root, "scripts", "pack.mjs"), this.#base];
    const { stdout } = await run(process.execPath, pack, { timeout: PATIENCE_MS });
    return stdout.trim();
  }

  async install(tarball: string): Promise<void> {
    const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
    const brief = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000"];
    const install = ["install", "--prefer-offline", ...quiet, ...brief, tarball];
    await run("npm", install, { cwd: this.folder, timeout: PATIENCE_MS });
  }

  /** What the packages take on the disk, in MB. */
  weight(): number {
    const modules = join(this.folder, "node_modules");
    const sizes = readdirSync(modules, { recursive: true, encoding: "utf8" }).map((path) => {
      const { blocks = 0 } = statSync(join(modules, path));
      return blocks * 512;
    });
    return sizes.reduce((sum, size) => sum + size, 0) / (1024 * 1024);
  }

  /** Puts packages of the checkout beside the installed ones. */
  link(...names: readonly string[]): void {
    for (const name of names) {
      const link = join(this.folder, "node_modules", name);
      mkdirSync(dirname(link), { recursive: true });
      if (!existsSync(link)) symlinkSync(join(root, "node_modules", name), link);
    }
  }

  linkOthers(): void {
    this.link(...OTHERS);
  }

  write(path: string, text: string): void {
    const file = join(this.folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  /** What a compiler has to say; nothing where all is well. */
  async compile(compiler: string, folder: string, options: object): Promise<string> {
    const compilerOptions = { strict: true, target: "es2022", rootDir: folder, ...options };
    const project = `tsconfig.${randomUUID()}.json`;
    this.write(project, JSON.stringify({ compilerOptions, include: [folder] }));
    const tsc = join(root, "node_modules", compiler, "bin", "tsc");
    const { code, stdout } = await this.start("types", [process.execPath, tsc, "-p", project]);
    return code === 0 ? "" : stdout;
  }

  /** Runs a program in the project; each page has a home of its own, since some leave a daemon there. */
  async start(
    page: string,
    [file = "", ...args]: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): Promise<Finished> {
    const home = join(this.#base, "homes", page.replace(/\W+/g, "-"));
    mkdirSync(home, { recursive: true });
    const path = [join(this.folder, "node_modules", ".bin"), process.env.PATH].join(delimiter);
    const child = spawn(file, args, {
      cwd: this.folder,
      env: { PATH: path, HOME: home, LANG: "C.UTF-8", npm_config_update_notifier: "false", ...env },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: PATIENCE_MS,
      killSignal: "SIGKILL",
    });
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
      // What it left running may have its output.
      child.on("exit", (code) =>
        setTimeout(() => resolve({ code, stdout, stderr }), 5_000).unref(),
      );
    });
  }

  [Symbol.dispose](): void {
    rmSync(this.#base, { recursive: true, force: true, maxRetries: 10 });
  }
}
