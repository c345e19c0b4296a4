import { type Deferred, deferred } from "../../concurrency/deferred.js";
import { waitAtMost } from "../../concurrency/wait.js";
import { CellarError } from "../../errors.js";
import type { DeathCause, Params, Result } from "../../protocol/messages.js";
import type { Peer } from "../../protocol/peer.js";
import type { FileMethod } from "../files/sandbox-files.js";

export type Hello = Params<"hello">;

/** How long the reason of a session's end may come after the end itself. */
const EXIT_REASON_MS = 500;
/** A session whose init takes longer for an order is given up. */
const DEADLINE_MS = 20_000;
/** A session that takes longer to end is killed from outside. */
const LEAVING_MS = 2_000;
const CROWDED_REST_MS = 1000;

export interface BranchEvents {
  display(event: Params<"display">, attachments: readonly Buffer[]): void;
  clear(event: Params<"clear_output">): void;
  hostCall(call: Params<"host_call">): Promise<Result<"host_call">>;
  output(event: Params<"output">): void;
  settled(event: Params<"settled">): void;
  parked(event: Params<"parked">): void;
  died(event: Params<"died">): void;
}

type InitRequest =
  | "rollback"
  | "fork"
  | "drop"
  | "checkpoints"
  | "capture"
  | "lend_writer"
  | "lend_state"
  | "check_writable"
  | FileMethod;

export interface SessionOptions {
  endProcess?: () => void;
  /** Ends every process of the session without the help of any of them. */
  forceEnd?: () => void;
  isCrowded?: () => boolean;
  /** Whether it may end while its caller goes on. */
  mayEndAside?: () => boolean;
  /** How long a head waits after an answer before it parks a copy, where that is not as usual. */
  restMs?: number | undefined;
  /** An open file that the session has open too, through which states come out and go in. */
  exchange?: number | undefined;
  /** Receives the next time limit, where a running cell cannot be interrupted. */
  announceTimeout?: (milliseconds: number) => void;
}

/** Waits for the link on which a copy writes its state. */
export interface WriterEvents {
  /** Called at once, since the copy speaks first. */
  arrived(peer: Peer): void;
  failed(reason: CellarError): void;
}

interface HeadSlot extends Deferred<Peer> {
  readonly generation: number;
  isTaken: boolean;
}

/** The host's view of one session: init, and the heads that its branches have had. */
export class Session {
  readonly id: string;
  readonly #end = deferred<CellarError>();
  readonly #exit = deferred();
  /** Settles when the session is of no more use, with the reason. */
  readonly ended = this.#end.promise;
  /** Settles when none of its processes is left. */
  readonly gone = this.#exit.promise;
  readonly announceTimeout: (milliseconds: number) => void;
  readonly exchange: number | undefined;
  readonly #init = deferred<Peer>();
  /** Until then init hears nothing, and how long that may take is not its matter. */
  readonly #started: Promise<unknown>;
  readonly #heads = new Map<string, HeadSlot>();
  readonly #events = new Map<number, BranchEvents>();
  readonly #endProcess: (() => void) | undefined;
  readonly #forceEnd: (() => void) | undefined;
  readonly #isCrowded: () => boolean;
  readonly #mayEndAside: () => boolean;
  /** Whether the last cell has left no process and no thread, as far as there was one. */
  isQuiet = true;
  /** Whether its processes reach what outlives it, such as a folder of the caller's. */
  reachesOut = false;
  readonly #restMs: number | undefined;
  readonly #writers = new Map<number, WriterEvents>();
  #nextWriter = 1;
  readonly #attending = new Set<(reason: CellarError) => void>();
  readonly #branches = new Set<number>();
  #nextBranch = 0;
  #lost: CellarError | undefined;
  #initPeer: Peer | undefined;

  /** A session of a single process has no init that could end it: then `endProcess` does. */
  constructor(id: string, around: SessionOptions) {
    this.id = id;
    this.#endProcess = around.endProcess;
    this.#forceEnd = around.forceEnd;
    this.announceTimeout = around.announceTimeout ?? (() => {});
    this.exchange = around.exchange;
    this.#isCrowded = around.isCrowded ?? (() => false);
    this.#mayEndAside = around.mayEndAside ?? (() => false);
    this.#restMs = around.restMs;
    this.#started = Promise.all([this.#init.promise, this.head(0, 0)]);
    this.#started.catch(() => {});
  }

