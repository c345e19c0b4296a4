import { AsyncLocalStorage } from "node:async_hooks";
import { CellarError } from "../../errors.js";
import type { Params } from "../../protocol/messages.js";
import { decodeValue } from "../../protocol/values.js";
import type { Output } from "../backend.js";
import { answerText, type Callbacks } from "../session/cell/callbacks.js";
import { MAX_DISPLAY_BYTES, partsByType, splitLines } from "../session/cell/collector.js";
import type { SessionListener } from "./connection.js";

export type Display = Output & { type: "display" };

/** A cell that was lost, or that cleared its outputs, leaves displays that no result asks for. */
const MAX_KEPT = 1024;

/** The caller's side of a session: its functions, and the displays until a result names them. */
export class ClientCallbacks implements SessionListener {
  /** What a query without a context of its own is about. */
  context: unknown;
  readonly #callbacks: Callbacks;
  readonly #queries = new Map<number, AbortController>();
  /** Detects calls that come from inside one of the caller's functions. */
  readonly #callees = new AsyncLocalStorage<true>();
  readonly #displays = new Map<number, Display>();
  readonly #numbers = new Map<string, number>();
  #shown = 0;
  #keptBytes = 0;
  #members = 1;

  constructor(callbacks: Callbacks) {
    this.#callbacks = callbacks;
  }

  /** A fork uses the same functions. */
  join(): this {
    this.#members += 1;
    return this;
  }

  /** Whether this was the last session. */
  leave(): boolean {
    this.#members -= 1;
    return this.#members === 0;
  }

  output({ stream, background, text }: Params<"session_output">): void {
    if (background) {
      this.#callbacks.onBackground?.(text, stream);
      return;
    }
    const callback = stream === "stdout" ? this.#callbacks.onStdout : this.#callbacks.onStderr;
    if (callback !== undefined) for (const line of splitLines(text)) callback(line);
  }

  display(params: Params<"session_display">, attachments: readonly Buffer[]): void {
    const binary = partsByType(params.attachments, attachments);
    const metadata = JSON.parse(params.metadata) as Display["metadata"];
    const { data, display_id: displayId, role } = params;
    const display: Display = {
      type: "display",
      data,
      binary,
      metadata,
      ...(displayId !== undefined && { displayId }),
      ...(role === "update" && { isUpdate: true }),
      ...(role === "result" && { isResult: true }),
    };
    const hasReplaced = displayId !== undefined && this.#forgetReplaced(displayId);
    // What updates nothing that a running cell shows is named by no result.
    if (role !== "update" || hasReplaced) this.#keep(display, displayId);
    this.#shown += 1;
    this.#callbacks.onDisplay?.(display);
  }

  /** Each of the sessions may name as much as a cell may show, and that is the last of what came. */
  #keep(display: Display, displayId: string | undefined): void {
    this.#displays.set(this.#shown, display);
    if (displayId !== undefined) this.#numbers.set(displayId, this.#shown);
    this.#keptBytes += bytesOf(display);
    const most = (this.#members + 1) * MAX_DISPLAY_BYTES;
    for (const index of this.#displays.keys()) {
      if (this.#keptBytes <= most && this.#displays.size <= MAX_KEPT) break;
      this.take(index);
    }
  }

  /** A result names the last of an id alone, so a bar that moves leaves only one behind. */
  #forgetReplaced(displayId: string): boolean {
    const before = this.#numbers.get(displayId);
    this.#numbers.delete(displayId);
    const [oldest] = this.#numbers.keys();
    if (oldest !== undefined && this.#numbers.size >= MAX_KEPT) this.#numbers.delete(oldest);
    return before !== undefined && this.take(before) !== undefined;
  }

  /** Hands out a display that a result names. */
  take(index: number): Display | undefined {
    const display = this.#displays.get(index);
    if (this.#displays.delete(index) && display !== undefined) this.#keptBytes -= bytesOf(display);
    return display;
  }

  /** Whether this is run by one of the functions, for which a cell waits. */
  get isCalling(): boolean {
    return this.#queries.size > 0 && this.#callees.getStore() === true;
  }

  async query(params: Params<"session_query">): Promise<string> {
    const controller = new AbortController();
    this.#queries.set(params.query, controller);
    try {
      return await this.#callees.run(true, () => this.#answer(params, controller.signal));
    } finally {
      this.#queries.delete(params.query);
      // It slows down every promise of the process.
      if (this.#queries.size === 0) this.#callees.disable();
    }
  }

  queryOver(query: number): void {
    this.#queries.get(query)?.abort(new CellarError("ABORTED", "the query was cancelled"));
  }

  ended(): void {
    const reason = new CellarError("SESSION_LOST", "the connection to the daemon was lost");
    for (const controller of this.#queries.values()) controller.abort(reason);
  }

  async #answer(params: Params<"session_query">, signal: AbortSignal): Promise<string> {
    const { onLLMQuery, onRLMQuery, tools } = this.#callbacks;
    switch (params.name) {
      case "llm_query": {
        const { prompt, model } = params;
        const options = { signal, ...(model !== null && { model }) };
        return answerText("onLLMQuery", await onLLMQuery?.(prompt, options));
      }
      case "rlm_query": {
        const { task, context, model } = params;
        const about = context === null ? this.context : decodeValue(JSON.parse(context));
        const options = { signal, ...(model !== null && { model }) };
        return answerText("onRLMQuery", await onRLMQuery?.(task, about, options));
      }
      case "tool": {
        const tool = tools?.get(params.tool);
        if (tool === undefined) throw new CellarError("UNSUPPORTED", "unknown tool");
        return JSON.stringify(await tool.run(decodeValue(JSON.parse(params.input)), signal));
      }
    }
  }
}

function bytesOf({ data, binary }: Display): number {
  const parts = [...Object.values(data), ...Object.values(binary)];
  return parts.reduce((sum, part) => sum + part.length, 0);
}
