import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { type LimitSettings, Notebook } from "../../../src/index.js";
import type { Cell, CellState } from "../../../src/notebook/index.js";
import { type CellRecord, outputSchema, type RunState, type SideRecord } from "./record.js";
import type { Surroundings } from "./surroundings.js";

const USER = "compat";
/** Cells of a comparison may say more than a model wants to read. */
const MAX_OUTPUT = 2_000_000;

const STATES: Readonly<Record<CellState, RunState>> = {
  IDLE: "lost",
  RUNNING: "lost",
  COMPLETED: "ok",
  ERROR: "error",
  TIMEOUT: "timeout",
  CANCELLED: "timeout",
  OOM: "died",
  CRASHED: "died",
};

const exportSchema = z.object({
  cells: z.array(z.object({ cell_type: z.string(), outputs: z.array(outputSchema).optional() })),
});

export interface CellarOrder {
  readonly cells: readonly string[];
  readonly surroundings: Surroundings;
  /** One for all notebooks: those that share it share what is preloaded. */
  readonly dir: string;
  readonly session: string;
  readonly python: string;
  readonly preload: "full" | "standard" | "none";
  readonly timeoutMs: number;
  readonly memoryMb: number;
  readonly signal: AbortSignal;
}

/** Runs the cells through `Notebook`, and gives their outputs as the exported notebook has them. */
export async function runInCellar(order: CellarOrder): Promise<SideRecord> {
  try {
    return await runCells(order);
  } finally {
    // Its snapshots are large, and nobody comes back to them.
    const { dir, session } = order;
    await Notebook.remove({ dir, user: USER, session }).catch(() => {});
  }
}

async function runCells(order: CellarOrder): Promise<SideRecord> {
  const { cells, surroundings, dir, session, python, preload, timeoutMs, memoryMb, signal } = order;
  const limits: Partial<LimitSettings> = { memoryMb, workspaceMb: 1024, tmpMb: 256 };
  const started = performance.now();
  await using notebook = await Notebook.open({
    user: USER,
    session,
    dir,
    python,
    preload,
    timeout: timeoutMs,
    maxCells: 10_000,
    maxOutputLength: MAX_OUTPUT,
    poolSize: 0,
    network: "none",
    limits,
  });
  for (const file of surroundings.files) {
    await notebook.putFile(file, readFileSync(join(surroundings.folder, file)));
  }
  const run: Cell[] = [];
  for (const code of cells) {
    if (signal.aborted) break;
    run.push(await notebook.run(code, { signal }));
  }
  const { cells: written } = exportSchema.parse(JSON.parse(await notebook.exportIpynb()));
  return {
    cells: cells.map((_, index): CellRecord => {
      const state = STATES[run[index]?.state ?? "IDLE"];
      return { state, outputs: written[index]?.outputs ?? [] };
    }),
    seconds: (performance.now() - started) / 1000,
    notes: [],
  };
}
