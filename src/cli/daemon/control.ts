import { type DaemonAddress, daemonAddress } from "../../backends/daemon/address.js";
import { DaemonConnection } from "../../backends/daemon/connection.js";
import { startDaemon } from "../../backends/daemon/launch.js";
import { isDaemonAbsent } from "../../backends/daemon/refusals.js";
import { hostEnvironment, packageVersion } from "../../config/environment.js";
import { counted } from "../../errors.js";
import type { Result } from "../../protocol/messages.js";
import { EXIT } from "../exit-codes.js";
import { writeJson } from "../terminal/report-error.js";
import { withProgress } from "../terminal/terminal.js";

type Status = Result<"daemon_status">;

export interface DaemonReport {
  readonly running: boolean;
  readonly path: string;
  readonly pid: number | null;
  readonly version: string | null;
  /** Null when none runs, or one of another version. */
  readonly status: Status | null;
}

export async function inspectDaemon(address: DaemonAddress): Promise<DaemonReport> {
  const { path } = address;
  const link = await openRunning(address);
  if (link === undefined) return { running: false, path, pid: null, version: null, status: null };
  try {
    const { pid, version } = link.daemon;
    const isOurs = version === packageVersion();
    const told = isOurs ? await link.request("daemon_status", { settled: false }) : null;
    return { running: true, path, pid, version, status: told };
  } finally {
    link.close();
  }
}

/** Undefined where no daemon runs; one of another version can be asked to stop. */
async function openRunning(address: DaemonAddress): Promise<DaemonConnection | undefined> {
  return await DaemonConnection.open(address, { anyVersion: true }).catch((error: unknown) => {
    if (!isDaemonAbsent(error)) throw error;
    return undefined;
  });
}

export async function start(): Promise<number> {
  const around = hostEnvironment();
  const address = daemonAddress(around.home);
  let wasThere = true;
  const link = await DaemonConnection.open(address).catch(async (error: unknown) => {
    if (!isDaemonAbsent(error)) throw error;
    wasThere = false;
    await startDaemon(around, address, { kept: true });
    return await DaemonConnection.open(address);
  });
  try {
    await link.request("daemon_keep", {});
    const warming = link.request("daemon_status", { settled: true });
    const { warmth } = await withProgress("warming Python…", warming);
    const { pid } = link.daemon;
    write(
      `the daemon ${wasThere ? "is already running" : "is started"} (pid ${pid}, ${address.path})`,
    );
    write(describeWarmth(warmth));
    return EXIT.ok;
  } finally {
    link.close();
  }
}

export async function stop(): Promise<number> {
  const link = await openRunning(daemonAddress(hostEnvironment().home));
  if (link === undefined) {
    write("no daemon is running");
    return EXIT.ok;
  }
  await withProgress("ending its sessions…", link.request("daemon_stop", {}));
  const { pid } = link.daemon;
  link.close();
  write(`the daemon (pid ${pid}) is stopped`);
  return EXIT.ok;
}

export async function status(json: boolean): Promise<number> {
  const report = await inspectDaemon(daemonAddress(hostEnvironment().home));
  if (json) writeJson(report);
  else write(describeReport(report));
  return report.running ? EXIT.ok : EXIT.failed;
}

export async function run(): Promise<number> {
  const { Daemon } = await import("../../server/daemon/daemon.js");
  const around = hostEnvironment();
  const address = daemonAddress(around.home);
  const daemon = await Daemon.open({ hostEnvironment: around, address, kept: true });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.removeAllListeners(signal);
    process.on(signal, () => void daemon.stop());
  }
  write(`listening at ${address.path}`);
  await daemon.ended;
  return EXIT.ok;
}

export function describeReport({ running, path, pid, version, status }: DaemonReport): string {
  if (!running) return `no daemon is running (${path})`;
  const who = `the daemon is running (pid ${pid}, version ${version}, ${path})`;
  if (status === null) return `${who}, but this is version ${packageVersion()}`;
  const { clients, sessions, kept, warmth } = status;
  const stay = kept
    ? "it runs until it is stopped"
    : "it exits when it has not been used for a while";
  return [
    who,
    describeWarmth(warmth),
    `${counted(sessions, "session")} of ${counted(clients, "client")}; ${stay}`,
  ].join("\n");
}

function describeWarmth(warmth: Status["warmth"]): string {
  switch (warmth.state) {
    case "warming":
      return "Python is being started";
    case "ready":
      return `Python ${warmth.python}, isolation ${warmth.isolation.level}`;
    case "failed":
      return `no Python is warm: ${warmth.reason}`;
  }
}

function write(text: string): void {
  process.stdout.write(`${text}\n`);
}
