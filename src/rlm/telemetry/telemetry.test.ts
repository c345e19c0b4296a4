import { type Context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace-base";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  millisecondsOf,
  named,
  parentOf,
  paths,
  Tracing,
} from "../../../test/support/rlm/recorded-spans.js";
import { steppingClock, tellRun } from "../../../test/support/rlm/trace-runs.js";
import type { TraceBody, TraceEvent } from "../trace/events.js";
import { Trace, type TraceListener } from "../trace/trace.js";
import { telemetryListener } from "./telemetry.js";

const EPOCH = 1_800_000_000_000;
const USAGE = { inputTokens: 7, outputTokens: 3, isEstimate: false };
const SECRETS = /How many ducks|Let me look|llm_query\(|found 3 ducks|There are 3|duck 1|prompt of/;

let tracing: Tracing;

beforeEach(() => {
  tracing = new Tracing();
});

afterEach(() => tracing[Symbol.asyncDispose]());

async function listener(options: { content?: boolean; parent?: Context }): Promise<TraceListener> {
  const found = await telemetryListener({ now: () => EPOCH, ...options });
  if (found === undefined) throw new Error("a provider is registered");
  return found;
}

/** Tells a run of 1 turn with 4 sub-calls, or what is given. */
async function told(
  options: { content?: boolean; parent?: Context } = {},
  tell: (trace: Trace) => void = (one) => tellRun(one, { turns: 1, calls: 4 }),
): Promise<readonly ReadableSpan[]> {
  await using one = await Trace.open({ onEvent: await listener(options), clock: steppingClock() });
  tell(one);
  return tracing.spans;
}

const begin = { type: "run.started", version: 1, query: "q", model: "big" } as const;
const ended = (status: "answered" | "failed" | "cancelled" | "out-of-turns" | "out-of-budget") =>
  ({
    type: "run.ended",
    status,
    answer: null,
    ...(status === "failed" && { error: { code: "REMOTE_ERROR", message: "prompt of yours" } }),
    usage: { calls: 1, ...USAGE, cost: null },
  }) satisfies TraceBody;

const msOf = (time: readonly [number, number]) => millisecondsOf(time) - EPOCH;

describe("spans of a trace", () => {
  it("lie below one another as the trace says, in one trace", async () => {
    const spans = await told();
    const run = "invoke_agent rlm";
    const cell = `${run} > turn > execute_tool python`;
    expect(paths(spans)).toEqual([
      run,
      `${run} > turn`,
      `${run} > turn > chat big`,
      cell,
      `${cell} > invoke_agent rlm_query`,
      `${cell} > invoke_agent rlm_query > chat big`,
      ...[1, 2, 3].map(() => `${cell} > llm_query`),
      ...[1, 2, 3].map(() => `${cell} > llm_query > chat big`),
    ]);
    expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(1);
  });

  it("have the names of the conventions, and no content", async () => {
    const spans = await told();
    expect(named(spans, "invoke_agent rlm")).toMatchObject({
      kind: SpanKind.INTERNAL,
      instrumentationScope: { name: "cellar" },
      status: { code: SpanStatusCode.UNSET },
      attributes: {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "rlm",
        "gen_ai.request.model": "big",
        "gen_ai.usage.input_tokens": 1_000,
        "gen_ai.usage.output_tokens": 50,
        "cellar.status": "answered",
        "cellar.sub_model": "small",
        "cellar.context.characters": 1_000_000,
        "cellar.sandbox.backend": "native",
        "cellar.calls": 5,
      },
    });
    expect(named(spans, "chat big")).toMatchObject({
      kind: SpanKind.CLIENT,
      attributes: {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "big",
        "gen_ai.request.max_tokens": 500,
        "gen_ai.usage.input_tokens": 1_000,
        "gen_ai.usage.output_tokens": 50,
        "gen_ai.response.finish_reasons": ["stop"],
      },
    });
    expect(named(spans, "execute_tool python").attributes).toMatchObject({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "python",
      "cellar.status": "ok",
    });
    const turn = named(spans, "turn");
    expect(turn.attributes).toEqual({ "cellar.turn": 1, "cellar.turns": 1, "cellar.depth": 0 });
    expect(turn.events.map(({ name }) => name)).toEqual(["cellar.budget"]);
    const shown = spans.map(({ name, attributes, events, status }) => [
      name,
      attributes,
      events,
      status,
    ]);
    expect(JSON.stringify(shown)).not.toMatch(SECRETS);
  });

  it("show content when asked for, cut where it is long", async () => {
    const output = `found 3 ducks ${"😀".repeat(10_000)}`;
    const spans = await told({ content: true }, (one) =>
      tellRun(one, { turns: 1, calls: 1, output }),
    );
    const run = named(spans, "invoke_agent rlm").attributes;
    expect(JSON.parse(String(run["gen_ai.input.messages"]))).toEqual([
      {
        role: "user",
        parts: [{ type: "text", content: "How many ducks swim in the pond?" }],
      },
    ]);
    expect(run["gen_ai.output.messages"]).toContain("There are 3 ducks.");
    const cell = named(spans, "execute_tool python").attributes;
    expect(cell["gen_ai.tool.call.arguments"]).toContain("ask(i, 1)");
    const result = String(cell["gen_ai.tool.call.result"]);
    expect(result).toMatch(/^found 3 ducks .*… \[\d+ more characters\]$/u);
    expect(result.length).toBeLessThan(17_000);
    expect(named(spans, "chat big").attributes["gen_ai.output.messages"]).toContain(
      '"finish_reason":"stop"',
    );
  });

  it("begin and end when the trace says", async () => {
    const events: TraceEvent[] = [];
    const spans = await told({}, (one) => {
      one.listen((event) => events.push(event));
      tellRun(one, { turns: 2, calls: 1 });
    });
    const first = events[0]?.at ?? Number.NaN;
    const times = (type: TraceEvent["type"]) =>
      events.filter((event) => event.type === type).map(({ at }) => at - first);
    const of = (name: string) => spans.filter((span) => span.name === name);
    const run = named(spans, "invoke_agent rlm");
    expect(msOf(run.startTime)).toBeCloseTo(0, 3);
    expect([msOf(run.endTime)].map(Math.round)).toEqual(times("run.ended"));
    const cells = of("execute_tool python");
    expect(cells.map(({ startTime }) => Math.round(msOf(startTime)))).toEqual(
      times("code.started"),
    );
    expect(cells.map(({ endTime }) => Math.round(msOf(endTime)))).toEqual(times("code.output"));
    expect(of("turn").map(({ startTime }) => Math.round(msOf(startTime)))).toEqual(
      times("turn.started"),
    );
    expect(of("turn").map(({ endTime }) => Math.round(msOf(endTime)))).toEqual(times("budget"));
  });

  it("of a turn end when the next one begins", async () => {
    await told({}, ({ root }) => {
      root.emit(begin);
      root.child().emit({ type: "turn.started", turn: 1 });
      expect(tracing.spans).toHaveLength(0);
      root.child().emit({ type: "turn.started", turn: 2 });
      expect(tracing.spans).toMatchObject([
        { name: "turn", attributes: { "cellar.turn": 1 }, status: { code: SpanStatusCode.UNSET } },
      ]);
    });
  });

  it("are part of the caller's span", async () => {
    const above = tracing.provider.getTracer("caller").startSpan("request");
    const spans = await told({ parent: trace.setSpan(ROOT_CONTEXT, above) });
    const run = named(spans, "invoke_agent rlm");
    expect(parentOf(run)).toBe(above.spanContext().spanId);
    expect(run.spanContext().traceId).toBe(above.spanContext().traceId);
  });

  it("tell of budgets and of what was left out", async () => {
    const spans = await told({}, ({ root }) => {
      root.emit(begin);
      root.emit({ type: "budget", left: { dollars: 1.5, calls: 40 } });
      root.emit({ type: "compaction", messages: 9, tokensBefore: 900, tokensAfter: 90 });
      root.emit(ended("answered"));
    });
    expect(spans[0]?.events).toMatchObject([
      {
        name: "cellar.budget",
        attributes: { "cellar.left.dollars": 1.5, "cellar.left.calls": 40 },
      },
      { name: "cellar.compaction", attributes: { "cellar.tokens_before": 900 } },
    ]);
  });
});

describe("what goes wrong", () => {
  const failing = ({ root }: Trace) => {
    root.emit(begin);
    const turn = root.child();
    turn.emit({ type: "turn.started", turn: 1 });
    const cell = turn.child();
    cell.emit({ type: "code.started", code: "1 / 0" });
    const sub = cell.child();
    sub.emit({ type: "sub.started", kind: "llm", prompt: "prompt of sub" });
    const error = { code: "LIMIT_REACHED", message: "prompt of sub is too long" };
    sub.emit({ type: "sub.ended", kind: "llm", error, ms: 1 });
    cell.emit({ type: "code.output", observation: "duck 1", status: "error", ms: 1 });
    const call = turn.child();
    call.emit({ type: "model.request", call: "1", model: "big", promptTokens: 1 });
    const refused = { code: "REMOTE_ERROR", message: "prompt of yours" };
    call.emit({ type: "model.failed", call: "1", error: refused, ms: 1 });
    root.emit(ended("failed"));
  };

  it("is an error of its span, with an exception that quotes nothing", async () => {
    const spans = await told({}, failing);
    const errors = spans
      .filter(({ status }) => status.code === SpanStatusCode.ERROR)
      .map(({ name, attributes, events }) => [
        name,
        attributes["error.type"],
        events.map((event) => [event.name, event.attributes]),
      ]);
    const exception = (type: string) => [["exception", { "exception.type": type }]];
    expect(errors).toEqual([
      ["llm_query", "LIMIT_REACHED", exception("LIMIT_REACHED")],
      ["execute_tool python", "error", exception("error")],
      ["chat big", "REMOTE_ERROR", exception("REMOTE_ERROR")],
      ["invoke_agent rlm", "REMOTE_ERROR", exception("REMOTE_ERROR")],
    ]);
    expect(named(spans, "turn").status.code).toBe(SpanStatusCode.UNSET);
    expect(JSON.stringify(spans.map(({ events, status }) => [events, status]))).not.toMatch(
      SECRETS,
    );
  });

  it("says why with content", async () => {
    const spans = await told({ content: true }, failing);
    const { status, events } = named(spans, "chat big");
    expect(status).toEqual({ code: SpanStatusCode.ERROR, message: "prompt of yours" });
    expect(events[0]?.attributes).toMatchObject({ "exception.message": "prompt of yours" });
  });

  it("ends all that is open when a run is cancelled, and only once", async () => {
    const spans = await told({}, ({ root }) => {
      root.emit(begin);
      const turn = root.child();
      turn.emit({ type: "turn.started", turn: 1 });
      const cell = turn.child();
      cell.emit({ type: "code.started", code: "1" });
      const sub = cell.child({ deeper: true });
      sub.emit({ type: "sub.started", kind: "rlm", prompt: "p" });
      sub.child().emit({ type: "turn.started", turn: 1 });
      root.emit(ended("cancelled"));
      sub.emit({ type: "sub.ended", kind: "rlm", text: "late", ms: 1 });
      cell.child().emit({ type: "code.started", code: "late" });
    });
    expect(spans.map(({ name }) => name)).toEqual([
      "turn",
      "invoke_agent rlm_query",
      "execute_tool python",
      "turn",
      "invoke_agent rlm",
    ]);
    expect(tracing.begun).toHaveLength(spans.length);
    const cut = spans.filter(({ attributes }) => attributes["cellar.unfinished"] === true);
    expect(cut.map(({ name, status }) => [name, status.code])).toEqual([
      ["invoke_agent rlm_query", SpanStatusCode.ERROR],
      ["execute_tool python", SpanStatusCode.ERROR],
      ["turn", SpanStatusCode.ERROR],
    ]);
    expect(named(spans, "invoke_agent rlm").attributes["error.type"]).toBe("cancelled");
    const end = named(spans, "invoke_agent rlm").endTime;
    expect(cut.every(({ endTime }) => msOf(endTime) === msOf(end))).toBe(true);
  });

  it.each([
    ["out-of-turns", SpanStatusCode.UNSET],
    ["out-of-budget", SpanStatusCode.ERROR],
  ] as const)("knows whether %s is an error", async (status, code) => {
    const spans = await told({}, ({ root }) => {
      root.emit(begin);
      root.emit(ended(status));
    });
    expect(spans[0]?.status.code).toBe(code);
  });

  it("goes to the run where a part in between told nothing", async () => {
    const spans = await told({}, ({ root }) => {
      root.emit(begin);
      root.child().child().emit({ type: "code.started", code: "1" });
      root.emit(ended("answered"));
    });
    expect(paths(spans)).toEqual(["invoke_agent rlm", "invoke_agent rlm > execute_tool python"]);
  });
});
