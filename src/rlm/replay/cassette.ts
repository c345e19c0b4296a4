import { createHash } from "node:crypto";
import { z } from "zod";
import { CellarError, describeError, ERROR_CODES, isCellarError } from "../../errors.js";
import { hideSecrets } from "../../http/hide-secrets.js";
import { lostUsageOf, lostUsageSchema } from "../budget/usage.js";
import type { Model, ModelMessage, ModelReply, ModelRequest } from "../model.js";
import { damaged, LineWriter, readJsonLines } from "../trace/json-lines.js";

const CASSETTE_VERSION = 1;

const count = z.int().nonnegative();
const amount = z.number().nonnegative();
const hash = z.string().regex(/^[0-9a-f]{32}$/);

const modelLine = z.object({
  type: z.literal("model"),
  version: z.literal(CASSETTE_VERSION),
  name: z.string(),
  role: z.enum(["root", "sub", "named"]).optional(),
  contextWindow: count.optional(),
  price: z.object({ inputPerMillion: amount, outputPerMillion: amount }).optional(),
});

/** Conversations share messages: each is written once, and then referred to by its hash. */
const messageLine = z.object({
  type: z.literal("message"),
  hash,
  role: z.enum(["system", "user", "assistant"]),
  content: z.string(),
});

const exchangeLine = z.object({
  type: z.literal("exchange"),
  model: z.string(),
  /** Requests of one caller come in order; null if the order may differ. */
  caller: z.string().nullable(),
  /** From one counter: an exchange that ended before another began has the lower number. */
  began: count,
  ended: count,
  request: z.object({
    messages: z.array(hash),
    maxTokens: count.optional(),
    temperature: amount.optional(),
    stop: z.array(z.string()).optional(),
  }),
  outcome: z.union([
    z.object({
      text: z.string(),
      usage: z.object({ inputTokens: count, outputTokens: count, isEstimate: z.boolean() }),
      finish: z.enum(["stop", "length", "other"]),
      model: z.string(),
    }),
    z.object({
      error: z.object({
        code: z.enum(ERROR_CODES).nullable(),
        message: z.string(),
        remedy: z.string().optional(),
        usage: lostUsageSchema.optional(),
      }),
    }),
  ]),
});

const lineSchema = z.discriminatedUnion("type", [modelLine, messageLine, exchangeLine]);

export type CassetteModel = Readonly<z.infer<typeof modelLine>>;
export type ModelRole = NonNullable<CassetteModel["role"]>;
type ExchangeLine = z.infer<typeof exchangeLine>;
type Outcome = ExchangeLine["outcome"];

/** A request without its callbacks. */
export type PlainRequest = Omit<ModelRequest, "signal" | "onText">;

export interface Exchange extends Readonly<Omit<ExchangeLine, "type" | "request">> {
  readonly request: PlainRequest;
}

export interface Cassette {
  readonly models: readonly CassetteModel[];
  /** Ordered by `began`. */
  readonly exchanges: readonly Exchange[];
}

/** Writes each request and its answer to a file. */
export class CassetteRecorder implements AsyncDisposable {
  readonly #writer: LineWriter;
  readonly #known = new Set<string>();
  readonly #models: Omit<Model, "complete">[] = [];
  #clock = 0;

  private constructor(writer: LineWriter) {
    this.#writer = writer;
  }

  /** Fails if the file exists. */
  static async open(path: string): Promise<CassetteRecorder> {
    return new CassetteRecorder(await LineWriter.open(path, { isNew: true }));
  }

  addModel(model: Omit<Model, "complete">, role?: ModelRole): void {
    const { name, contextWindow, price } = model;
    this.#models.push(model);
    const line = { type: "model", version: CASSETTE_VERSION, name, role, contextWindow, price };
    this.#once(`model ${role ?? ""} ${name}`, line);
  }

