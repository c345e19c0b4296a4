import { writeFileSync } from "node:fs";

/** Writes Vitest's counts, with the reason for each skip, to the file named in the environment. */
export default class CountsReporter {
  #filtered = false;

  onInit(vitest) {
    this.#filtered = vitest.config.testNamePattern !== undefined;
  }

  onTestRunEnd(modules, unhandledErrors) {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: [] };
    for (const module of modules) {
      const tests = [...module.children.allTests()];
      for (const test of tests) this.#count(test, counts);
      const failedInside = tests.some((test) => test.result().state === "failed");
      // A file that does not load, or a hook that throws, fails without any failed test.
      if (module.state() === "failed" && !failedInside) counts.failed += 1;
    }
    writeFileSync(process.env.CELLAR_TEST_COUNTS, JSON.stringify(counts));
  }

  #count(test, counts) {
    const { state, note = "" } = test.result();
    if (state === "passed") counts.passed += 1;
    else if (state === "failed") counts.failed += 1;
    // A name filter skips the other tests without a reason.
    else if (note !== "" || !this.#filtered) {
      counts.skipped.push({ name: test.fullName, reason: note });
    }
  }
}
