import { trace } from "@opentelemetry/api";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanProcessor,
} from "@opentelemetry/sdk-trace-base";

/** A provider of tracers for the whole process, until it is disposed of. */
export class Tracing implements AsyncDisposable {
  readonly begun: string[] = [];
  readonly provider: BasicTracerProvider;
  readonly #exporter = new InMemorySpanExporter();

  constructor() {
    const counting: SpanProcessor = {
      onStart: ({ name }) => void this.begun.push(name),
      onEnd: () => {},
      forceFlush: async () => {},
      shutdown: async () => {},
    };
    const spanProcessors = [counting, new SimpleSpanProcessor(this.#exporter)];
    this.provider = new BasicTracerProvider({ spanProcessors });
    trace.setGlobalTracerProvider(this.provider);
  }

  get spans(): readonly ReadableSpan[] {
    return this.#exporter.getFinishedSpans();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    trace.disable();
    await this.provider.shutdown();
  }
}

export function named(spans: readonly ReadableSpan[], name: string): ReadableSpan {
  const found = spans.find((span) => span.name === name);
  if (found === undefined) throw new Error(`there is no ${name}`);
  return found;
}

export function parentOf(span: ReadableSpan): string | undefined {
  return span.parentSpanContext?.spanId;
}

/** Names from the root on, sorted. */
export function paths(spans: readonly ReadableSpan[]): string[] {
  const byId = new Map(spans.map((span) => [span.spanContext().spanId, span]));
  const path = (span: ReadableSpan): string => {
    const above = byId.get(parentOf(span) ?? "");
    return above === undefined ? span.name : `${path(above)} > ${span.name}`;
  };
  return spans.map(path).sort();
}

/** Milliseconds since 1970. */
export function millisecondsOf([seconds, nanos]: readonly [number, number]): number {
  return seconds * 1000 + nanos / 1e6;
}
