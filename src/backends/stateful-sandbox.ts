import type { RestoreReport, StateManifest } from "../protocol/messages.js";
import type { ISandbox, REPLConfig } from "./backend.js";
import type { SessionDir } from "./host/session-dir.js";

export interface CaptureOptions {
  /** The largest state that is accepted, in bytes as written. */
  readonly maxBytes: number;
  /** Whether to keep names that begin with an underscore. Default: true. */
  readonly private?: boolean | undefined;
  /** Whether one variable that cannot be kept fails the whole capture. */
  readonly strict?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface Captured {
  readonly manifest: StateManifest;
  /** The cell of the sandbox after which this was the state; 0 for the start. */
  readonly cell: number;
  /** Whether cells had to wait, because no copy of the process could be made. */
  readonly blocked: boolean;
}

/** Takes the state piece by piece. */
export type StateSink = (piece: Uint8Array) => Promise<void>;

/** A capture that starts again opens another sink; what the first one received is void. */
export type OpenSink = () => StateSink;

/** A sandbox whose variables can be written out and read back: what a notebook runs on. */
export interface StatefulSandbox extends ISandbox {
  /** Streams the present state to the sink while cells keep running. */
  capture(open: OpenSink, options: CaptureOptions): Promise<Captured>;
  /** Loads a captured state into this new session: from `file`, or from the one in its folder. */
  restore(file?: string): Promise<RestoreReport>;
  /** Gives the next cell this number, or one above those already used. */
  numberNext(number: number): void;
}

/** Opens stateful sandboxes, each in a folder of the host where one is given. */
export interface StatefulRuntime {
  createSandbox(config?: REPLConfig, chosen?: string, dir?: SessionDir): Promise<StatefulSandbox>;
  /** Creates the folder of a sandbox with this configuration. */
  prepareDir(config: REPLConfig, dir: SessionDir): void | Promise<void>;
}
