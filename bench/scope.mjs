/** Holds what a benchmark opened and ends it in reverse order, whatever happened. */
export class Scope {
  #held = [];

  /** Registers a disposable and gives it back. */
  use = (resource) => {
    this.#held.push(resource);
    return resource;
  };

  async close() {
    for (const resource of this.#held.splice(0).reverse()) {
      await (resource[Symbol.asyncDispose] ?? resource[Symbol.dispose]).call(resource);
    }
  }
}
