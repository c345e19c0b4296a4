import { randomBytes } from "node:crypto";
import { CellarError, describeError, isCellarError } from "../../../errors.js";
import { remedyFor } from "../../../isolation/remedies.js";
import type { Limits, Params } from "../../../protocol/messages.js";
import type { Peer } from "../../../protocol/peer.js";
import type { SessionDir } from "../../host/session-dir.js";
import { Session } from "../../session/session.js";
import type { Listener } from "./listener.js";

export interface SpawnOrder {
  readonly limits: Limits;
  readonly keepCheckpoints: number;
  /** Runs a cell first: right for a session that will wait, wrong for one that a caller waits for. */
  readonly warmUp: boolean;
  readonly dir?: SessionDir | undefined;
}

/** A notebook saves the cell before it answers, and the fork of a checkpoint would slow that down. */
const DIR_REST_MS = 10;

/** How the processes inside begin their reason. */
const UNPREPARED = "could not be prepared";

/** Longer than a crowd of sessions takes that are made at once. */
const START_MS = 90_000;

/** So many closed sessions may end while their callers go on; the kernel takes milliseconds for each. */
const MAX_ENDING = 4;

/** More sessions than this being made at once keep the processors busy. */
const CROWD = 2;

/** The host's side of a process that forks sessions: the zygote, or one of its templates. */
export class SessionForker {
  readonly #peer: Peer;
  readonly #listener: Listener;
  readonly #supervisor: Peer;
  readonly #sessions = new Map<string, Session>();
  /** Sessions asked for whose head has not come yet. */
  #starting = 0;
  /** Closed sessions whose processes have not ended yet. */
  #ending = 0;

  /** `supervisor` is the link to the process that can end any session; `onExit` hears of other children. */
  constructor(
    peer: Peer,
    listener: Listener,
    supervisor = peer,
    onExit: (name: string) => void = () => {},
  ) {
    this.#peer = peer;
    this.#listener = listener;
    this.#supervisor = supervisor;
    peer.on("exited", ({ session: id, reason }) => {
      const session = this.#sessions.get(id);
      session?.markExited(exitError(reason));
      this.#sessions.delete(id);
      if (session === undefined) onExit(id);
    });
  }

  get sessions(): number {
    return this.#sessions.size;
  }

  /** Asks for a session and returns at once; its parts arrive through the listener. */
  spawn(order: SpawnOrder): Session {
    const { name: id, token } = newCredentials();
    const restMs = order.dir === undefined ? undefined : DIR_REST_MS;
    const session = new Session(id, {
      isCrowded: () => this.#starting > CROWD,
      // Whoever gave a folder may move or remove it next.
      mayEndAside: () => order.dir === undefined && this.#ending < MAX_ENDING,
      restMs,
      forceEnd: () => this.#supervisor.notify("end_session", { session: id }),
    });
    this.#sessions.set(id, session);
    this.#starting += 1;
    const late = setTimeout(() => session.markLost(notStarted()), START_MS);
    late.unref();
    const started = () => {
      clearTimeout(late);
      this.#starting -= 1;
    };
    session.head(0, 0).then(started, started);
    this.#listener.expect(id, token, (hello, peer) => session.welcome(hello, peer));
    // At once: many may be closed in one turn.
    session.onEnd(() => {
      this.#listener.forget(id);
      this.#ending += 1;
    });
    session.gone.then(() => {
      this.#ending -= 1;
    });
    this.#peer
      .request("spawn", {
        session: id,
        token,
        limits: order.limits,
        keep_checkpoints: order.keepCheckpoints,
        warm_up: order.warmUp,
        ...(order.dir !== undefined && { session_dir: entry(order.dir) }),
      })
      .catch((error: unknown) => {
        const failure = new CellarError(
          "START_FAILED",
          `could not start a session: ${describeError(error)}`,
          { cause: error },
        );
        if (!isCellarError(error, "REMOTE_ERROR")) {
          session.markLost(failure);
          return;
        }
        session.markExited(failure);
        this.#sessions.delete(id);
      });
    return session;
  }

  /** The process is gone, and with it what it made; `isWanted` where the host has ended it. */
  lose(what: string, reason: CellarError, isWanted = false): void {
    const code = isWanted ? "SESSION_CLOSED" : "SESSION_LOST";
    for (const session of [...this.#sessions.values()]) {
      const how = `the ${what} ended`;
      session.markExited(new CellarError(code, how, { details: { reason: how }, cause: reason }));
    }
    this.#sessions.clear();
  }
}

/** A session that was never ready was not lost: what it said is why it failed to start. */
function exitError(reason: string): CellarError {
  const said = `the session ${reason}`;
  return reason.startsWith(UNPREPARED)
    ? new CellarError("START_FAILED", said, {
        remedy: remedyFor("unknown"),
        details: { cause: "unknown" },
      })
    : new CellarError("SESSION_LOST", said);
}

function notStarted(): CellarError {
  return new CellarError("START_FAILED", `no session was ready within ${START_MS / 1000} s`, {
    remedy: "The machine is overloaded, or Python hangs: try again with fewer sessions at once.",
  });
}

function entry({ name, hasEgress }: SessionDir): NonNullable<Params<"spawn">["session_dir"]> {
  return { name, egress: hasEgress };
}

/** What only the new process inside can say when it connects. */
export function newCredentials(): { name: string; token: string } {
  return { name: randomBytes(12).toString("hex"), token: randomBytes(24).toString("base64url") };
}
