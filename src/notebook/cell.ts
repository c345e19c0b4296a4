import { z } from "zod";

export const CELL_STATES = [
  "IDLE",
  "RUNNING",
  "COMPLETED",
  "ERROR",
  "TIMEOUT",
  "CANCELLED",
  "OOM",
  "CRASHED",
] as const;

export type CellState = (typeof CELL_STATES)[number];

export const blobRefSchema = z.strictObject({
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  bytes: z.int().nonnegative(),
  /** The opening that stored it; content from before there were any has none. */
  generation: z
    .string()
    .regex(/^[\w-]{8,64}$/)
    .optional(),
});

/** Bytes that lie in the notebook's store; `nb.resource(uri)` gives them. */
export const resourceSchema = z.strictObject({
  uri: z.string(),
  mime: z.string(),
  blob: blobRefSchema,
});

const text = z.string();
const metadata = z.record(z.string(), z.unknown());

/** Names the table of a DATAFRAME among the representations of an output. */
export const TABLE_MIME = "application/vnd.cellar.table+json";

/** Set where the content is too long to stand here: this is its start, `uri` has the whole. */
const whole = {
  uri: text.optional(),
  /** Characters of the whole. */
  length: z.int().positive().optional(),
};

/** Other representations of the same, by MIME type, for the export. */
const also = z.record(text, text).optional();

const shown = { text, isResult: z.boolean(), also, ...whole };

/** One thing a cell showed, in the order in which it happened. */
export const cellOutputSchema = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("TEXT"),
    stream: z.enum(["stdout", "stderr", "result", "display"]),
    text,
    also,
    ...whole,
  }),
  z.strictObject({
    type: z.literal("ERROR"),
    name: text,
    message: text,
    traceback: text,
    hint: text.optional(),
  }),
  z.strictObject({ type: z.literal("HTML"), html: text, ...shown }),
  z.strictObject({
    type: z.literal("IMAGE"),
    mime: text,
    width: z.int().nonnegative().optional(),
    height: z.int().nonnegative().optional(),
    ...shown,
    uri: text,
    metadata,
  }),
  z.strictObject({
    type: z.literal("DATAFRAME"),
    columns: z.array(z.unknown()),
    dtypes: z.array(text),
    shape: z.tuple([z.int().nonnegative(), z.int().nonnegative()]),
    rows: z.array(z.array(z.unknown())),
    /** The labels of the rows, as pandas has them. */
    index: z.array(z.unknown()).optional(),
    indexNames: z.array(z.unknown()).optional(),
    /** Whether there are more rows or columns than these. */
    truncated: z.boolean().optional(),
    /** `uri` and `length` are about it. */
    html: text.optional(),
    ...shown,
  }),
  /** `json` is null where the whole is at `uri`. */
  z.strictObject({ type: z.literal("JSON"), json: z.unknown(), ...shown }),
  z.strictObject({ type: z.literal("MARKDOWN"), markdown: text, ...shown }),
  z.strictObject({ type: z.literal("LATEX"), latex: text, ...shown }),
  z.strictObject({ type: z.literal("SVG"), svg: text, ...shown }),
]);

/** Files below /workspace, by their paths in it. */
export const fileChangesSchema = z.strictObject({
  created: z.array(text),
  changed: z.array(text),
  deleted: z.array(text),
  /** Set where there were too many to list. */
  omitted: z.int().nonnegative().optional(),
});

export const cellSchema = z.strictObject({
  id: text,
  /** Its place in the notebook, from 0, as addresses have it. */
  index: z.int().nonnegative(),
  /** Of its last run, from 1, as in its tracebacks; null before. A run never has the number of another. */
  number: z.int().positive().nullable(),
  code: text,
  state: z.enum(CELL_STATES),
  outputs: z.array(cellOutputSchema),
  /** The number, under Jupyter's name. */
  executionCount: z.int().positive().nullable(),
  createdAt: text,
  executedAt: text.nullable(),
  /** Milliseconds. */
  duration: z.number().nonnegative().nullable(),
  /** Set where the code called `sys.exit`: what a process would have ended with. */
  exitCode: z.int().optional(),
  files: fileChangesSchema.optional(),
  /** Bytes of text that were left out. */
  omitted: z.strictObject({ stdout: z.int(), stderr: z.int() }).optional(),
  /** What outputs refer to by URI. */
  resources: z.array(resourceSchema),
  /** Its effect was taken back by `undo`. */
  isUndone: z.boolean().optional(),
  /** What the result says beside: state that was lost, rules that are not enforced. */
  notes: z.array(text).optional(),
});

/** What people and models call a cell. */
export function cellName({ number }: Pick<Cell, "number">): string {
  return number === null ? "cell [ ]" : `cell ${number}`;
}

export type CellOutput = z.infer<typeof cellOutputSchema>;
export type FileChanges = z.infer<typeof fileChangesSchema>;
export type Cell = z.infer<typeof cellSchema>;
export type Resource = z.infer<typeof resourceSchema>;
