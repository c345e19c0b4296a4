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
import { type SpanError, type SpanFact, spanFact } from "./span-facts.js";

export interface RunSpansOptions {
  /** The context of the span above. Default: the active one. */
  readonly parent?: Context | undefined;
  /** Adds prompts, code, outputs and answers. */
  readonly content?: boolean | undefined;
  /** Milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
}

interface OpenSpan {
  readonly span: Span;
  readonly key: string;
  readonly run: string;
  readonly parent: OpenSpan | undefined;
  readonly children: Set<OpenSpan>;
  /** When its run began, in milliseconds since 1970. */
  readonly origin: number;
  /** No event ends a turn: it lasts until its last child ends. */
  readonly isTurn: boolean;
  last: number;
}

/** Turns the events of a trace into spans of the registered provider. */
export class RunSpans {
  readonly #tracer: Tracer;
  readonly #base: Context;
  readonly #content: boolean;
  readonly #now: () => number;
  readonly #open = new Map<string, OpenSpan>();
  readonly #runs = new Map<string, OpenSpan>();

  private constructor(tracer: Tracer, options: RunSpansOptions) {
    this.#tracer = tracer;
    this.#base = options.parent ?? context.active();
    this.#content = options.content ?? false;
    this.#now = options.now ?? Date.now;
  }

  /** Undefined without a provider: then the API returns a tracer that does nothing. */
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
    if (fact.act === "whole") {
      this.#write(event, fact);
      return;
    }
    const open = this.#open.get(keyOf(event.run, event.span));
    if (open === undefined) return;
    const at = open.origin + event.at;
    touch(open, at);
    if (fact.act === "mark") open.span.addEvent(fact.name, fact.attributes, timeOf(at));
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
      kind: event.type === "model.request" ? SpanKind.CLIENT : SpanKind.INTERNAL,
      attributes: fact.attributes,
      startTime: timeOf(at),
    };
    const span = this.#tracer.startSpan(fact.name, options, within);
    const { run } = event;
    const open = {
      span,
      key,
      run,
      parent,
      children: new Set<OpenSpan>(),
      origin,
      isTurn,
      last: at,
    };
    this.#open.set(key, open);
    if (isRun) this.#runs.set(run, open);
    parent?.children.add(open);
    touch(open, at);
  }

  #write(event: TraceEvent, { name, attributes, ms, error }: SpanFact & { act: "whole" }): void {
    const parent = this.#parentOf(event);
    if (parent === undefined) return;
    const at = parent.origin + event.at;
    const options = { attributes, startTime: timeOf(Math.max(parent.origin, at - ms)) };
    const within = trace.setSpan(this.#base, parent.span);
    const span = this.#tracer.startSpan(name, options, within);
    if (error !== undefined) {
      addException(span, at, error);
      markFailed(span, error);
    }
    span.end(timeOf(at));
    touch(parent, at);
  }

  /** The run itself where the parent has no span. */
  #parentOf({ run, parent }: TraceEvent): OpenSpan | undefined {
    const named = parent === null ? undefined : this.#open.get(keyOf(run, parent));
    return named ?? this.#runs.get(run);
  }

  #endTurns(parent: OpenSpan | undefined, at: number): void {
    for (const child of [...(parent?.children ?? [])]) {
      if (child.isTurn) this.#abandon(child, at, undefined);
    }
  }

  #end(open: OpenSpan, at: number, { attributes, error }: SpanFact & { act: "end" }): void {
    for (const child of [...open.children]) this.#abandon(child, at, error);
    if (error !== undefined) addException(open.span, at, error);
    this.#close(open, at, attributes, error);
  }

  /** Ends a span that got no end event, because its parent ended. */
  #abandon(open: OpenSpan, at: number, error: SpanError | undefined): void {
    const isCut = !open.isTurn || open.children.size > 0;
    for (const child of [...open.children]) this.#abandon(child, at, error);
    if (isCut) this.#close(open, at, { "cellar.unfinished": true }, error);
    else this.#close(open, open.last, {}, undefined);
  }

  #close(open: OpenSpan, at: number, attributes: Attributes, error: SpanError | undefined): void {
    const { span, key, run, parent } = open;
    this.#open.delete(key);
    parent?.children.delete(open);
    if (this.#runs.get(run) === open) this.#runs.delete(run);
    span.setAttributes(attributes);
    if (error !== undefined) markFailed(span, error);
    span.end(timeOf(at));
  }
}

function addException(span: Span, at: number, { type, message }: SpanError): void {
  const exception = { "exception.type": type, "exception.message": message };
  span.addEvent("exception", exception, timeOf(at));
}

function markFailed(span: Span, { type, message }: SpanError): void {
  span.setAttribute("error.type", type);
  span.setStatus({ code: SpanStatusCode.ERROR, ...(message !== undefined && { message }) });
}

/** A plain number could be taken for milliseconds since the process began. */
function timeOf(at: number): HrTime {
  const seconds = Math.floor(at / 1000);
  return [seconds, Math.min(999_999_999, Math.round((at - seconds * 1000) * 1e6))];
}

function touch(span: OpenSpan, at: number): void {
  for (let each: OpenSpan | undefined = span; each !== undefined; each = each.parent)
    each.last = at;
}

function keyOf(run: string, span: string): string {
  return `${run}/${span}`;
}
