import type { Chance } from "../../faults/campaign/chance.js";
import { type Cell, crashing, endless, killing } from "./cells.js";
import { hostPid } from "./head-process.js";
import { Wrong } from "./line.js";
import type { Subject } from "./subject.js";

export const INCIDENTS = ["undo", "crash", "kill", "timeout", "fork"] as const;
export type Incident = (typeof INCIDENTS)[number];

const WEIGHTS: Readonly<Record<Incident, number>> = {
  undo: 35,
  crash: 20,
  kill: 20,
  timeout: 12,
  fork: 13,
};
const TIMEOUTS_MS = [60, 150, 300];

/** A fork needs a checkpoint of the present. */
export function drawIncident(chance: Chance, subject: Subject): Incident {
  const drawn = chance.weighted(WEIGHTS);
  return drawn === "fork" && !subject.line.isHeld ? "crash" : drawn;
}

/** Everything but a fork, which leaves two. `draw` gives a cell that is to be lost. */
export async function suffer(
  incident: Exclude<Incident, "fork">,
  subject: Subject,
  chance: Chance,
  draw: () => Cell,
): Promise<void> {
  switch (incident) {
    case "undo":
      await undo(subject, chance);
      break;
    case "crash":
      await subject.perform(crashing(draw(), chance));
      break;
    case "kill":
      if (chance.below(2) === 0) await subject.perform(killing(draw()));
      else await killFromOutside(subject, chance);
      break;
    case "timeout":
      await subject.perform(endless(draw(), chance), { timeout: chance.one(TIMEOUTS_MS) });
      break;
  }
  subject.restored();
}

async function undo(subject: Subject, chance: Chance): Promise<void> {
  const { sandbox, line } = subject;
  const kept = await sandbox.checkpoints();
  line.check(kept);
  const earlier = kept.filter(({ cell }) => cell < line.present);
  // The empty start is always there, and there is little to see in it.
  const wanted = earlier.length > 1 && chance.below(10) > 0 ? earlier.slice(1) : earlier;
  if (wanted.length === 0) return;
  const { cell } = chance.one(wanted);
  const count = line.steps.filter(({ number }) => number > cell).length;
  const target = await sandbox.undo(count);
  subject.note(`undo(${count}): ${JSON.stringify(target)}`);
  if (target.cell !== cell) throw new Wrong(`undo(${count}) went to ${target.cell}, not ${cell}`);
  line.cutAfter(cell);
}

async function killFromOutside(subject: Subject, chance: Chance): Promise<void> {
  const head = await subject.head();
  const kept = chance.below(2) === 0 ? await subject.sandbox.checkpoints() : [];
  subject.line.check(kept);
  // Nothing may be lost if its checkpoint has been seen.
  const isSettled = kept.at(-1)?.cell === subject.line.present;
  subject.line.mayLose = !isSettled;
  const found = hostPid(head);
  if (found === undefined) throw new Wrong(`process ${head.pid} of ${head.namespace} is not there`);
  process.kill(found, "SIGKILL");
  subject.note(`kill from outside, ${isSettled ? "with its checkpoint" : "at once"}`);
}
