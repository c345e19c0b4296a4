import type { TraceEvent } from "../trace/events.js";

export type SpanValue = string | number | boolean | readonly string[];
export type SpanAttributes = Readonly<Record<string, SpanValue>>;
export type SpanKind = "internal" | "client";

export interface SpanError {
  /** Few different ones, such as the code of an error. */
  readonly type: string;
  /** It may quote a prompt or an answer, so it is there with the other content only. */
  readonly message?: string;
}

/** What an event means for the span that it is about. */
export type SpanFact =
  | {
      readonly act: "begin";
      readonly name: string;
      readonly kind: SpanKind;
      readonly attributes: SpanAttributes;
    }
  | { readonly act: "mark"; readonly name: string; readonly attributes: SpanAttributes }
  | {
      readonly act: "end";
      readonly attributes: SpanAttributes;
      readonly error?: SpanError | undefined;
    };

/** A longer text is cut: collectors refuse large requests. */
const LONGEST_CONTENT = 16_384;

const AGENT = "rlm";
const SUB_AGENT = "rlm_query";
const TOOL = "python";

/**
 * Names follow the conventions of OpenTelemetry for generative AI, and begin with "cellar." where
 * these have none. `content` adds prompts, code, outputs, answers and the texts of errors.
 */
export function spanFact(event: TraceEvent, content: boolean): SpanFact {
  const told = (attributes: SpanAttributes) => (content ? attributes : {});
  switch (event.type) {
    case "run.started":
      return {
        act: "begin",
        name: `invoke_agent ${AGENT}`,
        kind: "internal",
        attributes: {
          "gen_ai.operation.name": "invoke_agent",
          "gen_ai.agent.name": AGENT,
          "gen_ai.request.model": event.model,
          "cellar.run": event.run,
          ...settingOf(event),
          ...told({ "gen_ai.input.messages": messageOf("user", event.query) }),
        },
      };
    case "run.ended":
      return {
        act: "end",
        attributes: {
          "cellar.status": event.status,
          "cellar.calls": event.usage.calls,
          ...usageOf(event.usage, event.usage.cost),
          ...(event.answer === null
            ? {}
            : told({ "gen_ai.output.messages": messageOf("assistant", event.answer) })),
        },
        error: errorOfRun(event, content),
      };
    case "turn.started":
      return {
        act: "begin",
        name: "turn",
        kind: "internal",
        attributes: {
          "cellar.turn": event.turn,
          "cellar.depth": event.depth,
          ...(event.turns !== undefined && { "cellar.turns": event.turns }),
        },
      };
    case "model.request":
      return {
        act: "begin",
        name: `chat ${event.model}`,
        kind: "client",
        attributes: {
          "gen_ai.operation.name": "chat",
          "gen_ai.request.model": event.model,
          "cellar.depth": event.depth,
          "cellar.prompt_tokens": event.promptTokens,
          ...(event.maxTokens !== undefined && { "gen_ai.request.max_tokens": event.maxTokens }),
          ...(event.prompt === undefined
            ? {}
            : told({ "gen_ai.input.messages": messageOf("user", event.prompt) })),
        },
      };
    case "model.reply":
      return {
        act: "end",
        attributes: {
          "gen_ai.response.finish_reasons": [event.finish],
          ...usageOf(event.usage, event.cost),
          ...told({ "gen_ai.output.messages": messageOf("assistant", event.text, event.finish) }),
        },
      };
    case "model.failed":
      return { act: "end", attributes: {}, error: errorOf(event.error, content) };
    case "code.started":
      return {
        act: "begin",
        name: `execute_tool ${TOOL}`,
        kind: "internal",
        attributes: {
          "gen_ai.operation.name": "execute_tool",
          "gen_ai.tool.name": TOOL,
          "gen_ai.tool.type": "function",
          "cellar.depth": event.depth,
          ...told({ "gen_ai.tool.call.arguments": JSON.stringify({ code: clip(event.code) }) }),
        },
      };
    case "code.output":
      return {
        act: "end",
        attributes: {
          "cellar.status": event.status,
          ...told({ "gen_ai.tool.call.result": clip(event.observation) }),
        },
        ...(event.status !== "ok" && { error: { type: event.status } }),
      };
    case "sub.started":
      return {
        act: "begin",
        name: event.kind === "rlm" ? `invoke_agent ${SUB_AGENT}` : "llm_query",
        kind: "internal",
        attributes: {
          ...(event.kind === "rlm" && {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": SUB_AGENT,
          }),
          "cellar.depth": event.depth,
          ...told({ "gen_ai.input.messages": messageOf("user", event.prompt) }),
        },
      };
    case "sub.ended":
      return {
        act: "end",
        attributes:
          event.text === undefined
            ? {}
            : told({ "gen_ai.output.messages": messageOf("assistant", event.text) }),
        error: event.error && errorOf(event.error, content),
      };
    case "budget":
      return {
        act: "mark",
        name: "cellar.budget",
        attributes: Object.fromEntries(
          Object.entries(event.left)
            .filter((entry): entry is [string, number] => entry[1] !== undefined)
            .map(([limit, left]) => [`cellar.left.${limit}`, left]),
        ),
      };
    case "compaction":
      return {
        act: "mark",
        name: "cellar.compaction",
        attributes: {
          "cellar.messages": event.messages,
          "cellar.tokens_before": event.tokensBefore,
          "cellar.tokens_after": event.tokensAfter,
        },
      };
    default:
      return event satisfies never;
  }
}

type EventOf<T extends TraceEvent["type"]> = Extract<TraceEvent, { readonly type: T }>;

function settingOf({ subModel, context, sandbox }: EventOf<"run.started">): SpanAttributes {
  return {
    ...(subModel !== undefined && { "cellar.sub_model": subModel }),
    ...(context !== undefined && {
      "cellar.context.type": context.type,
      "cellar.context.characters": context.characters,
    }),
    ...(sandbox?.backend !== undefined && { "cellar.sandbox.backend": sandbox.backend }),
    ...(sandbox?.isolation !== undefined && { "cellar.sandbox.isolation": sandbox.isolation }),
    ...(sandbox?.python !== undefined && { "cellar.sandbox.python": sandbox.python }),
  };
}

function usageOf(
  usage: EventOf<"model.reply">["usage"],
  cost: number | null,
): Record<string, SpanValue> {
  return {
    "gen_ai.usage.input_tokens": usage.inputTokens,
    "gen_ai.usage.output_tokens": usage.outputTokens,
    ...(usage.isEstimate && { "cellar.usage.is_estimate": true }),
    ...(cost !== null && { "cellar.cost": cost }),
  };
}

/** Turns that are over still gave an answer. */
function errorOfRun(event: EventOf<"run.ended">, content: boolean): SpanError | undefined {
  if (event.status === "answered" || event.status === "out-of-turns") return undefined;
  return event.error === undefined ? { type: event.status } : errorOf(event.error, content);
}

function errorOf({ code, message }: { code: string; message: string }, content: boolean) {
  return { type: code, ...(content && { message: clip(message) }) };
}

function messageOf(role: "user" | "assistant", text: string, finish?: string): string {
  const parts = [{ type: "text", content: clip(text) }];
  return JSON.stringify([{ role, parts, ...(finish !== undefined && { finish_reason: finish }) }]);
}

function clip(text: string): string {
  const over = text.length - LONGEST_CONTENT;
  // A cut may leave half a character, which no collector takes.
  const kept = text.slice(0, LONGEST_CONTENT).toWellFormed();
  return over > 0 ? `${kept}… [${over} more characters]` : kept;
}
