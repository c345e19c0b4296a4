import { z } from "zod";
import { CellarError, describeError } from "../../errors.js";
import { type RedactionOptions, Redactor, type SecretCounts } from "../redaction/redactor.js";
import { SpillFolder, type Stored } from "./spill-folder.js";
import {
  countLines,
  excerpt,
  RollingSummary,
  type RollingSummaryOptions,
  type Summary,
} from "./summary.js";

/** Where a session finds the outputs of its earlier turns. */
export const SPILL_MOUNT = "/spilled";
const MAX_FAULT = 120;
/** The header and the footer around a summary are never longer. */
const FRAME_LENGTH = 480;
const MB = 1024 * 1024;

const stateSchema = z.strictObject({
  summary: z
    .string()
    .max(16 * 1024)
    .nullable(),
});

export interface SpillOptions extends RollingSummaryOptions {
  /** A folder of the host, in which the session has a folder with its name. */
  readonly dir: string;
  readonly session: string;
  /** Where the session sees its folder. Default: /spilled. */
  readonly mount?: string | undefined;
  /** Longer outputs are spilled. Default: 8192 characters. */
  readonly cap?: number | undefined;
  /** Characters that the model is shown of a spilled output. Default: 1500. */
  readonly preview?: number | undefined;
  /** Limit of all files of the session together. Default: 256. */
  readonly maxMb?: number | undefined;
  /** False: secrets are not redacted. Default: every known category is. */
  readonly redact?: boolean | RedactionOptions | undefined;
}

export interface Observation {
  readonly text: string;
  /** Set when the output was too long to show. */
  readonly spilled: Spilled | undefined;
  readonly redacted: SecretCounts;
}

export interface Spilled {
  /** The path inside the session; undefined when the file could not be written. */
  readonly path: string | undefined;
  readonly lines: number;
  readonly characters: number;
  readonly summary: Summary;
  readonly removed: readonly string[];
}

/** Writes outputs that are too long for a model to files that it can read in parts. */
export class Spill {
  readonly files: SpillFolder;
  readonly #cap: number;
  readonly #summaryLength: number;
  readonly #redactor: Redactor | undefined;
  readonly #summary: RollingSummary;
  readonly #mount: string;

  private constructor(files: SpillFolder, options: SpillOptions) {
    const { redact = true, cap = 8192, preview = 1500, mount = SPILL_MOUNT } = options;
    this.files = files;
    this.#cap = cap;
    this.#summaryLength = preview - FRAME_LENGTH;
    this.#redactor = redact === false ? undefined : new Redactor(redact === true ? {} : redact);
    this.#summary = new RollingSummary(options);
    this.#mount = mount;
  }

  static async open(options: SpillOptions): Promise<Spill> {
    const { dir, session, maxMb = 256 } = options;
    return new Spill(await SpillFolder.open(dir, session, Math.ceil(maxMb * MB)), options);
  }

  /** What the model sees of a turn's output; `omitted` bytes never reached the host. */
  async observe(
    turn: number,
    output: string,
    signal?: AbortSignal,
    omitted = 0,
  ): Promise<Observation> {
    // The cell has run, so its output is kept even after an abort; only the worker is cut short.
    const redaction = await this.#redactor?.redact(output);
    const text = redaction?.text ?? output;
    const redacted = redaction?.found ?? {};
    if (text.length <= this.#cap) return { text, spilled: undefined, redacted };
    const stored = await this.#store(turn, text);
    const summary = await this.#summarise(text, signal);
    const spilled: Spilled = {
      path: "name" in stored ? `${this.#mount}/${stored.name}` : undefined,
      lines: countLines(text),
      characters: text.length,
      summary,
      removed: "name" in stored ? stored.removed : [],
    };
    const lines = [
      header(turn, spilled, redacted),
      summary.text,
      ...footer(spilled, stored, omitted),
    ];
    return { text: lines.join("\n"), spilled, redacted };
  }

  async #summarise(text: string, signal: AbortSignal | undefined): Promise<Summary> {
    try {
      return await this.#summary.of(text, this.#summaryLength, signal);
    } catch (error) {
      if (!signal?.aborted) throw error;
      return { text: excerpt(text, this.#summaryLength), source: "static", fault: "failed" };
    }
  }

  async redact(text: string): Promise<string> {
    return (await this.#redactor?.redact(text))?.text ?? text;
  }

  /** A failure to write is reported in the observation: the cell has run. */
  async #store(turn: number, text: string): Promise<Stored | { readonly fault: string }> {
    try {
      return await this.files.store(turn, text);
    } catch (error) {
      return { fault: describeError(error) };
    }
  }

  toJSON(): z.infer<typeof stateSchema> {
    return { summary: this.#summary.latest ?? null };
  }

  restore(state: unknown): void {
    const parsed = stateSchema.safeParse(state);
    if (!parsed.success) {
      const message = `invalid state of spilled outputs: ${z.prettifyError(parsed.error)}`;
      throw new CellarError("STATE_REFUSED", message);
    }
    this.#summary.latest = parsed.data.summary ?? undefined;
  }
}

function header(
  turn: number,
  { lines, characters, summary }: Spilled,
  redacted: SecretCounts,
): string {
  const secrets = Object.values(redacted).reduce((sum, count) => sum + count, 0);
  const parts = [
    `turn ${turn} printed ${figure(characters)} characters in ${figure(lines)} lines, too long to show`,
    ...(secrets === 0 ? [] : [`secrets redacted: ${figure(secrets)}`]),
    `summary: ${[summary.source, ...(summary.fault === undefined ? [] : [summary.fault])].join(", ")}`,
  ];
  return `[${parts.join("; ")}]`;
}

/** The calls are Python that runs exactly as printed. */
function footer(
  { path, removed }: Spilled,
  stored: Stored | { fault: string },
  omitted: number,
): string[] {
  if (path === undefined || "fault" in stored) {
    const fault = "fault" in stored ? stored.fault.slice(0, MAX_FAULT) : "unknown";
    return [`[the whole output could not be kept: ${fault}]`];
  }
  const gone = removed.length === 0 ? [] : [`; removed to make space: ${listed(removed)}`];
  const lacking = omitted === 0 ? "" : ` except ${figure(omitted)} bytes that were too many`;
  const what = stored.isWhole ? `the whole output${lacking}` : "its beginning";
  return [
    `[${what} is in ${path}${gone.join("")}]`,
    `peek(500, file="${path}")`,
    `grep("pattern", file="${path}")`,
  ];
}

function listed(names: readonly string[]): string {
  const [first = "", ...others] = names;
  return others.length === 0 ? first : `${first} and ${others.length} more`;
}

function figure(value: number): string {
  return value.toLocaleString("en-US");
}
