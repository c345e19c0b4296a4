import { expect } from "vitest";
import type { CodeExecution, ISandbox } from "../../src/index.js";
import { type AttackRunner, SECRET } from "./attack-runner.js";
import type { Expectation } from "./expectations.js";

const SEPARATOR = /^#%%\n/m;
const KEPT = 7;

/** Runs a hostile cell in a session that has something to lose, and checks what is always true. */
export async function attack(
  runner: AttackRunner,
  code: string | readonly string[],
  expectation: Expectation,
): Promise<void> {
  const parts = typeof code === "string" ? code.split(SEPARATOR) : code;
  const runs: CodeExecution[] = [];
  let background = "";
  const open = () =>
    runner.sandbox({
      ...expectation.config,
      onBackground: (text) => {
        background += text;
      },
    });
  let sandbox = await open();
  try {
    await sandbox.execute(`kept = ${KEPT}`);
    for (const [index, part] of parts.entries()) {
      if (index > 0 && expectation.freshSessions === true) {
        await sandbox.destroy();
        sandbox = await open();
        await sandbox.execute(`kept = ${KEPT}`);
      }
      runs.push(await sandbox.execute(part));
    }
    const last = runs.at(-1);
    if (last === undefined) throw new Error("there was nothing to run");
    for (const run of runs) expectNothingGained(run);
    if (expectation.spoilsSession === true) await sandbox.execute("0");
    await expectNextCell(sandbox);
    const survived = runs.every(({ state }) => state.survived);
    if (survived && expectation.spoilsSession !== true)
      expect(await sandbox.getVariable("kept")).toBe(KEPT);
    await expectation.check({ runs, last, background: () => background });
  } finally {
    await sandbox.destroy();
  }
}

export async function expectNextCell(sandbox: ISandbox): Promise<void> {
  const next = await sandbox.execute("import sys; sys.stdout.write('next\\n');");
  expect(next.status, next.error?.message).toBe("ok");
  expect(next.stdout).toBe("next\n");
}

function expectNothingGained(run: CodeExecution): void {
  const said = JSON.stringify([run.stdout, run.stderr, run.result, run.error?.message]);
  expect(said).not.toContain("PWNED");
  expect(said).not.toContain(SECRET);
}
