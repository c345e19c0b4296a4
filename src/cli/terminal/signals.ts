import { waitAtMost } from "../../concurrency/wait.js";
import { EXIT } from "../exit-codes.js";
import { reportFailure } from "./report-error.js";

/** How long to wait for sessions to clean up; they end with this process anyway. */
const SHUTDOWN_MS = 3_000;

export type Tidy = () => Promise<void>;

/** Ends the sessions, flushes output, and exits. The first cause decides the code. */
export async function leave(code: number, tidy: Tidy): Promise<never> {
  // Ending the sessions makes a running cell fail; that must not change the code.
  process.exitCode ??= code;
  await waitAtMost(
    SHUTDOWN_MS,
    tidy().catch(() => {}),
  );
  await Promise.all([flushed(process.stdout), flushed(process.stderr)]);
  process.exit();
}

/** Leaves without output: later failures are only consequences of the end. */
async function leaveSilently(code: number, tidy: Tidy): Promise<never> {
  process.exitCode ??= code;
  const { stdout, stderr } = process;
  const written = Promise.all([flushed(stdout), flushed(stderr)]);
  for (const stream of [stdout, stderr]) stream.write = unwritten;
  await waitAtMost(SHUTDOWN_MS, written);
  return await leave(code, tidy);
}

/** Replaces `write`; callers may wait for the callback. */
function unwritten(_chunk: unknown, encoding?: unknown, done = encoding): boolean {
  if (typeof done === "function") queueMicrotask(() => done());
  return true;
}

/** Ends everything in order when the reader closes the output or a signal arrives. */
export function watchProcess(tidy: Tidy): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      // Output was lost, so the command failed.
      const isLost = stream === process.stdout && error.code !== "EPIPE";
      if (isLost && process.exitCode !== EXIT.cellar) process.exitCode = reportFailure(error);
      void leaveSilently(EXIT.brokenPipe, tidy);
    });
  }
  for (const signal of ["SIGTERM", "SIGHUP"] as const) {
    process.once(signal, () => void leaveSilently(EXIT.terminated, tidy));
  }
  // Node would exit with 1, which is the code for the guest's exceptions.
  process.on("uncaughtException", (error) => void leave(reportFailure(error), tidy));
}

function flushed(stream: NodeJS.WriteStream): Promise<void> {
  if (stream.destroyed || !stream.writable) return Promise.resolve();
  return new Promise((resolve) => stream.write("", () => resolve()));
}

/** The first Ctrl-C asks for an end, the second exits at once. */
export class Interruption implements Disposable {
  readonly #controller = new AbortController();
  readonly #onSignal = () => {
    if (this.#controller.signal.aborted) process.exit(EXIT.cancelled);
    this.#controller.abort();
  };

  constructor() {
    process.on("SIGINT", this.#onSignal);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    process.off("SIGINT", this.#onSignal);
  }
}
