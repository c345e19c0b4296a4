import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createSandbox, type ISandbox, type REPLConfig } from "../../../src/index.js";
import { type CellKind, CellSource, readKinds } from "./cells.js";
import type { Way } from "./totals.js";
import type { Variant } from "./variants.js";

const COMMON = {
  backend: "native",
  timeout: 60_000,
  grace: 200,
  maxOutputLength: 1_000_000,
} as const;
/** Modules that some kinds of cells need, preloaded where they are installed. */
const LIBRARIES = ["numpy", "pandas"];
/** Half of the runs import everything themselves, and keep few checkpoints. */
const PROFILES = [
  { preload: LIBRARIES, keepCheckpoints: 20, poolSize: 2 },
  { preload: "none", keepCheckpoints: 5, poolSize: 2 },
] satisfies REPLConfig[];

/** What all runs of a process share. */
export class Ground {
  readonly digest: string;
  readonly kinds: readonly CellKind[];
  readonly variant: Variant | undefined;
  readonly #settings: REPLConfig;
  #sources: CellSource[] | undefined;

  constructor(root: string, way: Way, variant: Variant | undefined) {
    const folder = join(root, "test", "checkpoints", "program");
    this.variant = variant;
    this.digest = readFileSync(join(folder, "digest.py"), "utf8");
    this.kinds = readKinds(join(folder, "cells"));
    const environment = join(root, ".venv");
    this.#settings = {
      ...COMMON,
      checkpointMethod: way === "forks" ? "fork" : "pages",
      ...(existsSync(environment) && { python: environment }),
    };
  }

  /** `profile` is any number. */
  open(profile: number, config: REPLConfig): Promise<ISandbox> {
    return this.openBare({ ...PROFILES[profile % PROFILES.length], ...config });
  }

  openBare(config: REPLConfig): Promise<ISandbox> {
    return createSandbox({ ...this.#settings, ...config });
  }

  /** The kinds whose modules are there; one that imports numpy in each run takes long for what it shows. */
  async source(profile: number): Promise<CellSource> {
    this.#sources ??= await this.#findSources();
    return this.#sources[profile % PROFILES.length] as CellSource;
  }

  async #findSources(): Promise<CellSource[]> {
    await using sandbox = await this.open(0, {});
    const { stdout } = await sandbox.execute(
      `import sys; print(*[name for name in ${JSON.stringify(LIBRARIES)} if name in sys.modules])`,
    );
    const present = stdout.trim().split(" ");
    return PROFILES.map(({ preload }) => {
      const there = preload === "none" ? [] : present;
      return new CellSource(
        this.kinds.filter(({ needs }) => needs === undefined || there.includes(needs)),
      );
    });
  }
}
