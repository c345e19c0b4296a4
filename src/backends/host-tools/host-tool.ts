import type { z } from "zod";

/** What a tool is told beside its input; named as in the AI SDK, so that its tools fit. */
export interface HostToolOptions {
  /** Aborted when the cell is cancelled, runs out of time or is over. */
  readonly signal: AbortSignal;
  /** The same signal. */
  readonly abortSignal: AbortSignal;
  readonly toolCallId: string;
  readonly messages: never[];
}

/** Declared as a method, so that functions of any input fit. */
type Execute<Input> = {
  execute(input: Input, options: HostToolOptions): unknown;
}["execute"];

/** A function of the host that Python may call. A tool of the AI SDK is one as it is. */
export interface HostTool<Input = never> {
  /** For a model: what it does, and what it gives. */
  readonly description?: string | undefined;
  /** A zod object or another Standard Schema: names the arguments and judges them. */
  readonly inputSchema?: object | undefined;
  /** Gives what Python gets; what it throws is raised there. */
  readonly execute?: Execute<Input> | undefined;
}

export type HostTools = Readonly<Record<string, HostTool>>;

/** The tool itself, with the input of `execute` typed by its schema. */
export function hostTool<Schema extends z.ZodType>(tool: {
  readonly description?: string;
  readonly inputSchema: Schema;
  execute(input: z.output<Schema>, options: HostToolOptions): unknown;
}): HostTool {
  return tool;
}
