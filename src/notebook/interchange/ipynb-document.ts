import { z } from "zod";
import { CellarError } from "../../errors.js";
import { excessOf } from "../../protocol/bounds.js";

/** A longer file is refused before it is parsed. */
export const MAX_IPYNB_BYTES = 128 * 1024 * 1024;

const MAX_TOLD_PROBLEMS = 3;
const SAVE_ANEW = "Open it in Jupyter and save it from there, or give another file.";

const lines = z
  .union([z.string(), z.array(z.string())])
  .transform((text) => (typeof text === "string" ? text : text.join("")));

const bundle = z.record(z.string(), z.unknown());

const outputSchema = z.discriminatedUnion("output_type", [
  z.object({ output_type: z.literal("stream"), name: z.string(), text: lines }),
  z.object({ output_type: z.literal("display_data"), data: bundle, metadata: bundle.default({}) }),
  z.object({
    output_type: z.literal("execute_result"),
    data: bundle,
    metadata: bundle.default({}),
  }),
  z.object({
    output_type: z.literal("error"),
    ename: z.string(),
    evalue: z.string(),
    traceback: z.array(z.string()),
  }),
]);

const cellSchema = z.discriminatedUnion("cell_type", [
  z.object({
    cell_type: z.literal("code"),
    source: lines,
    outputs: z.array(outputSchema),
    execution_count: z.int().nonnegative().nullish(),
    metadata: bundle.default({}),
  }),
  z.object({
    cell_type: z.enum(["markdown", "raw"]),
    source: lines,
    attachments: z.record(z.string(), bundle).default({}),
  }),
]);

const documentSchema = z.object({
  nbformat: z.literal(4),
  metadata: z
    .object({ language_info: z.object({ name: z.string() }).optional().catch(undefined) })
    .default({}),
  cells: z.array(cellSchema),
});

export type IpynbDocument = z.infer<typeof documentSchema>;
export type IpynbCell = z.infer<typeof cellSchema>;
export type IpynbOutput = z.infer<typeof outputSchema>;

/** Reads a file of nbformat 4; whatever does not fit is refused with its place. */
export function readIpynb(file: Uint8Array): IpynbDocument {
  const value = parse(file);
  const version = z.object({ nbformat: z.int() }).safeParse(value).data?.nbformat;
  if (version === undefined) throw refused("it is not a Jupyter notebook", SAVE_ANEW);
  if (version !== 4) {
    const remedy = "Convert it with: jupyter nbconvert --to notebook --nbformat 4 FILE";
    throw refused(`it has nbformat ${version}, and only 4 can be read`, remedy);
  }
  const parsed = documentSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues
    .slice(0, MAX_TOLD_PROBLEMS)
    .map(({ path, message }) => `${path.map(String).join(".") || "document"}: ${message}`);
  throw refused(problems.join("; "), "nbformat.validate shows what is wrong with it.");
}

function parse(file: Uint8Array): unknown {
  if (file.byteLength > MAX_IPYNB_BYTES) {
    throw new CellarError("TOO_LARGE", `The notebook has more than ${MAX_IPYNB_BYTES} bytes`, {
      remedy: "Clear its outputs in Jupyter, then import it again.",
    });
  }
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  const excess = excessOf(bytes);
  if (excess !== undefined) throw refused(`it ${excess}`, SAVE_ANEW);
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw refused("it is not JSON in UTF-8", SAVE_ANEW);
  }
}

function refused(reason: string, remedy?: string): CellarError {
  return new CellarError("INVALID_INPUT", `The notebook cannot be imported: ${reason}`, { remedy });
}
