import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { shutdown } from "../../src/index.js";
import { needWalls } from "../hostile/attack-fixture.js";
import { AcceptedDifferences } from "./tool/accepted.js";
import { runCampaign } from "./tool/campaign.js";
import { findKernel, type Kernel } from "./tool/jupyter-side.js";
import { reportOf } from "./tool/report.js";
import { findSources } from "./tool/sources.js";

const home = dirname(fileURLToPath(import.meta.url));
const python = join(dirname(dirname(home)), ".venv", "bin", "python");

needWalls();
afterAll(shutdown);

describe("the everyday cells of the corpus", () => {
  let kernel: Kernel | undefined;
  let absence = "there is no .venv: npm run setup";

  beforeAll(async () => {
    if (!existsSync(python)) return;
    try {
      kernel = await findKernel(python);
    } catch (error) {
      absence = (error as Error).message;
    }
  });

  it("come out as in ipykernel", async (context) => {
    if (kernel === undefined) return context.skip(absence);
    const { sources } = findSources([join(home, "corpus")]);
    const accepted = AcceptedDifferences.read(join(home, "accepted.json"));
    const judged = await runCampaign(
      sources.filter(({ name }) => name.endsWith("/everyday.py")),
      {
        kernel,
        program: join(home, "tool", "jupyter_side.py"),
        preload: "none",
        timeoutMs: 60_000,
        memoryMb: 1024,
        parallel: 1,
        twice: false,
        pixels: true,
        accepted,
        signal: new AbortController().signal,
        say: () => {},
      },
    );
    const cells = judged.flatMap((notebook) => notebook.cells);
    expect(cells.length).toBeGreaterThan(50);
    const different = cells.filter(({ verdict }) => verdict !== "alike" && verdict !== "accepted");
    expect(different, reportOf(judged, [])).toEqual([]);
  });
});