  /** While many sessions are being made, what can wait should. */
  get restMs(): number | undefined {
    return this.#isCrowded() ? CROWDED_REST_MS : this.#restMs;
  }

  get isAlive(): boolean {
    return this.#lost === undefined;
  }

  /** The number of another branch: 0 for the first. */
  addBranch(): number {
    this.#branches.add(this.#nextBranch);
    return this.#nextBranch++;
  }

  removeBranch(branch: number): boolean {
    this.#branches.delete(branch);
    return this.#branches.size === 0;
  }

  /** A process with one head may hear orders for init on a link of their own. */
  welcome(hello: Hello, peer: Peer, control = peer): void {
    if (this.#lost !== undefined) {
      peer.close();
      return;
    }
    switch (hello.role) {
      case "init":
        this.#adoptInit(peer);
        break;
      case "head":
        this.#adoptHead(hello.branch, hello.generation, peer);
        break;
      case "plain":
        this.#adoptPlain(peer, control);
        break;
      case "writer":
        this.#writers.get(hello.generation)?.arrived(peer);
        if (!this.#writers.delete(hello.generation)) peer.close();
        break;
      case "template":
        peer.close();
        break;
    }
  }

  /** Calls back at the session's end, unless disposed of before. */
  onEnd(callback: (reason: CellarError) => void): Disposable {
    if (this.#lost !== undefined) callback(this.#lost);
    else this.#attending.add(callback);
    return { [Symbol.dispose]: () => this.#attending.delete(callback) };
  }

  watch(branch: number, events: BranchEvents): void {
    this.#events.set(branch, events);
  }

  /** A branch that was dropped keeps nothing here. */
  forget(branch: number): void {
    this.#events.delete(branch);
    this.#forgetHeads(branch, Number.POSITIVE_INFINITY);
  }

  /** Asks init. One that does not answer in time, whatever a cell did to it, loses its session. */
  async askInit<M extends InitRequest>(
    method: M,
    params: Params<M>,
    attachments: readonly Uint8Array[] = [],
  ): Promise<Result<M>> {
    try {
      const init = await this.#init.promise;
      using _ = this.deadline(`the order ${method}`);
      return await init.request(method, params, attachments);
    } catch (error) {
      throw this.#lost ?? error;
    }
  }

  /** The session is given up, unless disposed of in time, which begins when the session is there. */
  deadline(order: string): Disposable {
    let timer: NodeJS.Timeout | undefined;
    let isOver = false;
    const begin = () => {
      if (!isOver) timer = setTimeout(() => this.markLost(unresponsive(order)), DEADLINE_MS);
    };
    this.#started.then(begin, () => {});
    return {
      [Symbol.dispose]: () => {
        isOver = true;
        clearTimeout(timer);
      },
    };
  }

  head(branch: number, generation: number): Promise<Peer> {
    return this.#slot(branch, generation).promise;
  }

  /** The number under which a writer's link is expected. */
  expectWriter(events: WriterEvents): number {
    const number = this.#nextWriter++;
    if (this.#lost === undefined) this.#writers.set(number, events);
    else events.failed(this.#lost);
    return number;
  }

  forgetWriter(writer: number): void {
    this.#writers
      .get(writer)
      ?.failed(
        new CellarError("SESSION_LOST", "the session could not fork a copy to write its state"),
      );
    this.#writers.delete(writer);
  }

  endWriter(writer: number): void {
    if (this.#endProcess === undefined)
      this.#tellInit((init) => init.notify("end_writer", { writer }));
  }

  interrupt(branch: number, step: number): void {
    this.#tellInit((init) => init.notify("interrupt", { branch, step }));
  }

  kill(branch: number, generation: number): void {
    if (this.#endProcess !== undefined) this.#endProcess();
    else this.#tellInit((init) => init.notify("kill", { branch, generation }));
  }

  /** Ends every process of the session: init leaves when its link closes. */
  close(): void {
    this.markLost(new CellarError("SESSION_CLOSED", "the session was closed"));
  }

  /** Closes it, and waits for its processes, unless nothing of users runs in them that could go on. */
  async end(milliseconds: number): Promise<void> {
    // That it is quiet is its own word, so nothing that matters hangs on it.
    const endsAside = this.isQuiet && !this.reachesOut && this.#mayEndAside();
    this.close();
    if (!endsAside) await waitAtMost(milliseconds, this.gone);
  }

  /** The zygote has seen the end of its last process. */
  markExited(reason: CellarError): void {
    this.markLost(reason);
    this.#exit.resolve();
  }

  /** The only process of the session is dead: its branch hears how, and nothing is left. */
  failAsOneProcess(cause: DeathCause, reason: CellarError): void {
    const death = { generation: 0, step: null, cause, restored: 0, next_generation: 0 };
    for (const [branch, events] of this.#events) events.died({ branch, ...death });
    this.markExited(reason);
  }

  markLost(reason: CellarError): void {
    if (this.#lost !== undefined) return;
    this.#lost = reason;
    this.#init.reject(reason);
    this.#initPeer?.close(reason);
    for (const slot of this.#heads.values()) {
      slot.reject(reason);
      slot.promise.then(
        (peer) => peer.close(reason),
        () => {},
      );
    }
    for (const writer of this.#writers.values()) writer.failed(reason);
    for (const callback of this.#attending) callback(reason);
    this.#attending.clear();
    this.#end.resolve(reason);
    if (this.#forceEnd === undefined) return;
    const timer = setTimeout(this.#forceEnd, LEAVING_MS);
    timer.unref();
    this.gone.then(() => clearTimeout(timer));
  }

  /** At once, or when it has come: a cell may reach its limit while its session is still made. */
  #tellInit(message: (init: Peer) => void): void {
    if (this.#initPeer !== undefined) message(this.#initPeer);
    else this.#init.promise.then(message, () => {});
  }

  #adoptInit(peer: Peer): void {
    if (this.#initPeer !== undefined) {
      peer.close();
      return;
    }
    this.#initPeer = peer;
    peer.on("output", (event) => this.#events.get(event.branch)?.output(event));
    peer.on("settled", (event) => this.#events.get(event.branch)?.settled(event));
    peer.on("parked", (event) => this.#events.get(event.branch)?.parked(event));
    peer.on("died", (event) => this.#events.get(event.branch)?.died(event));
    // The zygote reports the reason when it has reaped the session, unless it ended itself.
    peer.closed.then((reason) => {
      if (!this.isAlive) return;
      const timer = setTimeout(() => this.markLost(reason), EXIT_REASON_MS);
      this.ended.then(() => clearTimeout(timer));
    });
    this.#init.resolve(peer);
  }

  /** A second process that claims to be the same head is not listened to. */
  #adoptHead(branch: number, generation: number, peer: Peer): void {
    const slot = this.#slot(branch, generation);
    if (slot.isTaken) {
      peer.close();
      return;
    }
    slot.isTaken = true;
    peer.on("display", (event, bodies) => this.#events.get(branch)?.display(event, bodies));
    peer.on("clear_output", (event) => this.#events.get(branch)?.clear(event));
    peer.serve("host_call", async (call) => {
      const events = this.#events.get(branch);
      if (events === undefined)
        throw new CellarError(
          "UNSUPPORTED",
          "host functions can only be called while a cell is running",
        );
      return events.hostCall(call);
    });
    slot.resolve(peer);
  }

  /** Here user code shares the link, so what only init may tell is not listened to. */
  #adoptPlain(peer: Peer, control: Peer): void {
    if (this.#endProcess === undefined || this.#initPeer !== undefined) {
      peer.close();
      return;
    }
    this.#initPeer = control;
    peer.on("output", (event) => this.#events.get(event.branch)?.output(event));
    peer.on("settled", (event) => this.#events.get(event.branch)?.settled(event));
    for (const link of [peer, control]) link.closed.then(this.#endProcess);
    this.#init.resolve(control);
    this.#adoptHead(0, 0, peer);
  }

  #slot(branch: number, generation: number): HeadSlot {
    const key = `${branch}/${generation}`;
    const known = this.#heads.get(key);
    if (known !== undefined) return known;
    const slot = { ...deferred<Peer>(), generation, isTaken: false };
    if (this.#lost !== undefined) slot.reject(this.#lost);
    this.#heads.set(key, slot);
    this.#forgetHeads(branch, generation - 1);
    return slot;
  }

  #forgetHeads(branch: number, below: number): void {
    for (const [key, slot] of this.#heads) {
      if (key.startsWith(`${branch}/`) && slot.generation < below) this.#heads.delete(key);
    }
  }
}

function unresponsive(order: string): CellarError {
  const message = `the session did not carry out ${order} within ${DEADLINE_MS / 1000} s`;
  return new CellarError("SESSION_LOST", message, { details: { reason: "unresponsive" } });
}
