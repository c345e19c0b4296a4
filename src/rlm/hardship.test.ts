import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { openNativeRuntime } from "../../test/support/native-runtime.js";
import { shutdown } from "../backends/shared.js";
import { CellarError } from "../errors.js";
import { functionModel } from "./models/function-model.js";
import { scripted } from "./models/scripted.js";
import { type RLMOptions, rlm } from "./rlm.js";

const { runtime, unavailable } = await openNativeRuntime();
const folder = mkdtempSync(join(tmpdir(), "cellar-hardship-"));
const fence = (code: string) => `\`\`\`repl\n${code}\n\`\`\``;

afterAll(async () => {
  await runtime[Symbol.asyncDispose]();
  await shutdown();
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
});

function run<T>(options: Omit<RLMOptions<T>, "query">) {
  return rlm<T>({
    query: "How is it?",
    ...options,
    config: { backend: "native", preload: "none" },
    agent: { spillDir: folder },
  });
}

const TRYING = `
failed = 0
for _ in range(20):
    try:
        llm_query("x")
    except HostError as error:
        failed, last = failed + 1, str(error)
print(failed, last)`;

describe("a run in hardship", () => {
  beforeEach((context) => {
    if (unavailable !== undefined) context.skip(unavailable);
  });

  it("counts requests that fail, so that code cannot ask for ever", async () => {
    let asked = 0;
    const subModel = functionModel(() => {
      asked += 1;
      throw new Error("down");
    });
    const model = scripted([fence(TRYING), "FINAL(done)"]);
    const result = await run({ model, subModel, budget: { calls: 6 } });
    expect(result).toMatchObject({ status: "answered", usage: { calls: 6 } });
    expect(asked).toBe(4);
    const left = result.trace.filter(({ type }) => type === "budget");
    expect(left).toMatchObject([{ left: { calls: 1, turns: 29, depth: 1 } }]);
    expect(model.requests[1]?.messages.at(-1)?.content).toContain("20 the budget of calls");
  });

  it("is replayed with failures that had a cost", async () => {
    const record = join(folder, "paid.cassette");
    const details = { usage: { inputTokens: 50, outputTokens: 70 } };
    const subModel = functionModel(() => {
      throw new CellarError("REMOTE_ERROR", "it broke off", { details });
    });
    const model = scripted([fence(TRYING), "FINAL(done)"]);
    const budget = { tokens: 100_000 };
    const recorded = await run({ model, subModel, budget, record });
    expect(recorded.usage.outputTokens).toBeGreaterThanOrEqual(20 * 70);
    const played = await run({ replay: record, budget });
    expect(played).toMatchObject({ status: "answered", error: undefined, usage: recorded.usage });
  });

  it("has no key in its recording, wherever it turns up, and is replayed", async () => {
    const record = join(folder, "keys.cassette");
    const key = "sk-very-secret-key";
    const model = { ...scripted([fence(`print('${key}')`), "FINAL(ok)"]), secrets: () => [key] };
    expect(await run({ model, record })).toMatchObject({ status: "answered" });
    expect(readFileSync(record, "utf8")).toContain("[hidden]");
    expect(readFileSync(record, "utf8")).not.toContain(key);
    expect(await run({ replay: record })).toMatchObject({ status: "answered", error: undefined });
  });

  it("keeps its answer when the trace cannot be written", async (context) => {
    if (!existsSync("/dev/full")) context.skip("there is no /dev/full");
    const model = scripted([fence("FINAL(6 * 7)")]);
    const result = await run({ model, trace: "/dev/full" });
    expect(result).toMatchObject({ status: "failed", answer: "42", error: { code: "IO_ERROR" } });
  });

  it.each([
    ["<think>Is it 1?</think>\nIt is 42.", "It is 42."],
    ["FINAL_VAR(found)", "42"],
    ["FINAL(41 and 1)", "41 and 1"],
    ["<think>I do not know.</think>", null],
  ])("takes the last word %j for %j when the turns are over", async (last, answer) => {
    const model = scripted([fence("found = 42"), last]);
    const result = await run({ model, budget: { turns: 1 } });
    expect(result).toMatchObject({ status: "out-of-turns", answer });
  });

  it("gives the last word as data, where it fits", async () => {
    const model = scripted(["Hm.", '{"host": "db-3"}']);
    const output = z.object({ host: z.string() });
    const result = await run({ model, output, budget: { turns: 1 } });
    expect(result).toMatchObject({ status: "out-of-turns", output: { host: "db-3" } });
  });

  it.each(["FINAL(2024)", fence("FINAL('2024')")])(
    "takes a text for a text that was wanted, number or not: %s",
    async (text) => {
      const result = await run({ model: scripted([text]), output: z.string() });
      expect(result).toMatchObject({ status: "answered", output: "2024" });
    },
  );

  it.each([
    "FINAL('x' * 1_200_000)",
    "answer['content'] = 'x' * 10_000_000; answer['ready'] = True",
  ])("does not end by a text that was cut: %s", async (code) => {
    const model = scripted([fence(code), "FINAL(short)"]);
    expect(await run({ model })).toMatchObject({ status: "answered", answer: "short" });
    expect(model.requests[1]?.messages.at(-1)?.content).toContain("cannot be passed on as a whole");
  });

  it("uses its last request for the answer, not for a summary", async () => {
    const model = scripted(
      [
        fence(`print('${"word ".repeat(300)}')`),
        fence("print(2)"),
        {
          text: "FINAL(done)",
          when: ({ messages }) => /one request more/.test(messages.at(-1)?.content ?? ""),
        },
      ],
      { contextWindow: 800 },
    );
    const result = await run({ model, budget: { calls: 3 } });
    expect(result).toMatchObject({ status: "answered", answer: "done", usage: { calls: 3 } });
  });

  it("says what is wrong with its options before anybody is paid", async () => {
    const model = scripted(["FINAL(1)"]);
    const wrong = [{ output: { type: "string" } }, { subModel: "small" }, { models: { one: 1 } }];
    for (const options of wrong) {
      const given = { model, ...options } as unknown as RLMOptions;
      await expect(run(given)).rejects.toMatchObject({ code: "INVALID_INPUT" });
    }
    expect(model.requests).toHaveLength(0);
  });
});
