import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Notebook, shutdown } from "../../../src/index.js";
import type { NotebookOptions } from "../../../src/notebook/index.js";
import { DEADLINE_MS, Holder } from "./holder.js";
import type { HolderOrder } from "./holder-program.js";
import type { Findings } from "./model.js";
import { cgroupsOf, processesAt } from "./process-tree.js";
import { compileShim, ShimControl } from "./shim.js";
import type { Variant } from "./variants.js";

/** How long the processes of one who has ended may take to go. */
const LEAVING_MS = 30_000;
const LOOK_MS = 20;
const SHIM = "test/faults/campaign/shim.c";

export interface GroundPlan {
  /** The folder of the bundled programs. */
  readonly programs: string;
  /** The root of the package. */
  readonly root: string;
  readonly variant?: Variant | undefined;
}

/** Where a campaign takes place: one folder of notebooks for all rounds. */
export class Fixture implements AsyncDisposable {
  readonly root = mkdtempSync(join(tmpdir(), "cf-"));
  readonly dir = join(this.root, "books");
  readonly variant: Variant | undefined;
  /** Why disks cannot be made to fail here. */
  readonly shimAbsence: string | undefined;
  /** How many openings and forks failed or were cut off, each of which may have left a room. */
  unmadeRooms = 0;
  readonly #program: string;
  readonly #shim: string | undefined;
  readonly #pids = new Set<number>();

  constructor({ programs, root, variant }: GroundPlan) {
    // Sessions are of another user, who must get to what is theirs.
    chmodSync(this.root, 0o755);
    this.#program = join(programs, "holder-program.mjs");
    this.variant = variant;
    const made = compileShim(join(root, SHIM), this.root);
    if ("file" in made) this.#shim = made.file;
    else this.shimAbsence = made.why;
  }

  options(user: string, session = "book"): NotebookOptions {
    const { dir } = this;
    const limits = { memoryMb: 256, processes: 64 };
    return {
      user,
      session,
      dir,
      preload: "none",
      poolSize: 0,
      timeout: 20_000,
      grace: 300,
      limits,
    };
  }

  plot(name: string): Plot {
    return new Plot(join(this.root, name));
  }

  start(plot: Plot, order: HolderOrder): Holder {
    const shim = this.#shim === undefined ? {} : plot.control.environment(this.#shim, this.dir);
    const whole = { ...order, variant: this.variant };
    const holder = new Holder(this.#program, whole, { ...plot.environment, ...shim });
    this.#pids.add(holder.pid);
    return holder;
  }

  /** When all rounds are over: what no notebook and no process needs any more. */
  async inspect(findings: Findings): Promise<void> {
    // What killed ones had no time for is cleared away by the next one that starts.
    const plot = this.plot("last");
    const last = this.start(plot, { notebook: this.options("last") });
    for (const deed of ["open", "close"]) await last.ask(deed);
    await last.leaves(LEAVING_MS);
    await Notebook.remove({ dir: this.dir, user: "last", session: "book" });
    await plot.inspect(findings, false);
    const rooms = join(this.dir, "rooms");
    const left = readdirSync(rooms).filter((name) => !name.startsWith("spare-"));
    const told = left.map((name) => `room ${name} ${describeRoom(join(rooms, name))}`);
    // Nobody knows of the room of a notebook that was never made: it stays, and is no loss.
    findings.leftBehind.push(...told.slice(this.unmadeRooms));
    const groups = cgroupsOf(this.#pids);
    findings.leftBehind.push(...groups.map((path) => `cgroup ${path}`));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await shutdown();
    rmSync(this.root, { recursive: true, force: true, maxRetries: 10 });
  }
}

function describeRoom(folder: string): string {
  const files = readdirSync(folder, { recursive: true }).join(", ");
  const sign = join(folder, "notebook");
  return `of ${existsSync(sign) ? readFileSync(sign, "utf8") : "nobody"} with ${files}`;
}

/** What belongs to one round: a home and a folder for temporary files. */
export class Plot {
  readonly control: ShimControl;
  readonly folder: string;
  readonly #temporary: string;

  constructor(folder: string) {
    this.folder = folder;
    this.#temporary = join(folder, "t");
    mkdirSync(this.#temporary, { recursive: true });
    this.control = new ShimControl(folder);
  }

  get environment(): Record<string, string> {
    const places = { HOME: this.folder, TMPDIR: this.#temporary, XDG_RUNTIME_DIR: this.#temporary };
    // A daemon that is started here prepares nothing in advance.
    return { ...places, CELLAR_PRELOAD: "none", CELLAR_POOL_SIZE: "0" };
  }

  /** Looks for processes and files that are left when everybody has ended. */
  async inspect(findings: Findings, wasKilled: boolean): Promise<void> {
    const end = performance.now() + LEAVING_MS;
    let left = processesAt(this.folder);
    while (left.length > 0 && performance.now() < end) {
      await sleep(LOOK_MS);
      left = processesAt(this.folder);
    }
    findings.leftBehind.push(...left.map((one) => `process ${one}`));
    // What a killed one had no time for is cleared away by the next one that starts.
    const isSwept = (name: string) => wasKilled && /^cellar-\d+-\w{6}$/.test(name);
    const files = readdirSync(this.#temporary).filter((name) => !isSwept(name));
    findings.leftBehind.push(...files.map((name) => `temporary ${name}`));
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

/** No wait is for ever. */
export async function within<T>(what: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took too long`)), DEADLINE_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

export async function textLines(notebook: Notebook, code: string): Promise<string[]> {
  const cell = await within("a run", notebook.run(code));
  const [first] = cell.outputs;
  return first?.type === "TEXT" ? first.text.split("\n") : [];
}
