import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { ToolRegistry } from "../../src/registry/index.js";
import { readTrace, renderTracePage, rlm, scripted, type TraceEvent } from "../../src/rlm/index.js";
import { fence, openFixture } from "./rlm-fixture.js";

const fixture = await openFixture();

type Called = Extract<TraceEvent, { type: "tool.called" }>;

const calledIn = (events: readonly TraceEvent[]) =>
  events.filter((event): event is Called => event.type === "tool.called");

async function openShop(asked: string[] = []) {
  const made: string[] = [];
  const registry = await ToolRegistry.open({
    tools: {
      price_of: {
        description: "The price of an article.",
        inputSchema: z.object({ article: z.string() }),
        isReadOnly: true,
        execute: ({ article }: { article: string }) => {
          made.push(article);
          if (article === "ghost") throw new Error("no such article");
          return article.length;
        },
      },
    },
    onApproval: ({ name, risk, arguments: given }) => {
      asked.push(`${name} ${risk} ${JSON.stringify(given)}`);
      return given.reason === "good";
    },
  });
  return { registry, made };
}

describe("a registry in a run", () => {
  it("costs two lines of the prompt, and cells call its tools", async () => {
    const { registry, made } = await openShop();
    await using _ = registry;
    const { result, model } = await fixture.ask(
      [fence("FINAL(sum(tools.price_of(a) for a in ['pen', 'paper']))")],
      { tools: registry },
    );
    expect(result.output).toBe(8);
    expect(made).toEqual(["pen", "paper"]);
    const prompt = model.requests[0]?.messages[0]?.content ?? "";
    expect(prompt).toContain("- list_tools(");
    expect(prompt).toContain("- tools.NAME(...)");
    expect(prompt).not.toContain("price_of");
  });

  it("is there in the loops below: of rlm_query and of delegate", async () => {
    const { registry, made } = await openShop();
    await using _ = registry;
    const { result } = await fixture.ask(
      [
        fence(
          "one = rlm_query('price of a pen')\ntwo = delegate('price of paper')\nFINAL([one, two])",
        ),
        fence("FINAL(tools.price_of('pen'))"),
        fence("FINAL(tools.price_of('paper'))"),
      ],
      { tools: registry },
    );
    expect(result.output).toEqual(["3", "5"]);
    expect(made).toEqual(["pen", "paper"]);
    expect(calledIn(result.trace).map(({ depth, tool }) => [depth, tool])).toEqual([
      [1, "price_of"],
      [1, "price_of"],
    ]);
  });

  it("has its approver asked by escalate()", async () => {
    const asked: string[] = [];
    const { registry } = await openShop(asked);
    await using _ = registry;
    const code = [
      "said = [escalate('good')]",
      "try:",
      "    escalate('bad')",
      "except Exception as error:",
      "    said.append(type(error).__name__)",
      "FINAL(said)",
    ];
    const { result } = await fixture.ask([fence(code.join("\n"))], { tools: registry });
    expect(result.output).toEqual(["approved", "ToolError"]);
    expect(asked).toEqual([
      'escalate escalation {"reason":"good"}',
      'escalate escalation {"reason":"bad"}',
    ]);
  });

  it("may be among the options of the agent, and is described then too", async () => {
    const { registry } = await openShop();
    await using _ = registry;
    const { result, model } = await fixture.ask([fence("FINAL(tools.price_of('pen'))")], {
      agent: { tools: registry },
    });
    expect(result.output).toBe(3);
    expect(model.requests[0]?.messages[0]?.content).toContain("- tools.NAME(...)");
  });

  it("is used by each question of a session", async () => {
    const { registry } = await openShop();
    await using _ = registry;
    const model = scripted([
      fence("p = tools.price_of('pen')\nFINAL(p)"),
      fence("FINAL(p + tools.price_of('paper'))"),
    ]);
    await using session = await rlm.session({
      model,
      tools: registry,
      config: { backend: "native", preload: "none" },
    });
    const first = await session.ask("One?");
    const second = await session.ask("Both?");
    expect([first.output, second.output]).toEqual([3, 8]);
    expect(calledIn(first.trace).map((one) => one.arguments)).toEqual(['{"article":"pen"}']);
    expect(calledIn(second.trace).map((one) => one.arguments)).toEqual(['{"article":"paper"}']);
  });
});

describe("options of the agent", () => {
  it("make turns structured, in the loops below too", async () => {
    const { registry } = await openShop();
    await using _ = registry;
    const calls = "a = tools.price_of('pen')\nb = tools.price_of('paper')";
    const { result } = await fixture.ask(
      [
        fence(calls),
        fence("child = rlm_query('again')"),
        fence(calls),
        fence("FINAL(a + b)"),
        fence("FINAL(child)"),
      ],
      { tools: registry, agent: { structured: true, chainMode: "dep", parallelTools: true } },
    );
    expect(result.output).toBe("8");
    const chains = result.trace.flatMap((event) =>
      event.type === "code.output" && event.chain !== undefined ? [[event.depth, event.chain]] : [],
    );
    expect(chains).toMatchObject([
      [0, { mode_requested: "dep", mode_used: "parallel_read_only", waves: 1, steps: 2 }],
      [1, { mode_requested: "dep", mode_used: "parallel_read_only", waves: 1, steps: 2 }],
    ]);
  });

  it("make it private: no tool reaches the network, in no loop", async () => {
    let reached = 0;
    await using registry = await ToolRegistry.open({
      tools: {
        fetch_it: {
          permissions: ["network"],
          execute: () => {
            reached += 1;
          },
        },
      },
    });
    const attempt = "try:\n    tools.fetch_it()\nexcept Exception as e:\n    said = e.code";
    const { result } = await fixture.ask(
      [
        fence(`${attempt}\nchild = rlm_query('try it')\nFINAL([said, child])`),
        fence(`${attempt}\nFINAL(said)`),
      ],
      { tools: registry, agent: { private: true } },
    );
    expect(result.output).toEqual(["NOT_PERMITTED", "NOT_PERMITTED"]);
    expect(reached).toBe(0);
    expect(calledIn(result.trace).map(({ outcome }) => outcome)).toEqual([
      "NOT_PERMITTED",
      "NOT_PERMITTED",
    ]);
  });

  it.each([
    [{ chainmode: "dep" }, /chainmode[\s\S]*chainMode/],
    [{ chainMode: "parallel" }, /chainMode/],
    [{ structured: "yes" }, /structured/],
    [{ onInvocation: 5 }, /onInvocation/],
  ])("are checked before anything runs: %j", async (agent, message) => {
    const model = scripted([fence("FINAL(1)")]);
    const wrong = { query: "What?", model, agent: agent as object };
    await expect(rlm(wrong)).rejects.toThrow(message);
    expect(model.requests).toHaveLength(0);
  });
});

