import { z } from "zod";

const lines = z.union([z.string(), z.array(z.string()).transform((parts) => parts.join(""))]);
const bundle = z.record(z.string(), z.unknown());

/** An output as nbformat has it, of either side. */
export const outputSchema = z.discriminatedUnion("output_type", [
  z.object({ output_type: z.literal("stream"), name: z.string(), text: lines }),
  z.object({ output_type: z.literal("display_data"), data: bundle }),
  z.object({ output_type: z.literal("execute_result"), data: bundle }),
  z.object({ output_type: z.literal("error"), ename: z.string(), evalue: z.string() }),
]);

export type NotebookOutput = z.infer<typeof outputSchema>;

/** `lost`: the process died or the side ended before this cell. */
export const RUN_STATES = ["ok", "error", "timeout", "died", "lost"] as const;
export type RunState = (typeof RUN_STATES)[number];

/** What one side made of one cell. */
export interface CellRecord {
  readonly state: RunState;
  readonly outputs: readonly NotebookOutput[];
}

/** What one side made of one notebook. */
export interface SideRecord {
  readonly cells: readonly CellRecord[];
  readonly seconds: number;
  /** Why it ended early, or what was left out. */
  readonly notes: readonly string[];
}

export const lostCell: CellRecord = { state: "lost", outputs: [] };
