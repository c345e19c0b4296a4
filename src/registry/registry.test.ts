import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { ApprovalRequest } from "./control/approvals.js";
import type { RegistryOptions } from "./options.js";
import { ToolRegistry } from "./registry.js";
import { sessionTools } from "./session-tools.js";
import type { RegisteredTool, ToolSource } from "./tool.js";

const add = {
  description: "Adds.",
  inputSchema: z.object({ a: z.int(), b: z.int().default(5) }),
  isReadOnly: true,
  execute: ({ a, b }: { a: number; b: number }) => a + b,
};

const echo = { execute: (input: unknown) => input };

function open(options: RegistryOptions = {}): Promise<ToolRegistry> {
  return ToolRegistry.open(options);
}

function source(group: string | undefined, ...tools: Partial<RegisteredTool>[]): ToolSource {
  const made = tools.map(
    (tool): RegisteredTool => ({
      name: "one",
      description: "",
      parameters: { type: "object", properties: {} },
      permissions: [],
      allowedCallers: ["cell"],
      isReadOnly: false,
      isDestructive: false,
      examples: [],
      run: async () => ({ value: "done" }),
      ...tool,
    }),
  );
  return { group, tools: async () => made, [Symbol.asyncDispose]: async () => {} };
}

describe("a call", () => {
  it("is checked by the schema, which adds its defaults", async () => {
    await using registry = await open({ tools: { add } });
    expect(await registry.call("add", { a: 1 })).toEqual({ value: 6, displays: undefined });
    for (const [given, why] of [
      [{ a: "x" }, /a: .*number/],
      [{}, /a: /],
      [{ a: 1, c: 2 }, /there is no c; it takes a, b/],
      [[1], /have names/],
      [null, /have names/],
    ] as const) {
      await expect(registry.call("add", given)).rejects.toMatchObject({
        code: "BAD_ARGUMENTS",
        isRetryable: false,
        message: expect.stringMatching(why),
      });
    }
  });

  it("of an unknown tool names the nearest", async () => {
    await using registry = await open({ tools: { add }, sources: [source("files", {})] });
    await expect(registry.call("ad", {})).rejects.toMatchObject({
      code: "UNKNOWN_TOOL",
      message: expect.stringContaining("did you mean add?"),
    });
    await expect(registry.call("files.two", {})).rejects.toMatchObject({ code: "UNKNOWN_TOOL" });
    await expect(registry.call("fles.one", {})).rejects.toMatchObject({ code: "UNKNOWN_TOOL" });
  });

  it("is logged with its caller, its place in a chain and its outcome", async () => {
    await using registry = await open({
      sources: [source(undefined, { allowedCallers: ["chain"] })],
    });
    await registry.call("one", {}, { caller: "chain", chain: { id: "c1", index: 3 } });
    await registry.call("none", { x: "y".repeat(9_000) }).catch(() => {});
    expect(registry.log.invocations).toMatchObject([
      { tool: "one", callerType: "chain", chainId: "c1", chainIndex: 3, outcome: "ok" },
      { tool: "none", callerType: "host", outcome: "UNKNOWN_TOOL" },
    ]);
    expect(JSON.stringify(registry.log.invocations).length).toBeLessThan(2_000);
  });

  it("that throws anything fails with a ToolError", async () => {
    const broken = {
      execute: () => {
        throw "just a text";
      },
    };
    await using registry = await open({ tools: { broken } });
    await expect(registry.call("broken", {})).rejects.toMatchObject({
      name: "ToolError",
      code: "FAILED",
      message: "broken failed: just a text",
    });
  });
});

