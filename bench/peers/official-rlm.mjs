import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Unavailable } from "../unavailable.mjs";
import { packageFolder } from "./package-folder.mjs";

const CLIENT = fileURLToPath(new URL("./official_rlm_client.py", import.meta.url));
const PACKAGE = "rlms";
const VERSION = "0.1.3";

/** The official RLM package with its local environment, in a running Python. */
export class OfficialRlm {
  #process;
  #lines;
  #home;
  version = `${PACKAGE} ${VERSION}`;

  constructor(process, home) {
    this.#process = process;
    this.#lines = createInterface({ input: process.stdout })[Symbol.asyncIterator]();
    this.#home = home;
  }

  static async start(python) {
    const folder = await packageFolder(python, PACKAGE, VERSION);
    const home = mkdtempSync(join(tmpdir(), "cellar-bench-"));
    const child = spawn(python, [CLIENT], {
      cwd: home,
      // No key, and no proxy for loopback.
      env: { PATH: process.env.PATH, HOME: home, PYTHONPATH: folder },
      stdio: ["pipe", "pipe", "ignore"],
    });
    const peer = new OfficialRlm(child, home);
    try {
      await peer.#answer();
    } catch (error) {
      await peer[Symbol.asyncDispose]();
      throw new Unavailable(error.message);
    }
    return peer;
  }

  /** The answer of a run, and its total milliseconds. */
  run({ baseUrl, model, context, query }) {
    const request = { base_url: baseUrl, model, context, query };
    this.#process.stdin.write(`${JSON.stringify(request)}\n`);
    return this.#answer();
  }

  async #answer() {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error(`${this.version} or its client exited`);
    return JSON.parse(value);
  }

  async [Symbol.asyncDispose]() {
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      const ended = once(this.#process, "exit");
      this.#process.stdin.end();
      await ended;
    }
    rmSync(this.#home, { recursive: true, force: true });
  }
}
