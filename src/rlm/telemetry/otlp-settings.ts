import type { TelemetryEnvironment } from "../../config/environment.js";
import { CellarError } from "../../errors.js";
import { Endpoint } from "../../http/endpoint.js";
import type { SpanAttributes } from "./span-facts.js";

const TRACES_PATH = "/v1/traces";
const DEFAULT_SERVICE = "cellar";
const DEFAULT_TIMEOUT_MS = 10_000;
const LONGEST_TIMEOUT_MS = 60_000;

export interface OtlpSettings {
  readonly endpoint: Endpoint;
  readonly resource: SpanAttributes;
  /** For a request with all its attempts. */
  readonly timeoutMs: number;
}

/** Where spans are to be sent, if anywhere; throws what cannot be used. */
export function otlpSettings(environment: TelemetryEnvironment): OtlpSettings | undefined {
  const own = environment.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
  const shared = environment.OTEL_EXPORTER_OTLP_ENDPOINT;
  const address = own ?? shared;
  const isOff =
    /^true$/i.test(environment.OTEL_SDK_DISABLED ?? "") ||
    /^none$/i.test(environment.OTEL_TRACES_EXPORTER ?? "");
  if (address === undefined || isOff) return undefined;
  const name = own === undefined ? "OTEL_EXPORTER_OTLP_ENDPOINT" : TRACES_ENDPOINT;
  requireHttp(environment);
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username + url.password !== "") {
    throw new CellarError("INVALID_CONFIG", `${name} is no address that spans can be sent to`, {
      remedy: "Give one like http://127.0.0.1:4318, and a name and password as a header.",
    });
  }
  return {
    endpoint: new Endpoint({
      baseUrl: address,
      path: own === undefined ? TRACES_PATH : "",
      headers: headersOf(environment),
      ownHeaders: () => ({}),
    }),
    resource: {
      "service.name": DEFAULT_SERVICE,
      ...pairsOf("OTEL_RESOURCE_ATTRIBUTES", environment.OTEL_RESOURCE_ATTRIBUTES),
      ...(environment.OTEL_SERVICE_NAME && { "service.name": environment.OTEL_SERVICE_NAME }),
    },
    timeoutMs: timeoutOf(environment),
  };
}

const TRACES_ENDPOINT = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";

/** Whoever takes protobuf over HTTP takes JSON at the same address; gRPC is another one. */
function requireHttp(environment: TelemetryEnvironment): void {
  const protocol =
    environment.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? environment.OTEL_EXPORTER_OTLP_PROTOCOL;
  if (protocol === undefined || /^http\/(json|protobuf)$/i.test(protocol)) return;
  throw new CellarError("UNSUPPORTED", "spans are sent over HTTP as JSON, not as asked for", {
    remedy:
      "Set OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/json, and the address that takes it: often port 4318.",
  });
}

function headersOf(environment: TelemetryEnvironment): Readonly<Record<string, string>> {
  const own = environment.OTEL_EXPORTER_OTLP_TRACES_HEADERS;
  const name =
    own === undefined ? "OTEL_EXPORTER_OTLP_HEADERS" : "OTEL_EXPORTER_OTLP_TRACES_HEADERS";
  const headers = pairsOf(name, own ?? environment.OTEL_EXPORTER_OTLP_HEADERS);
  try {
    new Headers(headers);
  } catch {
    throw badPairs(name);
  }
  return headers;
}

/** `one=1,two=2`, where values may have escapes such as %20. */
function pairsOf(name: string, text = ""): Record<string, string> {
  const pairs = text
    .split(",")
    .filter((pair) => pair.trim() !== "")
    .map((pair): [string, string] => {
      const [key = "", ...rest] = pair.split("=");
      if (key.trim() === "" || rest.length === 0) throw badPairs(name);
      return [key.trim(), decoded(name, rest.join("=").trim())];
    });
  return Object.fromEntries(pairs);
}

function decoded(name: string, text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw badPairs(name);
  }
}

/** What is wrong is not quoted: it may be a key. */
function badPairs(name: string): CellarError {
  return new CellarError("INVALID_CONFIG", `${name} cannot be used`, {
    remedy: "Give pairs like name=value,other=value, with %20 for a space.",
  });
}

function timeoutOf(environment: TelemetryEnvironment): number {
  const asked = Number(
    environment.OTEL_EXPORTER_OTLP_TRACES_TIMEOUT ?? environment.OTEL_EXPORTER_OTLP_TIMEOUT,
  );
  return asked > 0 ? Math.min(asked, LONGEST_TIMEOUT_MS) : DEFAULT_TIMEOUT_MS;
}
