import { setTimeout as sleep } from "node:timers/promises";
import { isCellarError, Notebook } from "../../../src/index.js";
import type { Account } from "./account.js";
import { Chance } from "./chance.js";
import { bigDeed, type Deed, nextDeed, runDeed, SCRIBBLE } from "./deeds.js";
import {
  describeFault,
  type Fault,
  type FaultKind,
  needsWriter,
  planFault,
  strike,
} from "./faults.js";
import type { Fixture, Plot } from "./fixture.js";
import type { Heard, Holder } from "./holder.js";
import type { Failure } from "./holder-program.js";
import { inspectNotebook } from "./inspection.js";
import { type Findings, Model } from "./model.js";
import { takeOver } from "./takeover.js";

/** How long a process may take to end by itself when all is closed. */
const LEAVING_MS = 30_000;

export interface RoundOrder {
  readonly fixture: Fixture;
  readonly seed: number;
  readonly kinds: readonly FaultKind[];
}

export interface RoundReport extends Findings {
  readonly seed: number;
  readonly counts: Record<"acknowledged" | "kills" | "stops" | "strikes" | "takeovers", number>;
  /** What was done, in its order. */
  readonly trail: readonly string[];
}

/** What a failure may be, by what was done to the holder. */
const EXPLAINED: Readonly<Record<Fault["kind"], readonly string[]>> = {
  kill: ["SESSION_LOST", "START_FAILED", "CHECKPOINT_GONE"],
  stop: ["SESSION_LOST", "START_FAILED", "CHECKPOINT_GONE"],
  disk: ["IO_ERROR"],
  stall: [],
};

/** One holder works on a notebook while faults come; afterwards all that it acknowledged is there. */
export class Round {
  readonly seed: number;
  readonly chance: Chance;
  readonly fixture: Fixture;
  readonly plot: Plot;
  readonly user: string;
  readonly findings: Findings = { lost: [], untrue: [], leftBehind: [] };
  readonly counts = { acknowledged: 0, kills: 0, stops: 0, strikes: 0, takeovers: 0 };
  readonly trail: string[] = [];
  readonly model: Model;
  readonly #kinds: readonly FaultKind[];
  readonly #forks = new Map<string, Model>();
  readonly #suffered = new Set<Fault["kind"]>();
  #holder: Holder;
  readonly #began = performance.now();
  #isOpen = false;
  #tokens = 0;

  constructor({ fixture, seed, kinds }: RoundOrder) {
    this.seed = seed;
    this.chance = new Chance(String(seed));
    this.fixture = fixture;
    this.user = `u${seed}`;
    this.plot = fixture.plot(`r${seed}`);
    this.#kinds = kinds;
    this.model = new Model("book", this.findings);
    const network = this.chance.below(6) === 0 ? { network: { allow: ["127.0.0.1:9"] } } : {};
    const notebook = { ...fixture.options(this.user), ...network };
    this.#holder = fixture.start(this.plot, { notebook });
  }

  /** Nothing was done to it: what it closes is kept whole. */
  get #isQuiet(): boolean {
    return [...this.#suffered].every((kind) => kind === "stall") && !this.#holder.isKilled;
  }

  get holder(): Holder {
    return this.#holder;
  }

