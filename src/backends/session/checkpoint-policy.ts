import type { Settings } from "../../config.js";
import type { CheckpointMode } from "../../protocol/messages.js";

/** When the runner makes a checkpoint, as each request that changes the state says it. */
export interface CheckpointPolicy {
  readonly checkpoint: CheckpointMode;
  /** With `auto`: how much cell time may be without one. */
  readonly interval_ms?: number;
}

export function checkpointPolicy({ checkpoints, checkpointInterval }: Settings): CheckpointPolicy {
  return checkpoints === "auto"
    ? { checkpoint: checkpoints, interval_ms: checkpointInterval }
    : { checkpoint: checkpoints };
}

/** What the host put in is no cell that could be run again: it is held at once. */
export function hostChangePolicy({ checkpoints }: Settings): CheckpointPolicy {
  return { checkpoint: checkpoints === "off" ? "off" : "always" };
}
