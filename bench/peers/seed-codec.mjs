import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Unavailable } from "../unavailable.mjs";

const CODEC = fileURLToPath(new URL("./seed_codec.py", import.meta.url));

/** A live Python that writes and reads its variables itself, blocking its cells. */
export class SeedCodecPeer {
  #process;
  #lines;

  constructor(process) {
    this.#process = process;
    this.#lines = createInterface({ input: process.stdout })[Symbol.asyncIterator]();
  }

  static async start(python, code) {
    await promisify(execFile)(python, ["-c", "import cloudpickle, lz4.frame, numpy"]).catch(() => {
      throw new Unavailable(`cloudpickle, lz4 or numpy is not installed for ${python}`);
    });
    const child = spawn(python, [CODEC, code], { stdio: ["pipe", "pipe", "inherit"] });
    const peer = new SeedCodecPeer(child);
    await peer.#answer();
    return peer;
  }

  write() {
    return this.#ask("write");
  }

  read() {
    return this.#ask("read");
  }

  #ask(what) {
    this.#process.stdin.write(`${what}\n`);
    return this.#answer();
  }

  async #answer() {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error("the codec peer exited");
    return JSON.parse(value);
  }

  async [Symbol.asyncDispose]() {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = once(this.#process, "exit");
    this.#process.stdin.end();
    await ended;
  }
}
