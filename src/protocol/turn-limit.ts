/** Frames of one link that are handled in one turn of the event loop. */
const MAX_FRAMES = 128;
/** Milliseconds of one turn that the frames of one link may take. */
const MAX_WORK_MS = 5;
/** So many frames need no look at where a turn ends. */
const FREE_FRAMES = 16;

/** Limits how much of one turn of the event loop a link may take. */
export class TurnLimit {
  readonly #nextTurn: () => void;
  #frames = 0;
  #work = 0;
  #isAwaited = false;

  /** `nextTurn` is called when a link that had taken its share may go on. */
  constructor(nextTurn: () => void) {
    this.#nextTurn = nextTurn;
  }

  /** Counts one frame; returns whether the next one has to wait for another turn. */
  count(milliseconds: number): boolean {
    this.#frames += 1;
    this.#work += milliseconds;
    const isSpent = this.#frames >= MAX_FRAMES || this.#work >= MAX_WORK_MS;
    if (isSpent || this.#frames === FREE_FRAMES) this.#awaitTurn();
    return isSpent;
  }

  #awaitTurn(): void {
    if (this.#isAwaited) return;
    this.#isAwaited = true;
    setImmediate(() => {
      this.#isAwaited = false;
      this.#frames = 0;
      this.#work = 0;
      this.#nextTurn();
    });
  }
}
