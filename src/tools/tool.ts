import type { z } from "zod";
import type { ErrorCode } from "../errors.js";
import type { NotebookService } from "./service/notebook-service.js";

export type ToolPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly mime: string; readonly data: string }
  | {
      readonly type: "resource";
      /** `notebook://…`, read with `readResource`. */
      readonly uri: string;
      readonly name: string;
      readonly mime: string;
      readonly size: number;
    };

export interface ToolAnswer<T = unknown> {
  readonly parts: readonly ToolPart[];
  /** The same as data, by the tool's output schema. */
  readonly structured: T;
  readonly isError: boolean;
  /** Set where the call was refused; `structured` then does not follow the schema. */
  readonly refusal?: Refusal | undefined;
}

export interface Refusal {
  readonly code: ErrorCode;
  readonly message: string;
  readonly remedy?: string | undefined;
}

/** MCP's annotations. */
export interface ToolHints {
  readonly readOnly: boolean;
  readonly destructive: boolean;
  readonly idempotent: boolean;
  readonly openWorld: boolean;
}

export interface ToolCall {
  readonly signal?: AbortSignal | undefined;
  /** Gets what a cell prints while it runs. */
  readonly onText?: ((text: string) => void) | undefined;
}

export interface Tool<
  Input extends z.ZodObject = z.ZodObject,
  Output extends z.ZodObject = z.ZodObject,
> {
  readonly name: string;
  readonly title: string;
  /** For the model: effect, cost, result, and what to do on an error. */
  readonly description: string;
  readonly input: Input;
  readonly output: Output;
  readonly hints: ToolHints;
  run(
    service: NotebookService,
    input: z.output<Input>,
    call: ToolCall,
  ): Promise<ToolAnswer<z.input<Output>>>;
}

export function textAnswer<T>(
  text: string,
  structured: T,
  ...more: readonly ToolPart[]
): ToolAnswer<T> {
  return { parts: [{ type: "text", text }, ...more], structured, isError: false };
}
