import {
  closeSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { open, openNotebook, runTrivial, TRIVIAL, TRIVIAL_OUTPUT } from "../cellar.mjs";
import { median } from "../statistics.mjs";
import { interleave, time } from "../stopwatch.mjs";

/** Long enough for the previous snapshot. */
const PAUSE_MS = 150;
/** About what a cell adds: code, output, times. */
const RECORD = Buffer.alloc(1024, "x");

/** A notebook cell, durable when it is answered, against the lowest possible cost of that. */
export const notebookCell = {
  key: "notebook_cell_vs_floor",
  target: { at_most: 2 },
  async run({ runtime, count, use }) {
    const folder = use(new Folder());
    const sandbox = use(await open(runtime, {}));
    const notebook = await openNotebook(runtime, { dir: folder.path, session: "cells" });
    use({ [Symbol.asyncDispose]: () => notebook.close() });
    const samples = await interleave(
      {
        notebook: () => time(() => runCell(notebook)),
        live: () => time(() => runTrivial(sandbox)),
        saved: () => time(() => folder.save()),
        floor: () =>
          time(async () => {
            await runTrivial(sandbox);
            folder.save();
          }),
      },
      { rounds: count(60, 5), pause: PAUSE_MS },
    );
    return {
      ratio: median(samples.notebook) / median(samples.floor),
      rows: [
        { name: "Cellar, a notebook cell", samples: samples.notebook },
        { name: "Cellar, a live cell, then one write, fsync, rename", samples: samples.floor },
        { name: "Cellar, the live cell alone", samples: samples.live },
        { name: "one write, fsync, rename of 1 KB", samples: samples.saved },
      ],
    };
  },
};

async function runCell(notebook) {
  const { state, outputs } = await notebook.run(TRIVIAL);
  if (state !== "COMPLETED" || outputs[0]?.text !== TRIVIAL_OUTPUT) {
    throw new Error(`a cell ended with ${state}`);
  }
}

/** On the same disk as the notebook. */
class Folder {
  path = mkdtempSync(join(tmpdir(), "cellar-bench-"));

  save() {
    const temporary = join(this.path, "record.new");
    const file = openSync(temporary, "w");
    writeSync(file, RECORD);
    fsyncSync(file);
    closeSync(file);
    renameSync(temporary, join(this.path, "record"));
  }

  [Symbol.dispose]() {
    rmSync(this.path, { recursive: true, force: true });
  }
}
