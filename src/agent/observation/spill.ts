import { z } from "zod";
import { unfitOptions } from "../../config/problems.js";
import { CellarError, describeError } from "../../errors.js";
import { type Found, type RedactionOptions, Redactor } from "../redaction/redactor.js";
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
/** What stands around a summary never has more. */
const FRAME_LENGTH = 480;
const MB = 1024 * 1024;

const limitsSchema = z.object({
  cap: z.int().min(0).default(8192),
  preview: z
    .int()
    .min(2 * FRAME_LENGTH)
    .default(1500),
  maxMb: z
    .number()
    .positive()
    .max(1 << 20)
    .default(256),
});

const stateSchema = z.strictObject({
  summary: z
    .string()
    .max(16 * 1024)
    .nullable(),
});
export type SpillState = z.infer<typeof stateSchema>;

export interface SpillOptions extends RollingSummaryOptions {
  /** A folder of the host. The outputs of a session are in a folder with its name in it. */
  readonly dir: string;
  readonly session: string;
  /** Where the session finds that folder. Default: /spilled. */
  readonly mount?: string | undefined;
  /** Longer outputs are spilled. Default: 8192 characters. */
  readonly cap?: number | undefined;
  /** What is shown of a spilled one has at most so many characters. Default: 1500. */
  readonly preview?: number | undefined;
  /** All files of the session together. Default: 256. */
  readonly maxMb?: number | undefined;
  /** False: secrets stay where they are. Default: all known categories are taken out. */
  readonly redact?: boolean | RedactionOptions | undefined;
}

export interface Observation {
  /** For the model. */
  readonly text: string;
  /** Only for an output that was too long to be shown. */
  readonly spilled: Spilled | undefined;
  readonly redacted: Found;
}

export interface Spilled {
  /** The path inside the session; undefined when the file could not be written. */
  readonly path: string | undefined;
  readonly lines: number;
  readonly characters: number;
  readonly summary: Summary;
  readonly removed: readonly string[];
}

/** Puts what is too long for a model into files that it can look into. */
export class Spill {
  readonly folder: string;
  readonly #files: SpillFolder;
  readonly #limits: z.infer<typeof limitsSchema>;
  readonly #redactor: Redactor | undefined;
  readonly #summary: RollingSummary;
  readonly #mount: string;

  private constructor(files: SpillFolder, options: SpillOptions, limits: Spill["limits"]) {
    this.folder = files.path;
    this.#files = files;
    this.#limits = limits;
    const { redact = true } = options;
    this.#redactor = redact === false ? undefined : new Redactor(redact === true ? {} : redact);
    this.#summary = new RollingSummary(options);
    this.#mount = options.mount ?? SPILL_MOUNT;
  }

  static async open(options: SpillOptions): Promise<Spill> {
    const { cap, preview, maxMb } = options;
    const parsed = limitsSchema.safeParse({ cap, preview, maxMb });
    if (!parsed.success) {
      const input = { cap, preview, maxMb };
      throw unfitOptions("invalid limits of outputs", parsed.error.issues, { input, known: [] });
    }
    const files = await SpillFolder.open(
      options.dir,
      options.session,
      Math.ceil(parsed.data.maxMb * MB),
    );
    return new Spill(files, options, parsed.data);
  }

  get limits(): z.infer<typeof limitsSchema> {
    return this.#limits;
  }

  /** What a turn printed, as the model is to see it; `omitted` bytes of it never came. */
  async observe(
    turn: number,
    output: string,
    signal?: AbortSignal,
    omitted = 0,
  ): Promise<Observation> {
    // The cell has run: who gives up now waits for nothing but the worker.
    const redaction = await this.#redactor?.redact(output);
    const text = redaction?.text ?? output;
    const redacted = redaction?.found ?? {};
    if (text.length <= this.#limits.cap) return { text, spilled: undefined, redacted };
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
    const room = this.#limits.preview - FRAME_LENGTH;
    try {
      return await this.#summary.of(text, room, signal);
    } catch (error) {
      if (!signal?.aborted) throw error;
      return { text: excerpt(text, room), source: "static", fault: "failed" };
    }
  }

  /** The files of earlier outputs that are still there. */
  names(): Promise<string[]> {
    return this.#files.names();
  }

  /** A text without its secrets. */
  async redact(text: string): Promise<string> {
    return (await this.#redactor?.redact(text))?.text ?? text;
  }

  /** The cell has run, so its observation must come; that it is not whole is said in it. */
  async #store(turn: number, text: string): Promise<Stored | { readonly fault: string }> {
    try {
      return await this.#files.store(turn, text);
    } catch (error) {
      return { fault: describeError(error) };
    }
  }

  /** What a later turn builds upon, besides the files. */
  toJSON(): SpillState {
    return { summary: this.#summary.latest ?? null };
  }

  restore(state: unknown): void {
    const parsed = stateSchema.safeParse(state);
    if (!parsed.success) {
      throw new CellarError(
        "STATE_REFUSED",
        `no state of spilled outputs: ${parsed.error.message}`,
      );
    }
    this.#summary.latest = parsed.data.summary ?? undefined;
  }

  /** Leaves nothing behind where there was nothing to keep. */
  leave(): Promise<void> {
    return this.#files.leave();
  }

  /** Ends the session's files. */
  remove(): Promise<void> {
    return this.#files.remove();
  }
}

function header(turn: number, { lines, characters, summary }: Spilled, redacted: Found): string {
  const secrets = Object.values(redacted).reduce((sum, count) => sum + count, 0);
  const parts = [
    `turn ${turn} printed ${figure(characters)} characters in ${figure(lines)} lines, too long to show`,
    ...(secrets === 0 ? [] : [`secrets redacted: ${figure(secrets)}`]),
    `summary: ${[summary.source, ...(summary.fault === undefined ? [] : [summary.fault])].join(", ")}`,
  ];
  return `[${parts.join("; ")}]`;
}

/** The calls are Python that works as it stands here. */
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
