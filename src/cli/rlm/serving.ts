import { AgentRepl } from "../../agent/agent-repl.js";
import type { REPLConfig } from "../../backends/backend.js";
import { onAbort } from "../../concurrency/abort.js";
import { counted } from "../../errors.js";
import type { TraceEvent } from "../../rlm/trace/events.js";
import { type ChatServer, createChatServer } from "../../server/chat/chat-server.js";
import { EXIT } from "../exit-codes.js";
import { budgetOf, modelsOf, requirePrices } from "../options/model-choice.js";
import type { BudgetOptions, ModelOptions } from "../options/model-options.js";
import { type SandboxOptions, toConfig } from "../options/sandbox-config.js";
import { complain } from "../terminal/report-error.js";
import { Interruption } from "../terminal/signals.js";
import { escapeControls, withProgress } from "../terminal/terminal.js";
import { RunProgress } from "./progress.js";
import { openSpanExport } from "./span-export.js";

export interface ServeOptions extends SandboxOptions, ModelOptions, BudgetOptions {
  readonly context?: readonly string[];
  readonly host?: string;
  readonly port?: number;
  readonly name?: string;
  readonly serverKeyEnv?: string;
  readonly maxConcurrent?: number;
  readonly maxWaiting?: number;
  readonly progress: boolean;
}

/** Serves until it is interrupted; returns the exit code. */
export async function serveChat(options: ServeOptions): Promise<number> {
  const models = modelsOf(options);
  requirePrices(options, models);
  const { host, port, name, serverKeyEnv, maxConcurrent, maxWaiting, progress } = options;
  using interruption = new Interruption();
  const { signal } = interruption;
  await using _spans = await openSpanExport(complain);
  await using loaded = await loadContext(options.context, signal);
  const config = toConfig(options);
  await using server = await createChatServer({
    ...models,
    ...(loaded !== undefined && { context: loaded.context, about: loaded.description }),
    ...(serverKeyEnv !== undefined && { key: { env: serverKeyEnv } }),
    ...{ host, port, name, maxConcurrent, maxWaiting, progress },
    budget: budgetOf(options),
    config,
    onEvent: log,
  });
  await withProgress("starting Python…", tryPython({ ...config, signal }));
  write(introduction(server, serverKeyEnv));
  await interrupted(signal);
  return EXIT.ok;
}

async function loadContext(sources: readonly string[] | undefined, signal: AbortSignal) {
  using progress = new RunProgress(process.stderr);
  return await progress.loadContext(sources, signal);
}

/** Fails early if Python does not work here, and makes the first question faster. */
async function tryPython(config: REPLConfig): Promise<void> {
  const repl = await AgentRepl.open({ config });
  await repl.close();
}

function introduction({ address, name }: ChatServer, keyEnv: string | undefined): string {
  const key = keyEnv === undefined ? "" : ` -H "authorization: Bearer $${keyEnv}"`;
  const body = JSON.stringify({ model: name, messages: [{ role: "user", content: "Who is it?" }] });
  return [
    `${name} listens on ${address}`,
    "",
    `  curl ${address}/chat/completions -H "content-type: application/json"${key} \\`,
    `    -d '${body}'`,
    "",
    "Press Ctrl-C to stop it.",
  ].join("\n");
}

/** One line for each finished run, without the question. */
function log(event: TraceEvent): void {
  if (event.type !== "run.ended") return;
  const { status, usage, error, at } = event;
  const parts = [
    error === undefined ? status : `${status}: ${error.message.replace(/\s+/g, " ")}`,
    `${(at / 1000).toFixed(1)} s`,
    counted(usage.calls, "call"),
    `${(usage.inputTokens + usage.outputTokens).toLocaleString("en-US")} tokens`,
    ...(usage.cost === null ? [] : [`$${usage.cost.toFixed(4)}`]),
  ];
  // The message may quote a model's endpoint, and logs are read on terminals.
  write(escapeControls(`${new Date().toISOString()} ${parts.join(" · ")}`));
}

function write(text: string): void {
  process.stderr.write(`${text}\n`);
}

function interrupted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    onAbort(signal, () => resolve());
  });
}
