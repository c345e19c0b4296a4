import { randomBytes } from "node:crypto";
import { Duplex } from "node:stream";
import { CellarError, describeError } from "../../errors.js";
import type { DeathCause, Limits } from "../../protocol/messages.js";
import { Peer } from "../../protocol/peer.js";
import { type Hello, Session } from "../session/session.js";
import { framesIn } from "./inside/blocking-link.js";
import type { PyodideInterpreter, SteppedSession } from "./inside/interpreter.js";
import { HOST_SIGNAL } from "./inside/signals.js";

/** Lets the host's own timer fire first. */
const MARGIN_MS = 20;
/** Code that catches its interrupt gets another one, for nothing else could end it. */
const REPEAT_MS = 100;

class GivenUp extends Error {}

export const DIRECT_STATE_LOST = "Pyodide was given up, and its state with it";

/** When what runs in this thread must stop; nothing but itself can look at the clock meanwhile. */
export class ThreadDeadline {
  readonly #grace: number;
  #limit = Number.POSITIVE_INFINITY;
  #due = Number.POSITIVE_INFINITY;
  #next = Number.POSITIVE_INFINITY;
  readonly #pause = new Int32Array(new SharedArrayBuffer(4));

  constructor(grace: number) {
    this.#grace = grace;
  }

  setLimit(milliseconds: number): void {
    this.#limit = milliseconds;
  }

  /** Python is entered now, and has its whole time. */
  begin(): void {
    this.#due = performance.now() + this.#limit + MARGIN_MS;
    this.#next = this.#due;
  }

  isOverdue(): boolean {
    return performance.now() > this.#due;
  }

  /** Ends Python when the code ignores its interrupts. */
  enforce(): void {
    if (performance.now() > this.#due + this.#grace) throw new GivenUp();
  }

  /** The number of the signal that is due. */
  signal(): number {
    const now = performance.now();
    if (now <= this.#next) return 0;
    this.#next = now + REPEAT_MS;
    return HOST_SIGNAL;
  }

  wait(milliseconds: number): number {
    this.enforce();
    const left = Math.max(0, this.#next - performance.now()) + 1;
    Atomics.wait(this.#pause, 0, 0, Math.min(milliseconds, left));
    return this.signal();
  }
}

/** Lets a interpreter in this very thread serve as a session. */
export async function openDirectSession(
  interpreter: PyodideInterpreter,
  limits: Limits,
  deadline: ThreadDeadline,
): Promise<{ session: Session; python: string }> {
  const id = randomBytes(12).toString("hex");
  const token = randomBytes(24).toString("base64url");
  const session = new Session(id, {
    endProcess: () => direct.end({ kind: "killed" }),
    announceTimeout: (milliseconds) => deadline.setLimit(milliseconds),
  });
  const direct = new DirectSession(deadline, (cause) => {
    session.failAsOneProcess(
      cause,
      new CellarError("SESSION_LOST", "Pyodide ended in the caller's thread", {
        details: { reason: DIRECT_STATE_LOST },
      }),
    );
  });
  session.ended.then(() => direct.end({ kind: "killed" }));
  direct.connect(interpreter);
  const peer = new Peer(direct.link);
  const heard = new Promise<Hello>((resolve, reject) => {
    peer.on("hello", resolve);
    peer.closed.then(reject);
  });
  peer.notify("plain_boot", { session: id, token, limits });
  const hello = await heard;
  session.welcome(hello, peer);
  return { session, python: hello.python };
}

/** The other end of an in-memory link: enters Python with what comes, and again when it is time. */
class DirectSession {
  readonly link: Duplex;
  readonly #deadline: ThreadDeadline;
  readonly #died: (cause: DeathCause) => void;
  readonly #incoming: Uint8Array[] = [];
  readonly #outgoing: Buffer[] = [];
  #session: SteppedSession | undefined;
  #enter: (frame: Uint8Array) => number | undefined = () => undefined;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(deadline: ThreadDeadline, died: (cause: DeathCause) => void) {
    this.#deadline = deadline;
    this.#died = died;
    const receive = framesIn((frame) => {
      this.#incoming.push(frame);
      // Never in the midst of the caller's own call.
      setImmediate(() => this.#handleNext());
    });
    this.link = new Duplex({
      read: () => {},
      write: (chunk: Buffer, _encoding, done) => {
        receive(chunk);
        done();
      },
    });
  }

  connect(interpreter: PyodideInterpreter): void {
    const deadline = this.#deadline;
    const session = interpreter.serveInSteps(
      {
        read: () => undefined,
        write: (data) => this.#send(data),
        wait: (milliseconds) => deadline.wait(milliseconds),
        wantedStep: () => 0,
        see: () => {},
        setPartialLine: () => {},
        remind: () => {},
        isOverdue: () => deadline.isOverdue(),
      },
      {
        get 0() {
          return deadline.signal();
        },
        set 0(_) {},
      },
    );
    this.#session = session;
    this.#enter = (frame) => {
      session.greet(frame);
      this.#enter = (next) => session.take(next);
      return undefined;
    };
  }

  /** Python is not entered again; what is left of it is garbage. */
  end(cause: DeathCause): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#session = undefined;
    this.#enter = () => undefined;
    this.link.destroy();
    this.#died(cause);
  }

  #handleNext(): void {
    const frame = this.#incoming.shift();
    if (frame !== undefined) this.#work(() => this.#enter(frame));
  }

  #work(step: () => number | undefined): void {
    if (this.#isOver) return;
    clearTimeout(this.#timer);
    const { exitCode } = process;
    this.#deadline.begin();
    try {
      const seconds = step();
      if (seconds === undefined) return;
      // Not in the timer itself: after it the answer would overtake other timers that are due.
      const resume = () => setImmediate(() => this.#work(() => this.#session?.resume()));
      this.#timer = setTimeout(resume, Math.ceil(seconds * 1000));
    } catch (error) {
      // Emscripten sets the exit code of the process it runs in.
      process.exitCode = exitCode;
      const cause: DeathCause =
        error instanceof GivenUp ? { kind: "killed" } : { kind: "exit", code: exitStatus(error) };
      // Later, as an answer: the host's clock says why.
      setImmediate(() => this.end(cause));
    }
  }

  /** Deferred, so that a host timer that is due fires before the answer. */
  #send(data: Uint8Array): void {
    this.#outgoing.push(Buffer.from(data));
    setImmediate(() => {
      const next = this.#outgoing.shift();
      if (next !== undefined && !this.link.destroyed) this.link.push(next);
    });
  }
}

function exitStatus(error: unknown): number {
  const isExit = typeof error === "object" && error !== null && "status" in error;
  if (isExit) return Number(error.status) & 0xff;
  process.emitWarning(`Pyodide failed: ${describeError(error)}`, { type: "CellarWarning" });
  return 1;
}
