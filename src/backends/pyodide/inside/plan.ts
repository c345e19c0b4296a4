import type { InterpreterPlan } from "./interpreter.js";

/** The only argument of a Pyodide process: what it has to do. */
export interface ProcessPlan extends InterpreterPlan {
  /** Whether Python's memory is read from its descriptor, written to it when loaded, or neither. */
  readonly memory: "read" | "write" | "none";
  /** Where the memory begins in what is read. */
  readonly memoryOffset: number;
  /** What the host wants to be tried: a file that must not be readable, and a port, if any. */
  readonly probe: { readonly canary: string; readonly port: number | null };
}

/** The descriptors that the host hands over, beside those of every process. */
export const REPORT_DESCRIPTOR = 1;
export const CONTROL_DESCRIPTOR = 3;
export const HEAD_DESCRIPTOR = 4;
export const MEMORY_DESCRIPTOR = 5;
export const FIRST_FREE_DESCRIPTOR = 6;
