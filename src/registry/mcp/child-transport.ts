import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { Socket } from "node:net";
import {
  type JSONRPCMessage,
  parseJSONRPCMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import { tailOf } from "../../backends/host/stderr-tail.js";
import { deferred } from "../../concurrency/deferred.js";
import { waitAtMost } from "../../concurrency/wait.js";
import { callerVariable } from "../../config/environment.js";
import { isPlain } from "../../config/layers.js";
import { ToolError } from "../tool.js";
import { failedAnswer, LONGEST_MESSAGE, tooLarge } from "./failed-answer.js";
import { idIn, type MessageLine, MessageLines } from "./message-lines.js";
import type { StdioServer } from "./server-config.js";

/** So much may wait until the server reads it. */
const MOST_WAITING = 2 * LONGEST_MESSAGE;
/** So much may come without an answer among it. */
const MOST_CHATTER = 4 * LONGEST_MESSAGE;
/** How long a server may take to leave once its input has ended, and again when it is asked to. */
const LEAVING_MS = 1_000;
/** What was written last is read before the end is told. */
const LAST_WORDS_MS = 250;

/** What every program needs; anything else the server's `env` has to give. */
const INHERITED = "HOME LANG LC_ALL LC_CTYPE LOGNAME PATH SHELL TERM TMPDIR TZ USER".split(" ");

/** A server as a child process with a process group of its own, which ends as a whole. */
export class ChildTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;

  readonly #server: StdioServer;
  readonly #lines = new MessageLines(LONGEST_MESSAGE);
  readonly #exited = deferred();
  #child: ChildProcessWithoutNullStreams | undefined;
  #said: () => string = () => "";
  #isClosed = false;
  #chatter = 0;
  /** The requests without an answer. */
  readonly #asked = new Set<unknown>();
  #end = "";

  constructor(server: StdioServer) {
    this.#server = server;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** How it ended, and the last of what it wrote to stderr. */
  get lastWords(): string {
    const said = this.#said();
    return [this.#end, ...(said === "" ? [] : [`it said: ${said.slice(-1_000)}`])].join("; ");
  }

  start(): Promise<void> {
    const { command, args, cwd, env } = this.#server;
    const child = spawn(command, args, {
      cwd,
      env: { ...inherited(), ...env },
      stdio: "pipe",
      detached: true,
    });
    this.#child = child;
    this.#said = tailOf(child.stderr);
    child.unref();
    for (const stream of [child.stdin, child.stdout, child.stderr]) {
      stream.on("error", (error) => this.onerror?.(error));
      if (stream instanceof Socket) stream.unref();
    }
    child.stdout.on("data", (chunk: Buffer) => this.#take(chunk));
    child.once("exit", (code, signal) => {
      this.#end = signal === null ? `it ended with code ${code}` : `${signal} ended it`;
      const closed = new Promise((resolve) => child.once("close", resolve));
      void waitAtMost(LAST_WORDS_MS, closed).then(() => this.#finish());
    });
    return new Promise((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (error) => {
        this.#end = error.message;
        reject(error);
        if (child.pid === undefined) this.#finish();
      });
    });
  }

  send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (stdin === undefined || this.#isClosed || !stdin.writable) {
      return Promise.reject(new ToolError("UNAVAILABLE", "the server is gone"));
    }
    const line = `${JSON.stringify(message)}\n`;
    const bytes = Buffer.byteLength(line);
    if (bytes > LONGEST_MESSAGE) {
      const what = `the arguments have ${bytes} bytes, more than ${LONGEST_MESSAGE}`;
      return Promise.reject(new ToolError("TOO_LARGE", what));
    }
    if (stdin.writableLength + bytes > MOST_WAITING) {
      this.#kill("it does not read what is sent");
      return Promise.reject(new ToolError("UNAVAILABLE", "the server does not read what is sent"));
    }
    if ("method" in message && "id" in message) this.#asked.add(message.id);
    else if ("method" in message) this.#asked.delete(message.params?.requestId);
    return new Promise((resolve, reject) => {
      stdin.write(line, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** Settles when no process of the group is left. */
  async close(): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined || this.#isClosed) return this.#finish();
    child.stdin.end();
    await waitAtMost(LEAVING_MS, this.#exited.promise);
    if (!this.#isClosed) this.#signal("SIGTERM");
    await waitAtMost(LEAVING_MS, this.#exited.promise);
    if (!this.#isClosed) this.#signal("SIGKILL");
    await waitAtMost(LEAVING_MS, this.#exited.promise);
    this.#finish();
  }

  #take(chunk: Buffer): void {
    this.#chatter += chunk.length;
    for (const line of this.#lines.take(chunk)) {
      if (this.#isClosed) return;
      this.#read(line);
    }
    if (this.#chatter <= MOST_CHATTER) return;
    const [id, ...others] = this.#asked;
    // Nobody else can be meant by an answer without an end.
    if (this.#lines.isTooLong && typeof id === "number" && others.length === 0) {
      this.#answer(failedAnswer(id, tooLarge()));
    }
    this.#kill("it floods its output and answers nothing");
  }

  #read(line: MessageLine): void {
    if ("limit" in line) {
      if (line.id === undefined) this.onerror?.(tooLarge());
      else this.#answer(failedAnswer(line.id, tooLarge()));
      return;
    }
    // Many servers also print to their output.
    if (!line.text.trimStart().startsWith("{")) return;
    const message = messageOf(line.text);
    if (message === undefined) return;
    if (!("result" in message || "error" in message)) this.onmessage?.(message);
    else {
      this.#chatter = 0;
      // The client hears of progress a moment after it came, and not after the answer.
      queueMicrotask(() => this.#answer(message));
    }
  }

  #answer(message: JSONRPCMessage): void {
    this.#chatter = 0;
    if ("id" in message) this.#asked.delete(message.id);
    this.onmessage?.(message);
  }

  #kill(why: string): void {
    this.#signal("SIGKILL");
    this.#finish();
    this.#end = why;
  }

  #finish(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    // The process that was started may have started others.
    this.#signal("SIGKILL");
    const { stdin, stdout, stderr } = this.#child ?? {};
    for (const stream of [stdin, stdout, stderr]) stream?.destroy();
    this.#exited.resolve();
    this.onclose?.();
  }

  #signal(signal: NodeJS.Signals): void {
    const pid = this.#child?.pid;
    if (pid === undefined) return;
    try {
      process.kill(-pid, signal);
    } catch {
      // Nothing is left of the group.
    }
  }
}

/** An answer that is no message fails the call that it belongs to; anything else of that kind is dropped. */
function messageOf(text: string): JSONRPCMessage | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
    return parseJSONRPCMessage(value);
  } catch {
    const own = isPlain(value) && !("method" in value) ? Number(value.id) : idIn(text);
    if (own === undefined || !Number.isSafeInteger(own)) return undefined;
    return failedAnswer(
      own,
      new ToolError("BAD_RESULT", "the server's answer is no valid message"),
    );
  }
}

function inherited(): Record<string, string> {
  const found = INHERITED.map((name) => [name, callerVariable(name)] as const);
  // A value that begins so is a function that a shell would run.
  return Object.fromEntries(
    found.filter((pair): pair is [string, string] => pair[1]?.startsWith("()") === false),
  );
}
