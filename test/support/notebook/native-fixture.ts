import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import type { NativeRuntime } from "../../../src/backends/native/runtime.js";
import { openNativeRuntime } from "../native-runtime.js";

/** What a test file behind walls stands on: a runtime, a folder, and what is closed after each test. */
export class NativeFixture<Kept extends { close(): Promise<void> }> {
  readonly #open: Kept[] = [];
  #runtime: NativeRuntime | undefined;
  #dir = "";

  constructor(name: string) {
    let absence: string | undefined;
    beforeAll(async () => {
      const walls = await openNativeRuntime();
      absence = walls.unavailable;
      this.#runtime = walls.runtime;
      this.#dir = mkdtempSync(join(tmpdir(), `cellar-${name}-`));
    });
    beforeEach((context) => {
      if (absence !== undefined) context.skip(absence);
    });
    afterEach(async () => {
      await Promise.all(this.#open.splice(0).map((one) => one.close()));
    });
    afterAll(async () => {
      await this.#runtime?.[Symbol.asyncDispose]();
      if (this.#dir !== "") rmSync(this.#dir, { recursive: true, force: true, maxRetries: 10 });
    });
  }

  get dir(): string {
    return this.#dir;
  }

  get runtime(): NativeRuntime {
    if (this.#runtime === undefined) throw new Error("there are no walls");
    return this.#runtime;
  }

  /** Closed when the test ends. */
  keep(one: Kept): Kept {
    this.#open.push(one);
    return one;
  }
}
