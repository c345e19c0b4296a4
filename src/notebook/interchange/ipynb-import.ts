import { randomUUID } from "node:crypto";
import { z } from "zod";
import { CellarError } from "../../errors.js";
import { MAX_SOURCE_BYTES } from "../../protocol/bounds.js";
import {
  CELL_STATES,
  type Cell,
  type CellOutput,
  type CellState,
  cellName,
  TABLE_MIME,
} from "../cell.js";
import { shownOutput, textOutput } from "../outputs/outputs.js";
import { ResourceWriter } from "../outputs/resources.js";
import type { BlobStore } from "../store/store.js";
import { ATTACHMENT } from "./ipynb.js";
import { type IpynbCell, type IpynbOutput, readIpynb } from "./ipynb-document.js";
import { withoutColours } from "./plain-text.js";
import { proseCode } from "./prose.js";

export interface ImportPlace {
  /** Where images and long texts of the file go. */
  readonly blobs: Pick<BlobStore, "put">;
  readonly maxCells: number;
  readonly now?: Date | undefined;
}

export interface Import {
  readonly cells: readonly Cell[];
  /** What was left out of the file, or may not work. */
  readonly notes: readonly string[];
}

/** Said on cells that came with outputs. */
export const IMPORTED_NOTE =
  "imported with its outputs; it has not run in this notebook, so its variables are not there";

const IMAGE_TYPES: readonly string[] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/** Held as values in the file, and as text by Cellar. */
const VALUE_TYPES: readonly string[] = ["application/json", TABLE_MIME];
const MAX_OUTPUTS = 1_000;
const HIGHEST_NUMBER = 1_000_000;

/** The cells of an `.ipynb` file. None of them has run here. */
export async function importIpynb(file: Uint8Array, place: ImportPlace): Promise<Import> {
  const document = readIpynb(file);
  if (document.cells.length > place.maxCells) {
    const message = `The file has ${document.cells.length} cells, and a notebook takes ${place.maxCells}`;
    throw new CellarError("LIMIT_REACHED", message, {
      remedy: "Raise maxCells (in the environment CELLAR_MAX_CELLS), or split the file.",
    });
  }
  const cells: Cell[] = [];
  const notes: string[] = [];
  const language = document.metadata.language_info?.name;
  if (language !== undefined && !/^i?python/i.test(language)) {
    notes.push(`the file says that its language is ${JSON.stringify(language.slice(0, 40))}`);
  }
  const createdAt = (place.now ?? new Date()).toISOString();
  for (const [index, source] of document.cells.entries()) {
    const intake = new Intake(index, place);
    const cell = await intake.take(source, createdAt);
    cells.push(cell);
    const name = cell.number === null ? placeOf(index) : cellName(cell);
    notes.push(...intake.omissions.map((omission) => `${name}: ${omission}`));
  }
  return { cells, notes };
}

/** One cell on its way in. */
class Intake {
  readonly #index: number;
  readonly #writer: ResourceWriter;
  readonly #omissions: string[] = [];
  readonly #outputs: CellOutput[] = [];

  constructor(index: number, place: ImportPlace) {
    this.#index = index;
    this.#writer = new ResourceWriter({ index, blobs: place.blobs });
  }

  get omissions(): readonly string[] {
    return this.#omissions;
  }

