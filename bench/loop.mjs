import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openAIChat, rlm } from "../dist/index.js";

const CONFIG = { backend: "native", minIsolation: "L0" };

/** Runs of the loop with a provider, and a temporary folder for long outputs. */
export class Loops {
  #provider;
  #spillDir = mkdtempSync(join(tmpdir(), "cellar-bench-"));

  constructor(provider) {
    this.#provider = provider;
  }

  model(name, options) {
    return openAIChat({ model: name, baseUrl: this.#provider.baseUrl, ...options });
  }

  run({ config, ...options }) {
    const agent = { spillDir: this.#spillDir };
    return rlm({ query: "What is it?", agent, ...options, config: { ...CONFIG, ...config } });
  }

  /** A run that must end with an answer: a failed one would be measured as fast. */
  async answer(options) {
    const result = await this.run(options);
    if (result.status === "answered") return result;
    throw new Error(`a run ended as ${result.status}: ${result.error?.message ?? result.answer}`);
  }

  [Symbol.dispose]() {
    rmSync(this.#spillDir, { recursive: true, force: true });
  }
}

/** A model's reply that runs this code. */
export function cell(code) {
  return `I run this.\n\`\`\`repl\n${code}\n\`\`\``;
}
