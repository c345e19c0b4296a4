import type { CodeExecution, ExecutionError, Output } from "../../backends/backend.js";
import { complain } from "./report-error.js";
import type { GuestText } from "./terminal.js";

/** An execution as JSON can carry it: binary displays in base64. */
export function executionJson(execution: CodeExecution): object {
  return { ...execution, outputs: execution.outputs.map(outputJson) };
}

function outputJson(output: Output): object {
  if (output.type !== "display") return output;
  const encoded = Object.entries(output.binary).map(([mime, bytes]) => [
    mime,
    Buffer.from(bytes).toString("base64"),
  ]);
  return { ...output, binary: Object.fromEntries(encoded) };
}

export type Ending = Pick<CodeExecution, "status" | "exitCode"> & {
  readonly error: Pick<ExecutionError, "message" | "traceback" | "hint"> | null;
};

/** Ends a cell's text, then prints its failure and what was left out. */
export function showEnding(
  ending: Ending & { readonly omitted?: CodeExecution["omitted"] | undefined },
  { stdout, stderr }: { readonly stdout: GuestText; readonly stderr: GuestText },
  endLine = false,
): void {
  stdout.finish();
  showError(ending, stderr);
  stderr.finish(endLine);
  const { omitted } = ending;
  for (const stream of ["stdout", "stderr"] as const) {
    if (omitted === undefined || omitted[stream] === 0) continue;
    complain(
      `${omitted[stream]} bytes of ${stream} were left out`,
      "keep more with --max-output N, or write to a file in a mounted folder",
    );
  }
}

/** As Python would print it, or in Cellar's words where Cellar ended the cell. */
function showError(ending: Ending, stderr: GuestText): void {
  const { error, status } = ending;
  if (error === null || status === "ok") return;
  if (status === "error") {
    stderr.write(pythonWords(ending));
  } else if (status === "oom") {
    if (error.traceback.includes("\n")) stderr.write(`${error.traceback.trimEnd()}\n`);
    complain("the memory limit was reached");
  } else {
    complain(error.message);
  }
  if (error.hint !== undefined) stderr.write(`hint: ${error.hint}\n`);
}

/** `sys.exit("text")` prints its text and `sys.exit(3)` nothing. */
function pythonWords({ error, exitCode }: Ending): string {
  if (error === null) return "";
  if (exitCode === null) return `${error.traceback.trimEnd()}\n`;
  return error.message === String(exitCode) || error.message === "" ? "" : `${error.message}\n`;
}
