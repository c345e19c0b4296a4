import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { openNativeRuntime } from "../../test/support/native-runtime.js";
import { shutdown } from "../backends/shared.js";
import { functionModel } from "./models/function-model.js";
import { scripted } from "./models/scripted.js";
import type { RLMSessionOptions } from "./options.js";
import { rlm } from "./rlm.js";

const { runtime, unavailable } = await openNativeRuntime();
const folder = mkdtempSync(join(tmpdir(), "cellar-rlm-session-"));
const TEXT = Array.from({ length: 2000 }, (_, index) =>
  index === 777 ? "the secret number is 4711" : `line ${index}`,
).join("\n");
const fence = (code: string) => `\`\`\`repl\n${code}\n\`\`\``;

afterAll(async () => {
  await runtime[Symbol.asyncDispose]();
  await shutdown();
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
});

function options(given: RLMSessionOptions): RLMSessionOptions {
  return {
    context: TEXT,
    ...given,
    config: { backend: "native", preload: "none", ...given.config },
    agent: { spillDir: folder },
  };
}

describe("several questions", () => {
  beforeEach((context) => {
    if (unavailable !== undefined) context.skip(unavailable);
  });

  it("find the variables and the conversation of those before", async () => {
    const model = scripted([
      fence("hit = grep('secret')[0]\nanswer['content'] = hit; answer['ready'] = True"),
      fence("FINAL(int(hit.split()[-1]) + 1)"),
    ]);
    await using session = await rlm.session(options({ model, budget: { calls: 5 } }));
    const first = await session.ask("What is the secret?");
    expect(first).toMatchObject({ status: "answered", answer: "the secret number is 4711" });
    const second = await session.ask("And one more than the number?");
    expect(second).toMatchObject({
      status: "answered",
      output: 4712,
      turns: 1,
      usage: { calls: 1 },
    });
    expect(session.usage.calls).toBe(2);
    const messages = model.requests[1]?.messages ?? [];
    expect(messages.map(({ role }) => role)).toEqual(["system", "user", "assistant", "user"]);
    expect(messages[3]?.content).toContain("Answer the following: And one more than the number?");
    expect(messages[3]?.content).toContain("hit (Hit) = 'the secret number");
    expect(messages[3]?.content).toContain("4 of 5 calls");
    expect(second.trace.filter(({ type }) => type === "run.started")).toHaveLength(1);
  });

  it("share the budget, and are answered in their order", async () => {
    const model = scripted([{ text: fence("FINAL(len('x' * 3))"), repeat: true }]);
    const session = await rlm.session(options({ model, budget: { calls: 2 } }));
    const asked = ["one?", "two?", "three?"].map((query) => session.ask(query));
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([
      "answered",
      "answered",
      "out-of-budget",
    ]);
    await session.close();
    await expect(session.ask("four?")).rejects.toMatchObject({ code: "SESSION_CLOSED" });
    await expect(session.ask(" ")).rejects.toMatchObject({ code: "INVALID_INPUT" });
  });

  it("go on after one that was cancelled", async () => {
    const aborting = new AbortController();
    const model = scripted([
      fence("x = 1\nimport time\nwhile True: time.sleep(0.1)"),
      fence("FINAL(x + 1)"),
    ]);
    await using session = await rlm.session(
      options({
        model,
        onEvent: ({ type }) => {
          if (type === "code.started") setTimeout(() => aborting.abort(), 200);
        },
      }),
    );
    const first = await session.ask("slow?", { signal: aborting.signal });
    expect(first.status).toBe("cancelled");
    expect(await session.ask("quick?")).toMatchObject({ status: "answered", output: 2 });
  });
});

describe("a conversation that gets too long", () => {
  beforeEach((context) => {
    if (unavailable !== undefined) context.skip(unavailable);
  });

  it("is summed up by the model, and goes on with the summary", async () => {
    let turn = 0;
    const longest: number[] = [];
    const model = functionModel(
      ({ messages }) => {
        longest.push(messages.length);
        if (messages.at(-1)?.content.includes("write down what you need")) return "I saw A and B.";
        turn += 1;
        if (turn === 8) return fence("FINAL(kept)");
        return fence(`kept = ${turn}\nprint('${"word ".repeat(100)}')`);
      },
      { contextWindow: 2_500 },
    );
    const result = await rlm({ ...options({ model, compactAt: 0.6 }), query: "How long?" });
    expect(result).toMatchObject({ status: "answered", output: 7 });
    const folds = result.trace.filter(({ type }) => type === "compaction");
    expect(folds.length).toBeGreaterThan(0);
    for (const fold of folds) {
      if (fold.type !== "compaction") continue;
      expect(fold.tokensBefore).toBeGreaterThan(1_500);
      expect(fold.tokensAfter).toBeLessThan(fold.tokensBefore);
    }
    expect(Math.max(...longest)).toBeLessThan(2 * 8);
  });

  it("keeps the question, the summary and the last exchange", async () => {
    const model = scripted(
      [
        {
          text: "A was 12.",
          when: ({ messages }) => /write down what you need/.test(messages.at(-1)?.content ?? ""),
        },
        fence(`print('${"early ".repeat(150)}')`),
        fence("print('late')"),
        fence("FINAL(context_len())"),
      ],
      { contextWindow: 700 },
    );
    const result = await rlm({ ...options({ model, compactAt: 0.7 }), query: "How long is it?" });
    expect(result).toMatchObject({ status: "answered", output: TEXT.length });
    const last = model.requests.at(-1)?.messages ?? [];
    expect(last.map(({ role }) => role)).toEqual(["system", "user", "assistant", "user"]);
    expect(last[1]?.content).toMatch(/How long is it\?[\s\S]*What you wrote down[\s\S]*A was 12\./);
    expect(JSON.stringify(last)).not.toContain("early early");
    expect(last[3]?.content).toContain("late");
  });

  it.each([0, 1.5, Number.NaN])("wants a share of the window, not %s", async (compactAt) => {
    const wrong = rlm.session(options({ model: scripted([]), compactAt }));
    await expect(wrong).rejects.toMatchObject({ code: "INVALID_CONFIG" });
  });
});

