import { randomBytes } from "node:crypto";
import { requireText } from "../../config/kinds.js";
import { CellarError, describeError } from "../../errors.js";
import { hideSecrets } from "../../http/hide-secrets.js";
import { savedEventSchema, type TraceBody, type TraceEvent, traceEventSchema } from "./events.js";
import { type JsonLines, LineWriter, readJsonLines } from "./json-lines.js";

/** Longer texts are cut, with a note at the end. */
const LONGEST_TEXT = 1_000_000;
const KEPT_EVENTS = 10_000;
const KEPT_CHARACTERS = 64_000_000;

export type TraceListener = (event: TraceEvent) => unknown;

export interface TraceOptions {
  /** Events are appended to this file. */
  readonly file?: string | undefined;
  readonly onEvent?: TraceListener | undefined;
  /** How many events stay in memory. */
  readonly keep?: number | undefined;
  /** Replaced in every event. */
  readonly secrets?: readonly string[] | undefined;
  readonly run?: string | undefined;
  /** Monotonic milliseconds. */
  readonly clock?: (() => number) | undefined;
}

/** The run itself, a turn, a call of a model, a cell or a sub-call. */
export interface Span {
  readonly id: string;
  readonly depth: number;
  emit(body: TraceBody): TraceEvent;
  /** `deeper` where a loop of its own begins. */
  child(options?: { readonly deeper?: boolean }): Span;
}

/** The events of a run: passed to listeners, kept in memory up to a limit, and written to a file if one is named. */
export class Trace implements AsyncDisposable {
  readonly run: string;
  readonly root: Span;
  readonly #listeners = new Set<TraceListener>();
  readonly #writer: LineWriter | undefined;
  readonly #keep: number;
  readonly #secrets: readonly string[];
  readonly #clock: () => number;
  readonly #began: number;
  #kept: { readonly event: TraceEvent; readonly size: number }[] = [];
  #size = 0;
  #omitted = 0;
  #spans = 0;
  #isWarned = false;

  private constructor(options: TraceOptions, writer: LineWriter | undefined) {
    this.run = options.run ?? randomBytes(8).toString("hex");
    this.#writer = writer;
    this.#keep = options.keep ?? KEPT_EVENTS;
    this.#secrets = options.secrets ?? [];
    this.#clock = options.clock ?? (() => performance.now());
    this.#began = this.#clock();
    if (options.onEvent !== undefined) this.#listeners.add(options.onEvent);
    this.root = this.#span(null, 0);
  }

  static async open(options: TraceOptions = {}): Promise<Trace> {
    const { file } = options;
    return new Trace(options, file === undefined ? undefined : await LineWriter.open(file));
  }

  /** The last events; `omitted` counts those dropped before them. */
  get events(): readonly TraceEvent[] {
    return this.#kept.map(({ event }) => event);
  }

  get omitted(): number {
    return this.#omitted;
  }

  /** Returns a function that removes the listener. */
  listen(listener: TraceListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #span(parent: Span | null, depth: number): Span {
    this.#spans += 1;
    const span: Span = {
      id: String(this.#spans),
      depth,
      emit: (body) => this.#emit(span, parent, body),
      child: ({ deeper = false } = {}) => this.#span(span, deeper ? depth + 1 : depth),
    };
    return span;
  }

  #emit(span: Span, parent: Span | null, body: TraceBody): TraceEvent {
    const at = Math.max(0, Math.round((this.#clock() - this.#began) * 1_000) / 1_000);
    const place = { run: this.run, span: span.id, parent: parent?.id ?? null, depth: span.depth };
    const { data, error } = traceEventSchema.safeParse({ ...body, ...place, at });
    if (data === undefined) {
      throw new CellarError("INVALID_INPUT", `invalid trace event: ${error.message}`, {
        cause: error,
      });
    }
    const event = mapTexts(data, (text) => clip(hideSecrets(text, this.#secrets)));
    this.#writer?.append(event);
    this.#remember(event);
    for (const listener of [...this.#listeners]) this.#notify(listener, event);
    return event;
  }

  #remember(event: TraceEvent): void {
    const size = sizeOf(event);
    this.#kept.push({ event, size });
    this.#size += size;
    if (this.#kept.length <= this.#keep && this.#size <= KEPT_CHARACTERS) return;
    // Drops some more than necessary, so that not every event copies the list.
    const most = Math.ceil(this.#keep * 0.9);
    let gone = 0;
    while (this.#kept.length - gone > most || this.#size > KEPT_CHARACTERS) {
      this.#size -= this.#kept[gone]?.size ?? 0;
      gone += 1;
    }
    this.#kept = this.#kept.slice(gone);
    this.#omitted += gone;
  }

  /** An error of a listener must not end the run. */
  #notify(listener: TraceListener, event: TraceEvent): void {
    try {
      const outcome = listener(event);
      if (outcome instanceof Promise) outcome.catch((error: unknown) => this.#warn(error));
    } catch (error) {
      this.#warn(error);
    }
  }

  #warn(error: unknown): void {
    if (this.#isWarned) return;
    this.#isWarned = true;
    process.emitWarning(`a trace listener failed: ${describeError(error)}`, {
      type: "CellarWarning",
      detail: error instanceof Error ? (error.stack ?? "") : "",
    });
  }

  /** Fails if the file is incomplete. */
  async close(): Promise<void> {
    this.#listeners.clear();
    await this.#writer?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

export interface TraceRecord extends Pick<JsonLines<TraceEvent>, "torn"> {
  readonly events: readonly TraceEvent[];
}

export async function readTrace(path: string): Promise<TraceRecord> {
  const { lines, torn } = await readJsonLines(requireText("path", path), savedEventSchema, {
    what: "a trace",
    isBeginning: ({ type, parent }) => type === "run.started" && parent === null,
  });
  return { events: lines.map(({ value }) => value), torn };
}

function mapTexts<T>(value: T, change: (text: string) => string): T;
function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, mapTexts(item, change)]),
  );
}

function clip(text: string): string {
  if (text.length <= LONGEST_TEXT) return text;
  return `${text.slice(0, LONGEST_TEXT)}… [${text.length - LONGEST_TEXT} more characters]`;
}

function sizeOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 8;
  return Object.values(value).reduce((sum: number, item) => sum + sizeOf(item), 0);
}
