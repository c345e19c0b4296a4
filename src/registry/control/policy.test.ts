import { describe, expect, it } from "vitest";
import { ToolRegistry } from "../registry.js";
import { type CallerType, ToolError } from "../tool.js";
import type { ToolPolicy } from "./policy.js";
import { matchesName } from "./policy.js";

const delete_file = {
  category: "files",
  allowedCallers: ["cell", "chain", "host"],
  execute: () => "deleted",
} as const;

async function outcome(policies: readonly ToolPolicy[], caller: CallerType): Promise<string> {
  await using registry = await ToolRegistry.open({ tools: { delete_file }, policies });
  try {
    await registry.call("delete_file", {}, { caller });
    return "ok";
  } catch (error) {
    return error instanceof ToolError ? error.code : String(error);
  }
}

describe("a policy holds", () => {
  it("for a name as a server writes it", async () => {
    for (const pattern of ["delete-file", "delete file", "delete-*"]) {
      expect(await outcome([{ deny: [pattern] }], "cell")).toBe("NOT_PERMITTED");
      expect(await outcome([{ allow: [pattern] }], "cell")).toBe("ok");
    }
    expect(await outcome([{ deny: ["delete"] }], "cell")).toBe("ok");
  });

  it("for categories in a group", async () => {
    const groups = { changing: ["category:files"] };
    expect(await outcome([{ groups, deny: ["group:changing"] }], "cell")).toBe("NOT_PERMITTED");
    expect(await outcome([{ groups, allow: ["group:changing"] }], "cell")).toBe("ok");
  });

  it("for cells that say they are chains, too", async () => {
    const cells: ToolPolicy = { callers: { cell: { deny: ["delete_file"] } } };
    expect(await outcome([cells], "cell")).toBe("NOT_PERMITTED");
    expect(await outcome([cells], "chain")).toBe("NOT_PERMITTED");
    expect(await outcome([cells], "host")).toBe("ok");
    const chains: ToolPolicy = { callers: { chain: { deny: ["delete_file"] } } };
    expect(await outcome([chains], "chain")).toBe("NOT_PERMITTED");
    expect(await outcome([chains], "cell")).toBe("ok");
  });

  it("or is refused: groups in groups would deny nothing", async () => {
    const groups = { some: ["group:others"], others: ["delete_file"] };
    const opening = ToolRegistry.open({ policies: [{ groups, deny: ["group:some"] }] });
    await expect(opening).rejects.toMatchObject({ code: "INVALID_CONFIG" });
  });
});

it("patterns match names in linear time", () => {
  expect(matchesName("a*b*c", "aXbYc")).toBe(true);
  expect(matchesName("ab*ba", "aba")).toBe(false);
  expect(matchesName("*", "")).toBe(true);
  expect(matchesName(`${"a*".repeat(80)}b`, "a".repeat(5_000))).toBe(false);
});
