import type { Context } from "@opentelemetry/api";
import { telemetryEnvironment } from "../../config/environment.js";
import type { TraceListener } from "../trace/trace.js";
import { RunSpans, type RunSpansOptions } from "./run-spans.js";

/** Where every copy of the API of this major version keeps what is registered. */
const REGISTRY = Symbol.for("opentelemetry.js.api.1");

export interface TelemetryOptions extends RunSpansOptions {
  /** Has the span that a run is part of. Default: the active one. */
  readonly parent?: Context | undefined;
}

/** Tells OpenTelemetry of a run, when the program has set it up. */
export async function telemetryListener({
  content = wantsContent(),
  parent,
  now,
}: TelemetryOptions = {}): Promise<TraceListener | undefined> {
  if (!hasTracerProvider()) return undefined;
  const { apiSink } = await import("./api-spans.js");
  const sink = apiSink(parent);
  if (sink === undefined) return undefined;
  const spans = new RunSpans(sink, { content, now });
  return (event) => spans.hear(event);
}

/** Told without the API: loading it takes longer than a turn. */
export function hasTracerProvider(): boolean {
  const registry: unknown = Reflect.get(globalThis, REGISTRY);
  return typeof registry === "object" && registry !== null && "trace" in registry;
}

/** What instrumentations of generative AI agreed on. */
export function wantsContent(environment = telemetryEnvironment()): boolean {
  const wish = environment.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT;
  return /^(true|span_only|span_and_event)$/i.test(wish ?? "");
}
