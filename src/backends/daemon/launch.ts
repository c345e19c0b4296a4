import { spawn } from "node:child_process";
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { type HostEnvironment, userFolders } from "../../config/environment.js";
import { CellarError, describeError, ERROR_CODES } from "../../errors.js";
import { type DaemonAddress, prepareFolder } from "./address.js";

const START_MS = 30_000;
const MAX_LOG_BYTES = 1024 * 1024;
const MAX_REPORT_CHARACTERS = 65_536;

/** The one line on a started daemon's standard output: that it listens, or why not. */
export interface StartupReport {
  readonly listening?: boolean;
  readonly error?: { readonly code: string; readonly message: string; readonly remedy?: string };
}

/** Starts a daemon that outlives this process, and returns when one listens. */
export async function startDaemon(
  { packageRoot, home }: HostEnvironment,
  address: DaemonAddress,
  { kept }: { readonly kept: boolean },
): Promise<void> {
  prepareFolder(address);
  const script = join(packageRoot, "dist", "server", "daemon", "main.js");
  if (!existsSync(script)) throw failed(`${script} does not exist`, "Install Cellar again.");
  const log = openLog();
  try {
    const child = spawn(process.execPath, [script, ...(kept ? ["--keep"] : [])], {
      // The daemon belongs to no project, so it must not keep a project's folder busy.
      cwd: home,
      detached: true,
      stdio: ["ignore", "pipe", log],
    });
    child.unref();
    await untilListening(child.stdout, child);
  } finally {
    closeSync(log);
  }
}

type Child = ReturnType<typeof spawn>;

function untilListening(stdout: NonNullable<Child["stdout"]> | null, child: Child): Promise<void> {
  return new Promise((resolve, reject) => {
    let received = "";
    const end = (error?: CellarError) => {
      clearTimeout(timer);
      stdout?.destroy();
      if (error === undefined) resolve();
      else reject(error);
    };
    const timer = setTimeout(() => end(failed("it does not report that it listens")), START_MS);
    child.once("error", (error) => end(failed(describeError(error))));
    stdout?.setEncoding("utf8");
    stdout?.on("data", (text: string) => {
      received += text;
      if (received.includes("\n") || received.length > MAX_REPORT_CHARACTERS) {
        end(startupError(received));
      }
    });
    stdout?.once("close", () => end(startupError(received)));
  });
}

/** Undefined if a daemon listens, this one or another that was faster. */
function startupError(text: string): CellarError | undefined {
  const place = `See ${logFile()}.`;
  try {
    const said = JSON.parse(text) as StartupReport;
    if (said.listening === true) return undefined;
    const { code, message = "", remedy } = said.error ?? {};
    const known = ERROR_CODES.find((one) => one === code) ?? "START_FAILED";
    return new CellarError(known, message, { remedy: remedy ?? place });
  } catch {
    return failed("it exited without reporting an error", place);
  }
}

function logFile(): string {
  return join(userFolders().state, "daemon.log");
}

function openLog(): number {
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;
  const path = logFile();
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const log = openSync(path, O_APPEND | O_CREAT | O_WRONLY | O_NOFOLLOW, 0o600);
    if (fstatSync(log).size > MAX_LOG_BYTES) ftruncateSync(log);
    return log;
  } catch (error) {
    throw failed(
      `cannot write ${path}: ${describeError(error)}`,
      "Remove what is there, or set CELLAR_HOME to a writable folder.",
    );
  }
}

function failed(why: string, remedy?: string): CellarError {
  return new CellarError("START_FAILED", `the daemon could not be started: ${why}`, { remedy });
}
