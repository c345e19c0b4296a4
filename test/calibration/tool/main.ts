import { parseArgs } from "node:util";
import { LexicalEmbedder } from "../../../src/agent/research/lexical-embedder.js";
import { OpenAIEmbedder } from "../../../src/agent/research/openai-embedder.js";
import { describeError, isCellarError } from "../../../src/errors.js";
import { calibrate } from "./calibration.js";

const HELP = `Finds the threshold from which on two texts belong together, for an embedder.

npm run calibrate                                     for the lexical embedder
npm run calibrate -- --base-url URL --model NAME      for a model behind /v1/embeddings
  --key-name VARIABLE                                 the environment variable that has its key`;

async function main(argv: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      "base-url": { type: "string" },
      model: { type: "string" },
      "key-name": { type: "string" },
      help: { type: "boolean" },
    },
  });
  if (values.help === true) {
    console.log(HELP);
    return 0;
  }
  const { "base-url": baseUrl, model, "key-name": keyName } = values;
  if ((baseUrl === undefined) !== (model === undefined)) {
    throw new Error("--base-url and --model go together");
  }
  const embedder =
    baseUrl === undefined || model === undefined
      ? new LexicalEmbedder()
      : new OpenAIEmbedder({
          baseUrl,
          model,
          key: keyName === undefined ? undefined : { env: keyName },
        });
  const { threshold, f1, precision, recall } = await calibrate(embedder);
  const rounded = [f1, precision, recall].map((value) => value.toFixed(2));
  console.log(`${embedder.name}: threshold ${threshold}`);
  console.log(`F1 ${rounded[0]}, precision ${rounded[1]}, recall ${rounded[2]}`);
  return 0;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const remedy = (isCellarError(error) && error.remedy) || "npm run calibrate -- --help";
  console.error(`calibrate: ${describeError(error)}\nfix: ${remedy}`);
  process.exitCode = 2;
}
