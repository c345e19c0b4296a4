import type { CodeExecution } from "../../../src/index.js";
import { Chance } from "../../faults/campaign/chance.js";
import { type CellKind, DIGEST, fill, prelude } from "./cells.js";
import type { Ground } from "./ground.js";
import { differencesOf, sightOf } from "./line.js";

/** All in the same one, so that those that go on with what others made find it. */
const SLOT = 0;

/** What is wrong with the kinds of cells: each must run, and the digest must show what it did. */
export async function checkKinds(ground: Ground): Promise<string[]> {
  const chance = new Chance("kinds");
  await using sandbox = await ground.open(0, { checkpoints: "off" });
  await sandbox.execute(prelude(ground.digest, 1).code);
  const look = async () => sightOf(await sandbox.execute(DIGEST.code));
  const wrong: string[] = [];
  let before = await look();
  for (const [index, kind] of ground.kinds.entries()) {
    const run = await sandbox.execute(fill(kind, chance, index, SLOT).code);
    const after = await look();
    wrong.push(...judge(kind, run).map((what) => `${kind.name}: ${what}`));
    const isSeen = differencesOf(after, before).length > 0;
    if (after.state === undefined) wrong.push(`${kind.name}: no digest: ${after.error}`);
    else if (!isSeen) wrong.push(`${kind.name}: the digest does not show it`);
    before = after;
  }
  return wrong;
}

function judge({ needs, raises }: CellKind, { status, error }: CodeExecution): string[] {
  const isMissing = needs !== undefined && error?.type === "ModuleNotFoundError";
  const wanted = raises || isMissing ? "error" : "ok";
  return status === wanted ? [] : [`${status}, ${error?.type}: ${error?.message}`];
}
