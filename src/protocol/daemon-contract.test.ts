import { describe, expect, it, test } from "vitest";
import { readFixtures, type Verdict } from "../../test/support/message-fixtures.js";
import { daemonContract } from "./daemon-contract.js";
import { type Method, messages, type RequestMethod } from "./messages.js";
import { contract } from "./peer.js";

/** Those of the messages that a client of the daemon receives. */
function fixtures(verdict: Verdict): [string, string, unknown][] {
  return [...readFixtures()]
    .filter(([message]) => isReceived(message))
    .flatMap(([message, examples]) =>
      Object.entries(examples[verdict]).map(([name, value]): [string, string, unknown] => [
        message,
        name,
        value,
      ]),
    );
}

function isReceived(message: string): boolean {
  if (message === "envelope") return true;
  const [method = "", part] = message.split(".");
  const { link, from } = messages[method as Method];
  return link === "daemon" && from === (part === "result" ? "client" : "daemon");
}

function accepts(judge: typeof contract, message: string, value: unknown): boolean {
  if (message === "envelope") return judge.envelope(value) !== undefined;
  const [method = "", part] = message.split(".");
  return part === "result"
    ? judge.result(method as RequestMethod, value) !== undefined
    : judge.params(method as Method, value) !== undefined;
}

describe("the compiled contract of a daemon's client", () => {
  test.each([
    ["accept", 50],
    ["reject", 100],
  ] as const)("judges what to %s as the schemas do", (verdict, least) => {
    const cases = fixtures(verdict);
    expect(cases.length).toBeGreaterThan(least);
    const wrong = cases.filter(
      ([message, , value]) =>
        accepts(daemonContract, message, value) !== (verdict === "accept") ||
        accepts(contract, message, value) !== (verdict === "accept"),
    );
    expect(wrong.map(([message, name]) => `${message}: ${name}`)).toEqual([]);
  });

  it("refuses parameters and results of messages that only the daemon receives", () => {
    expect(daemonContract.params("session_cancel", { session: "s", cell: null })).toBeUndefined();
    expect(daemonContract.result("session_query", { output: "1" })).toBeUndefined();
    expect(daemonContract.params("ping", {})).toBeUndefined();
  });

  it("knows the kind of a message, and of no other name", () => {
    for (const method of ["session_execute", "session_output", "session_query"]) {
      expect(daemonContract.kind(method)).toBe(contract.kind(method));
    }
    for (const method of ["execute", "no_such", "__proto__", "toString", "constructor"]) {
      expect(daemonContract.kind(method)).toBeUndefined();
    }
  });

  it("takes numbers that JSON cannot hold exactly for neither integers nor numbers", () => {
    const status = (uptime: string) =>
      JSON.parse(
        `{"kept":false,"clients":0,"sessions":0,"uptime_ms":${uptime},"warmth":{"state":"warming"}}`,
      );
    expect(daemonContract.result("daemon_status", status("1"))).toBeDefined();
    for (const uptime of ["1e999", "1.5", "9007199254740993", "-1"]) {
      expect(daemonContract.result("daemon_status", status(uptime)), uptime).toBeUndefined();
    }
  });

  it("does not take an inherited name for a member", () => {
    expect(daemonContract.envelope(Object.create({ jsonrpc: "2.0", id: 1, result: 0 }))).toBe(
      undefined,
    );
    expect(
      daemonContract.result("daemon_stop", JSON.parse('{"__proto__": {"a": 1}}')),
    ).toBeUndefined();
  });
});
