import { readFileSync } from "node:fs";
import { z } from "zod";
import { describeError } from "../../../src/errors.js";
import { CLASSES, type Difference } from "./comparison.js";

const entrySchema = z.strictObject({
  /** The end of the notebook's name, such as "shell.py". */
  notebook: z.string().min(1),
  /** The number of the cell from 0, or how its code begins. */
  cell: z.union([z.int().nonnegative(), z.string().min(1)]),
  /** In which respects it may differ. */
  classes: z.array(z.enum(CLASSES)).min(1),
  reason: z.string().min(10),
});

export type AcceptedEntry = z.infer<typeof entrySchema>;

export interface CellPlace {
  readonly notebook: string;
  readonly number: number;
  readonly code: string;
}

/** Differences that are on purpose, and which of them were met. */
export class AcceptedDifferences {
  readonly #entries: readonly AcceptedEntry[];
  readonly #seen = new Set<AcceptedEntry>();
  readonly #differing = new Set<AcceptedEntry>();

  constructor(entries: readonly AcceptedEntry[]) {
    this.#entries = entries;
  }

  /** Fails where the file is not such a list. */
  static read(file: string): AcceptedDifferences {
    const text = readFileSync(file, "utf8");
    try {
      return new AcceptedDifferences(z.array(entrySchema).parse(JSON.parse(text)));
    } catch (error) {
      const reason = error instanceof z.ZodError ? z.prettifyError(error) : describeError(error);
      const form = "[{ notebook, cell, classes, reason }, …]";
      throw new Error(`${file} is no list of accepted differences ${form}: ${reason}`);
    }
  }

  /** The reason, where the cell differs in nothing else than what is allowed to it. */
  reasonFor(place: CellPlace, differences: readonly Difference[]): string | undefined {
    const fitting = this.#entries.filter((entry) => isAt(entry, place));
    for (const entry of fitting) this.#seen.add(entry);
    if (differences.length === 0) return undefined;
    for (const entry of fitting) this.#differing.add(entry);
    return fitting.find(({ classes }) => differences.every(({ what }) => classes.includes(what)))
      ?.reason;
  }

  /** Entries whose cells have run and were alike: they can be taken out. */
  get idle(): readonly AcceptedEntry[] {
    return this.#entries.filter((entry) => this.#seen.has(entry) && !this.#differing.has(entry));
  }
}

function isAt({ notebook, cell }: AcceptedEntry, place: CellPlace): boolean {
  if (place.notebook !== notebook && !place.notebook.endsWith(`/${notebook}`)) return false;
  return typeof cell === "number" ? cell === place.number : place.code.startsWith(cell);
}
