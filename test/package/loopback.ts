import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { spokenAs } from "../support/rlm/model-wire-formats.js";

const CALL = { name: "execute_cell", arguments: { code: "6 * 7" } };
const USAGE = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };

interface Asked {
  readonly model?: string;
  readonly stream?: boolean;
  readonly messages?: unknown;
  readonly input?: unknown;
  readonly prompt?: unknown;
  readonly tools?: unknown;
}

interface Answer {
  readonly type: string;
  readonly body: string;
}

/** What the documents' examples talk to: models, embeddings, pages and services, on loopback. */
export class Loopback implements AsyncDisposable {
  readonly #server: Server;
  /** Paths that were asked for. */
  readonly paths: string[] = [];

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(): Promise<Loopback> {
    const server = createServer(async (request, response) => {
      loopback.paths.push(request.url ?? "");
      const { type, body } = answerTo(request.url ?? "", await read(request));
      response.writeHead(200, { "content-type": type }).end(body);
    });
    const loopback = new Loopback(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return loopback;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

async function read(request: IncomingMessage): Promise<Asked> {
  let text = "";
  for await (const piece of request.setEncoding("utf8")) text += piece;
  return text === "" ? {} : (JSON.parse(text) as Asked);
}

function json(value: unknown): Answer {
  return { type: "application/json", body: JSON.stringify(value) };
}

function answerTo(path: string, asked: Asked): Answer {
  if (path.endsWith("/chat/completions")) return chat(asked);
  if (path.endsWith("/messages")) return messages(asked);
  if (path.endsWith("/responses")) return responses(asked);
  if (path.endsWith("/language-model")) return languageModel(asked);
  if (path.endsWith("/embeddings")) return embeddings(asked);
  if (path.endsWith("/ask")) return { type: "text/plain", body: "a short summary" };
  if (path.endsWith(".html")) return { type: "text/html", body: "<p>The manual of it all.</p>" };
  if (path.endsWith("/traces")) return json({});
  return json([{ total: 12 }, { total: 30 }]);
}

/** Code that answers at once, in the form that is asked for. */
function reply(asked: Asked): string {
  const wanted = JSON.stringify(asked.messages ?? "").includes("since")
    ? "[{'host': 'db-3', 'since': '07:13'}]"
    : "'db-3'";
  return `\`\`\`repl\nFINAL(${wanted})\n\`\`\``;
}

/** Whether a tool has answered already; else it is called. */
function hasResult(asked: Asked): boolean {
  const said = JSON.stringify([asked.messages, asked.input, asked.prompt]);
  return /"(?:tool|tool_result|function_call_output)"/.test(said);
}

function chat(asked: Asked): Answer {
  if (asked.tools !== undefined && !hasResult(asked)) {
    const call = { name: CALL.name, arguments: JSON.stringify(CALL.arguments) };
    const tool_calls = [{ id: "call-1", type: "function", function: call }];
    const message = { role: "assistant", content: null, tool_calls };
    return json({ id: "1", choices: [{ index: 0, message, finish_reason: "tool_calls" }] });
  }
  const { whole, events } = spokenAs("chat", asked.model ?? "", { text: reply(asked) });
  return asked.stream === true ? { type: "text/event-stream", body: events.join("") } : json(whole);
}

function messages(asked: Asked): Answer {
  if (asked.tools !== undefined && !hasResult(asked)) {
    const content = [{ type: "tool_use", id: "call-1", name: CALL.name, input: CALL.arguments }];
    return json({ id: "1", type: "message", role: "assistant", content, usage: USAGE });
  }
  const { whole, events } = spokenAs("messages", asked.model ?? "", { text: reply(asked) });
  return asked.stream === true ? { type: "text/event-stream", body: events.join("") } : json(whole);
}

function responses(asked: Asked): Answer {
  const said = { type: "output_text", text: "February.", annotations: [] };
  const output = hasResult(asked)
    ? { type: "message", id: "2", role: "assistant", status: "completed", content: [said] }
    : {
        type: "function_call",
        id: "1",
        call_id: "call-1",
        name: CALL.name,
        arguments: JSON.stringify(CALL.arguments),
      };
  return json({ id: "1", object: "response", status: "completed", output: [output], usage: USAGE });
}

/** The AI SDK's gateway. */
function languageModel(asked: Asked): Answer {
  const none = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 };
  const usage = { inputTokens: none, outputTokens: { total: 1, text: 1, reasoning: 0 } };
  const call = { toolCallId: "call-1", toolName: CALL.name, input: JSON.stringify(CALL.arguments) };
  return json(
    hasResult(asked)
      ? { content: [{ type: "text", text: "February." }], finishReason: { unified: "stop" }, usage }
      : {
          content: [{ type: "tool-call", ...call }],
          finishReason: { unified: "tool-calls" },
          usage,
        },
  );
}

/** Texts that share letters lie near each other. */
function embeddings(asked: Asked): Answer {
  const texts = [asked.input ?? []].flat().map(String);
  const data = texts.map((text, index) => {
    const embedding = Array.from({ length: 26 }, () => 0);
    for (const letter of text.toLowerCase()) {
      const place = letter.charCodeAt(0) - 97;
      if (place >= 0 && place < 26) embedding[place] = (embedding[place] ?? 0) + 1;
    }
    return { object: "embedding", index, embedding };
  });
  return json({ object: "list", data, model: asked.model });
}
