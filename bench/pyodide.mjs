import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PyodideRuntime } from "../dist/backends/pyodide/runtime.js";

/** A runtime with its own cache, which already has the snapshot. */
export class PyodideHouse {
  #cache = mkdtempSync(join(tmpdir(), "cellar-bench-"));
  runtime = new PyodideRuntime({ cache: this.#cache });
  #plain = new PyodideRuntime({ cache: this.#cache, snapshots: false });

  static async open() {
    const house = new PyodideHouse();
    const first = await house.create();
    await first.destroy();
    return house;
  }

  create(config) {
    return this.runtime.createSandbox({ minIsolation: "L0", spares: 0, ...config });
  }

  /** Started by `loadPyodide()` in the same kind of process, behind the same wall. */
  createPlain() {
    return this.#plain.createSandbox({ minIsolation: "L0", spares: 0 });
  }

  async [Symbol.asyncDispose]() {
    await this.runtime[Symbol.asyncDispose]();
    await this.#plain[Symbol.asyncDispose]();
    rmSync(this.#cache, { recursive: true, force: true });
  }
}
