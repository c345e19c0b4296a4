import { z } from "zod";
import { isolationLevelSchema } from "../../config.js";
import { cellOutputSchema, cellSchema, fileChangesSchema } from "../../notebook/cell.js";

const count = z.int().nonnegative();
const uri = z.string().describe("A resource; where resources cannot be read, show_cell pages it.");

export const answered = {
  session: z
    .string()
    .describe(
      "The notebook. Pass it to continue there from another connection, or after a call with another session.",
    ),
  isolation: isolationLevelSchema.describe("How the code is isolated from the machine."),
} as const;

const OUTPUT_TYPES = cellOutputSchema.def.options.map((option) => option.shape.type.value);

export const pageSchema = z.strictObject({
  text: z.string(),
  offset: count.describe("Where this piece begins, in characters."),
  length: count.describe("Characters of the whole."),
  next: count.nullable().describe("The offset of the next piece; null after the last."),
});

export const outputViewSchema = z.strictObject({
  index: count,
  type: z.enum(OUTPUT_TYPES),
  stream: z.enum(["stdout", "stderr", "result", "display"]),
  mime: z.string(),
  text: z.string(),
  length: count.describe("Characters of the whole text."),
  omitted: count.describe("Characters of it that are not shown here."),
  uri,
  width: count.optional(),
  height: count.optional(),
  table: z
    .strictObject({
      columns: z.array(z.string()),
      dtypes: z.array(z.string()),
      shape: z.tuple([count, count]),
    })
    .optional(),
});

/** A cell as a model sees it. */
export const cellViewSchema = cellSchema
  .pick({ id: true, number: true, state: true, executionCount: true, isUndone: true })
  .extend({
    code: z.string(),
    duration: cellSchema.shape.duration,
    exitCode: cellSchema.shape.exitCode,
    outputs: z.array(outputViewSchema),
    moreOutputs: count.describe("Outputs between them that are not listed."),
    error: z
      .strictObject({ type: z.string(), message: z.string(), traceback: z.string() })
      .optional(),
    hints: z.array(z.string()).describe("What to do about an error."),
    notes: z.array(z.string()).describe("What happened to variables, and other notices."),
    files: fileChangesSchema.optional(),
  });

export const fileViewSchema = z.strictObject({
  path: z.string().describe("Below /workspace."),
  bytes: count,
  kind: z.enum(["file", "folder", "link", "other"]),
  modified: z.string(),
  uri: z.string().optional(),
});

export type CellView = z.infer<typeof cellViewSchema>;
export type OutputView = z.infer<typeof outputViewSchema>;
export type FileView = z.infer<typeof fileViewSchema>;
