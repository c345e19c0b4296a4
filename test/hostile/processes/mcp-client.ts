import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { z } from "zod";
import { MAIN } from "../../support/command-line.js";
import { within } from "./trial.js";

const ANSWER_MS = 40_000;

const answerSchema = z.looseObject({
  jsonrpc: z.literal("2.0"),
  id: z.number().optional(),
  method: z.string().optional(),
  result: z
    .looseObject({
      content: z.array(z.looseObject({ text: z.string().optional() })).optional(),
      isError: z.boolean().optional(),
    })
    .optional(),
});
type Answer = z.infer<typeof answerSchema>;

/** `cellar mcp` with nothing between; every line that it writes must be a message. */
export class McpProcess implements AsyncDisposable {
  readonly child: ChildProcessWithoutNullStreams;
  /** Lines that are no message, and answers to what was never asked. */
  readonly astray: string[] = [];
  /** Messages that came by themselves. */
  notices = 0;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #asked = 0;

  constructor(dir: string) {
    const options = ["--dir", dir, "--preload", "none", "--timeout", "3", "--backend", "native"];
    this.child = spawn(process.execPath, [MAIN, "mcp", ...options]);
    this.child.stderr.resume();
    this.child.stdin.on("error", () => {});
    createInterface(this.child.stdout).on("line", (line) => this.#hear(line));
  }

  async begin(): Promise<void> {
    const clientInfo = { name: "raw", version: "1" };
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
    await this.ask("initialize", params);
    this.#write({ jsonrpc: "2.0", method: "notifications/initialized" });
  }

  /** What a tool answers, as one text. */
  async call(name: string, input: object): Promise<string> {
    const { result } = await this.ask("tools/call", { name, arguments: input });
    return (result?.content ?? []).map(({ text }) => text ?? "").join("\n");
  }

  async ask(method: string, params: object): Promise<Answer> {
    const id = ++this.#asked;
    const answered = new Promise<Answer>((resolve) => this.#waiting.set(id, resolve));
    this.#write({ jsonrpc: "2.0", id, method, params });
    return await within(method, ANSWER_MS, answered);
  }

  #write(message: object): void {
    this.child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  #hear(line: string): void {
    const answer = parsed(line);
    if (answer === undefined) {
      this.astray.push(line.slice(0, 200));
    } else if (answer.id === undefined || answer.method !== undefined) {
      this.notices += 1;
    } else {
      const wake = this.#waiting.get(answer.id);
      this.#waiting.delete(answer.id);
      if (wake === undefined) this.astray.push(line.slice(0, 200));
      else wake(answer);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, "exit");
    this.child.stdin.end();
    try {
      await within("the end of the server", ANSWER_MS, ended);
    } finally {
      this.child.kill("SIGKILL");
    }
  }
}

function parsed(line: string): Answer | undefined {
  try {
    return answerSchema.parse(JSON.parse(line));
  } catch {
    return undefined;
  }
}
