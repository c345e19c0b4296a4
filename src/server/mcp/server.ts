import { INVALID_PARAMS, ProtocolError, Server } from "@modelcontextprotocol/server";
import { packageVersion } from "../../config.js";
import type { Desk } from "../../tools/desk.js";
import { instructionsFor } from "../../tools/instructions.js";
import { ChangeNews } from "./change-news.js";
import { listResources, listTemplates, readResource } from "./resources.js";
import { describeTools, ToolCalls } from "./tool-calls.js";
import type { Watchlist } from "./watchlist.js";

/** What stays as it is for as long as the server runs. */
const LASTING = { ttlMs: 3_600_000, cacheScope: "private" } as const;

const PROMPT = {
  name: "use_notebook",
  title: "Work in a notebook",
  description: "How to use the notebook well: its state, its files, its outputs, its limits.",
} as const;

/** What one client is served from the desk. */
export function makeServer(desk: Desk, watchlist: Watchlist): Server {
  const instructions = instructionsFor(desk);
  const server = new Server(
    { name: "cellar", title: "Cellar", version: packageVersion() },
    {
      instructions,
      capabilities: { tools: {}, resources: { listChanged: true, subscribe: true }, prompts: {} },
      cacheHints: {
        "tools/list": LASTING,
        "prompts/list": LASTING,
        "resources/templates/list": LASTING,
      },
    },
  );
  serveTools(server, desk);
  serveResources(server, desk, watchlist);
  servePrompt(server, instructions);
  const news = new ChangeNews(server, desk, watchlist);
  server.onclose = () => news[Symbol.dispose]();
  return server;
}

function serveTools(server: Server, desk: Desk): void {
  const tools = describeTools();
  const calls = new ToolCalls(desk);
  server.setRequestHandler("tools/list", () => ({ tools }));
  server.setRequestHandler("tools/call", (request, context) => calls.call(request, context));
}

function serveResources(server: Server, desk: Desk, watchlist: Watchlist): void {
  server.setRequestHandler("resources/list", ({ params }) => listResources(desk, params?.cursor));
  server.setRequestHandler("resources/templates/list", listTemplates);
  server.setRequestHandler("resources/read", ({ params }) => readResource(desk, params.uri));
  server.setRequestHandler("resources/subscribe", ({ params }) => {
    watchlist.add(params.uri);
    return {};
  });
  server.setRequestHandler("resources/unsubscribe", ({ params }) => {
    watchlist.delete(params.uri);
    return {};
  });
}

function servePrompt(server: Server, text: string): void {
  server.setRequestHandler("prompts/list", () => ({ prompts: [PROMPT] }));
  server.setRequestHandler("prompts/get", ({ params: { name } }) => {
    if (name !== PROMPT.name) {
      throw new ProtocolError(INVALID_PARAMS, `there is no such prompt; there is ${PROMPT.name}`);
    }
    const { description } = PROMPT;
    return { description, messages: [{ role: "user", content: { type: "text", text } }] };
  });
}
