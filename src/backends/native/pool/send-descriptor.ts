import { spawn } from "node:child_process";
import type { Socket } from "node:net";
import { join } from "node:path";
import { CellarError } from "../../../errors.js";
import { tailOf } from "../../host/stderr-tail.js";

/** It starts in a hundredth of a second; on a loaded machine it may take long. */
const SENDING_MS = 30_000;

/** Hands open files through the wall. Node cannot, so a small Python does it and ends. */
export class DescriptorSender {
  readonly #python: string;
  readonly #script: string;
  readonly #fileSocket: Socket;

  constructor(python: string, runner: string, fileSocket: Socket) {
    this.#python = python;
    this.#script = join(runner, "bootstrap", "send_descriptor.py");
    this.#fileSocket = fileSocket;
  }

  /** Passes on a descriptor under a name; the other side keeps a copy of it. */
  async send(name: string, descriptor: number): Promise<void> {
    const child = spawn(this.#python, ["-I", "-S", this.#script, name], {
      env: {},
      cwd: "/",
      stdio: ["ignore", "ignore", "pipe", this.#fileSocket, descriptor],
      timeout: SENDING_MS,
      killSignal: "SIGKILL",
    });
    const said = tailOf(child.stderr);
    const how = await new Promise<string | undefined>((resolve) => {
      child.once("error", (error) => resolve(error.message));
      child.once("close", (code, signal) => {
        resolve(code === 0 ? undefined : said() || `${signal ?? `exit ${code}`}`);
      });
    });
    if (how === undefined) return;
    throw new CellarError("START_FAILED", `could not pass the context to the sandbox: ${how}`);
  }
}
