import {
  type Attributes,
  type AttributeValue,
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
import type { SpanBegin, SpanEnd, SpanMark, SpanSink } from "./run-spans.js";
import type { SpanAttributes } from "./span-facts.js";

/** What tells the registered provider of spans, if there is one. */
export function apiSink(parent: Context = context.active()): SpanSink | undefined {
  // One that waits for a provider is all there is without any.
  if (trace.getTracer("cellar") instanceof ProxyTracer) return undefined;
  return new ApiSink(trace.getTracer("cellar", packageVersion()), parent);
}

class ApiSink implements SpanSink {
  readonly #tracer: Tracer;
  readonly #base: Context;
  readonly #spans = new Map<string, Span>();

  constructor(tracer: Tracer, base: Context) {
    this.#tracer = tracer;
    this.#base = base;
  }

  begin({ key, parent, name, kind, attributes, at }: SpanBegin): void {
    const above = parent === undefined ? undefined : this.#spans.get(parent);
    const within = above === undefined ? this.#base : trace.setSpan(this.#base, above);
    const options = {
      kind: kind === "client" ? SpanKind.CLIENT : SpanKind.INTERNAL,
      attributes: attributesOf(attributes),
      startTime: timeOf(at),
    };
    this.#spans.set(key, this.#tracer.startSpan(name, options, within));
  }

  mark({ key, name, attributes, at }: SpanMark): void {
    this.#spans.get(key)?.addEvent(name, attributesOf(attributes), timeOf(at));
  }

  end({ key, attributes, error, at }: SpanEnd): void {
    const span = this.#spans.get(key);
    this.#spans.delete(key);
    span?.setAttributes(attributesOf(attributes));
    if (error !== undefined) {
      const { message } = error;
      span?.setStatus({ code: SpanStatusCode.ERROR, ...(message !== undefined && { message }) });
    }
    span?.end(timeOf(at));
  }
}

function attributesOf(attributes: SpanAttributes): Attributes {
  const values = Object.entries(attributes).map(([name, value]): [string, AttributeValue] => [
    name,
    typeof value === "object" ? [...value] : value,
  ]);
  return Object.fromEntries(values);
}

/** A plain number could be taken for one since the process began. */
function timeOf(at: number): HrTime {
  const seconds = Math.floor(at / 1000);
  return [seconds, Math.min(999_999_999, Math.round((at - seconds * 1000) * 1e6))];
}
