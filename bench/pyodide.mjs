import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PyodideRuntime } from "../dist/backends/pyodide/runtime.js";

/** A runtime with a cache of its own, in which the snapshot is already made. */
export class PyodideHouse {
  #cache = mkdtempSync(join(tmpdir(), "cellar-bench-"));
  runtime = new PyodideRuntime({ cache: this.#cache });

  static async open() {
    const house = new PyodideHouse();
    const first = await house.create();
    await first.destroy();
    return house;
  }

  create(config) {
    return this.runtime.createSandbox({ minIsolation: "L0", spares: 0, ...config });
  }

  async [Symbol.asyncDispose]() {
    await this.runtime[Symbol.asyncDispose]();
    rmSync(this.#cache, { recursive: true, force: true });
  }
}
