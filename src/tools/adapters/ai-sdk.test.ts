import { convertToModelMessages, generateText, stepCountIs, type ToolSet } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { describe, expect, it } from "vitest";
import { ServiceFixture } from "../../../test/support/notebook/service-fixture.js";
import { DOT, SHOW_DOT, toolsOn } from "../../../test/support/notebook/tool-adapters.js";
import type { NotebookTools } from "./notebook-tools.js";

const fixture = new ServiceFixture();

const NONE = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 };
const USAGE = { inputTokens: NONE, outputTokens: { total: 1, text: 1, reasoning: 0 } };

/** A model that makes these calls, one a turn, and then says that it is done. */
function calling(...calls: readonly { readonly name: string; readonly input: unknown }[]) {
  const turns = calls.map(({ name, input }, index) => ({
    content: [
      {
        type: "tool-call" as const,
        toolCallId: `call-${index}`,
        toolName: name,
        input: JSON.stringify(input),
      },
    ],
    finishReason: { unified: "tool-calls" as const, raw: undefined },
    usage: USAGE,
    warnings: [],
  }));
  const end = {
    content: [{ type: "text" as const, text: "done" }],
    finishReason: { unified: "stop" as const, raw: undefined },
    usage: USAGE,
    warnings: [],
  };
  let turn = 0;
  return new MockLanguageModelV3({ doGenerate: async () => turns[turn++] ?? end });
}

async function talk(
  tools: NotebookTools,
  model: MockLanguageModelV3,
  abortSignal = new AbortController().signal,
) {
  const set: ToolSet = tools.aiSdk();
  const prompt = "go on";
  const stopWhen = stepCountIs(6);
  return await generateText({ model, tools: set, prompt, stopWhen, abortSignal });
}

/** What the model was told of its calls, at its last turn. */
function resultsIn(model: MockLanguageModelV3) {
  const prompt = model.doGenerateCalls.at(-1)?.prompt ?? [];
  return prompt.flatMap((message) =>
    message.role === "tool"
      ? message.content.flatMap((part) => (part.type === "tool-result" ? [part.output] : []))
      : [],
  );
}

const run = (code: string) => ({ name: "execute_cell", input: { code } });

describe("the tools in the AI SDK", () => {
  it("run cells, with text, images and errors as results", async () => {
    await using tools = await toolsOn(fixture, { session: "loop" });
    const model = calling(run("x = 41"), run(SHOW_DOT), run("x + y"), run("x + 1"));
    const { text, steps } = await talk(tools, model);
    expect([text, steps.length]).toEqual(["done", 5]);
    const [plain, picture, error, value] = resultsIn(model);
    expect(plain).toMatchObject({ type: "text", value: expect.stringContaining("COMPLETED") });
    expect(picture).toMatchObject({
      type: "content",
      value: [
        { type: "text", text: expect.stringContaining("a dot") },
        { type: "image-data", data: DOT, mediaType: "image/png" },
      ],
    });
    expect(error).toMatchObject({
      type: "error-text",
      value: expect.stringMatching(/cell 3 · ERROR[\s\S]*NameError: name 'y' is not defined/),
    });
    expect(value).toMatchObject({ type: "text", value: expect.stringContaining("\n42") });
  });

  it("give the model the schemas, and tell it of bad arguments and of a long output's handle", async () => {
    await using tools = await toolsOn(fixture, { session: "handles", only: ["execute_cell"] });
    const model = calling(
      { name: "execute_cell", input: { cod: "1" } },
      { name: "execute_cell", input: { code: "1", session: "handles" } },
      { name: "execute_cell", input: { code: "1", session: "other" } },
      run("print('w' * 50_000)"),
    );
    await talk(tools, model);
    expect(model.doGenerateCalls[0]?.tools).toMatchObject([
      {
        type: "function",
        name: "execute_cell",
        inputSchema: {
          type: "object",
          properties: { code: { type: "string" } },
          required: ["code"],
          additionalProperties: false,
        },
      },
    ]);
    const [bad, named, other, long] = resultsIn(model);
    expect(bad).toMatchObject({ type: "error-text", value: expect.stringContaining("code") });
    expect(named).toMatchObject({ type: "text", value: expect.stringContaining("COMPLETED") });
    expect(other).toMatchObject({ type: "error-text", value: expect.stringContaining("It takes") });
    const words = long?.type === "text" ? long.value : "";
    expect(words.length).toBeLessThan(10_000);
    const uri = /notebook:\/\/\S+?\/output\/0/.exec(words)?.[0] ?? "";
    expect((await tools.readResource(uri)).text).toBe(`${"w".repeat(50_000)}\n`);
  });

  it("stop a cell with the signal of the SDK, and keep its variables", async () => {
    const stopping = new AbortController();
    await using tools = await toolsOn(fixture, {
      session: "stopped",
      onStdout: () => stopping.abort(),
    });
    const endless = "kept = 'yes'\nprint('in it', flush=True)\nwhile True: pass";
    const ending = await talk(tools, calling(run(endless)), stopping.signal).then(
      () => "ended",
      (error: unknown) => (error instanceof Error ? error.name : "unknown"),
    );
    expect(["ended", "AbortError"]).toContain(ending);
    const cell = await tools.dispatch("show_cell", { cell: 1 });
    expect(cell.structured).toMatchObject({ cell: { state: "CANCELLED" } });
    const after = await tools.dispatch("execute_cell", { code: "kept" });
    expect(after.structured).toMatchObject({ cell: { outputs: [{ text: "'yes'" }] } });
  });

  it("can be told again from a stored conversation", async () => {
    await using tools = await toolsOn(fixture, { session: "stored" });
    const input = { code: SHOW_DOT };
    const output = JSON.parse(JSON.stringify(await tools.dispatch("execute_cell", input)));
    const part = {
      type: "tool-execute_cell" as const,
      toolCallId: "call-0",
      state: "output-available" as const,
      input,
      output,
    };
    const messages = [{ role: "assistant" as const, parts: [part] }];
    const told = await convertToModelMessages(messages, { tools: tools.aiSdk() });
    expect(JSON.stringify(told)).toContain('"type":"image-data"');
  });
});
