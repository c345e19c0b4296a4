import type { LLMQuery, REPLConfig, RLMQuery } from "../../backends/backend.js";
import type { Display } from "../../backends/daemon/client-callbacks.js";
import { fromRemote } from "../../backends/daemon/connection.js";
import { RelayedTool } from "../../backends/host-tools/prepared-tools.js";
import { onAbort } from "../../concurrency/abort.js";
import { isCellarError } from "../../errors.js";
import type { Params, ToolSpec } from "../../protocol/messages.js";
import type { Peer } from "../../protocol/peer.js";
import { decodeValue, encodeDecoded } from "../../protocol/values.js";

type Stream = "stdout" | "stderr";
type OwnFields<Q> = Q extends unknown ? Omit<Q, "session" | "query"> : never;
type QueryFields = OwnFields<Params<"session_query">>;

/** What the client listens to and answers. */
type ClientCallbackNames = Pick<Params<"session_create">, "listens" | "answers" | "tools">;

/** Forwards output, displays and queries of a session and its forks to the client that owns them. */
export class CallbackForwarder {
  /** The context of the session under whose id this forwarder sends. */
  given: unknown;
  readonly #peer: Peer;
  readonly #session: string;
  readonly #names: ClientCallbackNames;
  /** By their content, since a result may say more about a display than was known when it came. */
  readonly #numbers = new WeakMap<Display["data"], number>();
  #shown = 0;
  #query = 0;
  #held: { readonly stream: Stream; text: string } | undefined;

  constructor(peer: Peer, session: string, names: ClientCallbackNames) {
    this.#peer = peer;
    this.#session = session;
    this.#names = names;
  }

  get callbacks(): REPLConfig {
    const { listens, answers, tools } = this.#names;
    return {
      onStdout: listens.includes("stdout") ? (text) => this.#hold("stdout", text) : undefined,
      onStderr: listens.includes("stderr") ? (text) => this.#hold("stderr", text) : undefined,
      onBackground: listens.includes("background")
        ? (text, stream) => this.#tell(stream, text, true)
        : undefined,
      onDisplay: (display) => this.#display(display),
      onLLMQuery: answers.includes("llm_query") ? this.#askModel : undefined,
      onRLMQuery: answers.includes("rlm_query") ? this.#askAgent : undefined,
      tools: tools && Object.fromEntries(tools.map((spec) => [spec.name, this.#tool(spec)])),
    };
  }

  /** Under which number a display was sent. One that was not is sent now, as if shown for the first time. */
  numberOf(display: Display): number | undefined {
    if (!this.#numbers.has(display.data)) this.#display({ ...display, isUpdate: undefined });
    return this.#numbers.get(display.data);
  }

  /** Sends what is held back; an answer must not overtake it. */
  flush(): void {
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined) this.#tell(held.stream, held.text, false);
  }

  /** Lines that come in one go are sent in one go. */
  #hold(stream: Stream, text: string): void {
    if (this.#held?.stream === stream) {
      this.#held.text += text;
      return;
    }
    this.flush();
    this.#held = { stream, text };
    setImmediate(() => this.flush());
  }

  #tell(stream: Stream, text: string, background: boolean): void {
    this.#peer.notify("session_output", { session: this.#session, stream, background, text });
  }

  #display(display: Display): void {
    this.flush();
    this.#numbers.set(display.data, this.#shown++);
    const binary = Object.entries(display.binary);
    this.#peer.notify(
      "session_display",
      {
        session: this.#session,
        data: display.data,
        attachments: binary.map(([mime, bytes]) => ({ mime, bytes: bytes.length })),
        metadata: JSON.stringify(display.metadata),
        ...(display.displayId !== undefined && { display_id: display.displayId }),
        ...roleOf(display),
      },
      binary.map(([, bytes]) => bytes),
    );
  }

  readonly #askModel: LLMQuery = (prompt, { model, signal }) =>
    this.#ask({ name: "llm_query", prompt, model: model ?? null }, signal);

  readonly #askAgent: RLMQuery = (task, about, { model, signal }) => {
    const context = about === this.given ? null : JSON.stringify(encodeDecoded(about));
    return this.#ask({ name: "rlm_query", task, context, model: model ?? null }, signal);
  };

  #tool(spec: ToolSpec): RelayedTool {
    return new RelayedTool(spec, async (given, { signal }) => {
      const input = JSON.stringify(encodeDecoded(given));
      const output = await this.#ask({ name: "tool", tool: spec.name, input }, signal);
      return decodeValue(JSON.parse(output));
    });
  }

  async #ask(fields: QueryFields, signal: AbortSignal): Promise<string> {
    const session = this.#session;
    const query = this.#query++;
    using _ = onAbort(signal, () => this.#peer.notify("session_query_over", { session, query }));
    this.flush();
    try {
      return (await this.#peer.request("session_query", { ...fields, session, query })).output;
    } catch (error) {
      throw isCellarError(error, "REMOTE_ERROR") ? asThrown(error) : error;
    }
  }
}

function roleOf({ isUpdate, isResult }: Display): Pick<Params<"session_display">, "role"> {
  if (isUpdate === true) return { role: "update" };
  return isResult === true ? { role: "result" } : {};
}

/** What the client's function threw, so that Python gets the same error as without a daemon. */
function asThrown(error: Parameters<typeof fromRemote>[0]): Error {
  const thrown = fromRemote(error);
  return thrown === error ? new Error(error.message) : thrown;
}
