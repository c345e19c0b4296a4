import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { diag, SpanStatusCode, trace } from "@opentelemetry/api";
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openNativeRuntime } from "../../../test/support/native-runtime.js";
import { millisecondsOf, named, paths, Tracing } from "../../../test/support/rlm/recorded-spans.js";
import { shutdown } from "../../backends/shared.js";
import { ToolRegistry } from "../../registry/registry.js";
import { scripted } from "../models/scripted.js";
import { type RLMOptions, rlm } from "../rlm.js";
import type { TraceListener } from "../trace/trace.js";
import { hasTracerProvider, telemetryListener, wantsContent } from "./telemetry.js";

const { runtime, unavailable } = await openNativeRuntime();
const folder = mkdtempSync(join(tmpdir(), "cellar-telemetry-"));

let tracing: Tracing;

beforeEach(() => {
  tracing = new Tracing();
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await tracing[Symbol.asyncDispose]();
});

afterAll(async () => {
  await runtime[Symbol.asyncDispose]();
  await shutdown();
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
});

describe("whether there is a listener", () => {
  it("is up to the program: none without a provider", async () => {
    expect(hasTracerProvider()).toBe(true);
    expect(await telemetryListener()).toBeDefined();
    trace.disable();
    expect(hasTracerProvider()).toBe(false);
    expect(await telemetryListener()).toBeUndefined();
  });

  it("does not matter to who has another part of the API only", async () => {
    trace.disable();
    diag.setLogger({ error() {}, warn() {}, info() {}, debug() {}, verbose() {} });
    expect(await telemetryListener()).toBeUndefined();
    diag.disable();
  });

  it.each([
    ["true", true],
    ["SPAN_ONLY", true],
    ["event_only", false],
    ["false", false],
    ["", false],
  ])("shows content for %j: %s", (value, shown) => {
    vi.stubEnv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", value);
    expect(wantsContent()).toBe(shown);
  });
});

describe("a run", () => {
  beforeEach((context) => {
    if (unavailable !== undefined) context.skip(unavailable);
  });

  const fence = (code: string) => `\`\`\`repl\n${code}\n\`\`\``;
  const run = (options: Omit<RLMOptions, "query">) =>
    rlm({
      query: "How many?",
      context: "a haystack",
      config: { backend: "native", preload: "none" },
      ...options,
      agent: { spillDir: folder, ...options.agent },
    });

  it("tells a registered provider by itself", async () => {
    await run({ model: scripted([fence("FINAL(1)")]) });
    expect(paths(tracing.spans)).toContain("invoke_agent rlm > turn > chat scripted");
  });

  it("is told as spans, with its sub-calls and loops", async () => {
    const model = scripted([
      fence("1 / 0"),
      fence("part = llm_query('a')\nchild = rlm_query('count it', 'xyz')\nFINAL(part + child)"),
    ]);
    const subModel = scripted(
      [
        { text: "one", when: ({ messages }) => messages.at(-1)?.content === "a" },
        { text: fence("FINAL(context_len())"), when: ({ messages }) => messages.length > 1 },
      ],
      { name: "small" },
    );
    const before = Date.now();
    const result = await run({ model, subModel, onEvent: await listenerNow() });
    expect(result).toMatchObject({ status: "answered", answer: "one3" });
    const spans = tracing.spans;
    const found = paths(spans);
    expect(found.filter((path) => / > turn > chat scripted$/.test(path))).toHaveLength(2);
    expect(found.filter((path) => / > llm_query > chat small$/.test(path))).toHaveLength(1);
    expect(found.some((path) => / > invoke_agent rlm_query > turn > chat small$/.test(path))).toBe(
      true,
    );
    expect(found.every((path) => path.startsWith("invoke_agent rlm"))).toBe(true);
    const cells = spans.filter(({ name }) => name === "execute_tool python");
    expect(cells.map(({ attributes }) => attributes["cellar.status"]).sort()).toEqual([
      "error",
      "ok",
      "ok",
    ]);
    const { startTime, endTime } = named(spans, "invoke_agent rlm");
    expect(millisecondsOf(startTime)).toBeGreaterThan(before - 1_000);
    expect(millisecondsOf(endTime)).toBeLessThan(Date.now() + 1_000);
  });

  it("has a span for each call of a tool, below its cell", async () => {
    vi.stubEnv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "");
    await using registry = await ToolRegistry.open({
      tools: {
        look: { isReadOnly: true, execute: ({ at }: { at: number }) => `seen ${at}` },
        fail: { execute: () => Promise.reject(new Error("broken thing")) },
      },
    });
    const model = scripted([
      fence("a = tools.look(at=1)\nb = tools.look(at=2)"),
      fence("tools.fail()"),
      fence("FINAL(1)"),
    ]);
    await run({ model, tools: registry, agent: { structured: true } });
    const { spans } = tracing;
    const cell = "invoke_agent rlm > turn > execute_tool python";
    expect(paths(spans).filter((path) => path.startsWith(`${cell} > `))).toEqual([
      `${cell} > execute_tool fail`,
      `${cell} > execute_tool look`,
      `${cell} > execute_tool look`,
    ]);
    const look = named(spans, "execute_tool look");
    expect(look.attributes).toMatchObject({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "look",
      "cellar.caller_type": "chain",
      "cellar.depth": 0,
    });
    expect(millisecondsOf(look.endTime)).toBeGreaterThanOrEqual(millisecondsOf(look.startTime));
    const chained = spans.find(({ attributes }) => "cellar.chain.waves" in attributes);
    expect(chained?.attributes).toMatchObject({
      "cellar.chain.id": look.attributes["cellar.chain.id"],
      "cellar.chain.mode_used": "parallel_read_only",
      "cellar.chain.waves": 1,
    });
    const failed = named(spans, "execute_tool fail");
    expect(failed.status).toEqual({ code: SpanStatusCode.ERROR });
    expect(failed.attributes["error.type"]).toBe("FAILED");
    expect(JSON.stringify(spans.map(({ attributes }) => attributes))).not.toContain("broken thing");
  });

  it("that is cancelled leaves no span open", async () => {
    const aborting = new AbortController();
    const tell = await listenerNow();
    const result = await run({
      model: scripted([fence("while True: pass")]),
      signal: aborting.signal,
      onEvent: (event) => {
        tell(event);
        if (event.type === "code.started") aborting.abort();
      },
    });
    expect(result.status).toBe("cancelled");
    const spans = tracing.spans;
    expect(spans).toHaveLength(tracing.begun.length);
    expect(named(spans, "invoke_agent rlm").status.code).toBe(SpanStatusCode.ERROR);
  });

  /** The only one: without a provider the run itself finds none. */
  async function listenerNow(): Promise<TraceListener> {
    const found = await telemetryListener();
    if (found === undefined) throw new Error("a provider is registered");
    trace.disable();
    return found;
  }
});
