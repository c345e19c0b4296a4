import type { Readable, Writable } from "node:stream";
import {
  INTERNAL_ERROR,
  INVALID_REQUEST,
  type JSONRPCMessage,
  PARSE_ERROR,
  parseJSONRPCMessage,
  type RequestId,
  type Transport,
} from "@modelcontextprotocol/server";
import { CellarError } from "../../errors.js";
import { type DecodedLine, LineDecoder } from "./line-decoder.js";

/** The longest message that is read: a file to be written comes in one. */
export const LONGEST_MESSAGE = 32 * 1024 * 1024;

/** The longest answer; the readers of clients give up a few bytes above it. */
export const LONGEST_ANSWER = 10_000_000;

/** So much may wait for a reader of ours; while there is more, nothing is read either. */
const MOST_WAITING = 4 * 1024 * 1024;

export interface StdioTransportOptions {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly longest?: number;
  /** Sees each message before it is served. */
  readonly observe?: (message: JSONRPCMessage) => void;
}

/** Messages as lines of JSON. An invalid line is answered with an error, and reading continues. */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;

  readonly #stdin: Readable;
  readonly #stdout: Writable;
  readonly #lines: LineDecoder;
  readonly #observe: (message: JSONRPCMessage) => void;
  readonly #onData = (chunk: Buffer) => {
    for (const line of this.#lines.take(chunk)) this.#read(line);
  };
  readonly #onEnd = () => void this.close();
  readonly #onDrain = () => {
    if (!this.#isClosed) this.#stdin.resume();
  };
  #finish: () => void = () => {};
  /** Settles when the client is gone. */
  readonly ended = new Promise<void>((resolve) => {
    this.#finish = resolve;
  });
  #isClosed = false;

  constructor({
    stdin,
    stdout,
    longest = LONGEST_MESSAGE,
    observe = () => {},
  }: StdioTransportOptions) {
    this.#stdin = stdin;
    this.#stdout = stdout;
    this.#lines = new LineDecoder(longest);
    this.#observe = observe;
  }

  async start(): Promise<void> {
    for (const event of ["end", "close", "error"]) this.#stdin.on(event, this.#onEnd);
    // A reader that went away does not come back.
    for (const event of ["close", "error"]) this.#stdout.on(event, this.#onEnd);
    this.#stdout.on("drain", this.#onDrain);
    this.#stdin.on("data", this.#onData);
    if (this.#stdin.readableEnded || this.#stdin.destroyed) setImmediate(this.#onEnd);
  }

  send(message: JSONRPCMessage): Promise<void> {
    if (this.#isClosed) return Promise.reject(gone());
    return new Promise((resolve, reject) => {
      this.#stdout.write(lineOf(message), (error) => (error ? reject(error) : resolve()));
      if (this.#stdout.writableLength > MOST_WAITING) this.#stdin.pause();
    });
  }

  /** Settles when another answer can be written, or the client is gone. */
  async whenWritable(): Promise<void> {
    while (!this.#isClosed && this.#stdout.writableLength > MOST_WAITING) {
      await Promise.race([
        this.ended,
        new Promise<void>((resolve) => this.#stdout.once("drain", resolve)),
      ]);
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stdin.off("data", this.#onData);
    this.#stdin.pause();
    this.onclose?.();
    this.#finish();
  }

  #read(line: DecodedLine): void {
    const read = messageOf(line);
    if (this.#isClosed || read === undefined) return;
    if ("message" in read) {
      this.#observe(read.message);
      this.onmessage?.(read.message);
      return;
    }
    const { id, code, reason } = read;
    this.onerror?.(new CellarError("PROTOCOL_ERROR", reason));
    const error = { code, message: reason };
    this.send({ jsonrpc: "2.0", ...(id !== undefined && { id }), error }).catch(() => {});
  }
}

function lineOf(message: JSONRPCMessage): string {
  const line = `${wellFormed(JSON.stringify(message))}\n`;
  // A character takes at most three bytes.
  if (line.length <= LONGEST_ANSWER / 3 || !("result" in message)) return line;
  const bytes = Buffer.byteLength(line);
  if (bytes <= LONGEST_ANSWER) return line;
  const reason = `the answer has ${bytes} bytes, more than clients take; show_cell and read_file give parts`;
  const error = { code: INTERNAL_ERROR, message: reason };
  return `${JSON.stringify({ jsonrpc: "2.0", id: message.id, error })}\n`;
}

/** Half characters are legal here, but the parsers of many clients refuse the whole message then. */
function wellFormed(json: string): string {
  if (!json.includes("\\ud")) return json;
  // A backslash that is itself escaped begins nothing.
  return json.replace(/\\(?:ud[89a-f][0-9a-f]{2}|.)/g, (found) =>
    found.startsWith("\\ud") ? "\ufffd" : found,
  );
}

interface InvalidLine {
  readonly code: number;
  readonly reason: string;
  readonly id?: RequestId | undefined;
}

function messageOf(
  line: DecodedLine,
): { readonly message: JSONRPCMessage } | InvalidLine | undefined {
  if ("limit" in line) {
    return { code: INVALID_REQUEST, reason: `a message has more than ${line.limit} bytes` };
  }
  if (line.text.trim() === "") return undefined;
  let value: unknown;
  try {
    value = JSON.parse(line.text);
  } catch {
    return { code: PARSE_ERROR, reason: "a line is not JSON" };
  }
  try {
    return { message: parseJSONRPCMessage(value) };
  } catch {
    return { code: INVALID_REQUEST, reason: "a line is no JSON-RPC message", id: idOf(value) };
  }
}

/** The id, if it can be read, so that the client knows which request failed. */
function idOf(value: unknown): RequestId | undefined {
  if (typeof value !== "object" || value === null || !("id" in value)) return undefined;
  const { id } = value;
  const isId = typeof id === "string" || (typeof id === "number" && Number.isInteger(id));
  return isId ? id : undefined;
}

function gone(): CellarError {
  return new CellarError("SESSION_CLOSED", "the client disconnected");
}
