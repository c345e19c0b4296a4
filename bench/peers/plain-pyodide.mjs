import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const SCRIPT = fileURLToPath(new URL("plain_pyodide_process.mjs", import.meta.url));

/** A plain Pyodide in a new Node process. */
export class PlainPyodide {
  #child = spawn(process.execPath, [SCRIPT], { stdio: ["pipe", "pipe", "inherit"] });

  /** Resolves when Python answers. */
  static async start() {
    const pyodide = new PlainPyodide();
    await pyodide.#line();
    return pyodide;
  }

  /** Milliseconds of the code, by the process's own clock. */
  async run(code) {
    this.#child.stdin.write(`${JSON.stringify(code)}\n`);
    return Number(await this.#line());
  }

  async [Symbol.asyncDispose]() {
    const exit = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exit;
  }

  async #line() {
    const [line] = await once(this.#child.stdout, "data");
    return line.toString();
  }
}
