/** Disposes of what a benchmark opened, in reverse order, even after errors. */
export class Scope {
  #held = [];

  /** Registers a disposable and returns it. */
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
