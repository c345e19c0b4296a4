import type { Settings } from "../../../config.js";
import type { Peer } from "../../../protocol/peer.js";
import type { SandboxInfo } from "../../backend.js";
import { abortable, splitConfig } from "../../options.js";
import { lodge } from "../../session/lease.js";
import { PythonSandbox } from "../../session/sandbox.js";
import { Session } from "../../session/session.js";
import { NativePythonSandbox } from "../sandbox.js";

const CODE = "print(1 + 1)";
const LONGEST_MS = 1000;

/** A cell with this step is played in a namespace of its own, and leaves nothing. */
const NO_STEP = 0;

/** A session that waits, as a rehearsal sees it: only the head is real, so that nothing can end it. */
export class Stage extends Session {
  readonly #link: Peer;
  isBusy = false;

  constructor(head: Peer) {
    super("rehearsal", {});
    this.#link = head;
    head.closed.then((reason) => this.markLost(reason));
  }

  /** Whether there is a head still. */
  get isPeopled(): boolean {
    return this.#link.isOpen;
  }

  get deserted(): Promise<unknown> {
    return this.#link.closed;
  }

  override async head(): Promise<Peer> {
    return this.#link;
  }
}

/** Goes the whole way of a first cell, on both sides, so that the first real one finds it in the caches. */
export class Rehearsal {
  readonly #settings: Settings;
  readonly #info: SandboxInfo;

  constructor(settings: Settings, info: SandboxInfo) {
    // Who gets the session says how it is to conduct itself.
    this.#settings = { ...settings, policy: "off", sanitise: false, agent: undefined };
    this.#info = info;
  }

  /** Waits until the session could be handed out. */
  async prepare(session: Session): Promise<Stage> {
    const head = await session.head(0, 0);
    await head.request("configure", { environment: {} });
    return new Stage(head);
  }

  /** Tells whether it went to its end; a session that cannot be rehearsed may still be a good one. */
  async play(stage: Stage): Promise<boolean> {
    if (stage.isBusy || !stage.isAlive) return false;
    stage.isBusy = true;
    // Nothing of it may hold the process, or wait for an end that nobody tells it of.
    const patience = setTimeout(() => stage.close(), LONGEST_MS).unref();
    try {
      const { callbacks } = splitConfig({});
      const openSession = async () => lodge(stage, this.#info, { canHoldContexts: true });
      const opening = PythonSandbox.open(
        NativePythonSandbox,
        openSession,
        this.#settings,
        callbacks,
        NO_STEP,
      );
      const sandbox = await abortable(opening, undefined);
      const { status } = await sandbox.execute(CODE);
      return status === "ok";
    } catch {
      return false;
    } finally {
      clearTimeout(patience);
      stage.isBusy = false;
    }
  }
}
