import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { trace } from "@opentelemetry/api";
import { BasicTracerProvider } from "@opentelemetry/sdk-trace-base";
import { afterAll, beforeEach, describe, expect, it, vi } from "vitest";
import { openNativeRuntime } from "../../../test/support/native-runtime.js";
import { type RunPlan, steppingClock, tellRun } from "../../../test/support/rlm/trace-runs.js";
import { shutdown } from "../../backends/select.js";
import { type TelemetryEnvironment, telemetryEnvironment } from "../../config/environment.js";
import { scripted } from "../models/scripted.js";
import { rlm } from "../rlm.js";
import { Trace } from "../trace/trace.js";
import { type CollectedSpan, Collector } from "./collector.case.test.js";
import { openSpanExport } from "./otlp.js";

const { runtime, unavailable } = await openNativeRuntime();
const folder = mkdtempSync(join(tmpdir(), "cellar-otlp-"));
const KEY = "sesame-open-4711";

afterAll(async () => {
  await runtime[Symbol.asyncDispose]();
  await shutdown();
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
});

/** Exports what is told, and gives the warnings. */
async function told(
  environment: TelemetryEnvironment,
  tell: (trace: Trace) => void = (one) => tellRun(one, { turns: 2, calls: 4 }),
): Promise<string[]> {
  const warnings: string[] = [];
  await using one = await Trace.open({ clock: steppingClock() });
  {
    await using spans = openSpanExport(
      (message, remedy) => warnings.push(`${message} (${remedy})`),
      environment,
    );
    one.listen((event) => spans?.hear(event));
    tell(one);
  }
  return warnings;
}

const plan = (given: RunPlan) => (one: Trace) => tellRun(one, given);
const at = (address: string) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: address });
const value = (span: CollectedSpan | undefined, key: string) =>
  span?.attributes.find((attribute) => attribute.key === key)?.value;

