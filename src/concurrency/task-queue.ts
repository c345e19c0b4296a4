/** Runs tasks one after the other, in the order in which they came. */
export class TaskQueue {
  #tail: Promise<unknown> = Promise.resolve();
  #keeper: NodeJS.Timeout | undefined;
  #waiting = 0;

  run<T>(task: () => Promise<T>): Promise<T> {
    this.#hold();
    const result = this.#tail.then(task);
    const release = () => this.#release();
    this.#tail = result.then(release, release);
    return result;
  }

  /** Sessions do not keep the process alive, but somebody who waits for one does. */
  #hold(): void {
    this.#waiting += 1;
    this.#keeper ??= setInterval(() => {}, 2 ** 30);
  }

  /** A queue that nobody closes leaves no timer behind either. */
  #release(): void {
    this.#waiting -= 1;
    if (this.#waiting > 0) return;
    clearInterval(this.#keeper);
    this.#keeper = undefined;
  }
}
