import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { trace } from "@opentelemetry/api";
import { BasicTracerProvider } from "@opentelemetry/sdk-trace-base";
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openNativeRuntime } from "../../../test/support/native-runtime.js";
import { type CollectedSpan, Collector } from "../../../test/support/rlm/otlp-collector.js";
import { type RunPlan, steppingClock, tellRun } from "../../../test/support/rlm/trace-runs.js";
import { shutdown } from "../../backends/shared.js";
import { scripted } from "../../rlm/models/scripted.js";
import { rlm } from "../../rlm/rlm.js";
import { hasTracerProvider, telemetryListener } from "../../rlm/telemetry/telemetry.js";
import { Trace } from "../../rlm/trace/trace.js";
import { openSpanExport } from "./span-export.js";

const { runtime, unavailable } = await openNativeRuntime();
const folder = mkdtempSync(join(tmpdir(), "cellar-otlp-"));
const KEY = "sesame-open-4711";
const NOWHERE = "http://127.0.0.1:1";

afterEach(() => {
  vi.unstubAllEnvs();
});

afterAll(async () => {
  await runtime[Symbol.asyncDispose]();
  await shutdown();
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
});

type Variables = Readonly<Record<`OTEL_${string}`, string>>;

function set(variables: Variables): void {
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
}

/** Exports the events of a made-up run, and returns the warnings. */
async function exported(
  variables: Variables,
  tell: (trace: Trace) => void = (one) => tellRun(one, { turns: 2, calls: 4 }),
): Promise<string[]> {
  set(variables);
  const warnings: string[] = [];
  await using one = await Trace.open({ clock: steppingClock() });
  {
    await using _spans = await openSpanExport((message, remedy) =>
      warnings.push(`${message} (${remedy})`),
    );
    const listener = await telemetryListener();
    if (listener !== undefined) one.listen(listener);
    tell(one);
  }
  expect(hasTracerProvider()).toBe(false);
  return warnings;
}

const plan = (given: RunPlan) => (one: Trace) => tellRun(one, given);
const at = (address: string) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: address });
const value = (span: CollectedSpan | undefined, key: string) =>
  span?.attributes.find((attribute) => attribute.key === key)?.value;