  begin(model: string, caller: string | null, request: ModelRequest): (outcome: Outcome) => void {
    const began = this.#tick();
    const messages = request.messages.map((message) => this.#addMessage(message));
    return (outcome) => {
      const plain = { ...plainRequest(request), messages };
      const line = { type: "exchange", model, caller, began, ended: this.#tick() };
      const shown = "text" in outcome ? { ...outcome, text: this.#hide(outcome.text) } : outcome;
      this.#writer.append({ ...line, request: plain, outcome: shown });
    };
  }

  /** A context may contain the key, so a model or a cell may repeat it. */
  #hide(text: string): string {
    return hideSecrets(
      text,
      this.#models.flatMap((model) => model.secrets?.() ?? []),
    );
  }

  #addMessage(message: ModelMessage): string {
    const { role } = message;
    const content = this.#hide(message.content);
    const key = hashOf({ role, content });
    this.#once(key, { type: "message", hash: key, role, content });
    return key;
  }

  #once(key: string, line: object): void {
    if (this.#known.has(key)) return;
    this.#known.add(key);
    this.#writer.append(line);
  }

  #tick(): number {
    this.#clock += 1;
    return this.#clock;
  }

  /** Fails if the recording is incomplete. */
  async close(): Promise<void> {
    await this.#writer.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

export interface RecordOptions {
  /** On replay, a caller must ask in the recorded order; without a caller any order will do. */
  readonly caller?: string | undefined;
  readonly role?: ModelRole | undefined;
  /** The name in the recording. Default: that of the model. */
  readonly name?: string | undefined;
}

/** The same model, with its requests and answers recorded. */
export function recordModel(
  model: Model,
  recorder: CassetteRecorder,
  { caller, role, name = model.name }: RecordOptions = {},
): Model {
  const { contextWindow, price } = model;
  const secrets = () => model.secrets?.() ?? [];
  recorder.addModel({ name, contextWindow, price, secrets }, role);
  return {
    ...{ name, contextWindow, price, secrets },
    complete: async (request) => {
      const end = recorder.begin(name, caller ?? null, request);
      try {
        const { text, usage, finish, model: answering } = await model.complete(request);
        end({ text, usage, finish, model: answering });
        return { text, usage, finish, model: answering } satisfies ModelReply;
      } catch (error) {
        end({ error: plainError(error) });
        throw error;
      }
    },
  };
}

export async function readCassette(path: string): Promise<Cassette> {
  const what = "a recording";
  const { lines } = await readJsonLines(path, lineSchema, { what });
  const models: CassetteModel[] = [];
  const messages = new Map<string, ModelMessage>();
  const exchanges: Exchange[] = [];
  for (const { number, value } of lines) {
    const fail = (problem: string) => damaged({ path, number, what }, problem);
    switch (value.type) {
      case "model":
        models.push(value);
        break;
      case "message": {
        const { role, content } = value;
        if (hashOf({ role, content }) !== value.hash)
          throw fail("does not match its hash, so it was changed");
        messages.set(value.hash, { role, content });
        break;
      }
      case "exchange": {
        const { type: _type, request, ...rest } = value;
        const found = request.messages.map((key) => {
          const message = messages.get(key);
          if (message === undefined) throw fail(`refers to the message ${key}, which is missing`);
          return message;
        });
        exchanges.push({ ...rest, request: { ...request, messages: found } });
      }
    }
  }
  return { models, exchanges: exchanges.sort((one, other) => one.began - other.began) };
}

/** Without undefined fields, which JSON cannot express. */
export function plainRequest(request: PlainRequest): PlainRequest {
  const { messages, maxTokens, temperature, stop } = request;
  return {
    messages: messages.map(({ role, content }) => ({ role, content })),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(stop !== undefined && { stop: [...stop] }),
  };
}

export function recordedError(recorded: ReturnType<typeof plainError>): Error {
  const { code, message, remedy, usage } = recorded;
  if (code === null) return new Error(message);
  return new CellarError(code, message, { remedy, details: usage && { usage } });
}

function plainError(error: unknown): Extract<Outcome, { error: unknown }>["error"] {
  if (!isCellarError(error)) return { code: null, message: describeError(error) };
  const { code, message, remedy } = error;
  const usage = lostUsageOf(error);
  return {
    code,
    message,
    ...(remedy !== undefined && { remedy }),
    ...(usage !== undefined && { usage }),
  };
}

function hashOf(message: ModelMessage): string {
  const text = JSON.stringify([message.role, message.content]);
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}
