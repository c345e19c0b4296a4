import { keepingAlive } from "./keep-alive.js";

/** Runs tasks one after the other, in the order in which they came. */
export class TaskQueue {
  #tail: Promise<unknown> = Promise.resolve();

  run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(task);
    this.#tail = result.catch(() => {});
    return keepingAlive(result);
  }
}