describe("limits", () => {
  it("end a tool that hangs, and only its call", async () => {
    const hang = { execute: () => new Promise(() => {}), limits: { timeoutMs: 50 } };
    await using registry = await open({ tools: { hang, add } });
    const hanging = registry.call("hang", {});
    expect(await registry.call("add", { a: 1 })).toMatchObject({ value: 6 });
    await expect(hanging).rejects.toMatchObject({ code: "TIMEOUT", isRetryable: true });
  });

  it("cancel with the caller's signal, also a tool that does not listen", async () => {
    const hang = { execute: () => new Promise(() => {}) };
    await using registry = await open({ tools: { hang } });
    const stopping = new AbortController();
    const hanging = registry.call("hang", {}, { signal: stopping.signal });
    stopping.abort();
    await expect(hanging).rejects.toMatchObject({ code: "CANCELLED" });
  });

  it("hold the number of calls at once and in a minute", async () => {
    let now = 0;
    let most = 0;
    const slow = {
      limits: { concurrency: 2 },
      execute: async () => {
        now += 1;
        most = Math.max(most, now);
        await sleep(5);
        now -= 1;
      },
    };
    const rare = { limits: { callsPerMinute: 2 }, execute: () => 1 };
    await using registry = await open({ tools: { slow, rare } });
    await Promise.all(Array.from({ length: 8 }, () => registry.call("slow", {})));
    expect(most).toBe(2);
    await registry.call("rare", {});
    await registry.call("rare", {});
    await expect(registry.call("rare", {})).rejects.toMatchObject({
      code: "RATE_LIMITED",
      isRetryable: true,
    });
  });

  it("refuse a result that is too large, without writing it out", async () => {
    const shared = "x".repeat(1_000_000);
    const flood = { execute: () => Array.from({ length: 1_000 }, () => shared) };
    await using registry = await open({ tools: { flood } });
    await expect(registry.call("flood", {})).rejects.toMatchObject({ code: "TOO_LARGE" });
  });
});

describe("policies", () => {
  it("only narrow: what one denies none allows, by name, group, category and permission", async () => {
    const shell = source("os", { name: "run", permissions: ["shell"] }, { name: "list" });
    const names = async (...policies: NonNullable<RegistryOptions["policies"]>) => {
      await using registry = await open({
        tools: { add, echo: { ...echo, category: "text" } },
        sources: [shell],
        policies,
      });
      const all = [...(await registry.tools()).keys(), ...(await registry.tools("os")).keys()];
      // Calling agrees with listing.
      for (const name of ["add", "echo", "os.run", "os.list"]) {
        const given = name === "add" ? { a: 1 } : {};
        const outcome = await registry.call(name, given, { caller: "cell" }).then(
          () => "ok",
          (error: { code: string }) => error.code,
        );
        expect([name, outcome]).toEqual([name, all.includes(name) ? "ok" : "NOT_PERMITTED"]);
      }
      return all;
    };
    expect(await names()).toEqual(["add", "echo", "os.run", "os.list"]);
    expect(await names({ deny: ["os.*"] }, { allow: ["*"] })).toEqual(["add", "echo"]);
    expect(await names({ allow: ["os.*"] }, { deny: ["*.run"] })).toEqual(["os.list"]);
    expect(await names({ permissions: ["network"] })).toEqual(["add", "echo", "os.list"]);
    expect(await names({ deny: ["category:text"] })).toEqual(["add", "os.run", "os.list"]);
    const groups = { safe: ["add", "os.list"] };
    expect(await names({ groups, allow: ["group:safe"] })).toEqual(["add", "os.list"]);
    expect(await names({ callers: { cell: { deny: ["add"] } } })).not.toContain("add");
    expect(await names({ callers: { chain: { deny: ["add"] } } })).toContain("add");
  });

  it("are checked when they are given", async () => {
    for (const policy of [{ allow: "x" }, { alow: [] }, { allow: ["group:none"] }]) {
      const opening = open({ policies: [policy as never] });
      await expect(opening).rejects.toMatchObject({ code: "INVALID_CONFIG" });
    }
  });

  it("let nobody reach the network from what is private", async () => {
    const web = source(undefined, { name: "fetch", permissions: ["network"] });
    await using registry = await open({ sources: [web] });
    await expect(registry.call("fetch", {}, { isPrivate: true })).rejects.toMatchObject({
      code: "NOT_PERMITTED",
      message: expect.stringContaining("private"),
    });
    expect(await registry.call("fetch", {})).toMatchObject({ value: "done" });
  });

  it("keep chains from tools that are not made for them", async () => {
    await using registry = await open({
      sources: [source(undefined, { name: "alone" }, { name: "link", allowedCallers: ["chain"] })],
    });
    const chained = { caller: "chain" } as const;
    await expect(registry.call("alone", {}, chained)).rejects.toMatchObject({
      code: "NOT_PERMITTED",
    });
    expect(await registry.call("link", {}, chained)).toMatchObject({ value: "done" });
    expect(await registry.call("link", {}, { caller: "cell" })).toMatchObject({ value: "done" });
  });
});

