import type { REPLConfig } from "../backends/backend.js";
import type { FileContent } from "../backends/files/file-content.js";
import type { StatefulRuntime } from "../backends/stateful-sandbox.js";

export interface RunOnceOptions extends Omit<REPLConfig, "backend"> {
  readonly code: string;
  /** The `state` of an earlier run. */
  readonly state?: string | null | undefined;
  readonly captureState?: boolean | undefined;
  /** Files to put into /workspace, by path. */
  readonly files?: Readonly<Record<string, FileContent>> | undefined;
  /** Default: the one shared by this process. */
  readonly runtime?: StatefulRuntime | undefined;
}

export interface RunOnceResult {
  readonly stdout: string;
  /** Ends with the traceback of an error. */
  readonly stderr: string;
  /** 0 for success, the argument of `sys.exit`, or what a shell would report. */
  readonly exit_code: number;
  /** The variables in base64; null where not requested or not possible. */
  readonly state: string | null;
  /** Files the run created in /workspace, which is deleted by now. */
  readonly files: readonly string[];
  readonly error: string | null;
}

/**
 * Runs code in a session of its own, which nothing outlives but the state that the caller keeps.
 * The preloaded libraries are known by their usual names: `np`, `pd`, `plt` and others.
 */
export async function runOnce(options: RunOnceOptions): Promise<RunOnceResult> {
  const { runInNewSession } = await import("./single-run.js");
  return await runInNewSession(options);
}
