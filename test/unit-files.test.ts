import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Sources, testSources, unitFiles } from "./unit-files.js";

const made = (files: Record<string, string>): Sources => new Map(Object.entries(files));

describe("the unit tests", () => {
  it("are those that cannot start a process, however far away it would be started", () => {
    const sources = made({
      "src/a.ts": 'import {\n  spawn,\n} from "node:child_process";',
      "src/b.ts": 'export { a } from "./a.js";',
      "src/c.ts": 'const b = await import("./b.js");',
      "src/d.ts": 'import { isMainThread } from "node:worker_threads";',
      "src/e.ts": 'import { Worker } from "node:worker_threads";',
      "src/f.ts": 'import { f } from "./g.js";',
      "src/g.ts": 'import { g } from "./f.js";',
      "src/far.test.ts": 'import { c } from "./c.js";',
      "src/worker.test.ts": 'import "./e.js";',
      "src/wasm.test.ts": 'const p = await import("pyodide");',
      "src/cycle.test.ts": 'import { f } from "./f.js";',
      "src/near.test.ts": 'import { d } from "./d.js";',
      "src/typed.test.ts": 'import type { A } from "./a.js";\n// import { a } from "./a.js";',
      "src/quoted.test.ts": "const text = 'import { exec } from \"child_process\"';",
      "src/suite.case.test.ts": "",
    });
    expect(unitFiles(sources)).toEqual(
      ["cycle", "near", "quoted", "typed"].map((name) => `src/${name}.test.ts`),
    );
  });

  it("are many of this checkout's, and none that opens a session", () => {
    const files = unitFiles(testSources(join(import.meta.dirname, "..")));
    expect(files).toContain("test/unit-files.test.ts");
    expect(files).not.toContain("test/examples.test.ts");
    expect(files.length).toBeGreaterThan(100);
  });
});
