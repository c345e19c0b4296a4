import { openAgent, openShared, runTrivial, TRIVIAL } from "../cellar.mjs";
import { median } from "../statistics.mjs";
import { interleave, time } from "../stopwatch.mjs";

/** Long enough for the previous checkpoint. */
const PAUSE_MS = 50;
const OBSERVATION = "2";

/** A turn of an agent, against a plain `execute` of the same cell. */
export const turn = {
  key: "turn_vs_execute",
  target: { at_most: 2 },
  async run({ count, use }) {
    const repl = use(await openAgent({}));
    const sandbox = use(await openShared({}));
    const samples = await interleave(
      { turn: () => time(() => takeTurn(repl)), execute: () => time(() => runTrivial(sandbox)) },
      { rounds: count(150, 10), pause: PAUSE_MS },
    );
    return {
      ratio: median(samples.turn) / median(samples.execute),
      rows: [
        { name: "Cellar, an agent's turn: print(1+1)", samples: samples.turn },
        { name: "Cellar, execute of the same cell", samples: samples.execute },
      ],
    };
  },
};

async function takeTurn(repl) {
  const { observation } = await repl.turn(TRIVIAL);
  if (observation !== OBSERVATION) throw new Error(`a turn showed ${observation}`);
}
