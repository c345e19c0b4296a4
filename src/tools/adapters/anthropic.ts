import { requireOptions } from "../../config/kinds.js";
import type { ToolAnswer } from "../tool.js";
import type { JsonSchema, OfferedTool } from "./offered-tools.js";
import { type ShownImage, shownContent } from "./shown-content.js";

/** A tool in the shape that the Messages API takes. */
export interface AnthropicTool {
  readonly name: string;
  readonly description: string;
  readonly input_schema: JsonSchema;
}

export interface AnthropicToolResult {
  readonly type: "tool_result";
  readonly tool_use_id: string;
  readonly content: (
    | { type: "text"; text: string }
    | { type: "image"; source: { type: "base64"; media_type: ShownImage["mime"]; data: string } }
  )[];
  readonly is_error: boolean;
}

export function anthropicTools(tools: readonly OfferedTool[]): AnthropicTool[] {
  return tools.map(({ name, description, schema }) => ({
    name,
    description,
    input_schema: schema,
  }));
}

/** Answers a `tool_use`; put those of one turn into one user message. */
export function toAnthropicToolResult(toolUseId: string, answer: ToolAnswer): AnthropicToolResult {
  const { isError } = requireOptions("an answer", answer);
  // The API takes nothing but text in an error.
  const { text, images } = shownContent(answer, { images: !isError });
  const shown = images.map(({ mime, data }) => ({
    type: "image" as const,
    source: { type: "base64" as const, media_type: mime, data },
  }));
  return {
    type: "tool_result",
    tool_use_id: toolUseId,
    content: [{ type: "text", text }, ...shown],
    is_error: isError,
  };
}