describe("spans sent to a collector", () => {
  it("have the form of OTLP, and lie below one another", async () => {
    await using collector = await Collector.open();
    const warnings = await told({
      ...at(`${collector.address}/`),
      OTEL_EXPORTER_OTLP_HEADERS: `x-key=${KEY}, x-team = a%20b`,
      OTEL_SERVICE_NAME: "ducks",
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test,service.name=other",
    });
    expect(warnings).toEqual([]);
    expect(collector.requests).toMatchObject([
      {
        method: "POST",
        path: "/v1/traces",
        headers: { "content-type": "application/json", "x-key": KEY, "x-team": "a b" },
      },
    ]);
    const [body] = collector.bodies;
    expect(body?.resourceSpans[0]?.resource.attributes).toEqual([
      { key: "service.name", value: { stringValue: "ducks" } },
      { key: "deployment.environment.name", value: { stringValue: "test" } },
    ]);
    const { spans } = collector;
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
    const ids = new Set(spans.map(({ spanId }) => spanId));
    expect(ids.size).toBe(spans.length);
    const roots = spans.filter(({ parentSpanId }) => parentSpanId === undefined);
    expect(roots.map(({ name }) => name)).toEqual(["invoke_agent rlm"]);
    const orphans = spans.filter(
      ({ parentSpanId }) => parentSpanId !== undefined && !ids.has(parentSpanId),
    );
    expect(orphans).toEqual([]);
    expect(
      spans.every((span) => BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano)),
    ).toBe(true);
    const call = spans.find(({ name }) => name === "chat big");
    expect(call?.kind).toBe(3);
    expect(value(call, "gen_ai.usage.input_tokens")).toEqual({ intValue: "1000" });
    expect(value(call, "gen_ai.response.finish_reasons")).toEqual({
      arrayValue: { values: [{ stringValue: "stop" }] },
    });
    expect(value(call, "cellar.cost")).toEqual({ doubleValue: 0.01 });
    expect(spans.find(({ name }) => name === "turn")?.events).toMatchObject([
      { name: "cellar.budget" },
    ]);
    expect(collector.requests[0]?.text).not.toMatch(
      /How many ducks|Let me look|There are 3|duck 1/,
    );
  });

  it("name errors, say what was cut off, and show content when asked for", async () => {
    await using collector = await Collector.open();
    await told(
      { ...at(collector.address), OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "true" },
      ({ root }) => {
        root.emit({ type: "run.started", version: 1, query: "half \ud83d of it", model: "big" });
        const call = root.child();
        call.emit({ type: "model.request", call: "1", model: "big", promptTokens: 1 });
        const error = { code: "REMOTE_ERROR", message: "refused" };
        call.emit({ type: "model.failed", call: "1", error, ms: 1 });
        root.child().emit({ type: "code.started", code: "1" });
      },
    );
    const [call, cell, run] = collector.spans;
    expect(call?.status).toEqual({ code: 2, message: "refused" });
    expect(call?.events[0]).toMatchObject({
      name: "exception",
      attributes: [
        { key: "exception.type", value: { stringValue: "REMOTE_ERROR" } },
        { key: "exception.message", value: { stringValue: "refused" } },
      ],
    });
    expect(value(cell, "cellar.unfinished")).toEqual({ boolValue: true });
    expect(JSON.stringify(value(run, "gen_ai.input.messages"))).toContain("half \ufffd of it");
  });

  it("go to the address for traces as it stands, with its own headers", async () => {
    await using collector = await Collector.open();
    await told({
      ...at("http://127.0.0.1:1"),
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.address}/take/them?at=once`,
      OTEL_EXPORTER_OTLP_HEADERS: "x-key=shared",
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: "x-key=own",
    });
    expect(collector.requests).toMatchObject([
      { path: "/take/them?at=once", headers: { "x-key": "own" } },
    ]);
  });

  it("are sent in several requests when there are many", async () => {
    await using collector = await Collector.open();
    const warnings = await told(at(collector.address), plan({ turns: 50, calls: 10 }));
    expect(warnings).toEqual([]);
    expect(collector.requests.length).toBeGreaterThan(1);
    // For each turn itself, a call, a cell, and ten sub-calls with a call each.
    expect(collector.spans).toHaveLength(1 + 50 * (3 + 20));
  });

  it("are sent again when the collector is busy for a while", async () => {
    await using collector = await Collector.open((number) => (number === 1 ? { status: 503 } : {}));
    expect(await told(at(collector.address))).toEqual([]);
    expect(collector.requests).toHaveLength(2);
  });
});

describe("what cannot be sent", () => {
  it.each([
    ["refused", { status: 401, body: `{"error":"no ${KEY}"}` }, /HTTP 401: no \[hidden\]/],
    ["sent on", { status: 307, headers: { location: "http://127.0.0.1:1/" } }, /HTTP 307/],
    [
      "refused in part",
      { body: '{"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}}' },
      /^3 of 23 spans .* too old/,
    ],
    ["never answered", { isSilent: true }, /no answer within 300 ms/],
  ])("is a warning that names no key: %s", async (_, answer, expected) => {
    await using collector = await Collector.open(() => answer);
    const warnings = await told({
      ...at(collector.address),
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=${KEY}`,
      ...("isSilent" in answer && { OTEL_EXPORTER_OTLP_TIMEOUT: "300" }),
    });
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(expected);
    expect(warnings[0]).toContain(collector.address);
    expect(warnings[0]).not.toContain(KEY);
    expect(collector.requests).toHaveLength(1);
  });

  it("is a warning when nobody is there", async () => {
    let address = "";
    {
      await using collector = await Collector.open();
      ({ address } = collector);
    }
    const warnings = await told(at(address));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/^23 of 23 spans could not be sent .*ECONNREFUSED/);
  });

  it("holds nobody up: what a slow collector has not taken by then is left", async () => {
    await using collector = await Collector.open(() => ({ latencyMs: 400 }));
    const warnings = await told(
      { ...at(collector.address), OTEL_EXPORTER_OTLP_TIMEOUT: "1000" },
      plan({ turns: 100, calls: 10 }),
    );
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/of 2301 spans .* no answer within 1000 ms/);
  });

  it("does not pile up: more than the queue holds is dropped, and told", async () => {
    await using collector = await Collector.open();
    const warnings = await told(at(collector.address), plan({ turns: 500, calls: 10 }));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/of 11501 spans .* too many were waiting/);
    expect(collector.spans.length).toBeLessThan(6_000);
  });

  it.each([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "nowhere" }, "OTEL_EXPORTER_OTLP_ENDPOINT"],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `http://me:${KEY}@127.0.0.1:1` }, "TRACES_ENDPOINT"],
    [{ ...at("http://127.0.0.1:1"), OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }, "http/json"],
    [{ ...at("http://127.0.0.1:1"), OTEL_EXPORTER_OTLP_HEADERS: KEY }, "OTLP_HEADERS"],
    [{ ...at("http://127.0.0.1:1"), OTEL_EXPORTER_OTLP_HEADERS: `a=${KEY}%0ab` }, "OTLP_HEADERS"],
    [{ ...at("http://127.0.0.1:1"), OTEL_EXPORTER_OTLP_HEADERS: `a=${KEY}%` }, "OTLP_HEADERS"],
  ])("is told at once where the environment is wrong: %#", async (environment, part) => {
    const warnings = await told(environment);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/^spans are not sent: /);
    expect(warnings[0]).toContain(part);
    expect(warnings[0]).not.toContain(KEY);
  });
});

