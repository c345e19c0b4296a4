import OpenAI from "openai";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import {
  aborted,
  CHAT,
  client,
  fence,
  heldModel,
  question,
  say,
  serve,
} from "../../../test/support/chat-server.js";
import { openNativeRuntime } from "../../../test/support/native-runtime.js";
import { shutdown } from "../../backends/shared.js";
import { CellarError } from "../../errors.js";
import { functionModel } from "../../rlm/models/function-model.js";
import { openAIChat } from "../../rlm/models/openai-chat.js";
import { scripted } from "../../rlm/models/scripted.js";

const KEY = "key-of-the-test-0123456789";
const TEXT = Array.from({ length: 2000 }, (_, index) =>
  index === 777 ? "the secret number is 4711" : `line ${index}`,
).join("\n");

const { runtime, unavailable } = await openNativeRuntime();

afterAll(async () => {
  await runtime[Symbol.asyncDispose]();
  await shutdown();
});

function dataOf(text: string): unknown[] {
  const lines = text.split("\n").filter((line) => line.startsWith("data: "));
  return lines.map((line) => (line === "data: [DONE]" ? "done" : JSON.parse(line.slice(6))));
}

describe("a chat with a recursive language model", () => {
  beforeEach((context) => {
    if (unavailable !== undefined) context.skip(unavailable);
  });

  const looking = () =>
    scripted(
      [
        { text: "yes", when: ({ messages }) => messages.at(-1)?.content === "sure?" },
        fence("hits = grep('secret')\nprint(hits, llm_query('sure?'))"),
        fence("FINAL(hits[0].split()[-1])"),
      ],
      { price: { inputPerMillion: 1, outputPerMillion: 2 } },
    );

  it("answers the official client in one piece", async () => {
    const model = looking();
    await using server = await serve({ model, context: TEXT });
    const answer = await client(server.address).chat.completions.create({
      model: "cellar-rlm",
      messages: [
        { role: "system", content: "Be brief." },
        {
          role: "user",
          content: [
            { type: "text", text: "What is" },
            { type: "text", text: "the number?" },
          ],
        },
      ],
      temperature: 0.3,
      max_tokens: 5,
    });
    expect(answer).toMatchObject({
      object: "chat.completion",
      model: "cellar-rlm",
      choices: [
        { index: 0, message: { role: "assistant", content: "4711" }, finish_reason: "stop" },
      ],
      cellar: { status: "answered", turns: 2 },
    });
    const { prompt_tokens = 0, completion_tokens = 0, total_tokens } = answer.usage ?? {};
    expect(prompt_tokens).toBeGreaterThan(100);
    expect(total_tokens).toBe(prompt_tokens + completion_tokens);
    const cost = (prompt_tokens + 2 * completion_tokens) / 1e6;
    expect((answer as unknown as { cellar: { cost: number } }).cellar.cost).toBeCloseTo(cost, 9);
    const first = model.requests[0]?.messages.at(-1)?.content ?? "";
    expect(first).toContain("Follow these instructions:\n\nBe brief.");
    expect(first).toContain("What is\nthe number?");
  });

  it("streams to the official client: what happens, the answer, the end, the usage", async () => {
    await using server = await serve({ model: looking(), context: TEXT });
    const stream = await client(server.address).chat.completions.create({
      model: "cellar-rlm",
      messages: [{ role: "user", content: "What is the number?" }],
      stream: true,
      stream_options: { include_usage: true },
    });
    const kinds: string[] = [];
    const said = { reasoning_content: "", content: "" };
    for await (const { choices, usage } of stream) {
      const [choice] = choices;
      const delta = (choice?.delta ?? {}) as Partial<typeof said> & { role?: string };
      const kind =
        choice === undefined
          ? `usage ${usage?.total_tokens === (usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0)}`
          : (choice.finish_reason ?? delta.role ?? Object.keys(delta)[0] ?? "");
      if (kinds.at(-1) !== kind) kinds.push(kind);
      said.reasoning_content += delta.reasoning_content ?? "";
      said.content += delta.content ?? "";
    }
    expect(kinds).toEqual(["assistant", "reasoning_content", "content", "stop", "usage true"]);
    expect(said.content).toBe("4711");
    expect(said.reasoning_content).toMatch(
      /^\*\*Turn 1 of 30\*\*\n\n```python\nhits = .*```\n\nIt asked 1 question of other models\.\n\n```\n.*the secret number is 4711.*\*\*Turn 2 of 30\*\*/s,
    );
  });

  it("is a model for Cellar's own client, streaming and not", async () => {
    for (const stream of [true, false]) {
      await using server = await serve({ model: looking(), context: TEXT, key: KEY });
      const model = openAIChat({ model: server.name, baseUrl: server.address, key: KEY, stream });
      const reply = await model.complete({ messages: [{ role: "user", content: "The number?" }] });
      expect(reply).toMatchObject({ text: "4711", finish: "stop", model: "cellar-rlm" });
      expect(reply.usage).toMatchObject({ isEstimate: false });
    }
  });

  it("takes the conversation for the context, and a long message whole", async () => {
    const long = `${"filler ".repeat(5_000)}the word is heron`;
    const model = scripted([
      fence("FINAL(context[-1]['content'].split()[-1] + ' ' + context[0]['role'])"),
      fence("FINAL(f\"{len(context)} {context[1]['content']}\")"),
    ]);
    await using server = await serve({ model });
    const { completions } = client(server.address).chat;
    const first = await completions.create({
      model: "cellar-rlm",
      messages: [{ role: "user", content: long }],
    });
    expect(first.choices[0]?.message.content).toBe("heron user");
    const second = await completions.create({
      model: "cellar-rlm",
      messages: [
        { role: "user", content: "What is the word?" },
        { role: "assistant", content: "heron" },
        { role: "user", content: "Again?" },
      ],
    });
    expect(second.choices[0]?.message.content).toBe("2 heron");
    expect(JSON.stringify(model.requests[0])).not.toContain("filler ".repeat(1_000));
    expect(model.requests[1]?.messages.at(-1)?.content).toContain("assistant: heron");
  });

  it("gives JSON of the form that was asked for, and says no before it is right", async () => {
    const model = scripted([fence("FINAL({'n': 'many'})"), fence("FINAL({'n': 4711})")]);
    await using server = await serve({ model });
    const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
    const answer = await client(server.address).chat.completions.create({
      ...{ model: "cellar-rlm", messages: [{ role: "user", content: "How many?" }] },
      response_format: { type: "json_schema", json_schema: { name: "count", schema } },
    });
    expect(answer.choices[0]?.message.content).toBe('{"n":4711}');
    expect(model.requests[0]?.messages.at(-1)?.content).toContain('"type":"integer"');
    expect(model.requests).toHaveLength(2);
  });

  it("ends with length when turns or budget are over", async () => {
    const model = scripted([fence("1"), "perhaps 3", fence("2")]);
    await using turns = await serve({ model, budget: { turns: 1 } });
    const best = JSON.parse((await say(turns.address, CHAT, { body: question("a") })).text);
    expect(best).toMatchObject({
      choices: [{ message: { content: "perhaps 3" }, finish_reason: "length" }],
      cellar: { status: "out-of-turns", cost: null },
    });
    await using calls = await serve({ model, budget: { calls: 1 } });
    const none = await say(calls.address, CHAT, { body: question("a", { stream: true }) });
    const events = dataOf(none.text);
    expect(none.text).toContain('{"reasoning_content":"There is no answer: the budget of calls');
    expect(events.at(-1)).toBe("done");
    expect(events.at(-2)).toMatchObject({
      choices: [{ delta: {}, finish_reason: "length" }],
      cellar: { status: "out-of-budget", error: expect.stringContaining("budget of calls") },
    });
  });

  it("tells that a model failed, so that no client asks again by itself", async () => {
    const failing = () => {
      throw new CellarError("REMOTE_ERROR", "the endpoint is on fire");
    };
    const asked: unknown[] = [];
    const model = functionModel((request) => {
      asked.push(request);
      return failing();
    });
    await using server = await serve({ model });
    const ours = new OpenAI({ baseURL: server.address, apiKey: "none", maxRetries: 5 });
    const body = { model: "cellar-rlm", messages: [{ role: "user" as const, content: "a" }] };
    await expect(ours.chat.completions.create(body)).rejects.toMatchObject({
      status: 502,
      code: "REMOTE_ERROR",
      message: expect.stringContaining("on fire"),
    });
    const stream = await ours.chat.completions.create({ ...body, stream: true });
    const reading = (async () => {
      for await (const _ of stream);
    })();
    await expect(reading).rejects.toThrow(/on fire/);
    expect(asked).toHaveLength(2);
  });

  it("says nothing of its inside when something else fails", async () => {
    const model = scripted([]);
    const events: string[] = [];
    await using server = await serve({
      model,
      context: { file: "/no/such/secret-place.txt" },
      onEvent: (event) =>
        void (event.type === "run.ended" && events.push(event.error?.message ?? "")),
    });
    const heard = await say(server.address, CHAT, { body: question("a") });
    expect(heard).toMatchObject({ status: 500, headers: { "x-should-retry": "false" } });
    expect(heard.text).not.toContain("secret-place");
    expect(events).toEqual([expect.stringContaining("secret-place")]);
  });

  it.each([[true], [false]])(
    "cancels the run of a client that goes (stream: %s)",
    async (stream) => {
      const held = heldModel();
      const endings: string[] = [];
      let ended = () => {};
      const isEnded = new Promise<void>((resolve) => {
        ended = resolve;
      });
      await using server = await serve({
        model: held.model,
        onEvent: (event) => {
          if (event.type !== "run.ended") return;
          endings.push(event.status);
          ended();
        },
      });
      const leaving = new AbortController();
      const asking = client(server.address)
        .chat.completions.create(
          { model: "cellar-rlm", messages: [{ role: "user", content: "a" }], stream },
          { signal: leaving.signal },
        )
        .catch(() => {});
      await held.isAsked(1);
      const [request] = held.asked;
      expect(request?.signal?.aborted).toBe(false);
      leaving.abort();
      await asking;
      if (request !== undefined) await aborted(request);
      await isEnded;
      expect(endings).toEqual(["cancelled"]);
      held.answerAll("");
    },
  );

  it("tells the model what the context is, and lends it tools", async () => {
    const model = scripted([fence("FINAL(double(n=21))")]);
    await using server = await serve({
      model,
      context: TEXT,
      about: "numbered lines",
      tools: { double: { description: "Doubles.", execute: ({ n }: { n: number }) => 2 * n } },
    });
    const heard = await say(server.address, CHAT, { body: question("a") });
    expect(heard.text).toContain('"content":"42"');
    expect(model.requests[0]?.messages.at(-1)?.content).toContain("The context: numbered lines");
  });

  it("runs so many at a time, lets others wait, and sends the rest away", async () => {
    const held = heldModel();
    await using server = await serve({ model: held.model, maxConcurrent: 1, maxWaiting: 1 });
    const ask = (content: string) => say(server.address, CHAT, { body: question(content) });
    const first = ask("one");
    await held.isAsked(1);
    // Waiting is told by the headers of a stream.
    const second = await fetch(`${server.address}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(question("two", { stream: true })),
    });
    expect(second.status).toBe(200);
    const third = await ask("three");
    expect(third).toMatchObject({
      status: 429,
      headers: { "retry-after": expect.stringMatching(/^\d+$/) },
    });
    expect(JSON.parse(third.text).error.type).toBe("rate_limit_error");
    expect(held.asked).toHaveLength(1);
    held.answerAll("FINAL(first)");
    expect((await first).text).toContain('"content":"first"');
    await held.isAsked(2);
    held.answerAll("FINAL(second)");
    expect(await second.text()).toContain('"content":"second"');
    const fourth = ask("four");
    await held.isAsked(3);
    held.answerAll("FINAL(fourth)");
    expect((await fourth).status).toBe(200);
  });

  it("gives signs of life while a model thinks, and no progress where it is not wanted", async () => {
    const held = heldModel();
    await using server = await serve({ model: held.model, keepAlive: 20, progress: false });
    const response = await fetch(`${server.address}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(question("a", { stream: true })),
    });
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    let text = "";
    const decoder = new TextDecoder();
    for await (const piece of response.body ?? []) {
      text += decoder.decode(piece, { stream: true });
      if (text.includes(": it still runs\n\n")) held.answerAll(fence("FINAL('😀' * 3000)"));
    }
    const events = dataOf(text) as { choices: { delta: { content?: string } }[] }[];
    const pieces = events.map((event) => event.choices?.[0]?.delta.content ?? "");
    expect(pieces.join("")).toBe("😀".repeat(3000));
    expect(pieces.filter((piece) => piece !== "")).toHaveLength(2);
    expect(text).not.toContain("reasoning_content");
  });

  it("cancels what runs when it closes, and says so", async () => {
    const held = heldModel();
    const server = await serve({ model: held.model, maxConcurrent: 1 });
    const asking = [true, false].map((stream) =>
      say(server.address, CHAT, { body: question("a", { stream }) }),
    );
    await held.isAsked(1);
    await server.close();
    const heard = await Promise.all(asking);
    for (const { text } of heard) expect(text).toContain("the server is closing");
    expect(heard.map(({ status }) => status)).toEqual([200, 503]);
    await expect(say(server.address, "/health")).rejects.toThrow("ECONNREFUSED");
    await server.close();
    held.answerAll("");
  });
});
