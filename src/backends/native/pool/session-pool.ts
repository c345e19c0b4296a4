import type { Limits } from "../../../protocol/messages.js";
import type { Peer } from "../../../protocol/peer.js";
import type { Session } from "../../session/session.js";
import type { Zygote } from "../zygote/zygote.js";

/** A refill right behind a request would compete with it for the processor. */
const REFILL_DELAY_MS = 20;

export interface PoolPlan {
  readonly zygote: Zygote;
  readonly limits: Limits;
  readonly keepCheckpoints: number;
  readonly size: number;
  /** One that was asked for before the zygote was ready; no cell has run in it. */
  readonly first?: Session | undefined;
}

interface Ready {
  readonly session: Session;
  readonly head: Peer;
}

/** Sessions made ahead. One that was handed out is never taken back. */
export class SessionPool {
  readonly #plan: PoolPlan;
  readonly #ready: Ready[] = [];
  #first: Session | undefined;
  #making = 0;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(plan: PoolPlan) {
    this.#plan = plan;
    this.#first = plan.first;
  }

  get ready(): number {
    return this.#ready.length;
  }

  take(limits: Limits, keepCheckpoints: number): Session {
    const { zygote, limits: usual, keepCheckpoints: keep } = this.#plan;
    const fits = keepCheckpoints === keep && sameLimits(limits, usual);
    // The newest first: more of it is still in the caches.
    const warm = fits ? this.#ready.pop() : undefined;
    const first = fits ? this.#first : undefined;
    this.#refillLater();
    if (warm?.head.isOpen === true && warm.session.isAlive) return warm.session;
    warm?.session.close();
    if (first !== undefined) {
      this.#first = undefined;
      if (first.isAlive) return first;
    }
    return zygote.forker.spawn({ limits, keepCheckpoints, warmUp: false });
  }

  async fill(): Promise<void> {
    while (!this.#closed && this.#plan.zygote.isAlive && this.#missing() > 0) {
      const made = await this.#make();
      if (!made) return;
    }
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#first?.close();
    for (const { session } of this.#ready.splice(0)) session.close();
  }

  #missing(): number {
    return this.#plan.size - this.#ready.length - this.#making;
  }

  #refillLater(): void {
    if (this.#closed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.fill(), REFILL_DELAY_MS);
    this.#timer.unref();
  }

  async #make(): Promise<boolean> {
    this.#making += 1;
    const { zygote, limits, keepCheckpoints } = this.#plan;
    const session = zygote.forker.spawn({ limits, keepCheckpoints, warmUp: true });
    let head: Peer;
    try {
      head = await session.head(0, 0);
      await head.request("configure", { environment: {} });
    } catch {
      session.close();
      return false;
    } finally {
      this.#making -= 1;
    }
    if (this.#closed) {
      session.close();
      return false;
    }
    const ready = { session, head };
    this.#ready.push(ready);
    const withdraw = () => {
      const index = this.#ready.indexOf(ready);
      if (index < 0) return;
      this.#ready.splice(index, 1);
      session.close();
    };
    session.ended.then(withdraw);
    // A pooled session without its head is of no use.
    head.closed.then(withdraw);
    return true;
  }
}

function sameLimits(left: Limits, right: Limits): boolean {
  return (Object.keys(left) as (keyof Limits)[]).every((key) => left[key] === right[key]);
}