describe("approvals", () => {
  const drop = { isDestructive: true, execute: (input: unknown) => input };

  it("are asked before a destructive tool runs, with what it would be given", async () => {
    const asked: ApprovalRequest[] = [];
    await using registry = await open({
      tools: { drop, add },
      secrets: { TOKEN: "sk-123456" },
      onApproval: (request) => {
        asked.push(request);
        return request.arguments.table !== "users";
      },
    });
    await registry.call("add", { a: 1 });
    expect(await registry.call("drop", { table: "logs" })).toMatchObject({
      value: { table: "logs" },
    });
    await expect(registry.call("drop", { table: "users" })).rejects.toMatchObject({
      code: "NOT_APPROVED",
    });
    await registry.call("drop", { key: "sk-123456" });
    expect(asked.map((one) => [one.name, one.risk, one.arguments])).toEqual([
      ["drop", "destructive", { table: "logs" }],
      ["drop", "destructive", { table: "users" }],
      ["drop", "destructive", { key: "{secret:TOKEN}" }],
    ]);
  });

  it("may change the arguments, and hold for all that follows", async () => {
    let asked = 0;
    await using registry = await open({
      tools: { drop },
      onApproval: () => {
        asked += 1;
        return { approved: true, always: true, arguments: { table: "copy" } };
      },
    });
    expect(await registry.call("drop", { table: "a" })).toMatchObject({ value: { table: "copy" } });
    expect(await registry.call("drop", { table: "b" })).toMatchObject({ value: { table: "b" } });
    expect(asked).toBe(1);
  });

  it("can be answered later, by id", async () => {
    await using registry = await open({ tools: { drop }, onApproval: () => undefined });
    const calling = registry.call("drop", {});
    await expect.poll(() => registry.approvals.pending.length).toBe(1);
    const [request] = registry.approvals.pending;
    registry.approvals.answer(request?.id ?? "", { approved: false, reason: "not today" });
    await expect(calling).rejects.toMatchObject({ message: expect.stringContaining("not today") });
    expect(() => registry.approvals.answer(request?.id ?? "", { approved: true })).toThrow(
      /no request/,
    );
  });

  it("are refused where nobody can answer, where the callback fails, and end with their call", async () => {
    await using silent = await open({ tools: { drop } });
    await expect(silent.call("drop", {})).rejects.toMatchObject({
      code: "NOT_APPROVED",
      message: expect.stringContaining("onApproval"),
    });
    const onApproval = () => {
      throw new Error("no terminal");
    };
    await using failing = await open({ tools: { drop }, onApproval });
    await expect(failing.call("drop", {})).rejects.toMatchObject({ code: "NOT_APPROVED" });
    await using never = await open({ tools: { drop }, onApproval: () => undefined });
    const stopping = new AbortController();
    const calling = never.call("drop", {}, { signal: stopping.signal });
    await expect.poll(() => never.approvals.pending.length).toBe(1);
    stopping.abort(new Error("gone"));
    await expect(calling).rejects.toThrow();
    expect(never.approvals.pending).toEqual([]);
  });

  it("are those of the AI SDK's needsApproval too", async () => {
    const asked: unknown[] = [];
    const pay = {
      inputSchema: z.object({ amount: z.number() }),
      needsApproval: ({ amount }: { amount: number }) => amount > 100,
      execute: () => "paid",
    };
    await using registry = await open({
      tools: { pay },
      onApproval: ({ arguments: given }) => {
        asked.push(given);
        return false;
      },
    });
    expect(await registry.call("pay", { amount: 5 })).toMatchObject({ value: "paid" });
    await expect(registry.call("pay", { amount: 500 })).rejects.toMatchObject({
      code: "NOT_APPROVED",
    });
    expect(asked).toEqual([{ amount: 500 }]);
  });
});

