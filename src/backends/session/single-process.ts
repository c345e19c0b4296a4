import type { ChildProcess } from "node:child_process";
import { constants } from "node:os";
import { deferred } from "../../concurrency/deferred.js";
import { CellarError, describeError } from "../../errors.js";
import { type DeathCause, PROTOCOL_VERSION } from "../../protocol/messages.js";
import type { Peer } from "../../protocol/peer.js";
import type { Hello, Session } from "./session.js";

/** A runner starts in a fraction of a second, or in seconds; a cold, loaded machine takes longer. */
const HELLO_MS = 120_000;
/** How long to read what was written before the end; a stray process may keep the link open. */
const DRAINING_MS = 500;
/** Walls report a signal as a shell does. */
const SIGNAL_CODES = 128;

export interface SingleProcess {
  readonly child: ChildProcess;
  readonly session: Session;
  readonly name: string;
  /** Why the state of the session is lost with its process. */
  readonly stateLost: string;
  /** Runs after the process, before the session counts as gone. */
  readonly tidy?: () => void;
  readonly causeOf: (code: number | null, signal: NodeJS.Signals | null) => DeathCause;
}

/** Fails the session when its only process ends; settles when that is done, with the cause. */
export async function untilOver(process: SingleProcess): Promise<DeathCause> {
  const { child, session, name, stateLost } = process;
  const cause = await new Promise<DeathCause>((resolve) => {
    child.once("error", (error) => {
      session.markLost(startFailure(name, describeError(error)));
      resolve({ kind: "exit", code: 1 });
    });
    child.once("exit", (code, signal) => {
      const found = process.causeOf(code, signal);
      const draining = setTimeout(() => resolve(found), DRAINING_MS).unref();
      child.once("close", () => {
        clearTimeout(draining);
        resolve(found);
      });
    });
  });
  process.tidy?.();
  const how = cause.kind === "signal" ? `signal ${cause.signal}` : cause.kind;
  const details = { reason: stateLost };
  const message = `the ${name} process ended (${how})`;
  session.failAsOneProcess(cause, new CellarError("SESSION_LOST", message, { details }));
  return cause;
}

export function exitCause(
  code: number | null,
  signal: NodeJS.Signals | null,
  isWalled: boolean,
): DeathCause {
  if (signal !== null) return { kind: "signal", signal: constants.signals[signal] };
  if (isWalled && code !== null && code > SIGNAL_CODES)
    return { kind: "signal", signal: code - SIGNAL_CODES };
  return { kind: "exit", code: code ?? 1 };
}

/** The valid hello message of a process that is a whole session. */
export async function waitForHello(
  peer: Peer,
  over: Promise<DeathCause>,
  { id, token }: { readonly id: string; readonly token: string },
): Promise<Hello> {
  const { promise, resolve, reject } = deferred<Hello>();
  const late = new Error(`it sent no hello message within ${HELLO_MS / 1000} s`);
  const timer = setTimeout(() => reject(late), HELLO_MS);
  peer.on("hello", resolve);
  peer.closed.then(reject);
  over.then(() => reject(new Error("it ended before it was ready")));
  const hello = await promise.finally(() => clearTimeout(timer));
  if (hello.token !== token || hello.session !== id || hello.role !== "plain") {
    throw new Error("its hello message is invalid");
  }
  if (hello.protocol !== PROTOCOL_VERSION) {
    throw new Error(`it uses protocol version ${hello.protocol}, not ${PROTOCOL_VERSION}`);
  }
  peer.on("hello", () => peer.close());
  return hello;
}

/** Closes a session that did not start; the error says what its process wrote last. */
export async function abandon(
  { session, name }: SingleProcess,
  said: string,
  error: unknown,
): Promise<CellarError> {
  session.close();
  await session.gone;
  return startFailure(name, said === "" ? describeError(error) : said, error);
}

export function startFailure(name: string, why: string, cause?: unknown): CellarError {
  return new CellarError("START_FAILED", `the ${name} process could not start: ${why}`, { cause });
}
