import type { TraceEvent } from "../trace/events.js";
import {
  type SpanAttributes,
  type SpanError,
  type SpanFact,
  type SpanKind,
  spanFact,
} from "./span-facts.js";

export interface SpanBegin {
  readonly key: string;
  /** Always begun before; none for a run. */
  readonly parent: string | undefined;
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: SpanAttributes;
  /** Milliseconds since 1970, as all times of spans. */
  readonly at: number;
}

export interface SpanMark {
  readonly key: string;
  readonly name: string;
  readonly attributes: SpanAttributes;
  readonly at: number;
}

export interface SpanEnd {
  readonly key: string;
  readonly attributes: SpanAttributes;
  readonly error: SpanError | undefined;
  readonly at: number;
}

/** Where spans go. Each that begins ends once, and its parts end before it. */
export interface SpanSink {
  begin(span: SpanBegin): void;
  mark(mark: SpanMark): void;
  end(end: SpanEnd): void;
}

export interface RunSpansOptions {
  /** Whether prompts, code, outputs and answers are told. */
  readonly content?: boolean | undefined;
  /** Milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
}

interface Open {
  readonly key: string;
  readonly run: string;
  readonly parent: Open | undefined;
  readonly parts: Set<Open>;
  /** When its run began. */
  readonly origin: number;
  /** No event ends a turn: it goes on until its last part ended. */
  readonly isTurn: boolean;
  last: number;
}

/** Makes spans, which begin and end, of what a trace tells. */
export class RunSpans {
  readonly #sink: SpanSink;
  readonly #content: boolean;
  readonly #now: () => number;
  readonly #open = new Map<string, Open>();
  /** The one that stands for a run, by the run's name. */
  readonly #runs = new Map<string, Open>();

  constructor(sink: SpanSink, { content = false, now = Date.now }: RunSpansOptions = {}) {
    this.#sink = sink;
    this.#content = content;
    this.#now = now;
  }

  hear(event: TraceEvent): void {
    const fact = spanFact(event, this.#content);
    if (fact.act === "begin") {
      this.#begin(event, fact);
      return;
    }
    const span = this.#open.get(keyOf(event.run, event.span));
    if (span === undefined) return;
    const at = span.origin + event.at;
    touch(span, at);
    if (fact.act === "mark") this.#sink.mark({ ...fact, key: span.key, at });
    else this.#end(span, at, fact);
  }

  /** Ends runs that nothing more will be told of. */
  close(): void {
    for (const run of [...this.#runs.values()]) this.#abandon(run, run.last, undefined);
  }

  #begin(event: TraceEvent, fact: SpanFact & { act: "begin" }): void {
    const key = keyOf(event.run, event.span);
    const isRun = event.type === "run.started";
    const parent = this.#parentOf(event);
    // What goes on after its run ended would never end.
    if (this.#open.has(key) || (parent === undefined && !isRun)) return;
    const origin = parent?.origin ?? this.#now() - event.at;
    const at = origin + event.at;
    const isTurn = event.type === "turn.started";
    if (isTurn) this.#endTurns(parent, at);
    const span = { key, run: event.run, parent, parts: new Set<Open>(), origin, isTurn, last: at };
    this.#open.set(key, span);
    if (isRun) this.#runs.set(event.run, span);
    parent?.parts.add(span);
    touch(span, at);
    const { name, kind, attributes } = fact;
    this.#sink.begin({ key, parent: parent?.key, name, kind, attributes, at });
  }

  /** A parent that told nothing of itself has no span: the run stands in for it. */
  #parentOf({ run, parent }: TraceEvent): Open | undefined {
    const named = parent === null ? undefined : this.#open.get(keyOf(run, parent));
    return named ?? this.#runs.get(run);
  }

  #endTurns(parent: Open | undefined, at: number): void {
    for (const part of [...(parent?.parts ?? [])]) {
      if (part.isTurn) this.#abandon(part, at, undefined);
    }
  }

  #end(span: Open, at: number, { attributes, error }: SpanFact & { act: "end" }): void {
    for (const part of [...span.parts]) this.#abandon(part, at, error);
    if (error !== undefined) {
      const { type, message } = error;
      const told = {
        "exception.type": type,
        ...(message !== undefined && { "exception.message": message }),
      };
      this.#sink.mark({ key: span.key, name: "exception", attributes: told, at });
    }
    this.#close(span, at, attributes, error);
  }

  /** Ends what will not be told to have ended, for the reason that what it is part of did. */
  #abandon(span: Open, at: number, error: SpanError | undefined): void {
    const isCut = !span.isTurn || span.parts.size > 0;
    for (const part of [...span.parts]) this.#abandon(part, at, error);
    if (isCut) this.#close(span, at, { "cellar.unfinished": true }, error);
    else this.#close(span, span.last, {}, undefined);
  }

  #close(span: Open, at: number, attributes: SpanAttributes, error: SpanError | undefined): void {
    this.#open.delete(span.key);
    span.parent?.parts.delete(span);
    if (this.#runs.get(span.run) === span) this.#runs.delete(span.run);
    const type = error === undefined ? {} : { "error.type": error.type };
    this.#sink.end({ key: span.key, attributes: { ...attributes, ...type }, error, at });
  }
}

function touch(span: Open, at: number): void {
  for (let each: Open | undefined = span; each !== undefined; each = each.parent) each.last = at;
}

function keyOf(run: string, span: string): string {
  return `${run}/${span}`;
}
