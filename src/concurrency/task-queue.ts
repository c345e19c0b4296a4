import { keepingAlive } from "./keep-alive.js";

/** Runs tasks one after the other, in the order in which they came. */
export class TaskQueue {
  #tail: Promise<unknown> = Promise.resolve();

  run<T>(task: () => Promise<T>): Promise<T> {
    const result = keepingAlive(this.#tail.then(task));
    // Handled here: a caller who does not wait for a failed task must not end the process.
    this.#tail = result.catch(() => {});
    return result;
  }
}
