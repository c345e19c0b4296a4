import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { openNativeRuntime } from "../../test/support/native-runtime.js";
import type { ISandbox } from "../backends/backend.js";
import { createSandbox } from "../backends/create-sandbox.js";
import { ToolRegistry } from "./registry.js";
import { type RegisteredTool, ToolError, type ToolSource } from "./tool.js";

const { runtime, unavailable } = await openNativeRuntime();

beforeEach((context) => {
  if (unavailable !== undefined) context.skip(unavailable);
});

afterAll(async () => {
  await runtime[Symbol.asyncDispose]();
});

const DOT =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** A server whose tools are asked for when somebody looks. */
class Shop implements ToolSource {
  readonly group = "shop";
  asked = 0;
  underWay = 0;
  most = 0;

  async tools(): Promise<readonly RegisteredTool[]> {
    this.asked += 1;
    const common = {
      description: "Finds an article.",
      permissions: [],
      allowedCallers: ["cell"],
      isReadOnly: true,
      isDestructive: false,
      examples: ["tools.shop.find(3)"],
    } as const;
    return [
      {
        ...common,
        name: "find",
        returns: "the article",
        parameters: {
          type: "object",
          properties: {
            id: { type: "integer", description: "its number" },
            kind: { enum: ["book", "film"], default: "book" },
          },
          required: ["id"],
        },
        run: async ({ arguments: given }) => {
          this.underWay += 1;
          this.most = Math.max(this.most, this.underWay);
          await new Promise((resolve) => setTimeout(resolve, 20));
          this.underWay -= 1;
          return { value: given };
        },
      },
      {
        ...common,
        name: "cover",
        parameters: { type: "object", properties: {} },
        run: async () => ({ value: "a dot", displays: [{ mime: "image/png", data: DOT }] }),
      },
      {
        ...common,
        name: "sold_out",
        parameters: { type: "object", properties: {} },
        run: async () => {
          throw new ToolError("UNAVAILABLE", "sold out", { remedy: "come back tomorrow" });
        },
      },
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

describe("tools of a session", () => {
  const shop = new Shop();
  let registry: ToolRegistry;
  let sandbox: ISandbox;

  beforeAll(async () => {
    if (unavailable !== undefined) return;
    registry = await ToolRegistry.open({
      tools: {
        add: {
          description: "Adds two numbers.",
          inputSchema: z.object({ a: z.int().describe("the first"), b: z.int().default(5) }),
          execute: ({ a, b }: { a: number; b: number }) => a + b,
        },
        people: { isTable: true, execute: () => [{ name: "Ada", born: 1815 }] },
        back: { execute: () => sandbox.getVariable("kept") },
        big: { execute: () => Array.from({ length: 100_000 }, (_, n) => n) },
      },
      sources: [shop],
    });
    sandbox = await createSandbox({ tools: registry, checkpoints: "always" });
  });

  afterAll(async () => {
    await sandbox?.destroy();
    await registry?.[Symbol.asyncDispose]();
  });

  const run = async (code: string) => {
    const { stdout, result, error } = await sandbox.execute(code);
    return { stdout, shown: result?.text, error };
  };
  const shown = async (code: string) => {
    const { stdout, error } = await run(`print(repr((${code})))`);
    return error === null ? stdout.trimEnd() : `${error.type}: ${error.message}`;
  };

  it("are not asked for before somebody looks", async () => {
    expect(shop.asked).toBe(0);
    expect(await shown("tools.add(1)")).toBe("6");
    expect(shop.asked).toBe(0);
    expect(await shown("dir(tools)")).toBe("['add', 'back', 'big', 'people', 'shop']");
    expect(await shown("dir(tools.shop)")).toBe("['cover', 'find', 'sold_out']");
  });

  it("are called in each of the ways", async () => {
    expect(await shown("tools.add(1, b=2), tools.add(a=1)")).toBe("(3, 6)");
    expect(await shown("tool_call('add', {'a': 1}), TOOL('add', a=2)")).toBe("(6, 7)");
    expect(await shown(`CALL("add", '{"a": 3}')`)).toBe("'8'");
    expect(await shown("tools.shop.find(7)")).toBe("{'id': 7, 'kind': 'book'}");
    expect(await shown("tool_call('shop.find', {'id': 8, 'kind': 'film'})['kind']")).toBe("'film'");
  });

  it("explain themselves", async () => {
    const { stdout } = await run("help(tools.shop.find)");
    expect(stdout).toContain('find(id: int, kind: Literal["book", "film"] = "book")');
    expect(stdout).toContain("Finds an article.");
    expect(stdout).toContain("id (int): its number");
    expect(stdout).toContain("Returns the article.");
    const all = (await run("help(tools.shop)")).stdout;
    expect(all).toContain("cover()");
    expect(await shown("list_tools('shop.*')")).toContain("shop.find(id: int");
    expect(await shown("[one['name'] for one in list_tools('adds')]")).toBe("['add']");
    const completions = await sandbox.complete("tools.shop.so", 13);
    expect(JSON.stringify(completions)).toContain("sold_out");
  });

  it("refuse wrong arguments before anything is sent, with the signature", async () => {
    const before = registry.log.total;
    const signature = 'shop.find(id: int, kind: Literal["book", "film"] = "book")';
    for (const [call, why] of [
      ["find('x')", "for id 'x' of type str; it must be an int"],
      ["find(True)", "for id True of type bool; it must be an int"],
      ["find()", "no id"],
      ["find(1, 'cd')", "for kind 'cd'; it must be one of 'book', 'film'"],
      ["find(1, size=2)", "size, which it does not take"],
      ["find(1, 'book', 3)", "3 values without a name"],
      ["find(1, id=2)", "id twice"],
    ]) {
      expect(await shown(`tools.shop.${call}`)).toBe(`TypeError: ${signature} was given ${why}`);
    }
    expect(registry.log.total).toBe(before);
  });

  it("give plain values, tables and pictures", async () => {
    expect(await shown("type(tools.people()).__name__")).toBe("'DataFrame'");
    expect(await shown("tools.people()['born'].sum()")).toMatch(/1815/);
    expect(await shown("len(tools.big())")).toBe("100000");
    const { stdout } = await run("many = tools.big()\nmany");
    expect(stdout.length).toBeLessThan(1_000);
    const cover = await sandbox.execute("cover = tools.shop.cover()");
    expect(JSON.stringify(cover.outputs)).toContain("image/png");
  });

  it("run at once with asyncio.gather", async () => {
    shop.most = 0;
    const code =
      "import asyncio\nfound = await asyncio.gather(*(tools.shop.find.aio(n) for n in range(6)))";
    expect((await run(code)).error).toBeNull();
    expect(await shown("[one['id'] for one in found]")).toBe("[0, 1, 2, 3, 4, 5]");
    expect(shop.most).toBeGreaterThan(1);
  });

  it("fail with an exception that says what to do", async () => {
    const code = `
try:
    tools.shop.sold_out()
except ToolError as error:
    told = (error.tool, error.code, error.retryable, str(error), error.hint)
`;
    expect((await run(code)).error).toBeNull();
    expect(await shown("told")).toBe(
      "('shop.sold_out', 'UNAVAILABLE', True, 'sold out', 'come back tomorrow')",
    );
    expect(await shown("tools.shop.fnd(1)")).toContain("did you mean find?");
    expect(await shown("tool_call('shop.fnd', {})")).toContain("did you mean shop.find?");
    expect(await shown("tools.nothing")).toContain("has no tool nothing");
    expect(await shown("tool_call('add', [1])")).toContain("TypeError");
    expect(await shown("CALL('add', 'no json')")).toContain("ValueError: CALL() takes");
    expect(await shown("tools.add(object())")).toContain("must be an int");
  });

  it("may call back into the session that waits for them", async () => {
    expect((await run("kept = 41")).error).toBeNull();
    const told = await shown("tools.back()");
    // The session is busy with the cell that waits: an answer or an error, never a deadlock.
    expect(told).toMatch(/41|ToolError/);
    expect(await shown("1 + 1")).toBe("2");
  });

  it("survive an undo, and are no variables", async () => {
    await run("tools.add(1)");
    await sandbox.undo();
    expect(await shown("tools.add(2)")).toBe("7");
    const names = (await sandbox.variables()).map(({ name }) => name);
    expect(names).not.toContain("tools");
  });
});

it("a private sandbox reaches no network, by itself or by a tool", async () => {
  await using registry = await ToolRegistry.open({
    tools: { ask: { permissions: ["network"], execute: () => "answer" } },
  });
  const network = { allow: ["example.org"] };
  await expect(createSandbox({ private: true, network })).rejects.toMatchObject({
    code: "INVALID_CONFIG",
  });
  await expect(createSandbox({ private: "yes" as never })).rejects.toMatchObject({
    code: "INVALID_CONFIG",
  });
  const told = async (isPrivate: boolean) => {
    const sandbox = await createSandbox({ tools: registry, private: isPrivate });
    try {
      const { error } = await sandbox.execute("tools.ask()");
      return error?.message ?? "answered";
    } finally {
      await sandbox.destroy();
    }
  };
  expect(await told(true)).toContain("this is private");
  expect(await told(false)).toBe("answered");
});

it("functions that are no registry are in tools as well", async () => {
  const sandbox = await createSandbox({
    tools: { twice: { execute: ({ n }: { n: number }) => 2 * n } },
  });
  try {
    const { stdout, error } = await sandbox.execute(
      "print(twice(n=1), tools.twice(n=2), TOOL('twice', n=3), tool_call('twice', {'n': 4}))\nprint(list_tools())",
    );
    expect(error).toBeNull();
    expect(stdout).toBe("2 4 6 8\ntwice(**fields)\n");
    const missing = await sandbox.execute("TOOL('thrice')");
    expect(missing.error?.message).toContain("there is no tool 'thrice'");
  } finally {
    await sandbox.destroy();
  }
});
