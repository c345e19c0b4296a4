import OpenAI from "openai";
import type {
  ChatCompletionMessageFunctionToolCall,
  ChatCompletionMessageParam,
  ChatCompletionTool,
} from "openai/resources/chat/completions";
import type { FunctionTool, ResponseInputItem } from "openai/resources/responses/responses";
import { describe, expect, it } from "vitest";
import { ServiceFixture } from "../../../test/support/notebook/service-fixture.js";
import {
  answered,
  DOT,
  image,
  SHOW_DOT,
  text,
  toolsOn,
} from "../../../test/support/notebook/tool-adapters.js";
import { FakeServer } from "../../../test/support/rlm/fake-model-server.js";
import { toOpenAIMessages, toOpenAIOutput } from "./openai.js";

const fixture = new ServiceFixture();
const URL_OF_DOT = `data:image/png;base64,${DOT}`;

const clientOf = ({ baseUrl }: FakeServer) =>
  new OpenAI({ baseURL: baseUrl, apiKey: "none", maxRetries: 0 });

const chatTurn = (message: object, reason: string) => ({
  body: {
    id: "chat-1",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [{ index: 0, finish_reason: reason, message: { role: "assistant", ...message } }],
  },
});

describe("the tools in chat completions", () => {
  it("are called, answered and told back", async () => {
    await using tools = await toolsOn(fixture, { session: "chat" });
    await using server = await FakeServer.open();
    const call = (id: string, input: object): ChatCompletionMessageFunctionToolCall => ({
      id,
      type: "function",
      function: { name: "execute_cell", arguments: JSON.stringify(input) },
    });
    const calls = [call("one", { code: SHOW_DOT }), call("two", { code: "6 * seven" })];
    server.inOrder(
      chatTurn({ content: null, tool_calls: calls }, "tool_calls"),
      chatTurn({ content: "done" }, "stop"),
    );
    const client = clientOf(server);
    const definitions: ChatCompletionTool[] = tools.openai();
    const messages: ChatCompletionMessageParam[] = [
      { role: "system", content: tools.instructions },
      { role: "user", content: "Draw a dot." },
    ];
    const first = await client.chat.completions.create({
      model: "m",
      messages,
      tools: definitions,
    });
    const message = first.choices[0]?.message;
    if (message === undefined) throw new Error("the server said nothing");
    const answers = [];
    for (const one of message.tool_calls ?? []) {
      if (one.type !== "function") continue;
      const { name, arguments: input } = one.function;
      answers.push({ id: one.id, answer: await tools.dispatch(name, input) });
    }
    messages.push(message, ...toOpenAIMessages(answers));
    const last = await client.chat.completions.create({ model: "m", messages, tools: definitions });
    expect(last.choices[0]?.message.content).toBe("done");

    const [asked, told] = server.requests.map(({ body }) => body);
    expect(asked?.tools).toContainEqual({
      type: "function",
      function: {
        name: "execute_cell",
        description: expect.stringContaining("Runs Python"),
        parameters: {
          type: "object",
          properties: { code: expect.objectContaining({ type: "string" }) },
          required: ["code"],
          additionalProperties: false,
        },
      },
    });
    expect(told?.messages.slice(2)).toEqual([
      { role: "assistant", content: null, tool_calls: calls },
      {
        role: "tool",
        tool_call_id: "one",
        content: expect.stringMatching(/COMPLETED[\s\S]*\[images that follow below: 1\]$/),
      },
      { role: "tool", tool_call_id: "two", content: expect.stringContaining("NameError") },
      {
        role: "user",
        content: [
          { type: "text", text: expect.stringContaining("tool call one") },
          { type: "image_url", image_url: { url: URL_OF_DOT } },
        ],
      },
    ]);
  });

  it("can do without images, and then say so", () => {
    const calls = [{ id: "one", answer: answered([text("drawn"), image()]) }];
    expect(toOpenAIMessages(calls, { images: false })).toEqual([
      {
        role: "tool",
        tool_call_id: "one",
        content: expect.stringMatching(/^drawn\n\[an image is left out here/),
      },
    ]);
    expect(toOpenAIMessages([])).toEqual([]);
  });
});

describe("the tools in the Responses API", () => {
  it("are called, answered and told back, with images in the answer itself", async () => {
    await using tools = await toolsOn(fixture, { session: "responses" });
    await using server = await FakeServer.open();
    const call = {
      type: "function_call" as const,
      id: "fc_1",
      call_id: "one",
      name: "execute_cell",
      arguments: JSON.stringify({ code: SHOW_DOT }),
    };
    const turn = (output: object) => ({
      body: { id: "resp", object: "response", status: "completed", output: [output] },
    });
    const words = { type: "output_text", text: "done", annotations: [] };
    server.inOrder(turn(call), turn({ type: "message", role: "assistant", content: [words] }));
    const client = clientOf(server);
    const definitions: FunctionTool[] = tools.openaiResponses();
    const input: ResponseInputItem[] = [{ role: "user", content: "Draw a dot." }];
    const first = await client.responses.create({ model: "m", input, tools: definitions });
    for (const item of first.output) {
      if (item.type !== "function_call") continue;
      const answer = await tools.dispatch(item.name, item.arguments);
      input.push(item, toOpenAIOutput(item.call_id, answer));
    }
    const last = await client.responses.create({ model: "m", input, tools: definitions });
    expect(last.output_text).toBe("done");

    const [asked, told] = server.requests.map(({ body }) => body);
    expect(asked?.tools).toContainEqual(
      expect.objectContaining({ type: "function", name: "execute_cell", strict: false }),
    );
    expect(told?.input).toEqual([
      { role: "user", content: "Draw a dot." },
      call,
      {
        type: "function_call_output",
        call_id: "one",
        output: [
          { type: "input_text", text: expect.stringContaining("COMPLETED") },
          { type: "input_image", image_url: URL_OF_DOT, detail: "auto" },
        ],
      },
    ]);
  });

  it("get plain text where there is no image", () => {
    expect(toOpenAIOutput("one", answered([text("42")]))).toEqual({
      type: "function_call_output",
      call_id: "one",
      output: "42",
    });
  });
});
