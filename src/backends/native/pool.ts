import type { Limits } from "../../protocol/messages.js";
import type { Family } from "../family/family.js";
import type { Zygote } from "./zygote.js";

/** A refill right behind a request would compete with it for the processor. */
const REFILL_DELAY_MS = 20;

/** One session is often followed by another soon: so long the next one is kept in the caches. */
const HOT_MS = 1000;
const BEAT_MS = 15;

/** Sessions made ahead. One that was handed out is never taken back. */
export class Pool {
  readonly #zygote: Zygote;
  readonly #limits: Limits;
  readonly #keep: number;
  readonly #size: number;
  readonly #ready: Family[] = [];
  #making = 0;
  #timer: NodeJS.Timeout | undefined;
  #pulse: NodeJS.Timeout | undefined;
  #hotUntil = 0;
  #closed = false;

  constructor(zygote: Zygote, limits: Limits, keepCheckpoints: number, size: number) {
    this.#zygote = zygote;
    this.#limits = limits;
    this.#keep = keepCheckpoints;
    this.#size = size;
  }

  get ready(): number {
    return this.#ready.length;
  }

  /** A warm session when there is one of that kind, else a cold one. */
  take(limits: Limits, keepCheckpoints: number): Family {
    const fits = keepCheckpoints === this.#keep && sameLimits(limits, this.#limits);
    // The newest first: more of it is still in the caches.
    const warm = fits ? this.#ready.pop() : undefined;
    this.#refillLater();
    this.#stayHot();
    if (warm?.isAlive === true) return warm;
    return this.#zygote.spawn({ limits, keepCheckpoints, rehearse: false });
  }

  /** Fills the pool now, one session after the other. */
  async fill(): Promise<void> {
    while (!this.#closed && this.#zygote.isAlive && this.#missing() > 0) {
      const made = await this.#make();
      if (!made) return;
    }
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    clearInterval(this.#pulse);
    for (const family of this.#ready.splice(0)) family.close();
  }

  #missing(): number {
    return this.#size - this.#ready.length - this.#making;
  }

  #refillLater(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.fill(), REFILL_DELAY_MS);
    this.#timer.unref();
  }

  #stayHot(): void {
    this.#hotUntil = performance.now() + HOT_MS;
    if (this.#pulse !== undefined || this.#closed || this.#size === 0) return;
    this.#pulse = setInterval(() => this.#beat(), BEAT_MS);
    this.#pulse.unref();
  }

  #beat(): void {
    if (performance.now() > this.#hotUntil) {
      clearInterval(this.#pulse);
      this.#pulse = undefined;
      return;
    }
    const next = this.#ready.at(-1)?.head(0, 0);
    next?.then((head) => head.request("rehearse", {})).catch(() => {});
  }

  async #make(): Promise<boolean> {
    this.#making += 1;
    const family = this.#zygote.spawn({
      limits: this.#limits,
      keepCheckpoints: this.#keep,
      rehearse: true,
    });
    try {
      const head = await family.head(0, 0);
      await head.request("configure", { environment: {} });
    } catch {
      family.close();
      return false;
    } finally {
      this.#making -= 1;
    }
    if (this.#closed) {
      family.close();
      return false;
    }
    this.#ready.push(family);
    family.ended.then(() => {
      const index = this.#ready.indexOf(family);
      if (index >= 0) this.#ready.splice(index, 1);
    });
    return true;
  }
}

function sameLimits(left: Limits, right: Limits): boolean {
  return (Object.keys(left) as (keyof Limits)[]).every((key) => left[key] === right[key]);
}
