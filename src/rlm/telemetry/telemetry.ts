import { telemetryEnvironment } from "../../config/environment.js";
import type { TraceListener } from "../trace/trace.js";
import type { RunSpansOptions } from "./run-spans.js";

/** Where every copy of the API of this major version keeps its providers. */
const REGISTRY = Symbol.for("opentelemetry.js.api.1");

/** Makes spans of a run when the program has registered a tracer provider. */
export async function telemetryListener({
  content = wantsContent(),
  ...options
}: RunSpansOptions = {}): Promise<TraceListener | undefined> {
  if (!hasTracerProvider()) return undefined;
  const { RunSpans } = await import("./run-spans.js");
  const spans = RunSpans.open({ ...options, content });
  return spans && ((event) => spans.hear(event));
}

/** Does not load the API, which takes longer than a turn. */
export function hasTracerProvider(): boolean {
  const registry: unknown = Reflect.get(globalThis, REGISTRY);
  return typeof registry === "object" && registry !== null && "trace" in registry;
}

/** The variable that instrumentations of generative AI share. */
export function wantsContent(environment = telemetryEnvironment()): boolean {
  const value = environment.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT;
  return /^(true|span_only|span_and_event)$/i.test(value ?? "");
}
