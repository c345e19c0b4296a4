import { setTimeout as sleep } from "node:timers/promises";
import { createSandbox, type ISandbox, isCellarError, shutdown } from "../../../src/index.js";
import { Chance } from "./chance.js";
import { REMEMBERED, StormModel } from "./storm-model.js";

/** Many sandboxes at once, each with calls that do not wait for each other. */

const LANES = 6;
const MOST_SANDBOXES = 3;
const DEADLINE_MS = 90_000;
const PROGRESS_OPERATIONS = 500;

const SETTINGS = {
  backend: "native",
  preload: "none",
  poolSize: 1,
  timeout: 30_000,
  grace: 300,
  checkpoints: "always",
  keepCheckpoints: 4,
  limits: { memoryMb: 256, processes: 64 },
} as const;

export interface StormReport {
  readonly operations: number;
  readonly hangs: number;
  readonly losses: number;
  readonly wrong: readonly string[];
  readonly statuses: Readonly<Record<string, number>>;
}

interface Vessel {
  readonly sandbox: ISandbox;
  readonly model: StormModel;
  /** Lives until the end: what comes late finds somebody. */
  readonly isElder: boolean;
}

class Storm {
  readonly wrong: string[] = [];
  readonly statuses: Record<string, number> = {};
  operations = 0;
  hangs = 0;
  losses = 0;
  readonly #most: number;
  readonly #seed: number;
  #tokens = 0;

  constructor(operations: number, seed: number) {
    this.#most = operations;
    this.#seed = seed;
  }

