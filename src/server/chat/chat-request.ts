import { z } from "zod";
import { invalid } from "./http-error.js";

const MAX_NAME = 200;
const MAX_MESSAGES = 10_000;
const MAX_PARTS = 1_000;
const MAX_TOLD = 300;

const partSchema = z.looseObject({
  type: z.string().max(MAX_NAME),
  text: z.string().optional(),
  refusal: z.string().optional(),
});

const messageSchema = z.object({
  role: z.enum(["system", "developer", "user", "assistant"], {
    error: "the roles are system, developer, user and assistant; tools are not supported",
  }),
  content: z.union([z.string(), few(MAX_PARTS).pipe(z.array(partSchema))]).nullish(),
});

const formatSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text") }),
  z.object({ type: z.literal("json_object") }),
  z.object({
    type: z.literal("json_schema"),
    json_schema: z.object({ schema: z.record(z.string(), z.unknown()) }),
  }),
]);

/** Fields without a meaning here, such as `temperature`, are ignored. */
const requestSchema = z.object({
  model: z.string().min(1).max(MAX_NAME),
  messages: few(MAX_MESSAGES).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  response_format: formatSchema.nullish(),
  n: z.int().nullish(),
  logprobs: z.boolean().nullish(),
  tools: z.array(z.unknown()).nullish(),
  functions: z.array(z.unknown()).nullish(),
});

/** Counted before validation: each invalid item would become an issue larger than itself. */
function few(most: number) {
  return z.array(z.unknown()).max(most);
}

export type ResponseFormat = z.output<typeof formatSchema>;

export interface ChatMessage {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly isStream: boolean;
  readonly includesUsage: boolean;
  readonly format: ResponseFormat | undefined;
}

/** Refuses requests for what is not supported. */
export function readChatRequest(body: unknown): ChatRequest {
  const { model, stream, stream_options, response_format, n, logprobs, ...asked } = parse(
    requestSchema,
    body,
  );
  if (n !== null && n !== undefined && n !== 1) throw invalid("only n = 1 is supported", "n");
  if (logprobs === true) throw invalid("logprobs are not supported", "logprobs");
  for (const name of ["tools", "functions"] as const) {
    if ((asked[name]?.length ?? 0) === 0) continue;
    throw invalid("client tools are not supported", name, "unsupported_parameter");
  }
  return {
    model,
    messages: asked.messages.map((message, index) => messageOf(message, `messages[${index}]`)),
    isStream: stream === true,
    includesUsage: stream_options?.include_usage === true,
    format: response_format ?? undefined,
  };
}

function messageOf(message: unknown, path: string): ChatMessage {
  const { role, content } = parse(messageSchema, message, path);
  return {
    role: role === "developer" ? "system" : role,
    content: textOf(content, `${path}.content`),
  };
}

function textOf(content: z.infer<typeof messageSchema>["content"], path: string): string {
  if (!Array.isArray(content)) return content ?? "";
  const texts = content.map(({ type, text, refusal }, index) => {
    const said = type === "text" ? text : type === "refusal" ? refusal : undefined;
    if (said !== undefined) return said;
    const param = `${path}[${index}]`;
    throw invalid(
      "only text is supported, not images, audio or files",
      param,
      "unsupported_content",
    );
  });
  return texts.join("\n");
}

function parse<T>(schema: z.ZodType<T>, value: unknown, place = ""): T {
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const path = (issue?.path ?? []).map((step) =>
    typeof step === "number" ? `[${step}]` : `.${String(step)}`,
  );
  const param = (place + path.join("")).replace(/^\./, "").slice(0, MAX_TOLD);
  const message = (issue?.message ?? "invalid request").slice(0, MAX_TOLD);
  throw invalid(param === "" ? message : `${param}: ${message}`, param || undefined);
}
