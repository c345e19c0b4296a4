import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const PROCESS = fileURLToPath(new URL("./provider_process.mjs", import.meta.url));

/** A model provider on loopback, in its own process so that it does not slow down what is measured. */
export class Provider {
  #child = fork(PROCESS, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  #ended = once(this.#child, "exit").then(() => {
    throw new Error("the model provider exited");
  });
  baseUrl;

  constructor() {
    // Reported by the next request.
    this.#ended.catch(() => {});
  }

  /** The models by name: `{ replies }`, `{ words }` or `{ oracle }`, each with `latencyMs`. */
  static async start(models) {
    const provider = new Provider();
    const { port } = await provider.#ask({ models });
    provider.baseUrl = `http://127.0.0.1:${port}/v1`;
    return provider;
  }

  /** The requests since the last call: model, tokens, and times of arrival and answer in ms. */
  report() {
    return this.#ask({});
  }

  async #ask(message) {
    this.#child.send(message);
    const [answer] = await Promise.race([once(this.#child, "message"), this.#ended]);
    return answer;
  }

  async [Symbol.asyncDispose]() {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#child.disconnect();
    await ended;
  }
}

/** Input and output of all requests to that model. */
export function tokensOf(requests, model) {
  return requests
    .filter((request) => request.model === model)
    .reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0);
}
