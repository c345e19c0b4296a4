import {
  type Attributes,
  type Context,
  context,
  type HrTime,
  ProxyTracer,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { packageVersion } from "../../config/environment.js";
import type { TraceEvent } from "../trace/events.js";
import { type SpanAttributes, type SpanError, type SpanFact, spanFact } from "./span-facts.js";

export interface RunSpansOptions {
  /** Has the span that a run is part of. Default: the active one. */
  readonly parent?: Context | undefined;
  /** Whether spans have prompts, code, outputs and answers. */
  readonly content?: boolean | undefined;
  /** Milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
}

interface Open {
  readonly span: Span;
  readonly key: string;
  readonly run: string;
  readonly parent: Open | undefined;
  readonly parts: Set<Open>;
  /** When its run began. */
  readonly origin: number;
  /** No event ends a turn: it lasts until its last part ended. */
  readonly isTurn: boolean;
  last: number;
}

/** Turns the events of a trace into spans of the registered provider. */
export class RunSpans {
  readonly #tracer: Tracer;
  readonly #base: Context;
  readonly #content: boolean;
  readonly #now: () => number;
  readonly #open = new Map<string, Open>();
  /** The span of each run, by the run's name. */
  readonly #runs = new Map<string, Open>();

  private constructor(tracer: Tracer, options: RunSpansOptions) {
    this.#tracer = tracer;
    this.#base = options.parent ?? context.active();
    this.#content = options.content ?? false;
    this.#now = options.now ?? Date.now;
  }

  /** Nothing without a provider: then the API has only a tracer that waits for one. */
  static open(options: RunSpansOptions = {}): RunSpans | undefined {
    if (trace.getTracer("cellar") instanceof ProxyTracer) return undefined;
    return new RunSpans(trace.getTracer("cellar", packageVersion()), options);
  }

  hear(event: TraceEvent): void {
    const fact = spanFact(event, this.#content);
    if (fact.act === "begin") {
      this.#begin(event, fact);
      return;
    }
    const open = this.#open.get(keyOf(event.run, event.span));
    if (open === undefined) return;
    const at = open.origin + event.at;
    touch(open, at);
    if (fact.act === "mark")
      open.span.addEvent(fact.name, attributesOf(fact.attributes), timeOf(at));
    else this.#end(open, at, fact);
  }

  #begin(event: TraceEvent, fact: SpanFact & { act: "begin" }): void {
    const key = keyOf(event.run, event.span);
    const isRun = event.type === "run.started";
    const parent = this.#parentOf(event);
    // A span that begins after its run ended would never end.
    if (this.#open.has(key) || (parent === undefined && !isRun)) return;
    const origin = parent?.origin ?? this.#now() - event.at;
    const at = origin + event.at;
    const isTurn = event.type === "turn.started";
    if (isTurn) this.#endTurns(parent, at);
    const within = parent === undefined ? this.#base : trace.setSpan(this.#base, parent.span);
    const options = {
      kind: fact.kind === "client" ? SpanKind.CLIENT : SpanKind.INTERNAL,
      attributes: attributesOf(fact.attributes),
      startTime: timeOf(at),
    };
    const span = this.#tracer.startSpan(fact.name, options, within);
    const { run } = event;
    const open = { span, key, run, parent, parts: new Set<Open>(), origin, isTurn, last: at };
    this.#open.set(key, open);
    if (isRun) this.#runs.set(run, open);
    parent?.parts.add(open);
    touch(open, at);
  }

  /** A parent without a span of its own is replaced by the run. */
  #parentOf({ run, parent }: TraceEvent): Open | undefined {
    const named = parent === null ? undefined : this.#open.get(keyOf(run, parent));
    return named ?? this.#runs.get(run);
  }

  #endTurns(parent: Open | undefined, at: number): void {
    for (const part of [...(parent?.parts ?? [])]) {
      if (part.isTurn) this.#abandon(part, at, undefined);
    }
  }

  #end(open: Open, at: number, { attributes, error }: SpanFact & { act: "end" }): void {
    for (const part of [...open.parts]) this.#abandon(part, at, error);
    if (error !== undefined) {
      const { type, message } = error;
      const exception = {
        "exception.type": type,
        ...(message !== undefined && { "exception.message": message }),
      };
      open.span.addEvent("exception", exception, timeOf(at));
    }
    this.#close(open, at, attributes, error);
  }

  /** Ends a span without an end event, for the reason that its parent ended. */
  #abandon(open: Open, at: number, error: SpanError | undefined): void {
    const isCut = !open.isTurn || open.parts.size > 0;
    for (const part of [...open.parts]) this.#abandon(part, at, error);
    if (isCut) this.#close(open, at, { "cellar.unfinished": true }, error);
    else this.#close(open, open.last, {}, undefined);
  }

  #close(open: Open, at: number, attributes: SpanAttributes, error: SpanError | undefined): void {
    const { span, key, run, parent } = open;
    this.#open.delete(key);
    parent?.parts.delete(open);
    if (this.#runs.get(run) === open) this.#runs.delete(run);
    span.setAttributes(attributesOf(attributes));
    if (error !== undefined) {
      const { type, message } = error;
      span.setAttribute("error.type", type);
      span.setStatus({ code: SpanStatusCode.ERROR, ...(message !== undefined && { message }) });
    }
    span.end(timeOf(at));
  }
}

function attributesOf(attributes: SpanAttributes): Attributes {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [
      name,
      typeof value === "object" ? [...value] : value,
    ]),
  );
}

/** A plain number could be read as time since the process began. */
function timeOf(at: number): HrTime {
  const seconds = Math.floor(at / 1000);
  return [seconds, Math.min(999_999_999, Math.round((at - seconds * 1000) * 1e6))];
}

function touch(span: Open, at: number): void {
  for (let each: Open | undefined = span; each !== undefined; each = each.parent) each.last = at;
}

function keyOf(run: string, span: string): string {
  return `${run}/${span}`;
}
