import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Chance } from "../../faults/campaign/chance.js";

export interface CellKind {
  readonly name: string;
  readonly template: string;
  /** The module without which it is left out. */
  readonly needs: string | undefined;
  readonly raises: boolean;
  /** What it does to files is not undone, so it is not for a sandbox that shares them. */
  readonly usesFiles: boolean;
}

export interface Cell {
  readonly kind: string;
  readonly code: string;
}

const HEADING = /^# %% (.+?)(?: needs (\w+))?( raises)?$/m;
const SLOTS = [0, 0, 0, 1, 1, 2];
/** How many of a hundred cells are of the kind of the one before. */
const AGAIN = 30;
const SIZES = [1_000, 5_000, 20_000];

/** The kinds in the files of `cells/`, in the form that editors know as cells of a script. */
export function readKinds(folder: string): CellKind[] {
  const files = readdirSync(folder).filter((name) => name.endsWith(".py"));
  return files.sort().flatMap((file) => {
    const parts = readFileSync(join(folder, file), "utf8").split(/^(?=# %% )/m);
    return parts.flatMap((part) => {
      const found = HEADING.exec(part);
      if (found === null) return [];
      const [heading, name = "", needs, raises] = found;
      const template = part.slice(heading.length).trim();
      return [
        {
          name,
          template,
          needs,
          raises: raises !== undefined,
          usesFiles: file === "files.py" || template.includes("/workspace"),
        },
      ];
    });
  });
}

/** Cells of random kinds; the same for the same chance. */
export class CellSource {
  readonly #kinds: readonly CellKind[];
  readonly #memory: readonly CellKind[];
  readonly #last = new WeakMap<Chance, CellKind>();

  constructor(kinds: readonly CellKind[]) {
    this.#kinds = kinds;
    this.#memory = kinds.filter(({ usesFiles }) => !usesFiles);
  }

  /** `number` is used once in a run: files are named for it. */
  draw(chance: Chance, number: number, { withFiles = true } = {}): Cell {
    const kind = chance.one(withFiles ? this.#kinds : this.#memory);
    const last = this.#last.get(chance);
    // Many cells make something first, and change it only when they come again.
    const isAgain =
      chance.below(100) < AGAIN && last !== undefined && (withFiles || !last.usesFiles);
    const drawn = isAgain ? last : kind;
    this.#last.set(chance, drawn);
    return fill(drawn, chance, number);
  }
}

export function fill(
  { name, template }: CellKind,
  chance: Chance,
  number: number,
  slot = chance.one(SLOTS),
): Cell {
  const code = template
    .replaceAll("_SLOT", `_${slot}`)
    .replaceAll("NUM_CELL", String(number))
    .replaceAll("NUM_SIZE", String(chance.one(SIZES)))
    .replaceAll("NUM_A", String(chance.between(1, 9)))
    .replaceAll("NUM_B", String(chance.between(10, 99)));
  return { kind: name, code };
}

/** The first cell of every session: the digest, and random numbers that can be compared. */
export function prelude(digest: string, seed: number): Cell {
  const code = `
import random, sys, types
_trial = types.ModuleType("_trial")
exec(compile(${JSON.stringify(digest)}, "digest.py", "exec"), vars(_trial))
random.seed(${seed})
if "numpy" in sys.modules:
    sys.modules["numpy"].random.seed(${seed % 2 ** 32})
del random, sys, types`;
  return { kind: "prelude", code };
}

export const DIGEST: Cell = { kind: "digest", code: "_trial.show(globals())" };
/** Uses up what can only be known that way. */
export const DRAIN: Cell = { kind: "digest", code: "_trial.drain(globals())" };

const ENDS = [
  "import ctypes; ctypes.string_at(0)",
  "import os; os.abort()",
  "import os; os._exit(3)",
];

export function crashing(cell: Cell, chance: Chance): Cell {
  return { kind: `${cell.kind}, then crash`, code: `${cell.code}\n${chance.one(ENDS)}` };
}

export function killing(cell: Cell): Cell {
  const code = `${cell.code}\nimport os; os.kill(os.getpid(), 9)`;
  return { kind: `${cell.kind}, then kill`, code };
}

const DELAYS = [
  "import time\nwhile True: time.sleep(0.01)",
  "while True: pass",
  "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
];

/** Runs until it is stopped; the last one has to be killed. */
export function endless(cell: Cell, chance: Chance): Cell {
  return { kind: `${cell.kind}, then endless`, code: `${cell.code}\n${chance.one(DELAYS)}` };
}
