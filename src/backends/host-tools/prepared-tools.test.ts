import { jsonSchema, type ToolSet, tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type HostTools, hostTool } from "./host-tool.js";
import { describeTools, prepareTools, RelayedTool } from "./prepared-tools.js";

const never = new AbortController().signal;

const search = hostTool({
  description: "Searches the shop.",
  inputSchema: z.object({
    query: z.string().describe("words to look for"),
    limit: z.int().default(5),
    kinds: z.array(z.enum(["book", "film"])).optional(),
    since: z.date().optional(),
    price: z.number().nullable(),
  }),
  execute: ({ query, limit }) => `${query} ${limit.toFixed()}`,
});

async function run(tools: HostTools, name: string, input: unknown): Promise<unknown> {
  const prepared = prepareTools(tools)?.get(name);
  if (prepared === undefined) throw new Error(`there is no ${name}`);
  return await prepared.run(input, never);
}

describe("what is told of tools", () => {
  it("is a signature and a text with the parameters", () => {
    expect(describeTools({ search, plain: { execute: () => 1 } })).toEqual([
      {
        name: "search",
        signature:
          'search(query: str, limit: int = 5, kinds: list[Literal["book", "film"]] = None, since=None, *, price: float | None)',
        description: [
          "Searches the shop.",
          "",
          "query (str): words to look for",
          "limit (int, optional)",
          'kinds (list[Literal["book", "film"]], optional)',
          "since (optional)",
          "price (float | None)",
        ].join("\n"),
      },
      { name: "plain", signature: "plain(**fields)", description: "" },
    ]);
    expect(describeTools(undefined)).toEqual([]);
    expect(prepareTools({})).toBeUndefined();
  });

  it("leaves out of the signature what Python takes for no argument", () => {
    const inputSchema = z.looseObject({
      "max-results": z.int(),
      from: z.string(),
      ok: z.boolean(),
    });
    const odd = hostTool({ inputSchema, execute: () => 1 });
    expect(describeTools({ odd })).toMatchObject([{ signature: "odd(ok: bool, **fields)" }]);
    expect(prepareTools({ odd })?.get("odd")?.spec).toMatchObject({
      open: true,
      parameters: [{ name: "max-results" }, { name: "from" }, { name: "ok" }],
    });
  });
});

describe("tools that are refused", () => {
  const ok = { execute: () => 1 };
  const cases: Readonly<Record<string, unknown>> = {
    "a list": [ok],
    "no tool": { a: null },
    "no function": { a: { description: "x" } },
    "an approval": { a: { ...ok, needsApproval: true } },
    "a text as description": { a: { ...ok, description: 5 } },
    "too long a description": { a: { ...ok, description: "x".repeat(20_001) } },
    "a plain JSON Schema": { a: { ...ok, inputSchema: { type: "object", properties: {} } } },
    "a schema of a text": { a: { ...ok, inputSchema: z.string() } },
    "too many": Object.fromEntries(Array.from({ length: 257 }, (_, at) => [`t${at}`, ok])),
    "a name with a dash": { "a-b": ok },
    "a name that begins with an underscore": { _a: ok },
    "a dunder": JSON.parse('{"__proto__": {}}'),
    "an empty name": { "": ok },
    "a very long name": { ["a".repeat(65)]: ok },
    "a letter of another alphabet": { größe: ok },
    "a keyword": { lambda: ok },
    "a built-in": { open: ok },
    "an exception": { SomeLaterError: ok },
    "a word of the session": { rlm_query_batched: ok },
    "a word of the loop": { answer: ok },
  };

  it.each(Object.entries(cases))("%s", (_name, tools) => {
    expect(() => prepareTools(tools as HostTools)).toThrow(
      expect.objectContaining({ code: "INVALID_CONFIG" }),
    );
  });
});

describe("input", () => {
  it("is judged by the schema, and reaches the tool as the schema gives it", async () => {
    expect(await run({ search }, "search", { query: "x", price: null })).toBe("x 5");
    await expect(run({ search }, "search", { query: 5 })).rejects.toMatchObject({
      code: "INVALID_INPUT",
      message: expect.stringMatching(/^search got invalid arguments: query: .*; price: /),
      remedy: expect.stringContaining("search(query: str"),
    });
  });

  it("must be an object of names", async () => {
    const echo = { execute: (input: unknown) => input };
    for (const input of [null, 5, "x", [1], new Map([["$", 1]]), new Date()]) {
      await expect(run({ echo }, "echo", input)).rejects.toMatchObject({ code: "INVALID_INPUT" });
    }
    expect(await run({ echo }, "echo", JSON.parse('{"__proto__": 1}'))).toEqual(
      JSON.parse('{"__proto__": 1}'),
    );
  });

  it("has its mistakes told in few words", async () => {
    const inputSchema = z.object({ all: z.array(z.int()) });
    const many = hostTool({ inputSchema, execute: () => 1 });
    const all = Array.from({ length: 50_000 }, () => "x");
    await expect(run({ many }, "many", { all })).rejects.toMatchObject({
      message: expect.stringMatching(/^.{1,3000}and 49992 more$/),
    });
  });
});

describe("tools of the AI SDK", () => {
  const tools = {
    weather: tool({
      description: "Tells the weather.",
      inputSchema: z.object({ city: z.string() }),
      execute: async ({ city }, { toolCallId, messages, abortSignal }) => ({
        city,
        told: toolCallId !== "" && messages.length === 0 && abortSignal !== undefined,
      }),
    }),
    loose: tool({
      inputSchema: jsonSchema<{ n: number }>({
        type: "object",
        properties: { n: { type: "integer" } },
        required: ["n"],
      }),
      execute: ({ n }) => n + 1,
    }),
    strict: tool({
      inputSchema: jsonSchema<{ n: number }>(
        { type: "object", properties: { n: { type: "integer" } } },
        { validate: () => ({ success: false, error: new Error("not today") }) },
      ),
      execute: () => 1,
    }),
    slow: tool({
      inputSchema: z.object({}),
      async *execute() {
        yield "half";
        yield "whole";
      },
    }),
  } satisfies ToolSet;

  it("fit as they are", async () => {
    const set: ToolSet = tools;
    const offered: HostTools = set;
    expect(describeTools(offered).map(({ signature }) => signature)).toEqual([
      "weather(city: str)",
      "loose(n: int)",
      "strict(n: int = None)",
      "slow()",
    ]);
    expect(await run(tools, "weather", { city: "Ulm" })).toEqual({ city: "Ulm", told: true });
    expect(await run(tools, "loose", { n: 1 })).toBe(2);
    expect(await run(tools, "slow", {})).toBe("whole");
    await expect(run(tools, "strict", { n: 1 })).rejects.toThrow("not today");
  });
});

it("a relayed tool keeps the words of the process that has it", () => {
  const spec = { name: "far", doc: "told there", parameters: [], open: true };
  const prepared = prepareTools({ far: new RelayedTool(spec, async () => 1) });
  expect(prepared?.get("far")?.spec).toBe(spec);
});
