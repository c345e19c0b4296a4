import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import type { Duplex, Readable } from "node:stream";
import type { DeathCause, Limits } from "../../protocol/messages.js";
import { Peer } from "../../protocol/peer.js";
import { tailOf } from "../host/stderr-tail.js";
import { Session } from "../session/session.js";
import {
  abandon,
  exitCause,
  startFailure,
  untilOver,
  waitForHello,
} from "../session/single-process.js";
import { CONTROL_DESCRIPTOR, HEAD_DESCRIPTOR, MEMORY_DESCRIPTOR } from "./inside/plan.js";
import { streamOf } from "./launch-plan.js";

const LEAVING_MS = 1000;
const MAX_REPORT_CHARACTERS = 64 * 1024;
const MAX_MEMORY_BYTES = 256 * 1024 * 1024;
const NAME = "Pyodide";

export const STATE_LOST =
  "the Pyodide process ended, and its state with it: WebAssembly has no checkpoints";

export interface PyodideSession {
  readonly session: Session;
  readonly pid: number;
  readonly python: string;
  /** What the process found out about its walls. */
  readonly report: string;
  /** Python's memory before user code, when it was asked for. */
  readonly memory: Promise<Buffer | undefined>;
}

/** What the host sees of the kernel's limits when a process has died. */
export type ExitReport = () => DeathCause | undefined;

/** Makes a started Pyodide process a session. */
export async function openSession(
  child: ChildProcess,
  limits: Limits,
  id: string,
  exitReport: ExitReport = () => undefined,
): Promise<PyodideSession> {
  const said = tailOf(child.stderr);
  const head = new Peer(linkTo(child, HEAD_DESCRIPTOR));
  const control = new Peer(linkTo(child, CONTROL_DESCRIPTOR));
  let isKilled = false;
  let leaving: NodeJS.Timeout | undefined;
  const kill = () => child.kill("SIGKILL");
  const end = () => {
    isKilled ||= head.isOpen && control.isOpen;
    // A process that has closed its links is about to exit, with an exit code of its own.
    if (isKilled) kill();
    else leaving ??= setTimeout(kill, LEAVING_MS).unref();
  };
  const token = randomBytes(24).toString("base64url");
  const session = new Session(id, { endProcess: end });
  session.ended.then(() => {
    isKilled ||= head.isOpen;
    control.close();
    kill();
  });
  const causeOf = (code: number | null, signal: NodeJS.Signals | null): DeathCause => {
    clearTimeout(leaving);
    return exitReport() ?? (isKilled ? { kind: "killed" } : exitCause(code, signal, true));
  };
  const started = { child, session, name: NAME, stateLost: STATE_LOST, causeOf };
  const over = untilOver(started);
  head.notify("plain_boot", { session: id, token, limits });
  const memory = gather(streamOf(child, MEMORY_DESCRIPTOR), MAX_MEMORY_BYTES);
  try {
    const [hello, report] = await Promise.all([
      waitForHello(head, over, { id, token }),
      firstLine(child.stdout, over),
    ]);
    session.welcome(hello, head, control);
    return { session, pid: child.pid ?? 0, python: hello.python, report, memory };
  } catch (error) {
    throw await abandon(started, said(), error);
  }
}

/** Only what came before user code counts, so nothing after the line is read. */
function firstLine(stream: Readable | null, over: Promise<DeathCause>): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    stream?.setEncoding("utf8");
    stream?.on("data", (chunk: string) => {
      text += chunk;
      const end = text.indexOf("\n");
      if (end < 0 && text.length < MAX_REPORT_CHARACTERS) return;
      stream.destroy();
      resolve(text.slice(0, Math.max(end, 0)));
    });
    over.then(() => reject(new Error("it exited at once")));
  });
}

function linkTo(child: ChildProcess, descriptor: number): Duplex {
  const link = streamOf(child, descriptor);
  if (link === undefined) throw startFailure(NAME, "it has no connection");
  return link;
}

function gather(stream: Readable | undefined, most: number): Promise<Buffer | undefined> {
  if (stream === undefined) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    const pieces: Buffer[] = [];
    let size = 0;
    stream.on("data", (piece: Buffer) => {
      size += piece.length;
      if (size <= most) pieces.push(piece);
      else stream.destroy();
    });
    stream.once("end", () => resolve(Buffer.concat(pieces)));
    stream.once("close", () => resolve(undefined));
  });
}

/** The wall passes a signal on as an exit code. */
