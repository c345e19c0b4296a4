import { spawn } from "node:child_process";
import type { Socket } from "node:net";
import { CellarError } from "../../../errors.js";
import { tailOf } from "../../host/stderr-tail.js";

/** It starts in a hundredth of a second; on a loaded machine it may take long. */
const SENDING_MS = 30_000;

/** The Python that sends, and the socket it sends through. */
export interface DescriptorRoute {
  readonly command: readonly string[];
  readonly fileSocket: Socket;
}

/** Passes an open file through the wall under a name. Node cannot, so a small Python does it and ends. */
export async function sendDescriptor(
  { command: [python = "", ...script], fileSocket }: DescriptorRoute,
  name: string,
  descriptor: number,
): Promise<void> {
  const child = spawn(python, [...script, name], {
    env: {},
    cwd: "/",
    stdio: ["ignore", "ignore", "pipe", fileSocket, descriptor],
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
