import type { Attributes } from "@opentelemetry/api";
import type { TraceEvent } from "../trace/events.js";

export interface SpanError {
  /** One of few values, such as the code of an error. */
  readonly type: string;
  /** Only with content: it may quote a prompt or an answer. */
  readonly message?: string;
}

/** What an event means for its span. */
export type SpanFact =
  | { readonly act: "begin"; readonly name: string; readonly attributes: Attributes }
  | { readonly act: "mark"; readonly name: string; readonly attributes: Attributes }
  | {
      /** Begins and ends with one event, which says how long it took. */
      readonly act: "whole";
      readonly name: string;
      readonly attributes: Attributes;
      readonly ms: number;
      readonly error?: SpanError | undefined;
    }
  | {
      readonly act: "end";
      readonly attributes: Attributes;
      readonly error?: SpanError | undefined;
    };

/** Longer texts are cut: collectors reject large requests. */
const LONGEST_CONTENT = 16_384;

const AGENT = "rlm";
const SUB_AGENT = "rlm_query";
const TOOL = "python";

/**
 * Names follow OpenTelemetry's conventions for generative AI, and begin with "cellar." where those have
 * none. `content` adds prompts, code, outputs, answers and error messages.
 */
export function spanFact(event: TraceEvent, content: boolean): SpanFact {
  const ifContent = (attributes: Attributes) => (content ? attributes : {});
  const input = (text: string | undefined) =>
    ifContent(text === undefined ? {} : { "gen_ai.input.messages": messageOf("user", text) });
  const output = (text: string | null | undefined, finish?: string) =>
    ifContent(
      text == null ? {} : { "gen_ai.output.messages": messageOf("assistant", text, finish) },
    );
  switch (event.type) {
    case "run.started":
      return {
        act: "begin",
        name: `invoke_agent ${AGENT}`,
        attributes: {
          "gen_ai.operation.name": "invoke_agent",
          "gen_ai.agent.name": AGENT,
          "gen_ai.request.model": event.model,
          "cellar.run": event.run,
          "cellar.sub_model": event.subModel,
          "cellar.context.type": event.context?.type,
          "cellar.context.characters": event.context?.characters,
          "cellar.sandbox.backend": event.sandbox?.backend,
          "cellar.sandbox.isolation": event.sandbox?.isolation,
          "cellar.sandbox.python": event.sandbox?.python,
          ...input(event.query),
        },
      };
    case "run.ended":
      return {
        act: "end",
        attributes: {
          "cellar.status": event.status,
          "cellar.calls": event.usage.calls,
          ...usageOf(event.usage, event.usage.cost),
          ...output(event.answer),
        },
        error: errorOfRun(event, content),
      };
    case "turn.started":
      return {
        act: "begin",
        name: "turn",
        attributes: {
          "cellar.turn": event.turn,
          "cellar.depth": event.depth,
          "cellar.turns": event.turns,
        },
      };
    case "model.request":
      return {
        act: "begin",
        name: `chat ${event.model}`,
        attributes: {
          "gen_ai.operation.name": "chat",
          "gen_ai.request.model": event.model,
          "cellar.depth": event.depth,
          "cellar.prompt_tokens": event.promptTokens,
          "gen_ai.request.max_tokens": event.maxTokens,
          ...input(event.prompt),
        },
      };
    case "model.reply":
      return {
        act: "end",
        attributes: {
          "gen_ai.response.finish_reasons": [event.finish],
          ...usageOf(event.usage, event.cost),
          ...output(event.text, event.finish),
        },
      };
    case "model.failed":
      return { act: "end", attributes: {}, error: errorOf(event.error, content) };
    case "code.started":
      return {
        act: "begin",
        name: `execute_tool ${TOOL}`,
        attributes: {
          "gen_ai.operation.name": "execute_tool",
          "gen_ai.tool.name": TOOL,
          "gen_ai.tool.type": "function",
          "cellar.depth": event.depth,
          ...ifContent({
            "gen_ai.tool.call.arguments": JSON.stringify({ code: clip(event.code) }),
          }),
        },
      };
    case "code.output":
      return {
        act: "end",
        attributes: {
          "cellar.status": event.status,
          ...chainOf(event.chain),
          "cellar.omitted_calls": event.omittedCalls,
          ...ifContent({ "gen_ai.tool.call.result": clip(event.observation) }),
        },
        ...(event.status !== "ok" && { error: { type: event.status } }),
      };
    case "tool.called":
      return {
        act: "whole",
        name: `execute_tool ${event.tool}`,
        attributes: {
          "gen_ai.operation.name": "execute_tool",
          "gen_ai.tool.name": event.tool,
          "gen_ai.tool.type": "function",
          "cellar.depth": event.depth,
          "cellar.caller_type": event.callerType,
          "cellar.chain.id": event.chainId,
          "cellar.chain.index": event.chainIndex,
          ...ifContent({ "gen_ai.tool.call.arguments": clip(event.arguments) }),
        },
        ms: event.ms,
        error: event.error && errorOf(event.error, content),
      };
    case "sub.started":
      return {
        act: "begin",
        name: event.kind === "rlm" ? `invoke_agent ${SUB_AGENT}` : "llm_query",
        attributes: {
          ...(event.kind === "rlm" && {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": SUB_AGENT,
          }),
          "cellar.depth": event.depth,
          ...input(event.prompt),
        },
      };
    case "sub.ended":
      return {
        act: "end",
        attributes: output(event.text),
        error: event.error && errorOf(event.error, content),
      };
    case "budget":
      return {
        act: "mark",
        name: "cellar.budget",
        attributes: Object.fromEntries(
          Object.entries(event.left).map(([limit, left]) => [`cellar.left.${limit}`, left]),
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

function usageOf(usage: EventOf<"model.reply">["usage"], cost: number | null): Attributes {
  return {
    "gen_ai.usage.input_tokens": usage.inputTokens,
    "gen_ai.usage.output_tokens": usage.outputTokens,
    "cellar.usage.is_estimate": usage.isEstimate || undefined,
    "cellar.cost": cost ?? undefined,
  };
}

function chainOf(chain: EventOf<"code.output">["chain"]): Attributes {
  if (chain === undefined) return {};
  return {
    "cellar.chain.id": chain.chain_id,
    "cellar.chain.mode_requested": chain.mode_requested,
    "cellar.chain.mode_used": chain.mode_used,
    "cellar.chain.fallback_to_seq": chain.fallback_to_seq,
    "cellar.chain.waves": chain.waves,
    "cellar.chain.steps": chain.steps,
  };
}

/** A run that is out of turns still gave an answer. */
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
  // Collectors reject the half of a surrogate pair that a cut may leave.
  const kept = text.slice(0, LONGEST_CONTENT).toWellFormed();
  return over > 0 ? `${kept}… [${over} more characters]` : kept;
}
