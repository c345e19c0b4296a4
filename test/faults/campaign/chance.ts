import { createHash } from "node:crypto";

/** Decisions that look random, and are the same for the same seed. */
export class Chance {
  readonly #seed: string;
  #count = 0;

  constructor(seed: string) {
    this.#seed = seed;
  }

  below(end: number): number {
    const text = `${this.#seed}:${this.#count}`;
    this.#count += 1;
    return createHash("sha256").update(text).digest().readUInt32LE() % end;
  }

  between(first: number, last: number): number {
    return first + this.below(last - first + 1);
  }

  one<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T;
  }

  /** Each choice as often as its weight says. */
  weighted<T extends string>(weights: Readonly<Record<T, number>>): T {
    const entries = Object.entries(weights) as [T, number][];
    let left = this.below(entries.reduce((sum, [, weight]) => sum + weight, 0));
    for (const [choice, weight] of entries) {
      if (left < weight) return choice;
      left -= weight;
    }
    return (entries[0] as [T, number])[0];
  }
}
