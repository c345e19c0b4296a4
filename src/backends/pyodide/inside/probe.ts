import { readFileSync, readlinkSync, writeFileSync } from "node:fs";
import type { ProbeAnswer } from "../probe.js";
import type { ProcessPlan } from "./plan.js";

export const NAMESPACES = ["pid", "mnt", "ipc", "uts", "net", "user"] as const;
const CONNECT_MS = 1000;

/** Tries what must not work, beside what must. */
export async function tryWalls({ canary, port }: ProcessPlan["probe"]): Promise<ProbeAnswer> {
  return {
    reads_canary: succeeds(() => readFileSync(canary)),
    reads_own_file: succeeds(() => readFileSync(new URL(import.meta.url))),
    reaches_host: port === null ? null : await reaches(port),
    writes_root: succeeds(() => writeFileSync("/.cellar-probe", "", { flag: "wx" })),
    status: textOf("/proc/self/status"),
    limits: textOf("/proc/self/limits"),
    environment: environmentNames(),
    namespaces: Object.fromEntries(NAMESPACES.map((name) => [name, namespaceOf(name)])),
  };
}

function succeeds(work: () => unknown): boolean {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}

/** Sockets are loaded only here: a start without them is faster. */
async function reaches(port: number): Promise<boolean> {
  const { connect } = await import("node:net");
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1", timeout: CONNECT_MS });
    const settle = (isReached: boolean) => {
      socket.destroy();
      resolve(isReached);
    };
    // On a loopback of its own a connection may choose the port it goes to, and meet itself.
    socket.once("connect", () => settle(socket.localPort !== socket.remotePort));
    socket.once("error", () => settle(false));
    socket.once("timeout", () => settle(false));
  });
}

/** As the kernel keeps them, whatever the engine made of them. */
function environmentNames(): string[] {
  const pairs = textOf("/proc/self/environ").split("\0");
  return pairs.flatMap((pair) => /^([^=]+)=/.exec(pair)?.[1] ?? []);
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

export function namespaceOf(name: string): string {
  try {
    return readlinkSync(`/proc/self/ns/${name}`);
  } catch {
    return "";
  }
}
