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

/** A conversation grows by messages: each is written once, and named by its hash from then on. */
const messageLine = z.object({
  type: z.literal("message"),
  hash,
  role: z.enum(["system", "user", "assistant"]),
  content: z.string(),
});

const exchangeLine = z.object({
  type: z.literal("exchange"),
  model: z.string(),
  /** Whose requests come in their order; null where that is left to chance. */
  caller: z.string().nullable(),
  /** Two clocks in one: what ended before another began has the lower number. */
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

/** What makes a request the one that it is: not who waits for it, and how. */
export type PlainRequest = Omit<ModelRequest, "signal" | "onText">;

export interface Exchange extends Readonly<Omit<ExchangeLine, "type" | "request">> {
  readonly request: PlainRequest;
}

export interface Cassette {
  readonly models: readonly CassetteModel[];
  /** In the order in which they began. */
  readonly exchanges: readonly Exchange[];
}

/** Writes down what models are asked and answer, as it happens. */
export class CassetteRecorder implements AsyncDisposable {
  readonly #writer: LineWriter;
  readonly #known = new Set<string>();
  readonly #models: Model[] = [];
  #clock = 0;

  private constructor(writer: LineWriter) {
    this.#writer = writer;
  }

  /** A new file: a recording that is there already is not written over. */
  static async open(path: string): Promise<CassetteRecorder> {
    return new CassetteRecorder(await LineWriter.open(path, { isNew: true }));
  }

  addModel(model: Model, role?: ModelRole): void {
    const { name, contextWindow, price } = model;
    this.#models.push(model);
    const line = { type: "model", version: CASSETTE_VERSION, name, role, contextWindow, price };
    this.#once(`model ${role ?? ""} ${name}`, line);
  }

  /** Gives what is to be called with how it ended. */
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

  /** A key may turn up in what a model or a cell says, as where the context has it. */
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

  /** Fails when the recording is not complete. */
  async close(): Promise<void> {
    await this.#writer.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

export interface CallerOptions {
  /**
   * Whose requests these are. On replay one caller must ask in the order of the recording; without
   * a caller it is enough that a request was recorded, as where several ask at the same time.
   */
  readonly caller?: string | undefined;
}

export interface RecordOptions extends CallerOptions {
  /** What the model is there for. */
  readonly role?: ModelRole | undefined;
}

/** The same model; what goes in and out of it is recorded. */
export function recordModel(
  model: Model,
  recorder: CassetteRecorder,
  { caller, role }: RecordOptions = {},
): Model {
  recorder.addModel(model, role);
  return {
    name: model.name,
    contextWindow: model.contextWindow,
    price: model.price,
    secrets: () => model.secrets?.() ?? [],
    complete: async (request) => {
      const end = recorder.begin(model.name, caller ?? null, request);
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
  const what = "a recording of models";
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
        if (hashOf({ role, content }) !== value.hash) throw fail("was changed: its hash differs");
        messages.set(value.hash, { role, content });
        break;
      }
      case "exchange": {
        const { type: _type, request, ...rest } = value;
        const found = request.messages.map((key) => {
          const message = messages.get(key);
          if (message === undefined) throw fail(`names the message ${key}, which is not there`);
          return message;
        });
        exchanges.push({ ...rest, request: { ...request, messages: found } });
      }
    }
  }
  return { models, exchanges: exchanges.sort((one, other) => one.began - other.began) };
}

/** Without what is not set: a file does not tell it from what is missing. */
export function plainRequest(request: PlainRequest): PlainRequest {
  const { messages, maxTokens, temperature, stop } = request;
  return {
    messages: messages.map(({ role, content }) => ({ role, content })),
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(stop === undefined ? {} : { stop: [...stop] }),
  };
}

/** A failure of the recording, as it was; what only this process knew of it is gone. */
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
    ...(remedy === undefined ? {} : { remedy }),
    ...(usage === undefined ? {} : { usage }),
  };
}

function hashOf(message: ModelMessage): string {
  const text = JSON.stringify([message.role, message.content]);
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}
