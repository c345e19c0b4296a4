import { execFileSync, spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { describeError } from "../../src/errors.js";
import { oneShotOptions } from "../../src/isolation/bwrap.js";
import {
  type Interpreter,
  interpreterCandidates,
  resolveInterpreter,
} from "../../src/isolation/interpreter.js";
import { locateBwrap, systemLayout } from "../../src/isolation/layout.js";

const PACKAGE_ROOT = fileURLToPath(new URL("../..", import.meta.url));

export interface Jail {
  bwrap: string;
  interpreter: Interpreter;
}

/** What a jailed cell did: how it ended, and what it printed. */
const Outcome = z.object({ exit: z.int(), signal: z.int(), output: z.string() });
export type Outcome = z.infer<typeof Outcome>;

/** Runs each cell in a fork of its own, so that one that is killed leaves the others alone. */
const DRIVER = `
import json, os, sys, traceback
outcomes = {}
for name, code in json.load(sys.stdin).items():
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 0
        os.dup2(writer, 1)
        os.dup2(writer, 2)
        os.close(reader)
        os.close(writer)
        try:
            exec(compile(code, name, "exec"), {"__name__": "__main__"})
        except BaseException:
            traceback.print_exc()
            status = 1
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    os.close(writer)
    with os.fdopen(reader, errors="replace") as stream:
        output = stream.read()
    status = os.waitpid(pid, 0)[1]
    outcomes[name] = {
        "exit": status >> 8, "signal": status & 127, "output": output,
    }
json.dump(outcomes, sys.stdout)
`;

/** The tools of a live test, or why there can be none on this machine. */
export async function findJail(): Promise<Jail | { missing: string }> {
  const path = process.env.PATH ?? "";
  const bwrap = locateBwrap(path);
  if (bwrap === undefined) {
    return { missing: "bubblewrap is not installed" };
  }
  try {
    execFileSync(bwrap, ["--unshare-user", "--ro-bind", "/", "/", "--proc", "/proc", "true"], {
      stdio: "pipe",
    });
    const candidates = interpreterCandidates({
      packageRoot: PACKAGE_ROOT,
      environment: "/nonexistent",
      path,
    });
    return { bwrap, interpreter: await resolveInterpreter(candidates) };
  } catch (error) {
    return { missing: describeError(error) };
  }
}

export async function runJailed(
  jail: Jail,
  program: Buffer,
  cells: Readonly<Record<string, string>>,
): Promise<Record<string, Outcome>> {
  const folder = mkdtempSync(join(tmpdir(), "cellar-jail-"));
  const file = join(folder, "filter");
  writeFileSync(file, program);
  const seccomp = openSync(file, "r");
  try {
    const child = spawn(jail.bwrap, jailArguments(jail, folder), {
      env: {},
      stdio: ["pipe", "pipe", "pipe", seccomp],
    });
    child.stdin?.end(JSON.stringify(cells));
    const [output, errors] = await Promise.all([
      text(child.stdout ?? Readable.from([])),
      text(child.stderr ?? Readable.from([])),
    ]);
    const parsed = z.record(z.string(), Outcome).safeParse(output === "" ? {} : JSON.parse(output));
    if (!parsed.success || errors !== "") {
      throw new Error(`the jail failed: ${errors}`);
    }
    return parsed.data;
  } finally {
    closeSync(seccomp);
    rmSync(folder, { recursive: true });
  }
}

function jailArguments(jail: Jail, folder: string): string[] {
  const { guestExecutable, roots } = jail.interpreter;
  const options = oneShotOptions({
    python: { executable: guestExecutable, roots },
    runner: { host: folder, guest: "/opt/cellar" },
    mounts: [],
    hostname: "cellar",
    files: [],
    system: systemLayout(),
    tmpMb: 64,
    seccompFd: 3,
  });
  return [...options, "--", guestExecutable, "-I", "-c", DRIVER];
}
