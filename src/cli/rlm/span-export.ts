import type { SpanExporter } from "@opentelemetry/sdk-trace-base";
import { type TelemetryEnvironment, telemetryEnvironment } from "../../config/environment.js";
import { counted, describeError } from "../../errors.js";
import { hasTracerProvider } from "../../rlm/telemetry/telemetry.js";

export type Warn = (message: string, remedy?: string) => void;

const DEFAULT_SERVICE = "cellar";
const ENDPOINT_REMEDY =
  "check OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_HEADERS, or unset them";

/**
 * Registers OpenTelemetry's tracer provider and OTLP exporter for this process when the environment names a
 * collector and nothing else has registered one. Disposing sends the remaining spans and warns about lost ones.
 */
export async function openSpanExport(
  warn: Warn,
  environment = telemetryEnvironment(),
): Promise<AsyncDisposable | undefined> {
  if (!isRequested(environment) || hasTracerProvider()) return undefined;
  const problem = problemWith(environment);
  if (problem !== undefined) {
    warn(`spans are not sent: ${problem.message}`, problem.remedy);
    return undefined;
  }
  const [{ diag, trace }, { OTLPTraceExporter }, sdk, resources] = await Promise.all([
    import("@opentelemetry/api"),
    import("@opentelemetry/exporter-trace-otlp-http"),
    import("@opentelemetry/sdk-trace-base"),
    import("@opentelemetry/resources"),
  ]);
  const exporter = new CountingExporter(new OTLPTraceExporter());
  const provider = new sdk.BasicTracerProvider({
    resource: resources
      .defaultResource()
      .merge(resources.resourceFromAttributes({ "service.name": DEFAULT_SERVICE }))
      .merge(resources.detectResources({ detectors: [resources.envDetector] })),
    spanProcessors: [new sdk.BatchSpanProcessor(exporter)],
  });
  trace.setGlobalTracerProvider(provider);
  const diagnostics = new Set<string>();
  const note = (...words: unknown[]) => void diagnostics.add(words.map(String).join(" "));
  const ignore = () => {};
  diag.setLogger({ error: note, warn: note, info: ignore, debug: ignore, verbose: ignore });
  return {
    async [Symbol.asyncDispose]() {
      trace.disable();
      await provider.shutdown().catch(note);
      diag.disable();
      const { total, lost, reason } = exporter;
      if (lost > 0) {
        warn(`${lost} of ${counted(total, "span")} could not be sent: ${reason}`, ENDPOINT_REMEDY);
      }
      for (const text of diagnostics) warn(`OpenTelemetry: ${text}`);
    },
  };
}

/** OpenTelemetry reports a failed export to its log only. */
class CountingExporter implements SpanExporter {
  total = 0;
  lost = 0;
  reason = "";

  constructor(readonly exporter: SpanExporter) {}

  readonly export: SpanExporter["export"] = (spans, done) => {
    this.total += spans.length;
    this.exporter.export(spans, (result) => {
      if (result.code !== 0) {
        this.lost += spans.length;
        this.reason ||= reasonOf(result.error);
      }
      done({ code: 0 });
    });
  };

  shutdown(): Promise<void> {
    return this.exporter.shutdown();
  }
}

function reasonOf(error: unknown): string {
  const status = error instanceof Error && "code" in error ? error.code : undefined;
  const text = describeError(error);
  return typeof status === "number" ? `HTTP ${status} ${text}` : text;
}

function isRequested(environment: TelemetryEnvironment): boolean {
  return (
    addressOf(environment) !== undefined &&
    !/^true$/i.test(environment.OTEL_SDK_DISABLED ?? "") &&
    !/^none$/i.test(environment.OTEL_TRACES_EXPORTER ?? "")
  );
}

function addressOf(environment: TelemetryEnvironment): string | undefined {
  return environment.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? environment.OTEL_EXPORTER_OTLP_ENDPOINT;
}

/** OpenTelemetry ignores these, or quotes values that may be keys. */
function problemWith(
  environment: TelemetryEnvironment,
): { message: string; remedy: string } | undefined {
  const address = addressOf(environment) ?? "";
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username + url.password !== "") {
    const name = environment.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT
      ? "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
      : "OTEL_EXPORTER_OTLP_ENDPOINT";
    const remedy = "Give an address like http://127.0.0.1:4318, and credentials as a header.";
    return { message: `${name} is not a usable address`, remedy };
  }
  const protocol =
    environment.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? environment.OTEL_EXPORTER_OTLP_PROTOCOL;
  if (protocol !== undefined && !/^http\/(json|protobuf)$/i.test(protocol)) {
    const remedy =
      "Set OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/json and the address for it, often port 4318.";
    return { message: `the protocol ${JSON.stringify(protocol)} is not supported`, remedy };
  }
  for (const name of ["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"] as const) {
    if (!areHeaders(environment[name] ?? "")) {
      const remedy = "Give pairs like name=value,other=value, with %20 for a space.";
      return { message: `${name} is not a list of headers`, remedy };
    }
  }
  return undefined;
}

function areHeaders(text: string): boolean {
  const pairs = text.split(",").filter((pair) => pair.trim() !== "");
  try {
    new Headers(
      pairs.map((pair): [string, string] => {
        const [name = "", ...value] = pair.split("=");
        return [name.trim(), decodeURIComponent(value.join("=").trim())];
      }),
    );
    return pairs.every((pair) => /^[^=]+=/.test(pair));
  } catch {
    return false;
  }
}
