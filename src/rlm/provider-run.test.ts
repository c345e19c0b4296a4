import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { openNativeRuntime } from "../../test/support/native-runtime.js";
import { type FakeRequest, FakeServer } from "../../test/support/rlm/fake-model-server.js";
import { shutdown } from "../backends/shared.js";
import { openAIChat } from "./models/openai-chat.js";
import { type RLMOptions, rlm } from "./rlm.js";

const { runtime, unavailable } = await openNativeRuntime();
const folder = mkdtempSync(join(tmpdir(), "cellar-provider-run-"));
const fence = (code: string) => `\`\`\`repl\n${code}\n\`\`\``;
/** Every line tells of an animal; whether it is a bird only a reader knows. */
const ANIMALS = ["owl", "fox", "jay", "cat", "elk"];
const TEXT = Array.from({ length: 400 }, (_, n) => `${n}: a ${ANIMALS[n % 5]} was seen`).join("\n");
const BIRDS = 160;

afterAll(async () => {
  await runtime[Symbol.asyncDispose]();
  await shutdown();
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
});

const COUNT = `parts = context.splitlines()
sizes = llm_query_batched(["How many of these are birds?\\n" + "\\n".join(parts[n:n + 5]) for n in range(0, 400, 5)])
print(len(sizes), "answers")`;

/** Counts what stands in the question, and nothing else. */
function oracle({ body }: FakeRequest): string {
  const asked = body.messages.at(-1)?.content ?? "";
  return String(asked.match(/\b(owl|jay)\b/g)?.length ?? 0);
}

function provider(script: readonly string[], options: { errorRate?: number } = {}) {
  let turn = 0;
  return FakeServer.open({
    latencyMs: 5,
    ...options,
    answer: (request) => {
      if (request.body.model !== "root") return oracle(request);
      // A request that fails is made again: the answer goes by what was said, not by how often.
      turn = request.body.messages.filter(({ role }) => role === "assistant").length;
      return script[turn] ?? "FINAL(too long)";
    },
  });
}

function options(server: FakeServer, price?: { input: number; output: number }) {
  const model = (name: string) =>
    openAIChat({
      model: name,
      baseUrl: server.baseUrl,
      retries: 8,
      retryDelay: 1,
      ...(price && { price: { inputPerMillion: price.input, outputPerMillion: price.output } }),
    });
  return {
    query: "How many birds were seen?",
    context: TEXT,
    model: model("root"),
    subModel: model("sub"),
    config: { backend: "native", preload: "none" },
    agent: { spillDir: folder },
  } as const satisfies RLMOptions;
}

describe("a run against a provider", () => {
  beforeEach((context) => {
    if (unavailable !== undefined) context.skip(unavailable);
  });

  it("comes to the exact answer, though every fifth request fails", async () => {
    await using server = await provider([fence(COUNT), fence("FINAL(sum(map(int, sizes)))")], {
      errorRate: 0.2,
    });
    const result = await rlm(options(server));
    expect(result).toMatchObject({ status: "answered", output: BIRDS, turns: 2 });
    expect(result.usage.calls).toBe(82);
    expect(server.requests.length).toBeGreaterThan(90);
    expect(server.mostAtOnce).toBeLessThanOrEqual(16);
    expect(server.mostAtOnce).toBeGreaterThan(8);
  });

  it("never spends more than its dollars in a wide batch", async () => {
    const tried = `failed = 0
import concurrent.futures
def ask(n):
    try:
        return llm_query("birds? " + "owl " * 50 + str(n))
    except Exception as error:
        return error
with concurrent.futures.ThreadPoolExecutor(64) as pool:
    replies = list(pool.map(ask, range(64)))
refused = [str(one) for one in replies if isinstance(one, Exception)]
print(len(replies), len(refused), refused[:1])`;
    await using server = await provider([fence(tried), fence("FINAL(len(refused))")]);
    const limit = 0.02;
    const result = await rlm({
      ...options(server, { input: 10, output: 30 }),
      budget: { dollars: limit },
      config: { backend: "native", preload: "none", queryConcurrency: 64 },
    });
    expect(result.status).toBe("answered");
    expect(result.output).toBeGreaterThan(0);
    expect(result.usage.cost).toBeLessThanOrEqual(limit);
    expect(result.usage.overshoot.dollars).toBe(0);
    const seen = JSON.stringify(result.trace);
    expect(seen).toContain("the budget of dollars does not allow this");
  });

  it("lets children work side by side on the parent's context", async () => {
    const begin = fence(
      "found = rlm_query_batched(['owls?', 'jays?', 'cats?', 'elks?'])\nprint(found)",
    );
    const open = new Set<string>();
    let mostOpen = 0;
    await using server = await FakeServer.open({
      answer: async ({ body }) => {
        const { model, messages } = body;
        const asked = messages[1]?.content ?? "";
        const animal = /following: (\w+)s\?/.exec(asked)?.[1];
        if (model === "root")
          return messages.length < 4 ? begin : fence("FINAL([int(n) for n in found])");
        open.add(animal ?? "");
        mostOpen = Math.max(mostOpen, open.size);
        // None ends before all have begun, or the test would show nothing.
        for (let waits = 0; mostOpen < 4 && waits < 200; waits += 1) {
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
        return fence(`mine = context.count(${JSON.stringify(` ${animal} `)})\nFINAL(mine)`);
      },
    });
    const result = await rlm(options(server));
    expect(result).toMatchObject({ status: "answered", output: [80, 80, 80, 80] });
    expect(mostOpen).toBe(4);
    expect(result.usageByDepth.get(1)?.calls).toBe(4);
  });
});
