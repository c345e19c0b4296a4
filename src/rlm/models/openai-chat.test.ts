import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeServer } from "../../../test/support/rlm/fake-model-server.js";
import { type OpenAIChatOptions, openAIChat } from "./openai-chat.js";
import { describeProvider, failureOf, KEY, QUESTION } from "./provider.case.test.js";

describeProvider({ name: "openAIChat", make: openAIChat, cut: "length", before: 1 });

describe("openAIChat", () => {
  let server: FakeServer;
  beforeEach(async () => {
    server = await FakeServer.open();
  });
  afterEach(() => server[Symbol.asyncDispose]());
  const make = (options: Partial<OpenAIChatOptions> = {}) =>
    openAIChat({ model: "tiny", baseUrl: server.baseUrl, retryDelay: 1, ...options });
  const ask = (options: Partial<OpenAIChatOptions> = {}) =>
    make(options).complete({ messages: QUESTION });

  it("asks as the protocol wants it", async () => {
    const made = make({ key: KEY, baseUrl: `${server.baseUrl}/?v=2`, body: { top_p: 1, n: 1 } });
    const messages = [{ role: "user" as const, content: "a\ud800" }];
    await made.complete({ messages, maxTokens: 50, temperature: 0, stop: ["END"] });
    expect(server.requests).toMatchObject([
      { path: "/v1/chat/completions?v=2", headers: { authorization: `Bearer ${KEY}` } },
    ]);
    expect(server.requests[0]?.body).toEqual({
      model: "tiny",
      messages: [{ role: "user", content: "a\ufffd" }],
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 50,
      temperature: 0,
      stop: ["END"],
      top_p: 1,
      n: 1,
    });
  });

  it("leaves away what was not asked for", async () => {
    await make({ stream: false }).complete({ messages: QUESTION, stop: [] });
    expect(server.requests[0]?.headers).not.toHaveProperty("authorization");
    expect(server.requests[0]?.body).toEqual({ model: "tiny", messages: QUESTION, stream: false });
  });

  it("names the limit of tokens as the server wants it", async () => {
    const bodies: Record<string, unknown>[] = [];
    const record: typeof fetch = async (_, init) => {
      bodies.push(JSON.parse(String(init?.body)));
      return Response.json({ choices: [{ message: { content: "ok" } }] });
    };
    const own = { model: "tiny", key: KEY, fetch: record };
    await openAIChat(own).complete({ messages: QUESTION, maxTokens: 9 });
    const field = "max_completion_tokens" as const;
    await make({ fetch: record, maxTokensField: field }).complete({
      messages: QUESTION,
      maxTokens: 8,
    });
    expect(bodies).toMatchObject([{ [field]: 9 }, { [field]: 8 }]);
    expect(bodies.some((body) => "max_tokens" in body)).toBe(false);

    server.inOrder({
      status: 400,
      body: { error: { message: `Use '${field}', not 'max_tokens'` } },
    });
    expect((await failureOf(ask())).remedy).toBe(`Give maxTokensField: "${field}".`);
    server.inOrder({ status: 400, body: { detail: "unknown field stream_options" } });
    expect((await failureOf(ask())).remedy).toBe("Give usageInStream: false.");
    await ask({ usageInStream: false }).catch(() => {});
    expect(server.requests.at(-1)?.body).not.toHaveProperty("stream_options");
  });

  it("sends OpenAI's key to OpenAI alone", async () => {
    const kept = process.env.OPENAI_API_KEY;
    process.env.OPENAI_API_KEY = KEY;
    try {
      const asked: [string, string | null][] = [];
      const record: typeof fetch = async (url, init) => {
        asked.push([String(url), new Headers(init?.headers).get("authorization")]);
        return Response.json({ choices: [{ message: { content: "ok" } }] });
      };
      const messages = QUESTION;
      await openAIChat({ model: "tiny", fetch: record }).complete({ messages });
      await make({ fetch: record }).complete({ messages });
      expect(asked).toEqual([
        ["https://api.openai.com/v1/chat/completions", `Bearer ${KEY}`],
        [`${server.baseUrl}/chat/completions`, null],
      ]);
    } finally {
      if (kept === undefined) delete process.env.OPENAI_API_KEY;
      else process.env.OPENAI_API_KEY = kept;
    }
  });

  it("understands streams of other servers", async () => {
    const chunk = (delta: object, more = {}) =>
      `data:${JSON.stringify({ choices: [{ delta, ...more }] })}\r\n\r\n`;
    const bytes = Buffer.from(
      `\ufeff: hello\r\n${chunk({ role: "assistant" })}${chunk({ content: "grün " })}` +
        chunk({ content: [{ type: "thinking" }, { type: "text", text: "🌳" }] }) +
        chunk({ content: "other" }, { index: 1 }) +
        chunk({ content: null, refusal: "!" }, { finish_reason: "content_filter" }),
    );
    // No [DONE], no usage, no empty line at the end, and every byte by itself.
    server.inOrder({ raw: [...bytes.subarray(0, -2)].map((byte) => Uint8Array.of(byte)) });
    expect(await ask()).toMatchObject({
      text: "grün 🌳!",
      finish: "other",
      model: "tiny",
      usage: { isEstimate: true },
    });
  });

  it("has a whole answer once the model said that it is done", async () => {
    const { length } = ["role", "one ", "two", "finish"];
    server.inOrder({ text: "one two", dropAfter: length }, "Again.");
    expect(await ask()).toMatchObject({ text: "one two", usage: { isEstimate: true } });
    server.inOrder({ text: "one two", hangAfter: length }, "Again.");
    expect(await ask({ idleTimeout: 1000 })).toMatchObject({ text: "one two" });
    expect(server.requests).toHaveLength(2);
  });

  it("does not wait for a server that keeps the line after the end", async () => {
    server.inOrder({ text: "one two", hangAfter: 6 });
    expect(await ask()).toMatchObject({ text: "one two", usage: { isEstimate: false } });
  });

  it.each([
    [{ message: "busy", code: 503 }, 2],
    [{ message: "busy", type: "server_error" }, 2],
    ["busy", 1],
    [{ message: "bad", code: 400 }, 1],
    [{ message: "bad", type: "invalid_request_error" }, 1],
  ])("judges an error within a stream: %j", async (error, requests) => {
    server.inOrder({ raw: [`data: ${JSON.stringify({ error })}\n\n`] }, "Well.");
    const outcome = await ask().catch(({ message }: Error) => message);
    const isWell = typeof outcome === "object" && outcome.text === "Well.";
    expect([isWell, server.requests.length]).toEqual([requests === 2, requests]);
    if (!isWell) expect(outcome).toMatch(/it broke off: (bad|busy)$/);
  });
});
