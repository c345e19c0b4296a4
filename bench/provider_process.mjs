import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { loadTokenizer } from "../dist/agent/observation/tokens.js";
import { Oracle } from "./oracle.mjs";

/** As OpenAI counts: per message and role, and before the answer. */
const MESSAGE_TOKENS = 4;
const ANSWER_TOKENS = 3;

/** Streams are sent word by word, long ones in larger pieces. */
const PIECE = /\s*\S+\s*/g;
const LONG_TEXT = 10_000;
const LONG_PIECE = /.{1,1000}/gs;

const tokenizer = await loadTokenizer();
const models = new Map();
let requests = [];
let atOnce = 0;
let mostAtOnce = 0;

const server = createServer((request, response) => {
  const record = { model: "", inputTokens: 0, outputTokens: 0 };
  requests.push(record);
  atOnce += 1;
  mostAtOnce = Math.max(mostAtOnce, atOnce);
  response.once("close", () => {
    atOnce -= 1;
  });
  serve(request, response, record).catch((error) => response.destroy(error));
});

async function serve(request, response, record) {
  let text = "";
  for await (const piece of request.setEncoding("utf8")) text += piece;
  // Some clients send the body separately; the time before it is theirs.
  record.came = performance.now();
  const body = JSON.parse(text);
  const model = models.get(body.model);
  if (model === undefined) throw new Error(`unknown model ${body.model}`);
  record.model = body.model;
  record.inputTokens = body.messages.reduce(
    (sum, { content }) => sum + count(content) + MESSAGE_TOKENS,
    ANSWER_TOKENS,
  );
  const reply = bounded(model.answer(body), body.max_tokens ?? body.max_completion_tokens);
  if (model.latencyMs > 0) await sleep(model.latencyMs);
  // A client that has disconnected pays only for the prompt.
  if (response.destroyed) return;
  record.outputTokens = count(reply.text);
  const { type, text: said } = (body.stream === true ? asStream : asWhole)(
    body.model,
    reply,
    record,
  );
  // Taken before writing: the waiting client may get the processor right after.
  record.answered = performance.now();
  response.writeHead(200, { "content-type": type });
  response.end(said);
}

/** One word is one token. */
function words(tokens) {
  return Array.from({ length: tokens }, () => "word").join(" ");
}

function bounded({ text, tokens }, most = Number.POSITIVE_INFINITY) {
  const whole = text ?? words(Math.min(tokens, most));
  const isCut = tokens === undefined ? count(whole) > most : tokens > most;
  return {
    text: isCut && text !== undefined ? tokenizer.cut(whole, most) : whole,
    finish_reason: isCut ? "length" : "stop",
  };
}

function asWhole(model, { text, finish_reason }, record) {
  const message = { role: "assistant", content: text };
  const whole = {
    id: "chat",
    object: "chat.completion",
    created: 0,
    model,
    choices: [{ index: 0, message, finish_reason }],
    usage: usageOf(record),
  };
  return { type: "application/json", text: JSON.stringify(whole) };
}

function asStream(model, { text, finish_reason }, record) {
  const chunk = (delta, reason = null) => ({
    id: "chat",
    object: "chat.completion.chunk",
    created: 0,
    model,
    choices: [{ index: 0, delta, finish_reason: reason }],
  });
  const pieces = text.match(text.length > LONG_TEXT ? LONG_PIECE : PIECE) ?? [];
  const events = [
    chunk({ role: "assistant", content: "" }),
    ...pieces.map((content) => chunk({ content })),
    chunk({}, finish_reason),
    { ...chunk({}), choices: [], usage: usageOf(record) },
  ].map((event) => `data: ${JSON.stringify(event)}\n\n`);
  return { type: "text/event-stream", text: `${events.join("")}data: [DONE]\n\n` };
}

function usageOf({ inputTokens, outputTokens }) {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  };
}

function count(text) {
  return tokenizer.count(text);
}

/** What was said before tells which reply of a script is next, so runs need not be told apart. */
function answererOf({ replies, words: tokens, oracle }) {
  if (tokens !== undefined) return () => ({ tokens });
  if (oracle !== undefined) {
    const judge = new Oracle(oracle);
    return ({ messages }) => ({ text: judge.answer(messages.at(-1).content) });
  }
  return ({ messages }) => ({
    text: replies[messages.filter(({ role }) => role === "assistant").length] ?? "",
  });
}

process.on("message", ({ models: given }) => {
  if (given === undefined) {
    process.send({ requests, mostAtOnce });
    requests = [];
    mostAtOnce = atOnce;
    return;
  }
  for (const [name, { latencyMs = 0, ...model }] of Object.entries(given)) {
    models.set(name, { latencyMs, answer: answererOf(model) });
  }
  server.listen(0, "127.0.0.1", () => process.send({ port: server.address().port }));
});
process.on("disconnect", () => process.exit(0));
