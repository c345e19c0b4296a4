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

  close(): void {
    clearInterval(this.#keeper);
    this.#keeper = undefined;
  }

  /** Sessions do not keep the process alive, but somebody who waits for one does. */
  #hold(): void {
    this.#waiting += 1;
    if (this.#keeper === undefined) this.#keeper = setInterval(() => {}, 2 ** 30);
    else if (this.#waiting === 1) this.#keeper.ref();
  }

  #release(): void {
    this.#waiting -= 1;
    if (this.#waiting === 0) this.#keeper?.unref();
  }
}