describe("nothing is sent", () => {
  it.each([
    [{}],
    [{ ...at("http://127.0.0.1:1"), OTEL_SDK_DISABLED: "true" }],
    [{ ...at("http://127.0.0.1:1"), OTEL_TRACES_EXPORTER: "none" }],
  ])("where the environment does not ask for it: %j", (environment) => {
    expect(openSpanExport(() => {}, environment)).toBeUndefined();
  });

  it("where the program has a tracer provider, which sends them itself", () => {
    expect(openSpanExport(() => {}, at("http://127.0.0.1:1"))).toBeDefined();
    trace.setGlobalTracerProvider(new BasicTracerProvider());
    try {
      expect(openSpanExport(() => {}, at("http://127.0.0.1:1"))).toBeUndefined();
    } finally {
      trace.disable();
    }
  });

  it("for a variable that is empty", () => {
    vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", " ");
    vi.stubEnv("OTEL_SERVICE_NAME", " ducks ");
    expect(telemetryEnvironment()).toMatchObject({ OTEL_SERVICE_NAME: "ducks" });
    expect(telemetryEnvironment()).not.toHaveProperty("OTEL_EXPORTER_OTLP_ENDPOINT");
    vi.unstubAllEnvs();
  });
});

describe("a run", () => {
  beforeEach((context) => {
    if (unavailable !== undefined) context.skip(unavailable);
  });

  it("is sent as spans", async () => {
    await using collector = await Collector.open();
    const warnings: string[] = [];
    {
      await using spans = openSpanExport(
        (message) => warnings.push(message),
        at(collector.address),
      );
      const result = await rlm({
        query: "Is it there?",
        context: "a haystack",
        model: scripted(["```repl\nFINAL(llm_query('needle?'))\n```"]),
        subModel: scripted(["no needle"], { name: "small" }),
        config: { backend: "native", preload: "none" },
        agent: { spillDir: folder },
        onEvent: (event) => spans?.hear(event),
      });
      expect(result.answer).toBe("no needle");
    }
    expect(warnings).toEqual([]);
    const names = collector.spans.map(({ name }) => name).sort();
    expect(names).toEqual([
      "chat scripted",
      "chat small",
      "execute_tool python",
      "invoke_agent rlm",
      "llm_query",
      "turn",
    ]);
    expect(collector.requests.map(({ text }) => text).join()).not.toContain("needle");
  });
});
