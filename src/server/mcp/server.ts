import { INVALID_PARAMS, ProtocolError, Server } from "@modelcontextprotocol/server";
import { Semaphore } from "../../concurrency/semaphore.js";
import { packageVersion } from "../../config/environment.js";
import { instructionsFor } from "../../tools/instructions.js";
import type { NotebookService } from "../../tools/service/notebook-service.js";
import { ChangeNotifier } from "./change-notifier.js";
import { listResources, listTemplates, readResource } from "./resources.js";
import type { Subscriptions } from "./subscriptions.js";
import { describeTools, ToolCalls } from "./tool-calls.js";

/** Resources read at the same time; each may be large, and is held until the client has taken it. */
const MOST_READS = 4;

const LASTING = { ttlMs: 3_600_000, cacheScope: "private" } as const;

const PROMPT = {
  name: "use_notebook",
  title: "Work in a notebook",
  description: "How to use the notebook well: its state, its files, its outputs, its limits.",
} as const;

export interface ServerPlan {
  readonly service: NotebookService;
  readonly subscriptions: Subscriptions;
  /** Comes when the client has taken most of what was sent. */
  readonly room: () => Promise<void>;
}

/** What one client is served from the service. */
export function makeServer(plan: ServerPlan): Server {
  const { service, subscriptions } = plan;
  const instructions = instructionsFor(service);
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
  serveTools(server, service);
  serveResources(server, plan);
  servePrompt(server, instructions);
  const news = new ChangeNotifier(server, service, subscriptions);
  server.onclose = () => news[Symbol.dispose]();
  return server;
}

function serveTools(server: Server, service: NotebookService): void {
  const tools = describeTools();
  const calls = new ToolCalls(service);
  server.setRequestHandler("tools/list", () => ({ tools }));
  server.setRequestHandler("tools/call", (request, context) => calls.call(request, context));
}

function serveResources(server: Server, { service, subscriptions, room }: ServerPlan): void {
  const reads = new Semaphore(MOST_READS);
  server.setRequestHandler("resources/list", ({ params }) =>
    listResources(service, params?.cursor),
  );
  server.setRequestHandler("resources/templates/list", listTemplates);
  server.setRequestHandler("resources/read", ({ params }, { mcpReq: { signal } }) =>
    reads.run(async () => {
      await room();
      signal.throwIfAborted();
      return await readResource(service, params.uri);
    }),
  );
  server.setRequestHandler("resources/subscribe", ({ params }) => {
    subscriptions.add(params.uri);
    return {};
  });
  server.setRequestHandler("resources/unsubscribe", ({ params }) => {
    subscriptions.delete(params.uri);
    return {};
  });
}

function servePrompt(server: Server, text: string): void {
  server.setRequestHandler("prompts/list", () => ({ prompts: [PROMPT] }));
  server.setRequestHandler("prompts/get", ({ params: { name } }) => {
    if (name !== PROMPT.name) {
      throw new ProtocolError(INVALID_PARAMS, `unknown prompt; the only one is ${PROMPT.name}`);
    }
    const { description } = PROMPT;
    return { description, messages: [{ role: "user", content: { type: "text", text } }] };
  });
}
