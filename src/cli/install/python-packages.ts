import { spawn } from "node:child_process";
import { z } from "zod";
import { onAbort } from "../../concurrency/abort.js";
import { CellarError } from "../../errors.js";
import { LongWork } from "./long-work.js";

const REMEMBERED_CHARACTERS = 16_384;
const LONGEST_LIST = 8_000_000;
const SHOWN_LINES = 3;
const SHORT_MS = 60_000;
const VENV_MS = 300_000;
/** pip takes back what it began when it is interrupted; this long it may. */
const GRACE_MS = 10_000;
const UNREACHABLE =
  /connection broken|could not fetch url|max retries exceeded|NewConnectionError|name resolution/i;
const NO_WHEEL = /no matching distribution found|could not find a version/i;
const UNWRITABLE = /permission denied|read-only file system/i;
const FULL = /no space left on device/i;

/** Root's sessions run as another user, who must be able to read what is installed. */
const RUN_MODULE = `
import os, runpy, sys
os.umask(0o022)
module = sys.argv.pop(1)
runpy.run_module(module, run_name="__main__", alter_sys=True)
`;

const LIST = `
import json, sysconfig
from importlib import metadata
own = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
found = {}
for one in metadata.distributions():
    name = one.metadata["Name"]
    if name:
        folder = str(one.locate_file("")).rstrip("/")
        found.setdefault(name, {"name": name, "version": one.version, "isOwn": folder in own})
print(json.dumps(list(found.values())))
`;

const listSchema = z.array(
  z.object({ name: z.string(), version: z.string().nullable(), isOwn: z.boolean() }),
);

/** `isOwn`: of the environment itself, not of the system's Python behind it. */
export type InstalledPackage = z.infer<typeof listSchema>[number];

export interface PipOrder {
  readonly python: string;
  readonly names: readonly string[];
  readonly limit: number;
  readonly signal: AbortSignal;
  readonly quiet: boolean;
}

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly said: string;
  readonly isLate: boolean;
}

export async function installPackages(order: PipOrder): Promise<void> {
  const { python, names, limit, signal, quiet } = order;
  await requirePip(python, signal);
  const flags = ["--disable-pip-version-check", "--no-input", "--retries", "1", "--timeout", "15"];
  const wheels = ["--no-user", "--progress-bar", "off", "--only-binary", ":all:"];
  using work = new LongWork(`installing ${names.join(" ")}`, { quiet });
  const { code, said, isLate } = await run(
    python,
    module("pip", "install", ...flags, ...wheels, "--", ...names),
    { limit, signal, onText: (text) => work.tell(text) },
  );
  if (signal.aborted) throw new CellarError("ABORTED", "the install was cancelled");
  if (isLate) throw late(limit, said);
  if (code === 0) return;
  throw new CellarError("INSTALL_FAILED", `pip could not install it: ${lastLines(said)}`, {
    remedy: remedyFor(said, python),
    details: { names, code },
  });
}

/** The system's serves where there is one: making another takes many times as long as the environment. */
async function requirePip(python: string, signal: AbortSignal): Promise<void> {
  const { code } = await run(python, ["-m", "pip", "--version"], { limit: SHORT_MS, signal });
  if (code === 0 || signal.aborted) return;
  const made = await run(python, module("ensurepip"), { limit: VENV_MS, signal });
  if (made.code === 0 || signal.aborted) return;
  throw new CellarError("INSTALL_FAILED", `there is no pip: ${lastLines(made.said)}`, {
    remedy: environmentRemedy(made.said, made.isLate),
  });
}

export async function makeEnvironment(
  python: string,
  folder: string,
  { signal, quiet }: { signal: AbortSignal; quiet: boolean },
): Promise<void> {
  using work = new LongWork(`making ${folder}`, { quiet });
  // What the system's Python offered so far stays visible.
  const { code, said, isLate } = await run(
    python,
    module("venv", "--system-site-packages", "--without-pip", folder),
    { limit: VENV_MS, signal, onText: (text) => work.tell(text) },
  );
  if (signal.aborted) throw new CellarError("ABORTED", "the install was cancelled");
  if (code === 0) return;
  const why = isLate ? `it took more than ${VENV_MS / 1000} s` : lastLines(said);
  throw new CellarError("INSTALL_FAILED", `no environment could be made in ${folder}: ${why}`, {
    remedy: environmentRemedy(said, isLate),
  });
}

