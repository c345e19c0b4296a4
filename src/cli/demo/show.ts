import type { ISandbox } from "../../backends/backend.js";
import { createSandbox } from "../../backends/create-sandbox.js";
import { isCellarError } from "../../errors.js";
import { claimOf } from "../../isolation/levels.js";
import { EXIT } from "../exit-codes.js";
import { complain } from "../terminal/report-error.js";
import { escapeControls, painterFor, withProgress } from "../terminal/terminal.js";
import { ACTS, type Act, Bait } from "./acts.js";

const CONFIG = { preload: "none", poolSize: 0, checkpoints: "always" } as const;
const TITLES = {
  walled: "Cellar runs Python that you do not trust, and keeps its state.",
  bare: "Cellar keeps the state of Python cells; here without isolation.",
} as const;
const NEXT = [
  ["npx cellar repl", "a Python prompt in the sandbox"],
  ['npx cellar exec -c "sum(range(10))"', "one cell from the command line"],
  ["npx cellar doctor", "every check behind the isolation level"],
] as const;

export async function demo(): Promise<number> {
  const paint = painterFor(process.stdout);
  const say = (line: string) => process.stdout.write(`${line}\n`);
  const started = performance.now();
  await using sandbox = await withProgress("starting Python…", openAtAnyLevel());
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  const { isolation, python, mode } = sandbox.info;
  say(paint("bold", mode === "plain" ? TITLES.bare : TITLES.walled));
  say(`  isolation  ${isolation.level}: ${claimOf(isolation.level)}`);
  say(`  python     ${python.version}, ready in ${seconds} s`);
  using bait = await Bait.lay();
  let failed = false;
  for (const act of ACTS) {
    const outcome = await play(act, sandbox, bait);
    failed ||= outcome.mark === "✗";
    const colour = outcome.mark === "✓" ? "green" : outcome.mark === "✗" ? "red" : "dim";
    say(`${paint(colour, outcome.mark)} ${act.name.padEnd(9)}  ${escapeControls(outcome.text)}`);
    if (outcome.fix !== undefined) say(`             fix: ${escapeControls(outcome.fix)}`);
  }
  say(paint("bold", "Next:"));
  const width = Math.max(...NEXT.map(([command]) => command.length));
  for (const [command, what] of NEXT) say(`  ${command.padEnd(width)}  ${paint("dim", what)}`);
  if (failed) complain("a step above failed");
  return failed ? EXIT.failed : EXIT.ok;
}

async function play(
  act: Act,
  sandbox: ISandbox,
  bait: Bait,
): Promise<{ mark: "✓" | "✗" | "-"; text: string; fix?: string | undefined }> {
  const { isolation, mode, backend } = sandbox.info;
  const absent = [
    ...isolation.missing,
    ...(mode === "zygote" ? [] : ["checkpoints"]),
    ...(backend === "pyodide" ? ["threads"] : []),
  ];
  if (act.need !== undefined && absent.includes(act.need)) {
    return { mark: "-", text: `not shown: ${act.otherwise}` };
  }
  try {
    return { mark: "✓", text: await act.play(sandbox, bait) };
  } catch (error) {
    const fix = isCellarError(error) ? error.remedy : undefined;
    return { mark: "✗", text: error instanceof Error ? error.message : String(error), fix };
  }
}

/** Below the default minimum the demo still runs, and says so first. */
async function openAtAnyLevel(): Promise<ISandbox> {
  try {
    return await createSandbox(CONFIG);
  } catch (error) {
    if (!isCellarError(error, "SANDBOX_UNAVAILABLE")) throw error;
    const sandbox = await createSandbox({ ...CONFIG, minIsolation: "L0" });
    const paint = painterFor(process.stdout);
    process.stdout.write(
      paint("yellow", `! Less isolation than Cellar asks for by default. ${error.message}\n`) +
        `  For this demo alone the minimum was lowered to ${sandbox.info.isolation.level}.\n` +
        (error.remedy === undefined ? "" : `  fix: ${error.remedy}\n`),
    );
    return sandbox;
  }
}
