import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { processesAt } from "./process-tree.js";
import type { StormReport } from "./storm-program.js";

/** A process with nothing left ends at once; a forgotten timer would hold it far longer. */
const ENDING_MS = 5_000;
const SHOWN_FINDINGS = 20;

export interface StormOrder {
  readonly operations: number;
  readonly seed: number;
  /** The folder of the bundled programs. */
  readonly programs: string;
  readonly say: (line: string) => void;
}

/** Runs a storm in a process of its own, and sees it end by itself. Gives an exit code. */
export async function runStorm({ operations, seed, programs, say }: StormOrder): Promise<number> {
  say(`seed ${seed}`);
  const folder = mkdtempSync(join(tmpdir(), "cs-"));
  chmodSync(folder, 0o755);
  try {
    const program = join(programs, "storm-program.mjs");
    const child = spawn(process.execPath, [program, String(operations), String(seed)], {
      env: { ...process.env, TMPDIR: folder },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const ended = once(child, "exit");
    let last: { report: StormReport; active: string[] } | undefined;
    for await (const line of createInterface(child.stdout)) {
      if (line.startsWith("{")) last = JSON.parse(line);
      else say(line);
      if (last !== undefined) break;
    }
    const isOver = await Promise.race([ended.then(() => true), sleep(ENDING_MS, false)]);
    if (!isOver) child.kill("SIGKILL");
    await ended;
    const left = [...processesAt(folder), ...readdirSync(folder)];
    return judge(last, isOver, left, say);
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

function judge(
  last: { report: StormReport; active: string[] } | undefined,
  isOver: boolean,
  left: readonly string[],
  say: (line: string) => void,
): number {
  if (last === undefined) {
    say("the storm ended without a report");
    return 1;
  }
  const { operations, hangs, losses, wrong, statuses } = last.report;
  for (const one of wrong.slice(0, SHOWN_FINDINGS)) say(`wrong: ${one}`);
  for (const one of left) say(`left behind: ${one}`);
  if (!isOver) say(`shutdown() did not let the process end; it held: ${last.active.join(", ")}`);
  say(
    Object.entries(statuses)
      .map((pair) => pair.join(" "))
      .join(", "),
  );
  const held = isOver ? "ended at once" : "was held";
  say(
    `operations ${operations}, hangs ${hangs}, losses told ${losses}, wrong states ${wrong.length}, left behind ${left.length}, ${held}`,
  );
  return hangs + wrong.length + left.length > 0 || !isOver ? 1 : 0;
}
