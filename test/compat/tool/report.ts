import type { AcceptedEntry } from "./accepted.js";
import type { JudgedCell, JudgedNotebook } from "./campaign.js";
import { CLASSES, type DifferenceClass } from "./comparison.js";
import { APART, VERDICTS, type Verdict } from "./judgement.js";

const SHOWN_LINES = 8;
const SHOWN_CHARACTERS = 600;
const KEPT_CHARACTERS = 20_000;

export interface Totals {
  readonly notebooks: number;
  readonly cells: number;
  readonly verdicts: Readonly<Record<Verdict, number>>;
  /** Different cells by the first respect in which they differ. */
  readonly classes: Readonly<Record<DifferenceClass, number>>;
  /** Alike or accepted, in hundredths, of the cells that depend on nothing outside them. */
  readonly percentAlike: number;
}

export function totalsOf(notebooks: readonly JudgedNotebook[]): Totals {
  const cells = notebooks.flatMap((notebook) => notebook.cells);
  const count = (wanted: Verdict) => cells.filter(({ verdict }) => verdict === wanted).length;
  const verdicts = Object.fromEntries(VERDICTS.map((verdict) => [verdict, count(verdict)]));
  const different = cells.filter(({ verdict }) => verdict === "different");
  const classes = CLASSES.map((name) => [
    name,
    different.filter(({ differences }) => differences[0]?.what === name).length,
  ]);
  const judged = cells.filter(({ verdict }) => !APART.includes(verdict)).length;
  const percentAlike = judged === 0 ? 100 : (100 * (judged - different.length)) / judged;
  return {
    notebooks: notebooks.length,
    cells: cells.length,
    verdicts: verdicts as Totals["verdicts"],
    classes: Object.fromEntries(classes) as Totals["classes"],
    percentAlike: Math.floor(percentAlike * 100) / 100,
  };
}

/** The report for people: what differs first in each notebook, then the sums. */
export function reportOf(
  notebooks: readonly JudgedNotebook[],
  idle: readonly AcceptedEntry[],
): string {
  const lines: string[] = [];
  for (const notebook of notebooks) {
    const { name, cells, notes } = notebook;
    const different = cells.filter(({ verdict }) => verdict === "different");
    const [first] = different;
    if (first === undefined && notes.length === 0) continue;
    lines.push(`${name}: ${cells.length} cells, ${different.length} different`);
    lines.push(...notes.map((note) => `  note: ${note}`));
    if (first !== undefined) lines.push(...tellCell(first));
  }
  const groups = [...new Set(notebooks.map(({ group }) => group))];
  const rows = groups.map((group) =>
    rowOf(group, totalsOf(notebooks.filter((notebook) => notebook.group === group))),
  );
  const all = totalsOf(notebooks);
  if (lines.length > 0) lines.push("");
  lines.push(
    ...tableOf([
      ["folder", "notebooks", "cells", ...VERDICTS, "% alike"],
      ...rows,
      rowOf("all", all),
    ]),
  );
  const classes = CLASSES.filter((name) => all.classes[name] > 0);
  if (classes.length > 0) {
    const told = classes.map((name) => `${name} ${all.classes[name]}`).join(", ");
    lines.push(`different by their first class: ${told}`);
  }
  for (const { notebook, cell } of idle) {
    lines.push(`accepted, but alike now: ${notebook}, cell ${JSON.stringify(cell)}`);
  }
  const judged = all.cells - APART.reduce((sum, verdict) => sum + all.verdicts[verdict], 0);
  lines.push(
    `${all.verdicts.alike + all.verdicts.accepted} of ${judged} cells alike or accepted (${all.percentAlike} %), ` +
      `${all.verdicts.different} different, ${all.cells - judged} apart`,
  );
  return lines.join("\n");
}

function tellCell({ number, code, differences }: JudgedCell): string[] {
  const names = differences.map(({ what }) => what).join(", ");
  const lines = [`  first different: cell ${number} (${names})`, ...indented("code", code)];
  for (const { what, cellar, jupyter } of differences.slice(0, 3)) {
    const [ours, theirs] = fromFirstDifference(cellar, jupyter);
    lines.push(...indented(`${what}, cellar`, ours), ...indented(`${what}, jupyter`, theirs));
  }
  return lines;
}

/** Both texts from the line on in which they part. */
function fromFirstDifference(one: string, other: string): [string, string] {
  const [a, b] = [one.split("\n"), other.split("\n")];
  const at = a.findIndex((line, index) => line !== b[index]);
  const from = Math.max(0, (at < 0 ? Math.min(a.length, b.length) : at) - 1);
  return [a.slice(from).join("\n"), b.slice(from).join("\n")];
}

function indented(title: string, text: string): string[] {
  const lines = text.slice(0, SHOWN_CHARACTERS).split("\n");
  const isCut = lines.length > SHOWN_LINES || text.length > SHOWN_CHARACTERS;
  const shown = lines.slice(0, SHOWN_LINES).map((line) => `      ${line}`);
  return [`    ${title}:`, ...shown, ...(isCut ? ["      ..."] : [])];
}

function rowOf(name: string, totals: Totals): string[] {
  const { notebooks, cells, verdicts, percentAlike } = totals;
  const counts = VERDICTS.map((verdict) => verdicts[verdict]);
  return [name, notebooks, cells, ...counts, percentAlike.toFixed(2)].map(String);
}

function tableOf(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]?.map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  return rows.map((row) =>
    row
      .map((cell, column) => {
        const width = widths?.[column] ?? 0;
        return column === 0 ? cell.padEnd(width) : cell.padStart(width);
      })
      .join("  "),
  );
}

/** The report for programs; texts that are very long are cut. */
export function jsonOf(notebooks: readonly JudgedNotebook[], facts: object): string {
  const cut = (text: string) => text.slice(0, KEPT_CHARACTERS);
  const written = notebooks.map((notebook) => ({
    ...notebook,
    totals: totalsOf([notebook]),
    cells: notebook.cells.map((cell) => ({
      ...cell,
      code: cut(cell.code),
      differences: cell.differences.map(({ what, cellar, jupyter }) => ({
        what,
        cellar: cut(cellar),
        jupyter: cut(jupyter),
      })),
    })),
  }));
  return `${JSON.stringify({ ...facts, totals: totalsOf(notebooks), notebooks: written }, null, 1)}\n`;
}
