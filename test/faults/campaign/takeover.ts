import { readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isCellarError, Notebook } from "../../../src/index.js";
import { accountOf } from "./account.js";
import { type Deed, fileDeed, longDeed, runDeed, SHARED_FILE } from "./deeds.js";
import { within } from "./fixture.js";
import type { Heard } from "./holder.js";
import { inspectContents } from "./inspection.js";
import { describe, type Round } from "./round.js";

const OWNING_MS = 2_000;
/** In which the former owner may do its worst. */
const WAKING_MS = 150;
const SETTLING_MS = 60;

/** The holder is stopped, another process takes the notebook, and then the holder goes on. */
export async function takeOver(round: Round): Promise<void> {
  const { holder, model, chance } = round;
  const way = chance.weighted({ opening: 3, running: 3, deleting: 3, resting: 2 });
  round.note(`takeover while ${way}`);
  round.counts.takeovers += 1;
  const pending = await stopWhile(round, way);
  const { fixture, user, findings } = round;
  const options = { ...fixture.options(user), takeover: true };
  const notebook = await within("the takeover", Notebook.open(options));
  try {
    const first = accountOf(notebook);
    if (pending.deed !== undefined) model.unclear(pending.deed);
    model.reopened(first);
    for (const deed of [longDeed(round.token()), runDeed(round.token(), chance)]) {
      await act(round, notebook, deed);
    }
    await act(round, notebook, fileDeed(SHARED_FILE, round.token()));
    await sleep(SETTLING_MS);
    await inspectContents(notebook, "while the former owner is stopped", model, findings);
    holder.signal("SIGCONT");
    const known = new Set(first.cells.map(({ code }) => code));
    await checkFormer(round, pending, known);
    await sleep(WAKING_MS);
    await act(round, notebook, longDeed(round.token()));
    await inspectContents(notebook, "after the former owner went on", model, findings);
  } finally {
    holder.signal("SIGCONT");
    await within("closing", notebook.close());
  }
  await round.leave();
}

interface Pending {
  readonly deed?: Deed;
  readonly heard?: Promise<Heard>;
}

type Way = "opening" | "running" | "deleting" | "resting";

async function stopWhile(round: Round, way: Way): Promise<Pending> {
  const { holder, chance, model } = round;
  if (way !== "opening") await round.scribble();
  if (way === "opening") {
    await round.perform({ name: "close", args: [] }, undefined);
    const before = newestHead(round);
    const heard = holder.ask("open");
    const end = performance.now() + OWNING_MS;
    // Its first commit makes it the owner; what follows is its own idea of what is needed.
    while (newestHead(round) === before && performance.now() < end) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    holder.signal("SIGSTOP");
    return { heard };
  }
  if (way === "resting") {
    holder.signal("SIGSTOP");
    return {};
  }
  const long = longDeed(round.token());
  if (way === "deleting") await round.perform(long, undefined);
  const target = model.cells.find(({ code }) => code === long.code)?.id;
  const deed: Deed =
    way === "running" || target === undefined
      ? runDeed(round.token(), chance)
      : { name: "delete", args: [target], target };
  const heard = holder.ask(deed.name, ...deed.args);
  await sleep(chance.below(way === "deleting" ? 8 : 40));
  holder.signal("SIGSTOP");
  return { deed, heard };
}

/** Nothing is acknowledged to it that the new owner has not found. */
async function checkFormer(
  round: Round,
  { deed, heard }: Pending,
  known: ReadonlySet<string>,
): Promise<void> {
  const { holder, findings } = round;
  const late = await heard;
  if (late !== undefined)
    round.note(`the former owner's ${deed?.name ?? "open"}: ${describe(late)}`);
  const isAnswered = late?.kind === "reply" && late.reply.error === undefined;
  if (isAnswered && deed?.code !== undefined && !known.has(deed.code)) {
    findings.untrue.push("a run was acknowledged to the former owner after the takeover");
  }
  if (late?.kind === "reply" && late.reply.error !== undefined) {
    const { code, message } = late.reply.error;
    if (code !== "CONFLICT" && code !== "LOCKED") {
      findings.untrue.push(`the former owner was told ${code}: ${message}`);
    }
  }
  const { code } = runDeed(round.token(), round.chance);
  const refused = await holder.ask("run", code);
  round.note(`the former owner runs once more: ${describe(refused)}`);
  if (refused.kind !== "reply") {
    findings.untrue.push(`the former owner's run: ${refused.kind}`);
  } else if (refused.reply.error === undefined) {
    findings.untrue.push("a run was acknowledged to the former owner");
  } else if (late?.kind === "reply" && late.reply.account === undefined) {
    // It had not even been opened.
  } else if (refused.reply.error.code !== "CONFLICT") {
    const { code: found, message } = refused.reply.error;
    findings.untrue.push(`the former owner was refused with ${found}: ${message}`);
  }
}

/** One deed of the new owner, in this process. */
async function act(round: Round, notebook: Notebook, deed: Deed): Promise<void> {
  try {
    if (deed.file !== undefined && deed.name === "putFile") {
      await within("a file", notebook.putFile(deed.file.path, deed.file.text));
    } else await within("a run", notebook.run(deed.code ?? ""));
  } catch (error) {
    const code = isCellarError(error) ? error.code : "no code";
    round.findings.untrue.push(
      `the new owner's ${deed.name} failed with ${code}: ${String(error)}`,
    );
    round.model.unclear(deed, accountOf(notebook));
    return;
  }
  round.note(`the new owner: ${deed.name} ${deed.code ?? deed.args.join(" ")}`);
  round.model.done(deed, accountOf(notebook));
}

function newestHead({ fixture, user }: Round): string | undefined {
  try {
    const names = readdirSync(join(fixture.dir, "notebooks", user, "book"));
    return names
      .filter((name) => /^head-\d+\.json$/.test(name))
      .sort()
      .at(-1);
  } catch {
    return undefined;
  }
}
