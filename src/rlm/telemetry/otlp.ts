import { telemetryEnvironment } from "../../config/environment.js";
import { isCellarError } from "../../errors.js";
import type { TraceEvent } from "../trace/events.js";
import { OtlpQueue } from "./otlp-queue.js";
import { type OtlpSettings, otlpSettings } from "./otlp-settings.js";
import { OtlpSink } from "./otlp-span.js";
import { RunSpans, type RunSpansOptions } from "./run-spans.js";
import { hasTracerProvider, wantsContent } from "./telemetry.js";

/** Told what went wrong, and what to do about it. */
export type Warn = (message: string, remedy?: string) => void;

/** Sends the spans of runs to a collector. It never fails, but warns when it ends. */
export class SpanExport implements AsyncDisposable {
  readonly #settings: OtlpSettings;
  readonly #warn: Warn;
  readonly #queue: OtlpQueue;
  readonly #spans: RunSpans;

  constructor(settings: OtlpSettings, warn: Warn, options: RunSpansOptions = {}) {
    this.#settings = settings;
    this.#warn = warn;
    this.#queue = new OtlpQueue(settings);
    this.#spans = new RunSpans(new OtlpSink((span) => this.#queue.add(span)), options);
  }

  hear(event: TraceEvent): void {
    this.#spans.hear(event);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#spans.close();
    const { sent, lost, reason } = await this.#queue.close();
    if (lost === 0) return;
    const { origin } = this.#settings.endpoint;
    this.#warn(
      `${lost} of ${sent + lost} spans could not be sent to ${origin}: ${reason}`,
      "look at OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_HEADERS, or unset them",
    );
  }
}

/** What the environment asks for, unless something in this process already does it. */
export function openSpanExport(
  warn: Warn,
  environment = telemetryEnvironment(),
): SpanExport | undefined {
  try {
    const settings = otlpSettings(environment);
    if (settings === undefined || hasTracerProvider()) return undefined;
    return new SpanExport(settings, warn, { content: wantsContent(environment) });
  } catch (error) {
    if (!isCellarError(error)) throw error;
    warn(`spans are not sent: ${error.message}`, error.remedy);
    return undefined;
  }
}