  async run(): Promise<void> {
    await Promise.all([...Array(LANES).keys()].map((lane) => this.#lane(lane)));
  }

  async #lane(lane: number): Promise<void> {
    const chance = new Chance(`${this.#seed} ${lane}`);
    const vessels = [await this.#create(true)];
    while (this.operations < this.#most) {
      if (vessels.length < 2) vessels.push(await this.#create(false));
      const vessel = chance.one(vessels);
      const isEnd = !vessel.isElder && chance.below(12) === 0;
      const born = await this.#burst(vessel, chance, isEnd);
      if (isEnd) vessels.splice(vessels.indexOf(vessel), 1);
      for (const twin of born) {
        if (vessels.length < MOST_SANDBOXES) vessels.push(twin);
        else await this.#within("destroy", twin.sandbox.destroy());
      }
    }
    for (const { sandbox, model } of vessels) {
      const log = await this.#within("getVariable", sandbox.getVariable("log"));
      if (log !== undefined) model.saw(log.value);
      // The others are left to the end of all.
      if (chance.below(2) === 0) await this.#within("destroy", sandbox.destroy());
    }
  }

  async #create(isElder: boolean): Promise<Vessel> {
    const made = await this.#within("createSandbox", createSandbox(SETTINGS));
    if (made === undefined) throw new Error("no sandbox could be made");
    return { sandbox: made.value, model: new StormModel(this.wrong), isElder };
  }

  /** Some calls at once; they are served in their order, so the model takes them in it. */
  async #burst(vessel: Vessel, chance: Chance, isEnd: boolean): Promise<Vessel[]> {
    const { sandbox, model } = vessel;
    const steps: (() => Promise<void>)[] = [];
    const born: Vessel[] = [];
    for (let left = chance.between(1, 4); left > 0; left -= 1) {
      steps.push(this.#call(vessel, chance, born, isEnd));
    }
    if (chance.below(4) === 0) {
      await sleep(chance.below(40));
      steps.push(this.#expecting("cancel", sandbox.cancel(), [], () => {}));
    }
    if (isEnd) {
      steps.push(this.#expecting("destroy", sandbox.destroy(), [], () => {}));
      const late = sandbox.execute("1");
      steps.push(
        this.#expecting("execute after destroy", late, ["SESSION_CLOSED"], () => {
          model.wrong.push("a destroyed sandbox ran a cell");
        }),
      );
    }
    for (const step of steps) await step();
    return born;
  }

  #call(vessel: Vessel, chance: Chance, born: Vessel[], isEnd: boolean): () => Promise<void> {
    const { sandbox, model } = vessel;
    const ended = isEnd ? ["SESSION_CLOSED", "SESSION_LOST"] : [];
    const name = chance.weighted({ execute: 60, getVariable: 15, undo: 12, fork: 8 });
    switch (name) {
      case "getVariable":
        return this.#expecting(name, sandbox.getVariable("log"), ended, (log) => model.saw(log));
      case "undo": {
        const undoing = sandbox.undo(chance.between(1, 2));
        return this.#expecting(name, undoing, ["CHECKPOINT_GONE", ...ended], (target) =>
          model.wentBack(target),
        );
      }
      case "fork":
        return this.#expecting(name, sandbox.fork(), ["CHECKPOINT_GONE", ...ended], (twin) => {
          const copy = new StormModel(this.wrong, model);
          born.push({ sandbox: twin, model: copy, isElder: false });
        });
      case "execute": {
        const token = this.#token();
        const { code, timeout } = cellOf(token, chance);
        return this.#expecting(name, sandbox.execute(code, { timeout }), ended, (run) => {
          this.statuses[run.status] = (this.statuses[run.status] ?? 0) + 1;
          if (!run.state.survived) this.losses += 1;
          model.ran(token, run);
        });
      }
    }
  }

  /** The call is made now; what it gave is taken in its turn. */
  #expecting<T>(
    name: string,
    call: Promise<T>,
    allowed: readonly string[],
    take: (value: T) => void,
  ): () => Promise<void> {
    this.operations += 1;
    if (this.operations % PROGRESS_OPERATIONS === 0) this.#tell();
    const outcome = this.#within(name, call, allowed);
    return async () => {
      const given = await outcome;
      if (given !== undefined) take(given.value);
    };
  }

  async #within<T>(
    name: string,
    call: Promise<T>,
    allowed: readonly string[] = [],
  ): Promise<{ value: T } | undefined> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<"late">((resolve) => {
      timer = setTimeout(() => resolve("late"), DEADLINE_MS);
    });
    try {
      const value = await Promise.race([call.then((given) => ({ value: given })), late]);
      if (value !== "late") return value;
      this.hangs += 1;
      this.wrong.push(`${name} was never answered`);
    } catch (error) {
      const code = isCellarError(error) ? error.code : "no code";
      if (!allowed.includes(code)) this.wrong.push(`${name} failed with ${code}: ${String(error)}`);
    } finally {
      clearTimeout(timer);
    }
    return undefined;
  }

  #token(): string {
    this.#tokens += 1;
    return `t${this.#tokens}`;
  }

  #tell(): void {
    const { operations, hangs, losses, wrong } = this;
    const megabytes = process.memoryUsage().rss >> 20;
    console.log(
      `operations ${operations}, hangs ${hangs}, losses ${losses}, wrong ${wrong.length}, ${megabytes} MB`,
    );
  }
}

/** It adds its token first, so that a stop comes before or after that, and never between. */
function cellOf(token: string, chance: Chance): { code: string; timeout: number | undefined } {
  const more = chance.weighted({ nothing: 10, sleep: 5, loop: 2, raise: 3, crash: 2, kill: 2 });
  const rest = {
    nothing: "",
    sleep: `import time; time.sleep(${chance.one([0.005, 0.02, 0.05])})`,
    loop: "import time\n_end = time.monotonic() + 0.03\nwhile time.monotonic() < _end: pass",
    raise: "1 / 0",
    crash: `import os; os._exit(${chance.below(4)})`,
    kill: "import os; os.kill(os.getpid(), 9)",
  }[more];
  const code = `log = globals().get('log', [])[-${REMEMBERED}:] + ['${token}']\nprint(*log)\n${rest}`;
  const isHasty = chance.below(4) === 0;
  return { code, timeout: isHasty ? chance.between(1, 50) : undefined };
}

const [operations = "2000", seed = "1"] = process.argv.slice(2);
const storm = new Storm(Number(operations), Number(seed));
process.on("unhandledRejection", (error) => {
  storm.wrong.push(`nobody caught: ${String(error)}`);
});
await storm.run();
await shutdown();
const report: StormReport = {
  operations: storm.operations,
  hangs: storm.hangs,
  losses: storm.losses,
  wrong: storm.wrong,
  statuses: storm.statuses,
};
console.log(JSON.stringify({ report, active: process.getActiveResourcesInfo() }));