describe("spans sent to a collector", () => {
  it("have the form of OTLP, and one parent each", async () => {
    await using collector = await Collector.open();
    const warnings = await exported({
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
    expect(body?.resourceSpans[0]?.resource.attributes).toEqual(
      expect.arrayContaining([
        { key: "service.name", value: { stringValue: "ducks" } },
        { key: "deployment.environment.name", value: { stringValue: "test" } },
      ]),
    );
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
    const call = spans.find(({ name }) => name === "chat big");
    expect(call?.kind).toBe(3);
    expect(value(call, "gen_ai.usage.input_tokens")).toEqual({ intValue: 1000 });
    expect(value(call, "cellar.cost")).toEqual({ doubleValue: 0.01 });
    expect(collector.requests[0]?.text).not.toMatch(
      /How many ducks|Let me look|There are 3|duck 1/,
    );
  });

  it("are named for cellar unless the environment says otherwise", async () => {
    await using collector = await Collector.open();
    await exported(at(collector.address));
    expect(collector.bodies[0]?.resourceSpans[0]?.resource.attributes).toContainEqual({
      key: "service.name",
      value: { stringValue: "cellar" },
    });
  });

  it("go to the address for traces unchanged, with its headers", async () => {
    await using collector = await Collector.open();
    await exported({
      ...at(NOWHERE),
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
    const warnings = await exported(at(collector.address), plan({ turns: 50, calls: 10 }));
    expect(warnings).toEqual([]);
    expect(collector.requests.length).toBeGreaterThan(1);
    // For each turn itself, a call, a cell, and ten sub-calls with a call each.
    expect(collector.spans).toHaveLength(1 + 50 * (3 + 20));
  });

  it("are sent again when the collector is busy", async () => {
    await using collector = await Collector.open((number) => (number === 1 ? { status: 503 } : {}));
    expect(await exported(at(collector.address))).toEqual([]);
    expect(collector.requests).toHaveLength(2);
  });
});

describe("spans that cannot be sent", () => {
  it.each([
    ["refused", { status: 401, body: `{"error":"no ${KEY}"}` }, /^23 of 23 spans .*HTTP 401/],
    ["redirected", { status: 307, headers: { location: NOWHERE } }, /^23 of 23 spans .*HTTP 307/],
    [
      "refused in part",
      { body: '{"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}}' },
      /too old/,
    ],
    ["never answered", { isSilent: true }, /^23 of 23 spans could not be sent/],
  ])("are a warning that shows no key: %s", async (_, answer, expected) => {
    await using collector = await Collector.open(() => answer);
    const warnings = await exported({
      ...at(collector.address),
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=${KEY}`,
      ...("isSilent" in answer && { OTEL_EXPORTER_OTLP_TIMEOUT: "300" }),
    });
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(expected);
    expect(warnings[0]).not.toContain(KEY);
  });

  it("are a warning when nothing listens", async () => {
    let address = "";
    {
      await using collector = await Collector.open();
      ({ address } = collector);
    }
    const warnings = await exported({ ...at(address), OTEL_EXPORTER_OTLP_TIMEOUT: "500" });
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/^23 of 23 spans could not be sent: .*ECONNREFUSED/);
  });

  it.each([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "nowhere" }, "OTEL_EXPORTER_OTLP_ENDPOINT"],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `http://me:${KEY}@127.0.0.1:1` }, "TRACES_ENDPOINT"],
    [{ ...at(NOWHERE), OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }, "http/json"],
    [{ ...at(NOWHERE), OTEL_EXPORTER_OTLP_HEADERS: KEY }, "OTLP_HEADERS"],
    [{ ...at(NOWHERE), OTEL_EXPORTER_OTLP_HEADERS: `a=${KEY}%0ab` }, "OTLP_HEADERS"],
    [{ ...at(NOWHERE), OTEL_EXPORTER_OTLP_HEADERS: `a=${KEY}%` }, "OTLP_HEADERS"],
  ])("are a warning at once where the environment is wrong: %#", async (environment, part) => {
    const warnings = await exported(environment);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/^spans are not sent: /);
    expect(warnings[0]).toContain(part);
    expect(warnings[0]).not.toContain(KEY);
  });
});

describe("nothing is sent", () => {
  it.each([
    [{}],
    [at(" ")],
    [{ ...at(NOWHERE), OTEL_SDK_DISABLED: "true" }],
    [{ ...at(NOWHERE), OTEL_TRACES_EXPORTER: "none" }],
  ])("where the environment does not ask for it: %j", async (environment) => {
    set(environment);
    expect(await openSpanExport(() => {})).toBeUndefined();
  });

  it("where the program has a tracer provider, which sends them itself", async () => {
    set(at(NOWHERE));
    trace.setGlobalTracerProvider(new BasicTracerProvider());
    try {
      expect(await openSpanExport(() => {})).toBeUndefined();
    } finally {
      trace.disable();
    }
  });
});

describe("a run", () => {
  beforeEach((context) => {
    if (unavailable !== undefined) context.skip(unavailable);
  });

  it("is sent as spans", async () => {
    await using collector = await Collector.open();
    set(at(collector.address));
    const warnings: string[] = [];
    {
      await using _spans = await openSpanExport((message) => warnings.push(message));
      const result = await rlm({
        query: "Is it there?",
        context: "a haystack",
        model: scripted(["```repl\nFINAL(llm_query('needle?'))\n```"]),
        subModel: scripted(["no needle"], { name: "small" }),
        config: { backend: "native", preload: "none" },
        agent: { spillDir: folder },
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
