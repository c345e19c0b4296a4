import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Unavailable } from "../unavailable.mjs";

const CLIENT = fileURLToPath(new URL("./ipykernel_client.py", import.meta.url));
const VERSIONS =
  "import ipykernel, jupyter_client; print(ipykernel.__version__, jupyter_client.__version__)";

/** An ipykernel and its own blocking client, both in Python. */
export class IpykernelPeer {
  #process;
  #lines;
  #home;
  versions;

  constructor(process, lines, home, versions) {
    this.#process = process;
    this.#lines = lines;
    this.#home = home;
    this.versions = versions;
  }

  static async start(python, code) {
    const versions = await findVersions(python);
    const home = mkdtempSync(join(tmpdir(), "cellar-bench-"));
    const child = spawn(python, [CLIENT, code], {
      env: { PATH: process.env.PATH, HOME: home, JUPYTER_RUNTIME_DIR: home, IPYTHONDIR: home },
      stdio: ["pipe", "pipe", "ignore"],
    });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const peer = new IpykernelPeer(child, lines, home, versions);
    try {
      await peer.#answer();
    } catch (error) {
      await peer[Symbol.asyncDispose]();
      throw new Unavailable(error.message);
    }
    return peer;
  }

  /** Milliseconds of each of `cells` cells, with a gap of that many before each. */
  async time(cells, gap = 0) {
    this.#process.stdin.write(`${cells} ${gap}\n`);
    return this.#answer();
  }

  async #answer() {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error("ipykernel or its client exited");
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

async function findVersions(python) {
  try {
    const { stdout } = await promisify(execFile)(python, ["-c", VERSIONS]);
    const [kernel, client] = stdout.trim().split(" ");
    return `ipykernel ${kernel}, jupyter_client ${client}`;
  } catch {
    throw new Unavailable(`ipykernel is not installed for ${python}`);
  }
}