export async function listPackages(
  python: string,
): Promise<readonly InstalledPackage[] | undefined> {
  const { stdout } = await run(python, ["-c", LIST], { limit: SHORT_MS });
  try {
    return listSchema.parse(JSON.parse(stdout));
  } catch {
    return undefined;
  }
}

function module(...args: readonly string[]): string[] {
  return ["-c", RUN_MODULE, ...args];
}

function late(limit: number, said: string): CellarError {
  const message = `pip was stopped after ${limit / 1000} s; it said last: ${lastLines(said)}`;
  return new CellarError("INSTALL_FAILED", message, {
    remedy: "Check the network or PIP_INDEX_URL, or allow more time with --timeout SECONDS.",
  });
}

function environmentRemedy(said: string, isLate: boolean): string {
  if (FULL.test(said)) return "Free some space on the disk.";
  if (isLate || UNWRITABLE.test(said)) {
    return "Set CELLAR_HOME to a folder on a local disk that you can write.";
  }
  return "On Debian and Ubuntu: sudo apt-get install python3-venv.";
}

function remedyFor(said: string, python: string): string {
  if (UNREACHABLE.test(said)) {
    return "No package index answers: check the network, a proxy, or PIP_INDEX_URL, then run the command again.";
  }
  if (FULL.test(said)) return "Free some space on the disk.";
  if (UNWRITABLE.test(said))
    return "Make the environment writable for you, or name another with --python.";
  if (NO_WHEEL.test(said)) {
    return (
      "Check the name and the version. If the package comes as source only, install it yourself " +
      `(its set-up code runs as you): ${python} -m pip install NAME.`
    );
  }
  return `Try it by hand: ${python} -m pip install NAME.`;
}

interface RunOrder {
  readonly limit: number;
  readonly signal?: AbortSignal;
  readonly onText?: (text: string) => void;
}

/** In a group of its own, which gets one interrupt from here and none from the terminal. */
function run(file: string, args: readonly string[], order: RunOrder): Promise<Ended> {
  const { limit, signal, onText } = order;
  return new Promise((resolve, reject) => {
    const child = spawn(file, ["-I", ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    let said = "";
    let stdout = "";
    let isLate = false;
    let killing: NodeJS.Timeout | undefined;
    const stop = () => {
      sendSignal(child.pid, "SIGINT");
      killing ??= setTimeout(() => sendSignal(child.pid, "SIGKILL"), GRACE_MS);
    };
    const timer = setTimeout(() => {
      isLate = true;
      stop();
    }, limit);
    const hear = (text: string) => {
      // What an interrupted program says is of no use to anybody.
      if (killing !== undefined) return;
      said = (said + text).slice(-REMEMBERED_CHARACTERS);
      onText?.(text);
    };
    const settle = () => {
      clearTimeout(timer);
      clearTimeout(killing);
      listening[Symbol.dispose]();
      process.off("exit", stop);
    };
    const listening = onAbort(signal, stop);
    process.once("exit", stop);
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout = (stdout + text).slice(-LONGEST_LIST);
      hear(text);
    });
    child.stderr.setEncoding("utf8").on("data", hear);
    child.once("error", (error) => {
      settle();
      reject(error);
    });
    child.once("close", (code) => {
      settle();
      resolve({ code, stdout, said, isLate });
    });
  });
}

function sendSignal(group: number | undefined, signal: NodeJS.Signals): void {
  if (group === undefined) return;
  try {
    process.kill(process.platform === "win32" ? group : -group, signal);
  } catch {
    // It has ended.
  }
}

function lastLines(text: string): string {
  const lines = text
    .trim()
    .split("\n")
    .filter((line) => line.trim() !== "");
  const errors = lines.filter((line) => line.startsWith("ERROR"));
  return (errors.length > 0 ? errors : lines).slice(-SHOWN_LINES).join("\n  ") || "it said nothing";
}
