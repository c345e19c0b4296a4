import { fileURLToPath } from "node:url";
import { describe, expect, it, test } from "vitest";
import { readFixtures, type Verdict } from "../../test/support/message-fixtures.js";
import type { Method, RequestMethod } from "./messages.js";
import { contract } from "./peer.js";
import { fits, schemaContract } from "./schema-contract.js";

const protocol = new URL("../../protocol/", import.meta.url);
const light = schemaContract(fileURLToPath(new URL("schema.json", protocol)));

function fixtures(verdict: Verdict): [string, string, unknown][] {
  return [...readFixtures()].flatMap(([message, examples]) =>
    Object.entries(examples[verdict]).map(([name, value]): [string, string, unknown] => [
      message,
      name,
      value,
    ]),
  );
}

function judged(judge: typeof light, message: string, value: unknown): boolean {
  if (message === "envelope") return judge.envelope(value) !== undefined;
  const [method = "", part] = message.split(".");
  return part === "result"
    ? judge.result(method as RequestMethod, value) !== undefined
    : judge.params(method as Method, value) !== undefined;
}

describe("the contract read from schema.json", () => {
  test.each(["accept", "reject"] as const)("judges what to %s as the schemas do", (verdict) => {
    const cases = fixtures(verdict);
    expect(cases.length).toBeGreaterThan(100);
    const wrong = cases.filter(
      ([message, , value]) =>
        judged(light, message, value) !== (verdict === "accept") ||
        judged(contract, message, value) !== (verdict === "accept"),
    );
    expect(wrong.map(([message, name]) => `${message}: ${name}`)).toEqual([]);
  });

  it("knows the kind of a message and no others", () => {
    for (const method of [
      "execute",
      "output",
      "session_query",
      "no_such",
      "__proto__",
      "toString",
    ]) {
      expect(light.kind(method)).toBe(contract.kind(method));
    }
  });

  it("takes a keyword that it does not know for a refusal", () => {
    expect(fits({ type: "string" }, "a")).toBe(true);
    expect(fits({ type: "string", pattern: "a" }, "a")).toBe(false);
    expect(fits({ type: "text" }, "a")).toBe(false);
    expect(fits(undefined, "a")).toBe(false);
  });

  it("fails with a remedy where the file is missing", () => {
    expect(() => schemaContract("/nowhere/schema.json")).toThrowError(
      expect.objectContaining({ code: "IO_ERROR" }),
    );
  });
});
