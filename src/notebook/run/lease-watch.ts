import type { Journal } from "../document/journal.js";

/** How long a notebook that was taken over goes on at most, while its process runs. */
const PACE_MS = 2_000;

/** Looks now and then whether the notebook is still held: a long cell commits nothing meanwhile. */
export class LeaseWatch implements Disposable {
  readonly #journal: Pick<Journal, "confirm">;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(journal: Pick<Journal, "confirm">) {
    this.#journal = journal;
    this.#arm();
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  #arm(): void {
    if (this.#isOver) return;
    this.#timer = setTimeout(() => void this.#look(), PACE_MS).unref();
  }

  async #look(): Promise<void> {
    // The journal itself tells of a takeover; a store that cannot be read now says nothing.
    await this.#journal.confirm().catch(() => {});
    this.#arm();
  }
}
