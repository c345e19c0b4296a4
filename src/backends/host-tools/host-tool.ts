import type { z } from "zod";

/** What a tool gets beside its input; named as in the AI SDK, so that its tools work. */
export interface HostToolOptions {
  /** Aborted when the cell is cancelled, runs out of time or is over. */
  readonly signal: AbortSignal;
  /** The same signal. */
  readonly abortSignal: AbortSignal;
  readonly toolCallId: string;
  readonly messages: never[];
}

/** Declared as a method, so that functions of any input type are accepted. */
type Execute<Input> = {
  execute(input: Input, options: HostToolOptions): unknown;
}["execute"];

/** A host function that Python may call. AI SDK tools can be used directly. */
export interface HostTool<Input = never> {
  /** For a model: what it does, and what it gives. */
  readonly description?: string | undefined;
  /** A zod object or another Standard Schema: names and validates the arguments. */
  readonly inputSchema?: object | undefined;
  /** Gives what Python gets; what it throws is raised there. */
  readonly execute?: Execute<Input> | undefined;
}

export type HostTools = Readonly<Record<string, HostTool>>;

/** Something that gives tools to each session, such as a `ToolRegistry`. */
export interface ToolProvider {
  sessionTools(options?: { readonly isPrivate?: () => boolean }): HostTools;
}

export function isToolProvider(tools: HostTools | ToolProvider): tools is ToolProvider {
  return typeof tools === "object" && tools !== null && typeof tools.sessionTools === "function";
}

/** The tool itself, with the input of `execute` typed by its schema. */
export function hostTool<Schema extends z.ZodType>(tool: {
  readonly description?: string;
  readonly inputSchema: Schema;
  execute(input: z.output<Schema>, options: HostToolOptions): unknown;
}): HostTool {
  return tool;
}
