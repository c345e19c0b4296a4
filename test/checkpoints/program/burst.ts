import { setTimeout as sleep } from "node:timers/promises";
import type { CodeExecution, ISandbox } from "../../../src/index.js";
import { Chance } from "../../faults/campaign/chance.js";
import { BurstModel, type Loss } from "./burst-model.js";
import type { Ground } from "./ground.js";
import { hostPid } from "./head-process.js";
import { Wrong } from "./line.js";

export interface BurstReport {
  readonly seed: number;
  readonly kills: number;
  readonly killsInCells: number;
  readonly losses: readonly Loss[];
  readonly cells: number;
  readonly untrue: readonly string[];
  readonly tooMuch: readonly string[];
  readonly failures: readonly string[];
  readonly trail: readonly string[];
}

const INTERVALS_MS = [20, 100, 400];
/** What a quick cell takes with its way here and back, about; it decides only when the kill comes. */
const QUICK_MS = 2;
const MOST_TRIES = 4;
/** By which a checkpoint is late on purpose. */
const LATENESS = 20;

/** Quick and longer cells one right after the other, and the process killed at some moment. */
export class Burst {
  readonly #ground: Ground;
  readonly #seed: number;
  readonly #chance: Chance;
  readonly #interval: number;
  readonly #model: BurstModel;
  readonly #failures: string[] = [];
  #token = 0;
  #kills = 0;
  #killsInCells = 0;
  #cells = 0;

  constructor(ground: Ground, seed: number) {
    this.#ground = ground;
    this.#seed = seed;
    this.#chance = new Chance(`bursts ${seed}`);
    this.#interval = this.#chance.one(INTERVALS_MS);
    this.#model = new BurstModel(this.#interval, ground.variant === "false-report");
  }

  async run(): Promise<BurstReport> {
    const isLate = this.#ground.variant === "late-checkpoint";
    const checkpointInterval = this.#interval * (isLate ? LATENESS : 1);
    const settings = { preload: "none", poolSize: 2, checkpointInterval } as const;
    try {
      await using sandbox = await this.#ground.openBare(settings);
      await this.#first(sandbox);
      for (let left = this.#chance.between(1, 3); left > 0; left -= 1) await this.#strike(sandbox);
    } catch (error) {
      if (error instanceof Wrong) this.#model.untrue.push(error.message);
      else this.#failures.push(String((error as Error).stack ?? error));
    }
    const { untrue, tooMuch, losses, trail } = this.#model;
    return {
      seed: this.#seed,
      kills: this.#kills,
      killsInCells: this.#killsInCells,
      cells: this.#cells,
      losses,
      untrue,
      tooMuch,
      failures: this.#failures,
      trail: [`interval ${this.#interval}`, ...trail],
    };
  }

  async #first(sandbox: ISandbox): Promise<void> {
    const code = "log = []\nopen('/workspace/begun', 'w').close()\nprint(0)";
    this.#model.completed(0, await sandbox.execute(code));
    // Else the first kill often takes everything back.
    if (this.#chance.below(4) > 0) await sandbox.checkpoints();
  }

  /** One burst with one kill. */
  async #strike(sandbox: ISandbox): Promise<void> {
    const head = await this.#headOf(sandbox);
    const planned = Array.from({ length: this.#chance.between(3, 40) }, () => this.#drawCell());
    const length = planned.reduce((sum, { milliseconds }) => sum + milliseconds + QUICK_MS, 0);
    let isKilled = false;
    const kill = () => {
      isKilled = true;
      process.kill(head, "SIGKILL");
      this.#model.note("kill");
    };
    const isAtRest = this.#chance.below(4) === 0;
    const timer = isAtRest ? undefined : setTimeout(kill, this.#chance.below(Math.ceil(length)));
    let isTold = false;
    let struck: number | undefined;
    for (const { token, code } of planned) {
      const run = await sandbox.execute(code);
      this.#cells += 1;
      this.#model.heard(token, run);
      isTold = isKilled && isDeath(run);
      if (isTold) {
        struck = run.status === "crashed" ? token : undefined;
        break;
      }
    }
    clearTimeout(timer);
    if (!isKilled) await this.#killAtRest(sandbox, kill);
    this.#kills += 1;
    const begun = await this.#verify(sandbox, isTold);
    if (struck !== undefined && begun.includes(struck)) this.#killsInCells += 1;
  }

  /** The session rests or is about to; once its checkpoint is seen, nothing may be lost. */
  async #killAtRest(sandbox: ISandbox, kill: () => void): Promise<void> {
    if (this.#chance.below(2) === 0) {
      this.#model.settled(await sandbox.checkpoints());
    } else await sleep(this.#chance.below(30));
    kill();
  }

  /** What is there now against what was told, in one result at least; the tokens of all cells that began. */
  async #verify(sandbox: ISandbox, isTold: boolean): Promise<number[]> {
    const code =
      "import json; print(json.dumps([globals().get('log', []), open('/workspace/begun').read().split()]))";
    for (let tries = 0, isKnown = isTold; tries < MOST_TRIES; tries += 1) {
      const run = await sandbox.execute(code);
      if (!isKnown) isKnown = isDeath(run);
      this.#model.noted(run);
      if (run.status === "crashed") continue;
      if (run.status !== "ok")
        throw new Wrong(`what is left cannot be read: ${run.error?.message}`);
      if (!isKnown) throw new Wrong("the process was killed, and no result says so");
      const [log, words] = JSON.parse(run.stdout) as [number[], string[]];
      const begun = words.map(Number);
      this.#model.verify(log, begun);
      return begun;
    }
    throw new Wrong("no cell came back after a kill");
  }

  async #headOf(sandbox: ISandbox): Promise<number> {
    const code =
      "import json, os; print(json.dumps([os.getpid(), os.readlink('/proc/self/ns/pid')]))";
    const run = await sandbox.execute(code);
    this.#model.noted(run);
    if (run.status !== "ok") throw new Wrong(`the process does not answer: ${run.error?.message}`);
    const [pid, namespace] = JSON.parse(run.stdout) as [number, string];
    const found = hostPid({ pid, namespace });
    if (found === undefined) throw new Wrong(`process ${pid} of ${namespace} is not there`);
    return found;
  }

  #drawCell(): { token: number; code: string; milliseconds: number } {
    this.#token += 1;
    const token = this.#token;
    const isLong = this.#chance.below(10) < 3;
    const milliseconds = isLong ? this.#chance.between(5, 60) : 0;
    const wait = this.#chance.below(2) === 0 ? SLEEP : BUSY;
    const code = [
      "import time; _began = time.perf_counter()",
      // Files are not rolled back: this shows which cells have begun.
      `with open('/workspace/begun', 'a') as _begun: _begun.write('${token} ')`,
      `log = [*globals().get('log', []), ${token}]`,
      ...(isLong ? [wait.replace("SECONDS", String(milliseconds / 1000))] : []),
      "print((time.perf_counter() - _began) * 1000)",
    ];
    return { token, code: code.join("\n"), milliseconds };
  }
}

const SLEEP = "time.sleep(SECONDS)";
const BUSY = "while time.perf_counter() - _began < SECONDS: pass";

/** Whether a result tells that the process ended, in its cell or before. */
function isDeath({ status, state }: CodeExecution): boolean {
  return (
    status === "crashed" || !state.survived || /ended between two cells/.test(state.reason ?? "")
  );
}