describe("secrets", () => {
  it("reach the tool, and neither its result, its errors nor the log", async () => {
    const seen: unknown[] = [];
    const tools = {
      send: {
        execute: (input: unknown) => {
          seen.push(input);
          return { got: input, "key sk-abcdef": [["sk-abcdef"]] };
        },
      },
      fail: {
        execute: ({ key }: { key: string }) => {
          throw new Error(`bad key ${key}`);
        },
      },
    };
    await using registry = await open({ tools, secrets: { KEY: "sk-abcdef" } });
    const given = { key: "Bearer {secret:KEY}" };
    const { value } = await registry.call("send", given);
    expect(seen).toEqual([{ key: "Bearer sk-abcdef" }]);
    expect(value).toEqual({ got: given, "key {secret:KEY}": [["{secret:KEY}"]] });
    await expect(registry.call("fail", given)).rejects.toMatchObject({
      message: "fail failed: bad key Bearer {secret:KEY}",
    });
    await registry.call("send", { key: "sk-abcdef" });
    expect(JSON.stringify(registry.log.invocations)).not.toContain("sk-abcdef");
    await expect(registry.call("send", { key: "{secret:NO}" })).rejects.toMatchObject({
      code: "BAD_ARGUMENTS",
      message: expect.stringContaining("KEY"),
    });
  });

  it("need a name and a length", async () => {
    for (const secrets of [{ "a b": "123456" }, { KEY: "short" }, { KEY: 5 as never }]) {
      await expect(open({ secrets })).rejects.toMatchObject({ code: "INVALID_CONFIG" });
    }
  });
});

it("after it was closed a registry says so", async () => {
  const registry = await open({ tools: { add } });
  await registry[Symbol.asyncDispose]();
  await expect(registry.call("add", { a: 1 })).rejects.toMatchObject({
    code: "UNAVAILABLE",
    isRetryable: false,
  });
});

it("groups have names of their own", async () => {
  const twice = open({ sources: [source("a"), source("a")] });
  await expect(twice).rejects.toMatchObject({ code: "INVALID_CONFIG" });
  await using registry = await open({
    tools: { add },
    sources: [source("a", {}), source("b", {})],
  });
  expect(registry.groups).toEqual(["a", "b"]);
  for (const sources of [[source(undefined, { name: "add" })], [source("add", {})]]) {
    await expect(open({ tools: { add }, sources })).rejects.toMatchObject({
      code: "INVALID_CONFIG",
      message: "two sources have tools called add",
    });
  }
  expect([...(await registry.tools("a")).keys()]).toEqual(["a.one"]);
});

it("a server that does not answer is named in the list of the others' tools", async () => {
  const silent: ToolSource = {
    group: "silent",
    tools: () => new Promise(() => {}),
    [Symbol.asyncDispose]: async () => {},
  };
  await using registry = await open({ tools: { add }, sources: [silent, source("b", {})] });
  const { tool_list } = sessionTools(registry, { listMs: 50 });
  const { signal } = new AbortController();
  const told = await tool_list?.execute?.({} as never, {
    signal,
    abortSignal: signal,
    toolCallId: "1",
    messages: [],
  });
  expect(told).toMatchObject([
    { name: "add" },
    { name: "silent", about: expect.stringContaining("not answered") },
    { name: "b.one" },
  ]);
  const cancelled = registry.tools("silent", AbortSignal.abort());
  await expect(cancelled).rejects.toMatchObject({ code: "CANCELLED" });
});
