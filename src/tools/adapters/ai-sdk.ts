import { z } from "zod";
import type { ToolAnswer, ToolCall } from "../tool.js";
import type { OfferedTool } from "./offered-tools.js";
import { shownContent } from "./shown-content.js";

export type AiSdkOutput =
  | { type: "text"; value: string }
  | { type: "error-text"; value: string }
  | {
      type: "content";
      value: (
        | { type: "text"; text: string }
        | { type: "image-data"; data: string; mediaType: string }
      )[];
    };

/** A tool in the shape that the Vercel AI SDK takes. */
export interface AiSdkTool {
  readonly title: string;
  readonly description: string;
  readonly inputSchema: z.ZodObject;
  readonly execute: (
    input: Record<string, unknown>,
    options?: { readonly abortSignal?: AbortSignal | undefined },
  ) => Promise<ToolAnswer>;
  readonly toModelOutput: (result: { readonly output: ToolAnswer }) => AiSdkOutput;
}

export type Dispatch = (name: string, input: unknown, call: ToolCall) => Promise<ToolAnswer>;

export function aiSdkTools(
  tools: readonly OfferedTool[],
  dispatch: Dispatch,
): Record<string, AiSdkTool> {
  const entries = tools.map(({ name, title, description, input }): [string, AiSdkTool] => [
    name,
    {
      title,
      description,
      // `dispatch` explains unknown arguments better than the SDK does.
      inputSchema: z.looseObject(input.shape).meta({ additionalProperties: false }),
      execute: (given, { abortSignal } = {}) => dispatch(name, given, { signal: abortSignal }),
      toModelOutput: ({ output }) => modelOutput(output),
    },
  ]);
  return Object.fromEntries(entries);
}

function modelOutput(answer: ToolAnswer): AiSdkOutput {
  // Errors can only be text.
  const { text, images } = shownContent(answer, { images: !answer.isError });
  if (answer.isError) return { type: "error-text", value: text };
  if (images.length === 0) return { type: "text", value: text };
  const shown = images.map(({ mime, data }) => ({
    type: "image-data" as const,
    data,
    mediaType: mime,
  }));
  return { type: "content", value: [{ type: "text", text }, ...shown] };
}
