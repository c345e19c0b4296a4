import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AcceptedDifferences } from "./accepted.js";
import { type CellarOrder, runInCellar } from "./cellar-side.js";
import { compareCells, type Difference } from "./comparison.js";
import { judge, type Verdict } from "./judgement.js";
import { fillCaches, type Kernel, runInJupyter } from "./jupyter-side.js";
import { lostCell, type SideRecord } from "./record.js";
import type { Source } from "./sources.js";
import { surroundingsOf } from "./surroundings.js";

export interface CampaignOptions {
  readonly kernel: Kernel;
  /** The Python program of the other side. */
  readonly program: string;
  readonly preload: "full" | "standard" | "none";
  readonly timeoutMs: number;
  readonly memoryMb: number;
  readonly parallel: number;
  readonly twice: boolean;
  readonly pixels: boolean;
  readonly accepted: AcceptedDifferences;
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
}

export interface JudgedCell {
  readonly number: number;
  readonly code: string;
  readonly verdict: Verdict;
  readonly differences: readonly Difference[];
  readonly reason?: string;
}

export interface JudgedNotebook {
  readonly name: string;
  readonly group: string;
  readonly cells: readonly JudgedCell[];
  readonly seconds: { readonly cellar: number; readonly jupyter: number };
  readonly notes: readonly string[];
}

/** Runs every notebook on both sides, some at a time, and gives them in their order. */
export async function runCampaign(
  sources: readonly Source[],
  options: CampaignOptions,
): Promise<JudgedNotebook[]> {
  const judged: (JudgedNotebook | undefined)[] = sources.map(() => undefined);
  const fixture = mkdtempSync(join(tmpdir(), "cellar-compat-"));
  let next = 0;
  let done = 0;
  const work = async () => {
    for (let index = next++; index < sources.length; index = next++) {
      const source = sources[index];
      if (source === undefined || options.signal.aborted) return;
      const one = await runNotebook(source, options, { fixture, name: `n${index}` });
      // What was stopped in the middle says nothing.
      if (options.signal.aborted) return;
      judged[index] = one;
      const count = one.cells.filter(({ verdict }) => verdict === "different").length;
      const { cellar, jupyter } = one.seconds;
      const times = `cellar ${cellar.toFixed(1)} s, ipykernel ${jupyter.toFixed(1)} s`;
      options.say(
        `[${++done}/${sources.length}] ${one.name}: ${one.cells.length} cells, ${count} different (${times})`,
      );
    }
  };
  try {
    await fillCaches(options.kernel, join(fixture, "caches"));
    await Promise.all(Array.from({ length: options.parallel }, work));
  } finally {
    rmSync(fixture, { recursive: true, force: true, maxRetries: 10 });
  }
  return judged.filter((one) => one !== undefined);
}

async function runNotebook(
  source: Source,
  options: CampaignOptions,
  { fixture, name }: { readonly fixture: string; readonly name: string },
): Promise<JudgedNotebook> {
  const { kernel, program, timeoutMs, signal } = options;
  const { cells } = source;
  const surroundings = surroundingsOf(source.file);
  const order = { kernel, program, cells, surroundings, timeoutMs, signal };
  const caches = join(fixture, "caches");
  const jupyter = (run: string) =>
    runInJupyter({ ...order, caches, dir: join(fixture, `${name}-${run}`) });
  const first = await jupyter("first");
  const second = options.twice ? await jupyter("second") : undefined;
  const place = { dir: join(fixture, "books"), session: name };
  const cellar = await cellarOf(source, { ...options, ...place, surroundings });
  const left = surroundings.left;
  const notes = [
    ...first.notes,
    ...cellar.notes,
    ...(left > 0 ? [`${left} files of its folder were not copied: too many or too large`] : []),
  ];
  const { workspace } = first;
  const seconds = { cellar: cellar.seconds, jupyter: first.seconds };
  const judged = judgeCells(source, { cellar, first, second, workspace }, options);
  return { name: source.name, group: source.group, cells: judged, seconds, notes };
}

/** That Cellar fails as a whole is a finding, not the end of the run. */
async function cellarOf(
  { cells }: Source,
  order: CampaignOptions & Pick<CellarOrder, "dir" | "session" | "surroundings">,
): Promise<SideRecord> {
  try {
    return await runInCellar({ ...order, cells, python: order.kernel.python });
  } catch (error) {
    const notes = [`Cellar failed: ${(error as Error).message.slice(0, 500)}`];
    return { cells: cells.map(() => lostCell), seconds: 0, notes };
  }
}

interface Sides {
  readonly cellar: SideRecord;
  readonly first: SideRecord;
  readonly second: SideRecord | undefined;
  readonly workspace: string | undefined;
}

export function judgeCells(
  { name, cells }: Source,
  { cellar, first, second, workspace }: Sides,
  { accepted, pixels }: Pick<CampaignOptions, "accepted" | "pixels">,
): JudgedCell[] {
  let afterTimeout = false;
  return cells.map((code, number) => {
    const [ours, jupyter] = [cellar.cells[number] ?? lostCell, first.cells[number] ?? lostCell];
    const other = second?.cells[number];
    const differences = compareCells(ours, jupyter, { workspace, pixels });
    const again = other === undefined ? undefined : compareCells(other, jupyter, { pixels });
    const reason = accepted.reasonFor({ notebook: name, number, code }, differences);
    const isAccepted = reason !== undefined;
    const verdict = judge({ code, differences, jupyter, again, afterTimeout, isAccepted });
    afterTimeout ||= jupyter.state === "timeout";
    return { number, code, verdict, differences, ...(isAccepted ? { reason } : {}) };
  });
}
