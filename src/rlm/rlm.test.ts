import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { openNativeRuntime } from "../../test/support/native-runtime.js";
import { hostTool } from "../backends/host-tools/host-tool.js";
import { shutdown } from "../backends/shared.js";
import { scripted } from "./models/scripted.js";
import { type RLMOptions, rlm } from "./rlm.js";
import { readTrace } from "./trace/trace.js";

const { runtime, unavailable } = await openNativeRuntime();
const folder = mkdtempSync(join(tmpdir(), "cellar-rlm-"));
const TEXT = Array.from({ length: 2000 }, (_, index) =>
  index === 777 ? "the secret number is 4711" : `line ${index}`,
).join("\n");

afterAll(async () => {
  await runtime[Symbol.asyncDispose]();
  await shutdown();
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
});

const FREE = { inputPerMillion: 0, outputPerMillion: 0 };

function run<T>(options: Omit<RLMOptions<T>, "query"> & { query?: string }) {
  return rlm<T>({
    query: "What is the secret number?",
    context: TEXT,
    ...options,
    config: { backend: "native", preload: "none", ...options.config },
    agent: { spillDir: folder },
  });
}

const fence = (code: string) => `Let me look.\n\`\`\`repl\n${code}\n\`\`\``;

describe("the loop", () => {
  beforeEach((context) => {
    if (unavailable !== undefined) context.skip(unavailable);
  });

  it("explores, sees what it printed, and answers", async () => {
    const model = scripted([
      fence("hits = grep('secret')\nprint(hits)"),
      fence("FINAL(int(hits[0].split()[-1]))"),
    ]);
    const result = await run({ model });
    expect(result).toMatchObject({ status: "answered", answer: "4711", output: 4711, turns: 2 });
    expect(result.usage.calls).toBe(2);
    const seen = model.requests[1]?.messages.at(-1)?.content ?? "";
    expect(seen).toContain("the secret number is 4711");
    expect(seen).toContain("Turn 2/30.");
    expect(JSON.stringify(model.requests)).not.toContain("line 1999");
    const types = result.trace.map(({ type }) => type);
    expect(types[0]).toBe("run.started");
    expect(types.at(-1)).toBe("run.ended");
    expect(types).toContain("code.output");
  });

  it.each([
    ["FINAL_VAR", "x = 'done'\nFINAL_VAR('x')", "done"],
    ["SUBMIT", "SUBMIT(number=4711)", "{'number': 4711}"],
    ["answer", "answer['content'] = 'done'; answer['ready'] = True", "done"],
  ])("ends by %s", async (_, code, answer) => {
    expect(await run({ model: scripted([fence(code)]) })).toMatchObject({
      status: "answered",
      answer,
    });
  });

  it("ends by a line of prose only where no code ran", async () => {
    const model = scripted([`${fence("print('seen')")}\nFINAL(invented)`, "FINAL(f(x) = 3, seen)"]);
    const result = await run({ model });
    expect(result).toMatchObject({ status: "answered", answer: "f(x) = 3, seen", turns: 2 });
    expect(model.requests[1]?.messages.at(-1)?.content).toContain("did not count");
  });

  it("does not end by what was written before its output was seen", async () => {
    const model = scripted([
      fence("print('seen')\nFINAL('invented')"),
      `${fence("1 / 0")}\n${fence("FINAL(context_len())")}`,
      `${fence("print('more')")}\n${fence("answer['content'] = '12'; answer['ready'] = True")}`,
      `${fence("n = context_len()\nprint(n)")}\n${fence("FINAL(n)")}`,
    ]);
    const result = await run({ model });
    expect(result).toMatchObject({ status: "answered", output: TEXT.length, turns: 4 });
    const told = [1, 2, 3].map((at) => model.requests[at]?.messages.at(-1)?.content ?? "");
    expect(told[0]).toMatch(/seen[\s\S]*written before you saw/);
    expect(told[1]).toMatch(/ZeroDivisionError[\s\S]*a block before it failed/);
    expect(told[2]).toMatch(/more[\s\S]*written before you saw/);
  });

  it("does not end by an empty answer, nor by one whose cell failed", async () => {
    const model = scripted([
      fence("answer['ready'] = True"),
      fence("answer['content'] = 'x'\n1 / 0"),
      fence("answer['content'] = 'y'"),
    ]);
    const result = await run({ model });
    expect(result).toMatchObject({ answer: "y", turns: 3 });
    expect(model.requests[1]?.messages.at(-1)?.content).toContain("content is empty");
  });

  it("asks once more when the turns are over, and says so", async () => {
    const model = scripted([fence("1"), fence("2"), "perhaps 4711"]);
    const result = await run({ model, budget: { turns: 2 } });
    expect(result).toMatchObject({ status: "out-of-turns", answer: "perhaps 4711", turns: 2 });
  });

  it("runs every fence of a response in order, and goes on after errors", async () => {
    const model = scripted([
      `${fence("x = 1\nprint('first')")}\n${fence("1 / 0")}\n${fence("x + 1")}`,
      fence("FINAL(x)"),
    ]);
    const result = await run({ model });
    const seen = model.requests[1]?.messages.at(-1)?.content ?? "";
    expect(seen).toMatch(
      /\(block 1\):\nfirst[\s\S]*\(block 2\):[\s\S]*ZeroDivisionError[\s\S]*\(block 3\):\n2/,
    );
    expect(result.answer).toBe("1");
  });

  it("asks sub-models, in batches and by loops of their own", async () => {
    const model = scripted([
      fence(
        "parts = llm_query_batched(['a', 'bb'])\nchild = rlm_query('count it', 'xyz')\nFINAL([*parts, child])",
      ),
    ]);
    const subModel = scripted(
      [
        { text: "one", when: ({ messages }) => messages.at(-1)?.content === "a" },
        { text: "two", when: ({ messages }) => messages.at(-1)?.content === "bb" },
        { text: fence("FINAL(context_len())"), when: ({ messages }) => messages.length > 1 },
      ],
      { name: "small" },
    );
    const result = await run<unknown>({ model, subModel });
    expect(result.output).toEqual(["one", "two", "3"]);
    expect([...result.usageByDepth].map(([depth, { calls }]) => [depth, calls])).toEqual([
      [0, 3],
      [1, 1],
    ]);
  });

  it("asks a model by its name, and shows what it finds given apart", async () => {
    const model = scripted([
      fence("print(llm_query('x', model='other'))\nprint(llm_query('x', model='none'))"),
      fence("answer['content'] = 10 ** 30; answer['ready'] = True"),
    ]);
    const other = scripted(["named"], { name: "other" });
    const result = await run({ model, models: { other } });
    expect(model.requests[0]?.messages.at(-1)?.content).not.toContain("SUBMIT");
    const seen = model.requests[1]?.messages.at(-1)?.content ?? "";
    expect(seen).toMatch(/named[\s\S]*there is no model "none"; there are: scripted, other/);
    expect(result.output).toBe(10n ** 30n);
  });

  it("gives a loop below the model that was named, at that model's price", async () => {
    const model = scripted(
      [
        fence(
          "one = rlm_query('how long?', 'xyz', model='other')\nmore = rlm_query_batched(['a', 'b'], ['1', '22'], model='other')\nprint([one, *more])\nrlm_query('x', model='none')",
        ),
        fence("FINAL([one, *more, rlm_query('y', 'z')])"),
      ],
      { name: "big", price: FREE },
    );
    const long = { text: fence("FINAL(context_len())") };
    const small = scripted([long], { name: "small", price: FREE });
    const other = scripted([long, long, long], {
      name: "o",
      price: { inputPerMillion: 1_000_000, outputPerMillion: 0 },
    });
    const result = await run<unknown>({ model, subModel: small, models: { other } });
    expect(result.output).toEqual(["3", "1", "2", "1"]);
    const seen = model.requests[1]?.messages.at(-1)?.content ?? "";
    expect(seen).toMatch(
      /\['3', '1', '2'\][\s\S]*there is no model "none"; there are: small, other/,
    );
    expect([small.requests.length, other.requests.length]).toEqual([1, 3]);
    const below = result.usageByDepth.get(1);
    expect([below?.calls, result.usage.cost]).toEqual([4, below?.cost]);
    expect(below?.cost).toBeGreaterThan(1);
  });

  it("asks the model that was named where rlm_query may go no deeper", async () => {
    const model = scripted([fence("FINAL(rlm_query('how long?', 'xyz', model='other'))")]);
    const other = scripted(["named"], { name: "other" });
    const result = await run({ model, models: { other }, budget: { depth: 0 } });
    expect(result.answer).toBe("named");
  });

  it("puts back what the model took: its context, its queries, its variables", async () => {
    const model = scripted([
      fence(
        "context = 'hijacked'\nllm_query = lambda prompt: 'hijacked'\nllm_query_batched = rlm_query = rlm_query_batched = SHOW_VARS = FINAL_VAR = llm_query\nllm_query('a')",
      ),
      fence(
        "found = [len(context), llm_query('a'), llm_query_batched(['b']), rlm_query('c'), rlm_query_batched(['d'])]\nprint(SHOW_VARS())",
      ),
      fence("FINAL_VAR('found')"),
    ]);
    const answers = ["a", "b", "c", "d"].map((letter) => ({
      text: letter.toUpperCase(),
      when: ({ messages }: { messages: readonly { content: string }[] }) =>
        messages.at(-1)?.content.startsWith(letter) === true,
    }));
    const result = await run<unknown>({ model, subModel: scripted(answers), budget: { depth: 0 } });
    expect(result.output).toEqual([TEXT.length, "A", ["B"], "C", ["D"]]);
    const [, second, third] = model.requests.map(({ messages }) => messages.at(-1)?.content ?? "");
    expect(second).toMatch(/'hijacked'[\s\S]*\[put back for the next cell: .*context/);
    expect(third).toMatch(/^found: list\[5\]/m);
    expect(third).not.toMatch(/^(llm|rlm)_query/m);
  });

  it("lets Python call functions of the host, and tells the model of them", async () => {
    const prices = hostTool({
      description: "The price of a thing, in cents.",
      inputSchema: z.object({ thing: z.string(), count: z.int().min(1).default(1) }),
      execute: async ({ thing, count }) => ({ thing, cents: 25 * count }),
    });
    const model = scripted([
      fence("try: price_of('tea', count=0)\nexcept Exception as error: print(error)"),
      fence("FINAL(price_of('tea', count=3)['cents'])"),
    ]);
    const result = await run({ model, tools: { price_of: prices } });
    expect(result).toMatchObject({ status: "answered", output: 75 });
    expect(model.requests[0]?.messages[0]?.content).toMatch(
      /- price_of\(thing: str, count: int = 1\): The price of a thing, in cents\./,
    );
    expect(model.requests[1]?.messages.at(-1)?.content).toContain("count");
    const clash = run({ model, tools: { FINAL: prices } });
    await expect(clash).rejects.toMatchObject({ code: "INVALID_CONFIG" });
  });

  it("turns rlm_query into a question where it may go no deeper", async () => {
    const model = scripted([fence("FINAL(rlm_query('how long?', 'xyz'))")]);
    const subModel = scripted(["three"]);
    const result = await run({ model, subModel, budget: { depth: 0 } });
    expect(result.answer).toBe("three");
    expect(subModel.requests[0]?.messages.at(-1)?.content).toBe("how long?\n\nxyz");
  });

  it("stays in its budget: a refused call is an exception that names it", async () => {
    const model = scripted([
      fence("try: llm_query('x')\nexcept Exception as error: seen = str(error)\nFINAL(seen)"),
    ]);
    const result = await run({ model, budget: { calls: 1 } });
    expect(result.status).toBe("answered");
    expect(result.answer).toContain("the budget of calls does not allow this");
    const over = await run({ model: scripted([fence("1"), fence("2")]), budget: { calls: 1 } });
    expect(over).toMatchObject({ status: "out-of-budget", answer: null, turns: 2 });
    expect(over.error?.message).toContain("the budget of calls");
    await expect(run({ model: scripted([]), budget: { dollars: 1 } })).rejects.toMatchObject({
      code: "INVALID_CONFIG",
    });
  });

  it("keeps what the first loop needs to answer from the calls of its code", async () => {
    const code =
      "left = []\nfor n in range(5):\n    try: llm_query('x')\n    except Exception as e: left.append(str(e))\nprint(left[0])";
    const model = scripted([fence(code), "FINAL(done)"]);
    const subModel = scripted([{ text: "y", repeat: true }]);
    const result = await run({ model, subModel, budget: { calls: 4 } });
    expect(result).toMatchObject({ status: "answered", answer: "done", usage: { calls: 4 } });
    const last = model.requests[1]?.messages.at(-1)?.content ?? "";
    expect(last).toContain("0 of 4 left beside 1 kept for the answer, 1 needed");
    expect(last).toContain("The budget allows this one request more.");
  });

  it("stops a cell and a request when the seconds are over", async () => {
    const cell = run({
      model: scripted([fence("import time\nwhile True: time.sleep(0.1)")]),
      budget: { seconds: 3 },
    });
    expect(await cell).toMatchObject({ status: "out-of-budget", error: { budget: "seconds" } });
    expect((await cell).trace.map(({ type }) => type)).toContain("code.output");
    const request = run({
      model: scripted([{ text: "late", delay: 60_000 }]),
      budget: { seconds: 0.5 },
    });
    expect(await request).toMatchObject({ status: "out-of-budget", turns: 1 });
  });

  it("gives an answer in the wanted form, or tells what is wrong with it", async () => {
    const model = scripted([fence("FINAL({'n': 'x'})"), fence("FINAL({'n': 4711})")]);
    const about = "two thousand lines";
    const result = await run({ model, about, output: z.object({ n: z.number() }) });
    expect(model.requests[0]?.messages.at(-1)?.content).toMatch(
      /JSON Schema: \{"type":"object","properties":\{"n":.*\n\nThe context: two thousand lines\n/,
    );
    expect(result).toMatchObject({ status: "answered", output: { n: 4711 }, turns: 2 });
    expect(model.requests[1]?.messages.at(-1)?.content).toContain("another form than wanted");
  });

  it.each([
    [undefined],
    [{ query: "q" }],
    [{ model: scripted([]) }],
    [{ query: " ", model: scripted([]) }],
  ])("says what it wants when it is given %j", async (options) => {
    await expect(rlm(options as unknown as RLMOptions)).rejects.toMatchObject({
      code: "INVALID_INPUT",
      remedy: expect.stringContaining("query, model"),
    });
  });

  it("can be cancelled, and fails with the model's error", async () => {
    const aborting = new AbortController();
    const slow = run({
      model: scripted([fence("import time\nwhile True: time.sleep(0.1)")]),
      signal: aborting.signal,
      onEvent: ({ type }) => {
        if (type === "code.started") setTimeout(() => aborting.abort(), 200);
      },
    });
    expect(await slow).toMatchObject({ status: "cancelled", answer: null });
    const failed = await run({ model: scripted([{ text: new Error("no such model") }]) });
    expect(failed.status).toBe("failed");
    expect(failed.error?.message).toContain("no such model");
  });

  it("writes its trace", async () => {
    const trace = join(folder, "trace.jsonl");
    const told: string[] = [];
    await run({
      model: scripted([fence("FINAL(1)")]),
      trace,
      onEvent: ({ type }) => told.push(type),
    });
    const { events } = await readTrace(trace);
    expect(events.map(({ type }) => type)).toEqual(told);
  });
});
