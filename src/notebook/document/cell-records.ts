import { buffer } from "node:stream/consumers";
import { z } from "zod";
import { CellarError, isCellarError } from "../../errors.js";
import { type Cell, type CellOutput, cellSchema } from "../cell.js";
import type { BlobRef, BlobStore } from "../store/store.js";
import type { CellEntry } from "./head.js";

/** A longer record goes into a blob, so that the head stays small. */
const LONGEST_INLINE = 4 * 1024;
const MOST_INLINE = 128 * 1024;

const URI_PLACE = /^notebook:\/\/cell\/\d+\//;

/** Earlier versions saved the duration as `executionTime`. */
const recordSchema = z.preprocess(
  (value: unknown) => {
    const { executionTime, ...record } = { ...(value as Record<string, unknown> | undefined) };
    return executionTime === undefined ? record : { ...record, duration: executionTime };
  },
  cellSchema.omit({ index: true, number: true, isUndone: true }),
);

/** A cell and its saved form, which is written once and used in every head. */
export interface CellRecord {
  readonly cell: Cell;
  readonly entry: CellEntry;
  readonly isDamaged?: boolean;
}

export async function recordOf(cell: Cell, blobs: Pick<BlobStore, "put">): Promise<CellRecord> {
  const { index: _, number: __, isUndone, ...record } = cell;
  const text = JSON.stringify(record);
  const isLong = text.length > LONGEST_INLINE;
  const kept = isLong ? await blobs.put(Buffer.from(text)) : text;
  return { cell, entry: entryOf(cell.id, isUndone, kept) };
}

export interface CellRecordPlace {
  readonly index: number;
  readonly ran: number | null;
}

/** An unreadable record becomes a damaged cell; the others are read. */
export async function readRecord(
  entry: CellEntry,
  { index, ran }: CellRecordPlace,
  blobs: BlobStore,
): Promise<CellRecord> {
  const { id, isUndone, record: kept } = entry;
  try {
    const text = typeof kept === "string" ? kept : await readText(kept, blobs);
    const record = parseRecord(text, id);
    const cell = { ...record, index, number: record.executionCount, ...(isUndone && { isUndone }) };
    return { cell: placed(cell, index), entry };
  } catch (error) {
    if (isCellarError(error, "DAMAGED") || isCellarError(error, "NOT_FOUND")) {
      return { cell: unreadable(id, { index, ran }, error), entry, isDamaged: true };
    }
    throw error;
  }
}

export function markUndone(record: CellRecord, isUndone: boolean): CellRecord {
  if ((record.cell.isUndone ?? false) === isUndone) return record;
  const { isUndone: _, ...cell } = record.cell;
  const mark = isUndone ? (true as const) : undefined;
  return {
    ...record,
    cell: { ...cell, ...(mark && { isUndone: mark }) },
    entry: entryOf(cell.id, mark, record.entry.record),
  };
}

/** Moves the longest records into blobs when the head would get large. */
export async function balanced(
  records: readonly CellRecord[],
  blobs: BlobStore,
): Promise<readonly CellRecord[]> {
  let inline = records.reduce((sum, record) => sum + inlineLength(record), 0);
  if (inline <= MOST_INLINE) return records;
  const moved = new Map<CellRecord, CellRecord>();
  for (const record of [...records].sort((a, b) => inlineLength(b) - inlineLength(a))) {
    if (inline <= MOST_INLINE / 2 || typeof record.entry.record !== "string") break;
    inline -= inlineLength(record);
    const blob = await blobs.put(Buffer.from(record.entry.record));
    moved.set(record, { ...record, entry: { ...record.entry, record: blob } });
  }
  return records.map((record) => moved.get(record) ?? record);
}

/** The cell at another index, which the URIs of its resources contain. */
export function placed(cell: Cell, index: number): Cell {
  const place = `notebook://cell/${index}/`;
  if (cell.index === index && cell.resources.every(({ uri }) => uri.startsWith(place))) {
    return cell;
  }
  const moved = new Map(
    cell.resources.map(({ uri }) => [uri, uri.replace(URI_PLACE, place)] as const),
  );
  return {
    ...cell,
    index,
    resources: cell.resources.map((one) => ({ ...one, uri: moved.get(one.uri) ?? one.uri })),
    outputs: cell.outputs.map((output) => moveOutput(output, moved)),
  };
}

function moveOutput(output: CellOutput, moved: ReadonlyMap<string, string>): CellOutput {
  if (!("uri" in output) || output.uri === undefined) return output;
  const uri = moved.get(output.uri) ?? output.uri;
  // The last line of a cut text has the URI of the whole.
  return { ...output, text: output.text.replace(output.uri, () => uri), uri };
}

export function blobsOf({ cell, entry }: CellRecord): BlobRef[] {
  const resources = cell.resources.map(({ blob }) => blob);
  return typeof entry.record === "string" ? resources : [entry.record, ...resources];
}

async function readText(ref: BlobRef, blobs: BlobStore): Promise<string> {
  return (await buffer(blobs.get(ref))).toString("utf8");
}

function parseRecord(text: string, id: string): z.infer<typeof recordSchema> {
  const record = recordSchema.safeParse(parseJson(text)).data;
  if (record?.id === id) return record;
  throw new CellarError("DAMAGED", "its record is not that of a cell");
}

/** Undefined where it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function unreadable(id: string, { index, ran }: CellRecordPlace, { message }: CellarError): Cell {
  const output = {
    type: "ERROR",
    name: "Damaged",
    message,
    traceback: `Damaged: ${message}`,
  } as const;
  return {
    id,
    index,
    number: ran,
    code: "",
    state: "ERROR",
    outputs: [output],
    executionCount: ran,
    createdAt: new Date(0).toISOString(),
    executedAt: null,
    duration: null,
    resources: [],
    notes: ["this cell's saved record cannot be read"],
  };
}

function inlineLength({ entry }: CellRecord): number {
  return typeof entry.record === "string" ? entry.record.length : 0;
}

function entryOf(id: string, isUndone: boolean | undefined, record: string | BlobRef): CellEntry {
  return { id, ...(isUndone && { isUndone: true as const }), record };
}