  async take(source: IpynbCell, createdAt: string): Promise<Cell> {
    const text = source.source.replaceAll("\r\n", "\n");
    const isCode = source.cell_type === "code";
    if (isCode) await this.#takeOutputs(source.outputs);
    else await this.#takeAttachments(source.attachments);
    const code = isCode ? text : proseCode({ kind: source.cell_type, text });
    if (Buffer.byteLength(code) > MAX_SOURCE_BYTES) {
      const message = `${placeOf(this.#index)} has more than ${MAX_SOURCE_BYTES} bytes`;
      throw new CellarError("TOO_LARGE", message, {
        remedy: "Split that cell, or move its data into a file, then import it again.",
      });
    }
    const state = isCode ? stateOf(source, this.#outputs) : "IDLE";
    const notes = [...(state === "IDLE" ? [] : [IMPORTED_NOTE]), ...this.#omissions];
    const number = isCode ? numberOf(source) : null;
    return {
      id: randomUUID(),
      index: this.#index,
      number,
      code,
      state,
      outputs: this.#outputs,
      executionCount: number,
      createdAt,
      executedAt: null,
      duration: null,
      resources: [...this.#writer.resources],
      ...(notes.length === 0 ? {} : { notes }),
    };
  }

  async #takeOutputs(outputs: readonly IpynbOutput[]): Promise<void> {
    for (const output of outputs.slice(0, MAX_OUTPUTS)) await this.#takeOutput(output);
    const rest = outputs.length - MAX_OUTPUTS;
    if (rest > 0) this.#leaveOut(`${rest} outputs`, `a cell takes ${MAX_OUTPUTS}`);
  }

  async #takeOutput(output: IpynbOutput): Promise<void> {
    switch (output.output_type) {
      case "stream": {
        const stream = output.name === "stderr" ? "stderr" : "stdout";
        this.#outputs.push(await textOutput(stream, output.text, this.#writer));
        return;
      }
      case "error":
        this.#outputs.push({
          type: "ERROR",
          name: output.ename,
          message: output.evalue,
          traceback: withoutColours(output.traceback.join("\n")),
        });
        return;
      case "display_data":
      case "execute_result":
        this.#outputs.push(await this.#takeBundle(output));
        return;
    }
  }

  async #takeBundle({ output_type, data, metadata }: Bundle): Promise<CellOutput> {
    const entries = Object.entries(data);
    const binary = entries.flatMap(([mime, value]) => this.#takeImage(mime, value));
    const texts = entries.map(([mime, value]) => {
      return [mime, IMAGE_TYPES.includes(mime) ? "" : textIn(mime, value)] as const;
    });
    const shown = {
      data: Object.fromEntries(texts),
      binary: Object.fromEntries(binary),
      metadata,
      isResult: output_type === "execute_result",
    };
    return await shownOutput(shown, this.#writer);
  }

  #takeImage(mime: string, value: unknown): [string, Uint8Array][] {
    if (!IMAGE_TYPES.includes(mime)) return [];
    const bytes = decodeBase64(textIn(mime, value));
    if (bytes !== undefined) return [[mime, bytes]];
    this.#leaveOut(`an image (${mime})`, "it is not base64");
    return [];
  }

  async #takeAttachments(files: Readonly<Record<string, Bundle["data"]>>): Promise<void> {
    for (const [name, bundle] of Object.entries(files)) {
      const data = { ...bundle, "text/plain": `${ATTACHMENT}${name}` };
      const output = await this.#takeBundle({ output_type: "display_data", data, metadata: {} });
      if (output.type === "IMAGE") this.#outputs.push(output);
      else
        this.#leaveOut(
          `the attachment ${JSON.stringify(name.slice(0, 100))}`,
          "it is not an image",
        );
    }
  }

  #leaveOut(what: string, why: string): void {
    this.#omissions.push(`left out ${what}: ${why}`);
  }
}

type Bundle = Pick<
  Extract<IpynbOutput, { output_type: "display_data" | "execute_result" }>,
  "output_type" | "data" | "metadata"
>;

function textIn(mime: string, value: unknown): string {
  if (VALUE_TYPES.includes(mime)) return JSON.stringify(value) ?? "";
  if (typeof value === "string") return value;
  const isLines = Array.isArray(value) && value.every((line) => typeof line === "string");
  return isLines ? value.join("") : "";
}

/** For cells that have no number; people count from the first. */
function placeOf(index: number): string {
  return `the cell at place ${index + 1} of the file`;
}

/** The one in its tracebacks, as far as runs of this notebook can count on from it. */
function numberOf({ execution_count: count }: Extract<IpynbCell, { cell_type: "code" }>) {
  const isUsable = typeof count === "number" && count >= 1 && count <= HIGHEST_NUMBER;
  return isUsable ? count : null;
}

/** Files written by Cellar say how a cell ended; for others the outputs do. */
function stateOf(
  { metadata, execution_count: count }: Extract<IpynbCell, { cell_type: "code" }>,
  outputs: readonly CellOutput[],
): CellState {
  const ran = outputs.length > 0 || (count ?? null) !== null;
  if (!ran) return "IDLE";
  const told = endSchema.safeParse(metadata.cellar).data?.state;
  if (told !== undefined) return told;
  return outputs.some(({ type }) => type === "ERROR") ? "ERROR" : "COMPLETED";
}

const endSchema = z.object({ state: z.enum(CELL_STATES).exclude(["IDLE", "RUNNING"]) });

/** Undefined for text that is not base64; line breaks in it are usual. */
function decodeBase64(text: string): Buffer | undefined {
  const compact = text.replace(/\s+/g, "");
  const isValid = compact.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(compact);
  return isValid && compact !== "" ? Buffer.from(compact, "base64") : undefined;
}
