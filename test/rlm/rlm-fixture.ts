import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach } from "vitest";
import { type CodeExecution, type NativeRuntime, rlm, shutdown } from "../../src/index.js";
import {
  type Price,
  type RLMOptions,
  type RLMResult,
  type ScriptedAnswer,
  type ScriptedModel,
  scripted,
} from "../../src/rlm/index.js";
import { openNativeRuntime } from "../support/native-runtime.js";

export const text = (run: CodeExecution): string | undefined => run.result?.["text/plain"];

/** A response that runs this code. */
export const fence = (code: string, language = "repl"): string =>
  `Let me look.\n\`\`\`${language}\n${code}\n\`\`\``;

export interface Asked {
  readonly result: RLMResult;
  readonly model: ScriptedModel;
  /** What the model was told before it gave its answer with this number, from 0. */
  told(answer: number): string;
}

export interface Circumstances extends Partial<Omit<RLMOptions, "model">> {
  readonly price?: Price | undefined;
}

export interface RlmFixture {
  readonly runtime: NativeRuntime;
  /** Gone after the tests. */
  readonly folder: string;
  /** A loop whose model gives these answers. */
  ask(answers: readonly (string | ScriptedAnswer)[], options?: Circumstances): Promise<Asked>;
}

/** Where the machine has no walls, the tests of the file are skipped and say why. */
export async function openFixture(): Promise<RlmFixture> {
  const { runtime, unavailable } = await openNativeRuntime();
  const folder = mkdtempSync(join(tmpdir(), "cellar-rlm-"));
  beforeEach((context) => {
    if (unavailable !== undefined) context.skip(unavailable);
  });
  afterAll(async () => {
    await runtime[Symbol.asyncDispose]();
    await shutdown();
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  });
  return {
    runtime,
    folder,
    async ask(answers, { price, ...options } = {}) {
      const model = scripted(answers, { price });
      const result = await rlm({
        query: "What is it?",
        context: "a context",
        model,
        ...options,
        config: { backend: "native", preload: "none", ...options.config },
        agent: { spillDir: folder, ...options.agent },
      });
      const told = (answer: number) => model.requests[answer]?.messages.at(-1)?.content ?? "";
      return { result, model, told };
    },
  };
}
