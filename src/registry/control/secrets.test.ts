import { describe, expect, it } from "vitest";
import { ToolRegistry } from "../registry.js";
import type { RegisteredTool, ToolOutput, ToolSource } from "../tool.js";
import { ToolError } from "../tool.js";

const VALUE = "sk-live-77f1c0/ü=";
const PLACED = "{secret:KEY}";

function source(run: RegisteredTool["run"]): ToolSource {
  const tool: RegisteredTool = {
    name: "one",
    description: "",
    parameters: { type: "object", additionalProperties: true },
    permissions: [],
    allowedCallers: ["cell"],
    isReadOnly: false,
    isDestructive: false,
    examples: [],
    run,
  };
  return { group: "of", tools: async () => [tool], [Symbol.asyncDispose]: async () => {} };
}

async function outputOf(run: RegisteredTool["run"], given: object = {}): Promise<ToolOutput> {
  await using registry = await ToolRegistry.open({
    sources: [source(run)],
    secrets: { KEY: VALUE },
  });
  return await registry.call("of.one", given, { caller: "cell" });
}

describe("a secret is not seen", () => {
  it("in any kind of value", async () => {
    const values: readonly unknown[] = [
      new Map([[VALUE, [VALUE]]]),
      new Set([VALUE]),
      Object.assign(Object.create(null), { key: VALUE }),
      { toJSON: () => VALUE },
      new URL(`http://host.test/?q=${encodeURIComponent(VALUE)}`),
      JSON.stringify({ key: VALUE }).replaceAll("/", "\\/"),
    ];
    for (const value of values) {
      const output = await outputOf(async () => ({ value }));
      const shown = JSON.stringify(output.value, (_, one: unknown) =>
        one instanceof Map || one instanceof Set ? [...one] : one,
      );
      expect(shown).toContain(PLACED);
      expect(shown).not.toContain("sk-live");
    }
    const { value } = await outputOf(async () => ({ value: Buffer.from(`a ${VALUE} b`) }));
    expect(Buffer.from(value as Uint8Array).toString()).toBe(`a ${PLACED} b`);
  });

  it("however deep it lies", async () => {
    let value: unknown = VALUE;
    for (let depth = 0; depth < 80; depth++) value = [value];
    expect(JSON.stringify((await outputOf(async () => ({ value }))).value)).toContain(PLACED);
    for (let depth = 0; depth < 80; depth++) value = [value];
    await expect(outputOf(async () => ({ value }))).rejects.toMatchObject({ code: "BAD_RESULT" });
  });

  it("in pictures, pages and progress", async () => {
    const said: string[] = [];
    await using registry = await ToolRegistry.open({
      sources: [
        source(async ({ onProgress }) => {
          onProgress?.(`sent ${VALUE}`);
          const picture = Buffer.from(`\x89PNG\0 ${VALUE}`).toString("base64");
          const displays = [
            { mime: "text/html", data: `<b>${VALUE}</b>` },
            { mime: "image/png", data: picture },
          ];
          return { value: null, displays };
        }),
      ],
      secrets: { KEY: VALUE },
    });
    const { displays = [] } = await registry.call(
      "of.one",
      {},
      { onProgress: (text) => said.push(text) },
    );
    expect(said).toEqual([`sent ${PLACED}`]);
    expect(displays[0]?.data).toBe(`<b>${PLACED}</b>`);
    expect(Buffer.from(displays[1]?.data ?? "", "base64").toString()).toContain(PLACED);
  });

  it("in what an error advises, nor at the end of a text that was cut", async () => {
    const failed = outputOf(async () => {
      throw new ToolError("FAILED", `refused: ${VALUE.slice(0, -1)}`, { remedy: `renew ${VALUE}` });
    });
    await expect(failed).rejects.toMatchObject({
      message: `refused: ${PLACED}`,
      remedy: `renew ${PLACED}`,
    });
    const cut = await outputOf(async () => ({ value: [VALUE.slice(3), "sk-live"] }));
    expect(cut.value).toEqual([PLACED, PLACED]);
  });
});

it("a secret goes only to the tools that it is for, and into no session", async () => {
  const seen: unknown[] = [];
  const taking = source(async ({ arguments: given }) => {
    seen.push(given);
    return { value: null, inSession: given.here ? { function: "f", arguments: given } : undefined };
  });
  await using registry = await ToolRegistry.open({
    sources: [taking],
    secrets: {
      KEY: { value: VALUE, tools: ["of.o*"] },
      OTHER: { value: "other-secret", tools: [] },
    },
  });
  const call = (given: object) => registry.call("of.one", given, { caller: "cell" });
  await call({ key: PLACED });
  expect(seen).toEqual([{ key: VALUE }]);
  await expect(call({ key: "{secret:OTHER}" })).rejects.toMatchObject({ code: "NOT_PERMITTED" });
  await expect(call({ key: PLACED, here: true })).rejects.toMatchObject({ code: "NOT_PERMITTED" });
  const { inSession } = await call({ key: "none", here: true });
  expect(inSession?.arguments).toEqual({ key: "none", here: true });
});
