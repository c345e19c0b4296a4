import { describe, expect, it } from "vitest";
import type { RegistryOptions } from "./options.js";
import { ToolRegistry } from "./registry.js";

const echo = { execute: (input: unknown) => input };

describe("options of a registry", () => {
  const cases: readonly (readonly [string, unknown, RegExp])[] = [
    ["nothing at all", null, /must be an object/],
    ["a misspelt policy", { policy: [] }, /unknown option "policy"/],
    ["a misspelt list of hosts", { web: { alow: [] } }, /"web\.alow"; did you mean web\.allow\?/],
    ["a file that is no list", { files: "a.yaml" }, /files must be a list/],
    ["one name for a catalogue", { catalogue: "calculate" }, /catalogue must be/],
    ["an approver that cannot answer", { onApproval: true }, /onApproval must be a function/],
    ["a limit in words", { limits: { timeoutMs: "5s" } }, /limits\.timeoutMs must be a number/],
    ["a document that is missing", { openApi: [{ name: "x" }] }, /document is missing/],
    ["a source without tools", { sources: [{}] }, /sources\.0\.tools is missing/],
    ["no tool", { tools: { a: null } }, /the tool a cannot be offered/],
    [
      "a misspelt field",
      { tools: { a: { ...echo, isDestructve: true } } },
      /did you mean isDestructive\?/,
    ],
    [
      "a wrong field",
      { tools: { a: { ...echo, permissions: ["root"] } } },
      /its field permissions/,
    ],
  ];

  it.each(cases)("%s is refused", async (_name, given, why) => {
    await expect(ToolRegistry.open(given as RegistryOptions)).rejects.toThrow(why);
  });

  it("fields of other libraries are left alone", async () => {
    const foreign = { ...echo, title: "Echo", providerOptions: {}, toModelOutput: () => "" };
    await using registry = await ToolRegistry.open({ tools: { foreign } });
    expect(await registry.call("foreign", { a: 1 })).toMatchObject({ value: { a: 1 } });
  });
});