describe("the trace", () => {
  it("has each call below the cell that made it, in memory and in the file", async () => {
    const { registry } = await openShop();
    await using _ = registry;
    const file = join(fixture.folder, "tools.jsonl");
    const { result } = await fixture.ask(
      [fence("tools.price_of('pen')"), fence("tools.price_of('ghost')"), fence("FINAL(1)")],
      { tools: registry, trace: file },
    );
    const [good, bad] = calledIn(result.trace);
    expect(good).toMatchObject({
      tool: "price_of",
      arguments: '{"article":"pen"}',
      callerType: "cell",
      outcome: "ok",
    });
    expect(good).not.toHaveProperty("chainId");
    expect(bad).toMatchObject({ outcome: "FAILED", error: { code: "FAILED" } });
    expect(bad?.error?.message).toContain("no such article");
    const cells = result.trace.filter(({ type }) => type === "code.started");
    expect([good?.parent, bad?.parent]).toEqual(cells.slice(0, 2).map(({ span }) => span));
    const places = result.trace.map(({ type }) => type);
    expect(places.indexOf("tool.called")).toBeLessThan(places.indexOf("code.output"));
    const saved = await readTrace(file);
    expect(calledIn(saved.events)).toEqual([good, bad]);
  });

  it("shows calls and chains on its page", async () => {
    const { registry } = await openShop();
    await using _ = registry;
    const { result } = await fixture.ask(
      [fence("a = tools.price_of('<pen>')\nb = TOOL('price_of', article='x')"), fence("FINAL(1)")],
      { tools: registry, agent: { structured: true } },
    );
    const chained = calledIn(result.trace);
    expect(chained.map(({ callerType, chainIndex }) => [callerType, chainIndex]).sort()).toEqual([
      ["chain", 0],
      ["chain", 1],
    ]);
    const chainId = chained[0]?.chainId ?? "";
    expect(chainId).toMatch(/^[0-9a-f]{12}$/);
    const page = renderTracePage(result.trace);
    expect(page).toContain('class="node tool"');
    expect(page).toContain("{&quot;article&quot;:&quot;&lt;pen&gt;&quot;}");
    expect(page).toContain(`call 1 of chain ${chainId}`);
    expect(page).toMatch(
      new RegExp(
        `chain ${chainId} · mode parallel_read_only · seq was asked for · 2 calls · 1 wave`,
      ),
    );
    expect(page).toMatch(/wave 1, parallel, [\d.]+ m?s: price_of, price_of/);
  });

  it("has no calls of another run that shares the registry", async () => {
    const { registry } = await openShop();
    await using _ = registry;
    const ask = (article: string) =>
      fixture.ask([fence(`for _ in range(20): tools.price_of('${article}')`), fence("FINAL(1)")], {
        tools: registry,
      });
    const runs = await Promise.all([ask("one"), ask("other")]);
    const seen = runs.map(({ result }) => new Set(calledIn(result.trace).map((e) => e.arguments)));
    expect(seen).toEqual([new Set(['{"article":"one"}']), new Set(['{"article":"other"}'])]);
    expect(registry.log.total).toBe(40);
  });

  it("shows no secrets: neither those of the registry, nor what looks like one", async () => {
    const token = `ghp_${"a1B2".repeat(9)}`;
    await using secretive = await ToolRegistry.open({
      tools: { send: { execute: () => "sent" } },
      secrets: { PIN: "pin-of-the-registry" },
    });
    const file = join(fixture.folder, "secrets.jsonl");
    const code = [
      `tools.send(a='ghp_' + 'a1B2' * 9)`,
      "tools.send(a='{secret:PIN}')",
      "tools.send(a='pin-of-' + 'the-registry')",
    ];
    const { result } = await fixture.ask([fence(code.join("\n")), fence("FINAL(1)")], {
      tools: secretive,
      trace: file,
    });
    expect(calledIn(result.trace)).toHaveLength(3);
    const written = readFileSync(file, "utf8");
    expect(written).not.toContain(token);
    expect(written).not.toContain("pin-of-the-registry");
  });

  it("tells a listener of the agent's own too", async () => {
    const { registry } = await openShop();
    await using _ = registry;
    const heard: string[] = [];
    await fixture.ask([fence("FINAL(tools.price_of('pen'))")], {
      tools: registry,
      agent: {
        onInvocation: ({ tool }) => {
          heard.push(tool);
          throw new Error("a listener that fails");
        },
      },
    });
    expect(heard).toEqual(["price_of"]);
  });
});
