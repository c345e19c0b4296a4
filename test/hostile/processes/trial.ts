import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import {
  type CodeExecution,
  type ISandbox,
  isCellarError,
  type REPLConfig,
} from "../../../src/index.js";
import { CONFIG, SECRET } from "../attack-runner.js";
import type { Attack, Expectation } from "../expectations.js";
import { expectGone, findInit, type SessionInit } from "./census.js";

/** Names of the runner that the attacks use: one that is gone would make an attack harmless. */
const REACHES =
  "own_step() + own_request() + page() + len(nonce()) + service().checkpoints.copies._has_spare";
/** What cells of these sections find defined. */
const TOOLS = readFileSync(new URL("tools.py", import.meta.url), "utf8");
const SEPARATOR = /^#%%\n/m;
/** Far beyond what the slowest way to an end may take: who needs longer hangs. */
const HANG_MS = 40_000;
const BEGUN_MS = 150;
const ASKING_MS = 20_000;

export interface Order {
  readonly sandbox: ISandbox;
  /** What ran so far; what is run now belongs to it too. */
  readonly runs: CodeExecution[];
}

export interface ProcessExpectation extends Expectation {
  /** What the host does after the cells, beside what it always does. */
  readonly after?: (order: Order) => Promise<void>;
  /** While the session still holds what it took, another one can be made and is as new. */
  readonly makesAnother?: boolean;
  /** The last part is cancelled, or its session destroyed, while it runs. */
  readonly during?: "cancel" | "destroy";
}

export interface Trial {
  readonly code: string;
  readonly expectation: ProcessExpectation;
  open(config: REPLConfig): Promise<ISandbox>;
  /** The process that the sessions descend from. */
  readonly root?: number | undefined;
}

/**
 * Runs a hostile cell and sees that nothing was gained, that every order returns, that the session
 * goes on with its state or tells its loss, and that nothing is left of it in the end.
 */
export async function trial({ code, expectation, open, root }: Trial): Promise<void> {
  let background = "";
  const onBackground = (text: string) => {
    background += text;
  };
  const config = { ...CONFIG, ...expectation.config };
  const patience = (config.timeout ?? 0) + (config.grace ?? 0) + HANG_MS;
  const sandbox = await open({ ...config, onBackground });
  const run = (text: string) => within("execute()", patience, sandbox.execute(text));
  // Questions of ours are not to meet the short limits of an attack on a busy machine.
  const ask = (text: string) =>
    within("execute()", patience + ASKING_MS, sandbox.execute(text, { timeout: ASKING_MS }));
  const runs: CodeExecution[] = [];
  let isDestroyed = false;
  try {
    const init = await armed(sandbox, root);
    const parts = code.split(SEPARATOR);
    const last = parts.pop() ?? "";
    for (const part of parts) runs.push(await run(part));
    const running = run(last);
    if (expectation.during !== undefined) await sleep(BEGUN_MS);
    if (expectation.during === "cancel") await within("cancel()", HANG_MS, sandbox.cancel());
    if (expectation.during === "destroy") {
      isDestroyed = true;
      await within("destroy()", HANG_MS, sandbox.destroy());
    }
    runs.push(await running);
    for (const each of runs) expectNothingGained(each);
    if (!isDestroyed) {
      if (expectation.makesAnother === true) await expectAnother(() => open(config));
      await expectation.after?.({ sandbox, runs });
      await expectState(sandbox, ask, runs, expectation.spoilsSession === true);
      await within("undo()", HANG_MS, sandbox.undo().catch(expectTold));
      expect((await ask("1 + 1")).status).toBe("ok");
      await within("destroy()", HANG_MS, sandbox.destroy());
      isDestroyed = true;
    }
    await expectGone(init);
    await expectation.check(asAttack(runs, () => background));
  } finally {
    if (!isDestroyed) await within("destroy()", HANG_MS, sandbox.destroy());
  }
}

/** Gives a session something to lose and the tools of an attack; tells which process is its first. */
export async function armed(sandbox: ISandbox, root?: number): Promise<SessionInit> {
  const name = `x${randomBytes(6).toString("hex")}`;
  const code = `${TOOLS}\n${REACHES}\nlibc.prctl(15, b"${name}", 0, 0, 0)`;
  const ready = await within("execute()", HANG_MS, sandbox.execute(code, { timeout: ASKING_MS }));
  expect(ready.status, ready.error?.message).toBe("ok");
  return findInit(name, root);
}

function asAttack(runs: readonly CodeExecution[], background: () => string): Attack {
  const last = runs.at(-1);
  if (last === undefined) throw new Error("there was nothing to run");
  return { runs, last, background };
}

/** Fails when it has not come in time; what never comes cannot fail by itself. */
export async function within<T>(what: string, milliseconds: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`${what} did not return within ${milliseconds} ms`)),
      milliseconds,
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

const FRESH = `
import json, os, signal
r, w = os.pipe()
os.write(w, b"x")
print(json.loads("1"), os.getcwd(), oct(os.umask(0o22)), signal.pthread_sigmask(0, []), os.getpriority(0, 0))
print("x" * 30000)
`;

/** Made beside the attacked one it has all that a session needs. */
async function expectAnother(open: () => Promise<ISandbox>): Promise<void> {
  const another = await within("createSandbox()", HANG_MS, open());
  try {
    const run = await within("execute()", HANG_MS, another.execute(FRESH));
    expect(run.stdout).toBe(`1 /workspace 0o22 set() 0\n${"x".repeat(30_000)}\n`);
    const crash = await within("execute()", HANG_MS, another.execute("os._exit(1)"));
    expect(crash.state.survived).toBe(true);
  } finally {
    await within("destroy()", HANG_MS, another.destroy());
  }
}

/** What was there before the attack is there, or a result has said that it is not. */
async function expectState(
  sandbox: ISandbox,
  ask: (text: string) => Promise<CodeExecution>,
  runs: readonly CodeExecution[],
  spoils: boolean,
): Promise<void> {
  // What the attack left running in its own session may still cost it one cell, but not its state.
  if (spoils) await ask("import time\ntime.sleep(0.5)");
  const next = await ask("kept");
  const isTold = [...runs, next].some(({ state }) => !state.survived);
  if (!isTold) {
    expect(next.status, next.error?.message).toBe("ok");
    expect(next.result).toEqual({ "text/plain": "7" });
    expect(await sandbox.getVariable("kept")).toBe(7);
  }
}

/** An order that cannot be carried out fails with a word of ours. */
export function expectTold(error: unknown): undefined {
  expect(isCellarError(error), String(error)).toBe(true);
  return undefined;
}

export function expectNothingGained(run: CodeExecution): void {
  const said = JSON.stringify([run.stdout, run.stderr, run.result, run.error?.message]);
  expect(said).not.toContain("PWNED");
  expect(said).not.toContain(SECRET);
}
