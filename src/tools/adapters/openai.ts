import { requireList, requireOptions } from "../../config/kinds.js";
import type { ToolAnswer } from "../tool.js";
import type { JsonSchema, OfferedTool } from "./offered-tools.js";
import { dataUrl, type ShownOptions, shownContent } from "./shown-content.js";

/** A tool in the shape that chat completions take. */
export interface OpenAITool {
  readonly type: "function";
  readonly function: {
    readonly name: string;
    readonly description: string;
    readonly parameters: JsonSchema;
  };
}

/** A tool in the shape that the Responses API takes. */
export interface OpenAIResponsesTool {
  readonly type: "function";
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonSchema;
  readonly strict: false;
}

/** A call by the id that the model gave it. */
export interface AnsweredCall {
  readonly id: string;
  readonly answer: ToolAnswer;
}

export type OpenAIMessage =
  | { readonly role: "tool"; readonly tool_call_id: string; readonly content: string }
  | {
      readonly role: "user";
      readonly content: (
        | { type: "text"; text: string }
        | { type: "image_url"; image_url: { url: string } }
      )[];
    };

export interface OpenAIOutput {
  readonly type: "function_call_output";
  readonly call_id: string;
  readonly output:
    | string
    | (
        | { type: "input_text"; text: string }
        | { type: "input_image"; image_url: string; detail: "auto" }
      )[];
}

export function openaiTools(tools: readonly OfferedTool[]): OpenAITool[] {
  return tools.map(({ name, description, schema }) => ({
    type: "function",
    function: { name, description, parameters: schema },
  }));
}

export function openaiResponsesTools(tools: readonly OfferedTool[]): OpenAIResponsesTool[] {
  return tools.map(({ name, description, schema }) => ({
    type: "function",
    name,
    description,
    parameters: schema,
    // The default there is true, which knows no optional arguments.
    strict: false,
  }));
}

/**
 * The messages that answer all calls of one turn, in chat completions. A tool's message can only be
 * text: images follow after all of them, in one message of the user.
 */
export function toOpenAIMessages(
  calls: readonly AnsweredCall[],
  options: ShownOptions = {},
): OpenAIMessage[] {
  const shown = requireList("calls", calls).map((call) => {
    const { id, answer } = requireOptions("a call", call);
    return { id, ...shownContent(answer, options) };
  });
  const answers = shown.map(({ id, text, images }): OpenAIMessage => {
    const note = images.length === 0 ? "" : `\n[images that follow below: ${images.length}]`;
    return { role: "tool", tool_call_id: id, content: `${text}${note}` };
  });
  const pictures = shown.flatMap(({ id, images }) => {
    if (images.length === 0) return [];
    const label = `Output of the tool call ${id}, not a request of mine:`;
    const urls = images.map((image) => ({
      type: "image_url" as const,
      image_url: { url: dataUrl(image) },
    }));
    return [{ type: "text" as const, text: label }, ...urls];
  });
  return pictures.length === 0 ? answers : [...answers, { role: "user", content: pictures }];
}

/** The item that answers a `function_call` of the Responses API. */
export function toOpenAIOutput(callId: string, answer: ToolAnswer): OpenAIOutput {
  const { text, images } = shownContent(answer);
  const about = { type: "function_call_output", call_id: callId } as const;
  if (images.length === 0) return { ...about, output: text };
  const shown = images.map((image) => ({
    type: "input_image" as const,
    image_url: dataUrl(image),
    detail: "auto" as const,
  }));
  return { ...about, output: [{ type: "input_text", text }, ...shown] };
}
