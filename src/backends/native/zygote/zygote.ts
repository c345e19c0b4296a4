import { deferred } from "../../../concurrency/deferred.js";
import { CellarError } from "../../../errors.js";
import { initSeccompProgram, seccompProgram } from "../../../isolation/seccomp/seccomp.js";
import type { Params } from "../../../protocol/messages.js";
import { Peer } from "../../../protocol/peer.js";
import type { Wall } from "../wall/wall.js";
import type { Listener } from "./listener.js";
import { newCredentials, SessionForker } from "./session-forker.js";

export type ZygoteReport = Params<"ready">;

/** Longer than the slowest disk takes to bring all that is preloaded. */
const READY_MS = 300_000;
/** A fork and a connection; a loaded machine may take longer. */
const TEMPLATE_MS = 60_000;

type Group = Params<"boot">["group"];

export class Zygote {
  readonly report: Promise<ZygoteReport>;
  /** Settles when the zygote is gone, with what it said last. */
  readonly ended: Promise<CellarError>;
  readonly #wall: Wall;
  readonly #peer: Peer;
  readonly #listener: Listener;
  readonly forker: SessionForker;
  /** Fail the start of a template, by its name. */
  readonly #templateWaiters = new Map<string, (error: CellarError) => void>();
  #closing = false;
  #isWanted = false;

  constructor(
    wall: Wall,
    listener: Listener,
    boot: {
      preload: readonly string[];
      group: Group;
      sharesNetwork: boolean;
      tracksWrites: boolean;
    },
  ) {
    this.#wall = wall;
    this.#listener = listener;
    this.#peer = new Peer(wall.control);
    this.forker = new SessionForker(this.#peer, listener, this.#peer, (name) =>
      this.#templateWaiters.get(name)?.(
        new CellarError(
          "START_FAILED",
          "the process that loads the context ended before it was ready",
        ),
      ),
    );
    wall.process.unref();
    this.ended = wall.ended.then((how) => {
      const reason = this.#exitReason(how);
      this.#onExit(reason);
      return reason;
    });
    const ready = deferred<ZygoteReport>();
    this.report = ready.promise;
    const late = setTimeout(() => ready.reject(notReady(wall.said())), READY_MS).unref();
    this.#peer.on("ready", ready.resolve);
    this.ended.then(ready.reject);
    ready.promise.catch(() => {}).finally(() => clearTimeout(late));
    const architecture = process.arch === "arm64" ? "arm64" : "x64";
    const { tracksWrites } = boot;
    const filter = { countsMemory: boot.group !== null, tracksWrites };
    this.#peer.notify("boot", {
      preload: [...boot.preload],
      seccomp: seccompProgram(architecture, filter).toString("base64"),
      ...(tracksWrites && {
        init_seccomp: initSeccompProgram(architecture, filter).toString("base64"),
      }),
      file_socket_fd: wall.fileSocketNumber,
      shares_network: boot.sharesNetwork,
      group: boot.group,
    });
  }

  get pid(): number | undefined {
    return this.#wall.process.pid;
  }

  get isAlive(): boolean {
    return this.#peer.isOpen && !this.#closing;
  }

  /** Its link is also that of the process which supervises all sessions behind the wall. */
  get supervisor(): Peer {
    return this.#peer;
  }

  /** The link of a new child for the file that `handIn` passes through the socket for files under its name. */
  async template(handIn: (name: string) => Promise<void>): Promise<Peer> {
    const { name, token } = newCredentials();
    const arrival = deferred<Peer>();
    this.#templateWaiters.set(name, arrival.reject);
    this.#listener.expect(name, token, (hello, peer) => {
      if (hello.role === "template") arrival.resolve(peer);
      else peer.close();
    });
    const message = `the process that loads the context was not ready within ${TEMPLATE_MS / 1000} s`;
    const late = setTimeout(
      () => arrival.reject(new CellarError("START_FAILED", message)),
      TEMPLATE_MS,
    );
    try {
      await handIn(name);
      await Promise.race([
        this.#peer.request("template", { template: name, token }),
        arrival.promise,
      ]);
      return await arrival.promise;
    } finally {
      clearTimeout(late);
      this.#templateWaiters.delete(name);
      this.#listener.forget(name);
    }
  }

  async close(): Promise<void> {
    // A zygote that ended by itself lost its sessions; it did not close them.
    this.#isWanted ||= this.isAlive;
    this.#closing = true;
    this.#peer.close();
    const timer = setTimeout(() => this.#wall.process.kill("SIGKILL"), 2000);
    this.#wall.process.ref();
    await this.ended;
    clearTimeout(timer);
  }

  #exitReason(how: string): CellarError {
    const said = this.#wall.said();
    return new CellarError(
      "SESSION_LOST",
      said === "" ? `the sandbox process ended: ${how}` : said,
      {
        details: { how, said },
      },
    );
  }

  #onExit(reason: CellarError): void {
    this.#peer.close(reason);
    for (const reject of this.#templateWaiters.values()) reject(reason);
    this.forker.lose("sandbox process", reason, this.#isWanted);
  }
}

function notReady(said: string): CellarError {
  return new CellarError("START_FAILED", `Python was not ready within ${READY_MS / 1000} s`, {
    remedy: "Preload less with the option preload, or look whether the machine is overloaded.",
    details: { said },
  });
}
