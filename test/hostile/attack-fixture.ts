import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { isCellarError, NativeRuntime } from "../../src/index.js";
import { AttackRunner, CONFIG } from "./attack-runner.js";

/** The runner of a test file. Where a machine has no walls, the tests are skipped and say why. */
export class AttackFixture {
  #runner: AttackRunner | undefined;

  constructor() {
    const absence = needWalls();
    beforeAll(async () => {
      if (absence() === undefined) this.#runner = await AttackRunner.open();
    });
    afterAll(() => this.#runner?.[Symbol.asyncDispose]());
  }

  get runner(): AttackRunner {
    if (this.#runner === undefined) throw new Error("the runner is not open");
    return this.#runner;
  }

  /** After the group the host is as healthy as before. */
  keepHost(): void {
    afterAll(() => this.#runner?.expectHealth());
  }

  /** After each test the session beside the attacked one still answers. */
  keepNeighbour(): void {
    afterEach(async () => {
      try {
        await this.#runner?.expectNeighbour();
      } catch (error) {
        // The next test is not to fail for what this one did.
        await this.#runner?.furnishNeighbour();
        throw error;
      }
    });
  }
}

/** Skips the tests of a file where the machine has no walls; gives the reason, once it is known. */
export function needWalls(): () => string | undefined {
  let absence: string | undefined;
  beforeAll(async () => {
    absence = await wallsAbsence();
  });
  beforeEach((context) => {
    if (absence !== undefined) context.skip(absence);
  });
  return () => absence;
}

/** An obstacle that has a name is the machine's. Any other one is a fault, and fails the tests. */
async function wallsAbsence(): Promise<string | undefined> {
  await using runtime = new NativeRuntime();
  try {
    await using _sandbox = await runtime.createSandbox({ ...CONFIG, poolSize: 0 });
    return undefined;
  } catch (error) {
    if (!isCellarError(error, "SANDBOX_UNAVAILABLE")) throw error;
    if (error.details.cause === "unknown") throw error;
    return error.message;
  }
}