  async run(): Promise<RoundReport> {
    try {
      await this.#work();
      await this.#end();
      await this.#inspect();
    } catch (error) {
      this.findings.untrue.push(`the round failed: ${(error as Error).stack}`);
    }
    if (!this.#holder.isGone) await this.#holder.kill();
    this.note("inspected");
    await this.plot.inspect(this.findings, this.#holder.isKilled);
    this.note("over");
    const { seed, findings, counts, trail, model } = this;
    counts.acknowledged += model.acknowledged;
    return { seed, ...findings, counts, trail };
  }

  token(): string {
    this.#tokens += 1;
    return `t${this.seed}x${this.#tokens}`;
  }

  note(text: string): void {
    this.trail.push(`${Math.round(performance.now() - this.#began)} ms: ${text}`);
  }

  async #work(): Promise<void> {
    await this.perform({ name: "open", args: [] }, this.#maybeFault(6));
    for (let left = this.chance.between(3, 6); left > 0 && !this.#holder.isGone; left -= 1) {
      if (!this.#isOpen && !(await this.#open())) break;
      if (this.chance.below(4) === 0) await this.#rest();
      else if (this.chance.below(9) === 0) await this.#reopen();
      else await this.#step(this.#maybeFault(2));
    }
  }

  async #step(fault: Fault | undefined): Promise<void> {
    if (!needsWriter(fault)) return await this.perform(this.#nextDeed(), fault);
    await this.perform(bigDeed(this.token()), fault);
    await this.#rest();
  }

  #nextDeed(): Deed {
    const { cells, isBehind } = this.model;
    return nextDeed(this.chance, this.token(), cells, isBehind);
  }

  #maybeFault(oneIn: number): Fault | undefined {
    const fault = planFault(this.chance, this.#kinds);
    return this.chance.below(oneIn) === 0 ? fault : undefined;
  }

  /** Time in which snapshots are taken, and faults come between two deeds. */
  async #rest(): Promise<void> {
    const fault = this.#maybeFault(3);
    const working = this.#suffer(needsWriter(fault) ? undefined : fault);
    await sleep(this.chance.one([20, 60, 120]));
    await working;
    if (this.#holder.isKilled) await this.#holder.kill();
    else await this.perform({ name: "look", args: [] }, undefined);
  }

  /** The same process closes it, perhaps without success, and opens it again on a well disk. */
  async #reopen(): Promise<void> {
    await this.perform({ name: "close", args: [] }, this.#maybeFault(2));
    if (!this.#holder.isGone) await this.#open();
  }

  /** On a well disk, and with nothing in the way. */
  async #open(): Promise<boolean> {
    const heard = await this.#holder.ask("open");
    this.note(`open again: ${describe(heard)}`);
    if (heard.kind !== "reply") {
      this.#unanswered("open again", heard);
      return false;
    }
    const { error, account } = heard.reply;
    this.#isOpen = account !== undefined;
    if (error !== undefined) this.#judge("open again", error);
    else if (account !== undefined) this.model.reopened(account, { isQuiet: this.#isQuiet });
    return this.#isOpen;
  }

  /** One deed, with what is done to the holder meanwhile. */
  async perform(deed: Deed, fault: Fault | undefined): Promise<void> {
    const asking = this.#holder.ask(deed.name, ...deed.args);
    if (needsWriter(fault)) await asking;
    await this.#suffer(fault);
    const heard = await asking;
    if (this.#holder.isKilled) await this.#holder.kill();
    this.note(`${deed.name} ${deed.code ?? deed.args.join(" ")}: ${describe(heard)}`);
    this.hear(deed, heard);
  }

  hear(deed: Deed, heard: Heard): void {
    const isDone = heard.kind === "reply" && heard.reply.error === undefined;
    if (!isDone && (deed.name === "fork" || deed.name === "open")) this.fixture.unmadeRooms += 1;
    if (heard.kind !== "reply") {
      this.model.unclear(deed);
      this.#unanswered(deed.name, heard);
      return;
    }
    const { error, account, value } = heard.reply;
    this.#isOpen = account !== undefined;
    if (error !== undefined) {
      this.#judge(deed.name, error);
      this.model.unclear(deed, account);
    } else if (account !== undefined) {
      this.model.done(deed, account);
      if (deed.name === "fork") this.#adopt(deed.args[0] ?? "", value as Account);
    }
  }

  #adopt(session: string, account: Account): void {
    const model = new Model(session, this.findings);
    model.begin(account, this.model);
    this.#forks.set(session, model);
  }

  #unanswered(name: string, heard: Heard): void {
    if (heard.kind === "hung") this.findings.untrue.push(`${name} was never answered`);
    else if (!this.#holder.isKilled) {
      this.findings.untrue.push(`the process ended by itself: ${this.#holder.complaints}`);
    }
  }

  #judge(name: string, { code, message }: Failure): void {
    const explained = [...this.#suffered].flatMap((kind) => EXPLAINED[kind]);
    const allowed = name === "undo" ? [...explained, "CHECKPOINT_GONE"] : explained;
    if (code === undefined || !allowed.includes(code)) {
      this.findings.untrue.push(`${name} failed with ${code ?? "no code"}: ${message}`);
    }
  }

  /** Does it, beside what the holder does; ended when the promise is. */
  async #suffer(fault: Fault | undefined): Promise<void> {
    if (fault === undefined || this.#holder.isGone) return;
    if ("disk" in fault && this.fixture.shimAbsence !== undefined) return;
    this.note(describeFault(fault));
    this.#suffered.add(fault.kind);
    if ("disk" in fault) return await this.#failDisk(fault);
    const holder = this.#holder;
    const isStruck = await strike(holder.pid, fault, (name) => holder.signal(name));
    if (!isStruck) this.note(`there was no ${fault.target}`);
    else if (fault.kind === "kill") this.counts.kills += 1;
    else this.counts.stops += 1;
  }

  /** Until something has failed, or long enough. */
  async #failDisk(fault: Extract<Fault, { kind: "disk" | "stall" }>): Promise<void> {
    const { control } = this.plot;
    const before = control.strikes;
    control.begin(fault.disk);
    await sleep(this.chance.one([20, 60, 150]));
    control.end();
    this.counts.strikes += control.strikes - before + (fault.kind === "stall" ? 1 : 0);
  }

  async #end(): Promise<void> {
    if (this.#holder.isGone) return;
    const hasTakeover = this.#kinds.includes("takeover");
    const ending = this.chance.weighted({
      close: this.#kinds.includes("kill") ? 3 : 1,
      kill: this.#kinds.includes("kill") ? 3 : 0,
      takeover: hasTakeover ? 4 : 0,
    });
    if (!this.#isOpen && !(await this.#open())) return await this.leave();
    if (ending === "takeover") return await takeOver(this);
    if (ending === "kill") {
      const deed = runDeed(this.token(), this.chance);
      const fault = { kind: "kill", target: "host", delay: this.chance.below(60) } as const;
      return await this.perform(deed, fault);
    }
    await this.perform({ name: "close", args: [] }, undefined);
    await this.leave();
  }

  /** The holder ends by itself. */
  async leave(): Promise<void> {
    if (await this.#holder.leaves(LEAVING_MS)) return;
    this.findings.leftBehind.push("the process did not end by itself");
    await this.#holder.kill();
  }

  /** What a new process finds. */
  async #inspect(): Promise<void> {
    const { fixture, user, findings } = this;
    if (this.#holder.stray.length > 0) {
      findings.untrue.push(`nobody caught: ${this.#holder.stray.join(", ")}`);
    }
    const isQuiet = this.#isQuiet && this.counts.takeovers === 0;
    const plan = { fixture, user, findings };
    await inspectNotebook({ ...plan, session: "book" }, this.model, { isQuiet });
    for (const [session, model] of this.#forks) await inspectNotebook({ ...plan, session }, model);
    for (const { session } of await Notebook.list({ dir: fixture.dir, user })) {
      await Notebook.remove({ dir: fixture.dir, user, session }).catch((error: unknown) => {
        if (!isCellarError(error, "NOT_FOUND")) throw error;
      });
    }
  }

  /** What was left running writes into the workspace. */
  async scribble(): Promise<void> {
    const heard = await this.#holder.ask("run", SCRIBBLE);
    this.note(`scribble: ${describe(heard)}`);
    this.hear({ name: "run", args: [SCRIBBLE], code: SCRIBBLE }, heard);
  }
}

export function describe(heard: Heard): string {
  if (heard.kind !== "reply") return heard.kind;
  const { error, account } = heard.reply;
  if (error !== undefined) return `${error.code}: ${error.message.split("\n")[0]}`;
  const last = account?.cells.at(-1);
  return `ok, ${account?.cells.length} cells, ${last?.state}, snapshot ${account?.snapshot}, missing ${account?.ranAfter}`;
}
