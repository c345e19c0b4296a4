import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeServer } from "../../../test/support/rlm/fake-model-server.js";
import { type AnthropicOptions, anthropicMessages } from "./anthropic.js";
import { describeProvider, failureOf, KEY, QUESTION } from "./provider.case.test.js";

describeProvider({
  name: "anthropicMessages",
  make: anthropicMessages,
  cut: "max_tokens",
  before: 3,
});

describe("anthropicMessages", () => {
  let server: FakeServer;
  beforeEach(async () => {
    server = await FakeServer.open();
  });
  afterEach(() => server[Symbol.asyncDispose]());
  const make = (options: Partial<AnthropicOptions> = {}) =>
    anthropicMessages({ model: "tiny", baseUrl: server.baseUrl, retryDelay: 1, ...options });

  it("asks as the protocol wants it", async () => {
    const system = { role: "system", content: "Be kind." } as const;
    const late = { role: "system", content: "Two turns are left." } as const;
    const empty = { role: "assistant", content: " \n" } as const;
    const answer = { role: "assistant", content: "Hm." } as const;
    const messages = [...QUESTION.slice(0, 1), system, ...QUESTION.slice(1), empty, late, answer];
    await make({ key: KEY, body: { top_k: 5 } }).complete({
      messages,
      maxTokens: 50,
      temperature: 0.5,
      stop: ["END"],
    });
    expect(server.requests).toMatchObject([
      { path: "/v1/messages", headers: { "x-api-key": KEY, "anthropic-version": "2023-06-01" } },
    ]);
    expect(server.requests[0]?.headers).not.toHaveProperty("authorization");
    expect(server.requests[0]?.body).toEqual({
      model: "tiny",
      system: "Be brief.\n\nBe kind.",
      messages: [{ role: "user", content: "What is it?\n\nTwo turns are left." }, answer],
      stream: true,
      max_tokens: 50,
      temperature: 0.5,
      stop_sequences: ["END"],
      top_k: 5,
    });
  });

  it("always says how many tokens there may be", async () => {
    await make().complete({ messages: QUESTION });
    await make({ maxTokens: 77 }).complete({ messages: QUESTION });
    expect(server.requests.map(({ body }) => body.max_tokens)).toEqual([8192, 77]);
  });

  it("refuses a conversation without a message", async () => {
    const error = await failureOf(make().complete({ messages: QUESTION.slice(0, 1) }));
    expect(error).toMatchObject({ code: "INVALID_INPUT" });
    expect(server.requests).toEqual([]);
  });

  it.each([
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["model_context_window_exceeded", "length"],
    ["refusal", "other"],
  ])("ends with %s as with %s", async (finish, expected) => {
    server.inOrder({ text: "So.", finish });
    expect((await make().complete({ messages: QUESTION })).finish).toBe(expected);
    expect((await make({ stream: false }).complete({ messages: QUESTION })).finish).toBe(expected);
  });

  it("counts tokens that came from a cache", async () => {
    const usage = {
      input_tokens: 5,
      cache_creation_input_tokens: 20,
      cache_read_input_tokens: 300,
      output_tokens: 2,
    };
    server.inOrder({ body: { content: [{ type: "text", text: "Yes." }], usage } });
    expect((await make().complete({ messages: QUESTION })).usage).toEqual({
      inputTokens: 325,
      outputTokens: 2,
      isEstimate: false,
    });
  });

  it.each([
    ["overloaded_error", 2],
    ["api_error", 2],
    ["invalid_request_error", 1],
  ])("judges an error within a stream: %s", async (type, requests) => {
    const error = JSON.stringify({ type: "error", error: { type, message: "Sorry" } });
    server.inOrder({ raw: [`event: error\ndata: ${error}\n\n`] }, "Well.");
    const outcome = await make()
      .complete({ messages: QUESTION })
      .catch(({ message }: Error) => message);
    expect(server.requests).toHaveLength(requests);
    if (requests === 1) expect(outcome).toBe(`${server.origin}: it broke off: Sorry`);
    else expect(outcome).toMatchObject({ text: "Well." });
  });

  it("passes over events of kinds to come", async () => {
    server.inOrder({
      raw: [
        'event: surprise\ndata: {"type": "surprise", "delta": 1}\n\n',
        'data: {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Yes."}}\n\n',
        'data: {"type": "content_block_delta", "delta": {"type": "odd_delta", "odd": 1}}\n\n',
        'data: {"type": "message_stop"}\n\n',
      ],
    });
    const reply = await make().complete({ messages: QUESTION });
    expect(reply).toMatchObject({ text: "Yes.", finish: "other", usage: { isEstimate: true } });
  });
});
