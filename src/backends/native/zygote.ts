import { randomBytes } from "node:crypto";
import { CellarError, describeError, isCellarError } from "../../errors.js";
import { seccompProgram } from "../../isolation/seccomp.js";
import type { Limits, Params } from "../../protocol/messages.js";
import { Peer } from "../../protocol/peer.js";
import { Family } from "../family/family.js";
import type { Listener } from "./listener.js";
import type { Wall } from "./wall.js";

export interface SpawnOrder {
  readonly limits: Limits;
  readonly keepCheckpoints: number;
  /** Runs a rehearsal first: right for a session that will wait, wrong for one that is awaited. */
  readonly rehearse: boolean;
}

export type ZygoteReport = Params<"ready">;

type Group = Params<"boot">["group"];

/** So many sessions being made at once keep the processors busy. */
const CROWD = 2;

/** The host's side of one preloaded interpreter behind the outer wall. */
export class Zygote {
  readonly report: Promise<ZygoteReport>;
  /** Settles when the zygote is gone, with what it said last. */
  readonly ended: Promise<CellarError>;
  readonly #wall: Wall;
  readonly #peer: Peer;
  readonly #listener: Listener;
  readonly #families = new Map<string, Family>();
  #closing = false;
  /** Sessions asked for whose head has not come yet. */
  #starting = 0;

  constructor(wall: Wall, listener: Listener, preload: readonly string[], group: Group) {
    this.#wall = wall;
    this.#listener = listener;
    this.#peer = new Peer(wall.control);
    wall.process.unref();
    this.ended = new Promise((resolve) => {
      const end = (reason: CellarError) => {
        this.#lose(reason);
        resolve(reason);
      };
      wall.process.once("error", (error) => end(this.#fallen(describeError(error))));
      wall.process.once("exit", (code, signal) => end(this.#fallen(`${signal ?? `exit ${code}`}`)));
    });
    this.report = new Promise((resolve, reject) => {
      this.#peer.on("ready", resolve);
      this.ended.then(reject);
    });
    this.report.catch(() => {});
    this.#peer.on("exited", ({ session, reason }) => {
      this.#families.get(session)?.bury(new CellarError("SESSION_LOST", `the session ${reason}`));
      this.#families.delete(session);
    });
    this.#peer.notify("boot", {
      preload: [...preload],
      seccomp: seccompProgram(process.arch === "arm64" ? "arm64" : "x64").toString("base64"),
      group,
    });
  }

  get pid(): number | undefined {
    return this.#wall.process.pid;
  }

  get sessions(): number {
    return this.#families.size;
  }

  get isAlive(): boolean {
    return this.#peer.isOpen && !this.#closing;
  }

  /** Asks for a session and returns at once; its parts arrive through the listener. */
  spawn(order: SpawnOrder): Family {
    const session = randomBytes(12).toString("hex");
    const token = randomBytes(24).toString("base64url");
    const family = new Family(session, { isCrowded: () => this.#starting > CROWD });
    this.#families.set(session, family);
    this.#starting += 1;
    const started = () => {
      this.#starting -= 1;
    };
    family.head(0, 0).then(started, started);
    this.#listener.expect(session, token, (hello, peer) => family.welcome(hello, peer));
    family.ended.then(() => this.#listener.forget(session));
    this.#peer
      .request("spawn", {
        session,
        token,
        limits: order.limits,
        keep_checkpoints: order.keepCheckpoints,
        rehearse: order.rehearse,
      })
      .catch((error: unknown) => {
        const failure = new CellarError(
          "START_FAILED",
          `no session could be made: ${describeError(error)}`,
          { cause: error },
        );
        if (!isCellarError(error, "REMOTE_ERROR")) {
          family.lose(failure);
          return;
        }
        family.bury(failure);
        this.#families.delete(session);
      });
    return family;
  }

  /** Ends the zygote and with it every session it made. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#peer.close();
    const timer = setTimeout(() => this.#wall.process.kill("SIGKILL"), 2000);
    this.#wall.process.ref();
    await this.ended;
    clearTimeout(timer);
  }

  #fallen(how: string): CellarError {
    const said = this.#wall.said();
    return new CellarError("SESSION_LOST", said === "" ? `the zygote ended: ${how}` : said, {
      details: { how, said },
    });
  }

  #lose(reason: CellarError): void {
    this.#peer.close();
    for (const family of [...this.#families.values()]) {
      family.bury(
        new CellarError("SESSION_LOST", "the zygote ended", {
          details: { reason: "zygote" },
          cause: reason,
        }),
      );
    }
    this.#families.clear();
  }
}
