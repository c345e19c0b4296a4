import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { meets } from "../../src/isolation/levels.js";

export const MAIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

export interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly input?: string | Buffer;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Another program than the command line itself, for a terminal. */
  readonly program?: readonly string[];
}

/** Runs the built command line to its end, without a terminal. */
export async function cellar(args: readonly string[], options: RunOptions = {}): Promise<Run> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { ...process.env, ...options.env },
    cwd: options.cwd,
  });
  child.stdin.on("error", () => {});
  child.stdin.end(options.input ?? "");
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stdout, stderr };
}

/** Lends a terminal: whatever is written to its input is typed, its output is the screen. */
const TERMINAL = `
import os, pty, sys
status = pty.spawn(sys.argv[1:])
sys.exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 255)
`;

/** Before the test is given up, so that the screen is shown and closed. */
const HANGING_MS = 40_000;

/** The command line on a terminal of its own. */
export class Screen implements Disposable {
  readonly #child: ChildProcess;
  readonly #ended: Promise<number | null>;
  #text = "";
  #from = 0;
  #look: () => void = () => {};

  constructor(args: readonly string[], options: RunOptions = {}) {
    const program = options.program ?? [process.execPath, MAIN];
    this.#child = spawn("python3", ["-c", TERMINAL, ...program, ...args], {
      env: { ...process.env, TERM: "xterm", ...options.env },
      cwd: options.cwd,
      stdio: ["pipe", "pipe", "ignore"],
    });
    this.#child.stdin?.on("error", () => {});
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.#text += text;
      this.#look();
    });
    this.#ended = once(this.#child, "close").then(([code]) => {
      this.#look();
      return code as number | null;
    });
  }

  get text(): string {
    return this.#text;
  }

  type(keys: string): void {
    this.#child.stdin?.write(keys);
  }

  /** Waits until the pattern appears after what was last waited for. */
  async sees(pattern: RegExp): Promise<void> {
    let over = false;
    this.#ended.then(() => {
      over = true;
    });
    const timer = setTimeout(() => {
      over = true;
      this.#look();
    }, HANGING_MS);
    try {
      for (;;) {
        const found = pattern.exec(this.#text.slice(this.#from));
        if (found !== null) {
          this.#from += found.index + found[0].length;
          return;
        }
        if (over) throw new Error(`${pattern} did not appear:\n${this.#text}`);
        await new Promise<void>((resolve) => {
          this.#look = resolve;
        });
      }
    } finally {
      clearTimeout(timer);
    }
  }

  ended(): Promise<number | null> {
    return this.#ended;
  }

  [Symbol.dispose](): void {
    this.#child.kill("SIGKILL");
  }
}

/** Why no sandbox can be had here; undefined where one can. */
export async function sandboxAbsence(): Promise<string | undefined> {
  const { stdout } = await cellar(["doctor", "--json"], { env: { CELLAR_PRELOAD: "none" } });
  const { level, error } = JSON.parse(stdout);
  return level !== null && meets(level, "L3-") ? undefined : (error?.message ?? `only ${level}`);
}
