import { succeed } from "../program.mjs";
import { median } from "../statistics.mjs";
import { interleave, time } from "../stopwatch.mjs";

const PACKAGE = new URL("../../dist/index.js", import.meta.url).href;
const PAUSE_MS = 50;

/** A Node process that imports the package, against one that does nothing. */
export const importPackage = {
  key: "import_vs_node",
  target: { at_most: 2 },
  async run({ count }) {
    const samples = await interleave(
      {
        cellar: () => timeNode(`import(${JSON.stringify(PACKAGE)})`),
        node: () => timeNode("0"),
      },
      { rounds: count(40, 5), warmups: 2, pause: PAUSE_MS },
    );
    return {
      ratio: median(samples.cellar) / median(samples.node),
      rows: [
        { name: "node -e 'import(\"cellar\")'", samples: samples.cellar },
        { name: "node -e 0", samples: samples.node },
      ],
    };
  },
};

function timeNode(code) {
  return time(() => succeed(process.execPath, ["-e", code]));
}
