import { MAX_DAEMON_FRAME_BYTES } from "../../protocol/bounds.js";
import type { Result } from "../../protocol/messages.js";
import type { CodeExecution, ExecutionError, Output } from "../backend.js";
import { describeLoss, stopError } from "../session/cell/result.js";
import type { Display } from "./client-callbacks.js";
import { surelyFits, truncateOutputs } from "./truncate-outputs.js";

/** As many as a message may name; the reason names all of them. */
const MAX_LOST_CELLS = 10_000;

type WireExecution = Result<"session_execute">;

/** Pieces that a result may have on the wire; beyond it their order between the streams is given up. */
const MAX_PIECES = 20_000;

/** The JSON-RPC envelope around a result. */
const ENVELOPE_BYTES = 1024;

/**
 * A result as it travels: text once, displays by the number under which they were sent. The cell
 * has run, so text that does not fit into a message is left out instead of refusing the result.
 */
export function packExecution(
  execution: CodeExecution,
  numberOf: (display: Display) => number | undefined,
  maxBytes = MAX_DAEMON_FRAME_BYTES,
): WireExecution {
  const outputs = fewer(execution.outputs);
  const { omitted } = execution;
  // All else has come in one message of a session, which is far from half of this one.
  if (surelyFits(outputs, maxBytes / 2)) return pack({ ...execution, outputs }, numberOf);
  const rest = Buffer.byteLength(JSON.stringify(pack({ ...execution, outputs: [] }, numberOf)));
  const truncated = truncateOutputs({ outputs, omitted }, maxBytes - rest - ENVELOPE_BYTES);
  return pack({ ...execution, ...truncated }, numberOf);
}

function pack(
  execution: CodeExecution,
  numberOf: (display: Display) => number | undefined,
): WireExecution {
  const { status, error, result, omitted, background, isolation, state } = execution;
  return {
    number: execution.number,
    status,
    error: error === null ? null : packError(error),
    result,
    outputs: execution.outputs.flatMap((output): WireExecution["outputs"] => {
      const place = output.afterResult === true ? { after_result: true as const } : {};
      if (output.type !== "display") return [{ type: output.type, text: output.text, ...place }];
      const index = numberOf(output);
      return index === undefined ? [] : [{ type: "display", index, ...place }];
    }),
    omitted: { ...omitted },
    exit_code: execution.exitCode,
    background,
    duration_ms: execution.duration,
    isolation: { level: isolation.level, missing: [...isolation.missing] },
    state: {
      survived: state.survived,
      checkpoint: state.checkpoint,
      ...(state.unsaved !== undefined && { unsaved: state.unsaved }),
      ...(state.lostCells !== undefined && { lost_cells: state.lostCells.slice(-MAX_LOST_CELLS) }),
      ...(state.reason !== undefined && { reason: state.reason }),
      ...(state.lost !== undefined && { lost: [...state.lost] }),
    },
    ...extrasOf(execution),
  };
}

export function unpackExecution(
  wire: WireExecution,
  code: string,
  displayAt: (index: number) => Display | undefined,
): CodeExecution {
  const taken = new Map<number, Display | undefined>();
  const outputs = wire.outputs.flatMap((output): Output[] => {
    const place = output.after_result === true ? { afterResult: true as const } : {};
    if (output.type !== "display") return [{ type: output.type, text: output.text, ...place }];
    // One that was updated may stand in several places.
    const display = taken.get(output.index) ?? displayAt(output.index);
    taken.set(output.index, display);
    return display === undefined ? [] : [{ ...display, ...place }];
  });
  const { number, status, error, result, omitted, background, isolation } = wire;
  const { lost_cells: lostCells, ...state } = wire.state;
  return {
    number,
    code,
    status,
    stdout: whole(outputs, "stdout"),
    stderr: whole(outputs, "stderr"),
    error,
    result,
    outputs,
    omitted,
    exitCode: wire.exit_code,
    background,
    duration: wire.duration_ms,
    isolation,
    state: { ...state, ...(lostCells !== undefined && { lostCells }) },
    ...extrasOf(wire),
  };
}

/** What only some results have. */
function extrasOf({
  replaced,
  agent,
}: Pick<CodeExecution, "replaced" | "agent">): Pick<WireExecution, "replaced" | "agent"> {
  return { ...(replaced !== undefined && { replaced }), ...(agent !== undefined && { agent }) };
}

/** The result of a cell during which the daemon was lost. */
export function lostExecution({
  cancelled,
  reason,
  ...run
}: Pick<CodeExecution, "number" | "code" | "duration" | "isolation" | "state"> & {
  readonly cancelled: boolean;
  readonly reason: string;
}): CodeExecution {
  return {
    ...run,
    ...(cancelled
      ? { status: "cancelled", error: stopError("cancelled", "") }
      : describeLoss(reason)),
    stdout: "",
    stderr: "",
    result: null,
    outputs: [],
    omitted: { stdout: 0, stderr: 0 },
    exitCode: null,
    background: 0,
  };
}

function whole(outputs: readonly Output[], stream: "stdout" | "stderr"): string {
  return outputs.map((output) => (output.type === stream ? output.text : "")).join("");
}

function fewer(outputs: readonly Output[]): readonly Output[] {
  if (outputs.length <= MAX_PIECES) return outputs;
  const kept = outputs.slice(0, MAX_PIECES - 2);
  const rest = outputs.slice(MAX_PIECES - 2);
  const joined = (["stdout", "stderr"] as const).map((type) => ({ type, text: whole(rest, type) }));
  return [...kept, ...joined.filter(({ text }) => text !== "")];
}

function packError({ type, message, traceback, hint }: ExecutionError): WireExecution["error"] {
  return { type, message, traceback, ...(hint !== undefined && { hint }) };
}