describe("a run that is recorded", () => {
  beforeEach((context) => {
    if (unavailable !== undefined) context.skip(unavailable);
  });

  const CODE =
    "parts = llm_query_batched(['a', 'b', 'c'])\nother = llm_query('d', model='named')\nchild = rlm_query('how long?', 'xyz')\nFINAL([*parts, other, child])";

  async function record(path: string) {
    const sub = functionModel(
      ({ messages }) => {
        const last = messages.at(-1)?.content ?? "";
        return messages.length > 1 ? fence("FINAL(context_len())") : last.toUpperCase();
      },
      { name: "sub" },
    );
    return await rlm({
      ...options({
        model: scripted([fence("grep('secret')"), fence(CODE)], { name: "big" }),
        subModel: sub,
        models: { named: scripted(["D!"], { name: "called otherwise" }) },
        record: path,
        budget: { tokens: 200_000, seconds: 300 },
      }),
      query: "What is it?",
    });
  }

  it("is played again without its models, to the same end", async () => {
    const path = join(folder, "run.cassette");
    const recorded = await record(path);
    expect(recorded).toMatchObject({ status: "answered", output: ["A", "B", "C", "D!", "3"] });
    const budget = { tokens: 200_000, seconds: 300 };
    const played = await rlm({ ...options({ replay: path, budget }), query: "What is it?" });
    expect(played).toMatchObject({ status: "answered", output: recorded.output, turns: 2 });
    expect(played.usage).toEqual(recorded.usage);
  });

  it("fails with the first difference, shown", async () => {
    const path = join(folder, "differs.cassette");
    await record(path);
    const budget = { tokens: 200_000, seconds: 300 };
    const other = { ...options({ replay: path, budget }), context: TEXT.replace("4711", "4712") };
    const played = await rlm({ ...other, query: "What is it?" });
    expect(played).toMatchObject({ status: "failed", error: { code: "CONFLICT" } });
    expect(played.error?.message).toMatch(
      /after 1 exchanges[\s\S]*\n- [^\n]*4711[\s\S]*\n\+ [^\n]*4712/,
    );
  });

  it("fails where the recording goes on and the run does not", async () => {
    const path = join(folder, "longer.cassette");
    await using session = await rlm.session(
      options({ model: scripted([fence("FINAL(1)"), fence("FINAL(2)")]), record: path }),
    );
    await session.ask("one?");
    await session.ask("two?");
    await session.close();
    const played = await rlm({ ...options({ replay: path }), query: "one?" });
    expect(played).toMatchObject({ status: "failed", error: { code: "CONFLICT" } });
    expect(played.error?.message).toContain("the run ended early: 1 of 2 exchanges");
  });

  it("wants no models beside a recording, and writes over none", async () => {
    const path = join(folder, "there.cassette");
    await record(path);
    await expect(record(path)).rejects.toMatchObject({ code: expect.any(String) });
    const both = rlm({ ...options({ replay: path, model: scripted([]) }), query: "x" });
    await expect(both).rejects.toMatchObject({ code: "INVALID_INPUT" });
  });

  it("has no key in its trace, wherever it turns up", async () => {
    const trace = join(folder, "keys.jsonl");
    const key = "sk-very-secret-key";
    const model = { ...scripted([fence(`print('${key}')`), "FINAL(ok)"]), secrets: () => [key] };
    const told: string[] = [];
    const onEvent = (event: object) => void told.push(JSON.stringify(event));
    await rlm({ ...options({ model, trace, onEvent }), query: `what is ${key}?` });
    expect(readFileSync(trace, "utf8")).toContain("[hidden]");
    expect(readFileSync(trace, "utf8") + told.join()).not.toContain(key);
  });
});
