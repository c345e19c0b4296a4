import type { Limits } from "../../../protocol/messages.js";
import type { Session } from "../../session/session.js";
import type { Zygote } from "../zygote/zygote.js";
import type { Rehearsal, Stage } from "./rehearsal.js";

/** A refill right behind a request would compete with it for the processor. */
const REFILL_DELAY_MS = 20;

/** Two sessions within this time are mostly followed by a third: so long it is kept in the caches. */
const HOT_MS = 500;
const BEAT_MS = 3;

export interface PoolPlan {
  readonly zygote: Zygote;
  readonly limits: Limits;
  readonly keepCheckpoints: number;
  readonly size: number;
  readonly rehearsal: Rehearsal;
}

interface Ready {
  readonly session: Session;
  readonly stage: Stage;
}

/** Sessions made ahead. One that was handed out is never taken back. */
export class SessionPool {
  readonly #plan: PoolPlan;
  readonly #ready: Ready[] = [];
  #making = 0;
  #timer: NodeJS.Timeout | undefined;
  #pulse: NodeJS.Timeout | undefined;
  #lastTaken = Number.NEGATIVE_INFINITY;
  #lastBeat = 0;
  #closed = false;

  constructor(plan: PoolPlan) {
    this.#plan = plan;
  }

  get ready(): number {
    return this.#ready.length;
  }

  /** A warm session when there is one of that kind, else a cold one. */
  take(limits: Limits, keepCheckpoints: number): Session {
    const { zygote, limits: usual, keepCheckpoints: keep } = this.#plan;
    const fits = keepCheckpoints === keep && sameLimits(limits, usual);
    // The newest first: more of it is still in the caches.
    const warm = fits ? this.#ready.pop() : undefined;
    this.#refillLater();
    this.#stayHot();
    if (warm?.stage.isPeopled === true && warm.session.isAlive) return warm.session;
    warm?.session.close();
    return zygote.spawn({ limits, keepCheckpoints, rehearse: false });
  }

  /** Fills the pool now, one session after the other. */
  async fill(): Promise<void> {
    while (!this.#closed && this.#plan.zygote.isAlive && this.#missing() > 0) {
      const made = await this.#make();
      if (!made) return;
    }
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    clearInterval(this.#pulse);
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

  #stayHot(): void {
    const now = performance.now();
    const isSoon = now - this.#lastTaken < HOT_MS;
    this.#lastTaken = now;
    if (!isSoon || this.#pulse !== undefined || this.#closed || this.#plan.size === 0) return;
    this.#lastBeat = now;
    this.#pulse = setInterval(() => this.#beat(), BEAT_MS);
    this.#pulse.unref();
  }

  #beat(): void {
    const now = performance.now();
    const isLate = now - this.#lastBeat > 2 * BEAT_MS;
    this.#lastBeat = now;
    if (now - this.#lastTaken > HOT_MS) {
      clearInterval(this.#pulse);
      this.#pulse = undefined;
      return;
    }
    const next = this.#ready.at(-1);
    // A late beat tells that somebody else needs the processor.
    if (next !== undefined && !isLate) this.#plan.rehearsal.play(next.stage);
  }

  async #make(): Promise<boolean> {
    this.#making += 1;
    const { zygote, limits, keepCheckpoints, rehearsal } = this.#plan;
    const session = zygote.spawn({ limits, keepCheckpoints, rehearse: true });
    let stage: Stage;
    try {
      stage = await rehearsal.prepare(session);
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
    const ready = { session, stage };
    this.#ready.push(ready);
    const withdraw = () => {
      const index = this.#ready.indexOf(ready);
      if (index < 0) return;
      this.#ready.splice(index, 1);
      session.close();
    };
    session.ended.then(withdraw);
    // A head that was lost while nobody had the session is no loss to anybody.
    stage.deserted.then(withdraw);
    return true;
  }
}

function sameLimits(left: Limits, right: Limits): boolean {
  return (Object.keys(left) as (keyof Limits)[]).every((key) => left[key] === right[key]);
}
