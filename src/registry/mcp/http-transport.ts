import { type JSONRPCMessage, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { ToolError } from "../tool.js";
import { failedAnswer, LONGEST_MESSAGE, tooLarge } from "./failed-answer.js";
import { idIn } from "./message-lines.js";
import type { HttpServer } from "./server-config.js";

/** A server may ask to be called back at once, again and again. */
const LEAST_PAUSE_MS = 1_000;
const NEWLINE = 0x0a;
const RETURN = 0x0d;

type SendOptions = Parameters<StreamableHTTPClientTransport["send"]>[1];

/** Streamable HTTP with a limit on what is read, and an end for calls whose stream ends. */
export class HttpTransport extends StreamableHTTPClientTransport {
  constructor({ url, headers }: HttpServer) {
    super(url, {
      requestInit: { headers: { ...headers } },
      fetch: (address, init) => this.#fetch(address, init),
      reconnectionOptions: {
        initialReconnectionDelay: LEAST_PAUSE_MS,
        maxReconnectionDelay: 30_000,
        reconnectionDelayGrowFactor: 2,
        maxRetries: 2,
      },
      reconnectionScheduler: (reconnect, delay) => {
        const timer = setTimeout(reconnect, Math.max(delay, LEAST_PAUSE_MS));
        timer.unref();
        return () => clearTimeout(timer);
      },
    });
  }

  override send(message: JSONRPCMessage | JSONRPCMessage[], options?: SendOptions): Promise<void> {
    if (Array.isArray(message) || !("method" in message && "id" in message)) {
      return super.send(message, options);
    }
    const onRequestStreamEnd = () =>
      this.#fail(
        Number(message.id),
        new ToolError("UNAVAILABLE", "the connection ended before the answer came"),
      );
    return super.send(message, { ...options, onRequestStreamEnd });
  }

  /** Nothing happens if it has its answer. */
  #fail(id: number, error: ToolError): void {
    this.onmessage?.(failedAnswer(id, error));
  }

  async #fetch(address: string | URL, init?: RequestInit): Promise<Response> {
    const response = await fetch(address, init);
    if (response.body === null) return response;
    const { status, statusText, headers } = response;
    const isStream = headers.get("content-type")?.startsWith("text/event-stream") === true;
    const id = typeof init?.body === "string" ? idIn(init.body) : undefined;
    const limited = response.body.pipeThrough(
      limiter(isStream, () => {
        if (id !== undefined) this.#fail(id, tooLarge());
      }),
    );
    return new Response(limited, { status, statusText, headers });
  }
}

/** Limits a body, or each event of a stream: what two line ends follow. */
function limiter(isStream: boolean, onTooLarge: () => void): TransformStream<Uint8Array> {
  let bytes = 0;
  let isLineStart = false;
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      for (const [at, byte] of isStream ? chunk.entries() : []) {
        if (byte === NEWLINE && isLineStart) bytes = chunk.byteLength - at;
        if (byte !== RETURN) isLineStart = byte === NEWLINE;
      }
      if (bytes <= LONGEST_MESSAGE) return controller.enqueue(chunk);
      onTooLarge();
      controller.error(tooLarge());
    },
  });
}
