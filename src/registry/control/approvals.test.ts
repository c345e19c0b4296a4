import { expect, it } from "vitest";
import { ToolRegistry } from "../registry.js";
import { type ApprovalAnswer, Approvals } from "./approvals.js";

const forever = new AbortController().signal;

it("only a plain yes approves", async () => {
  for (const odd of [
    null,
    "no",
    "yes",
    1,
    {},
    { approved: "false" },
    { approved: 1, always: true },
  ]) {
    const approvals = new Approvals(() => odd as unknown as ApprovalAnswer);
    const asked = { name: "drop", risk: "destructive", arguments: {} } as const;
    expect(await approvals.ask(asked, forever), JSON.stringify(odd)).toMatchObject({
      approved: false,
    });
    expect(await approvals.ask(asked, forever)).toMatchObject({ approved: false });
  }
});

it("what is always approved is one thing: not a tool with the name of a function that asks", async () => {
  const asked: string[] = [];
  await using registry = await ToolRegistry.open({
    tools: {
      escalate: { isDestructive: true, execute: () => "ran" },
      drop: { isDestructive: true, execute: () => "dropped" },
    },
    onApproval: ({ name, risk }) => {
      asked.push(`${risk} ${name}`);
      return risk === "escalation" && { approved: true, always: true };
    },
  });
  await registry.approve("escalate", "escalation", { reason: "please" }, forever);
  await registry.approve("escalate", "escalation", { reason: "again" }, forever);
  for (const name of ["escalate", "drop"]) {
    await expect(registry.call(name, {})).rejects.toMatchObject({ code: "NOT_APPROVED" });
  }
  expect(asked).toEqual(["escalation escalate", "destructive escalate", "destructive drop"]);
});

it("an answer counts once, and for its own request", async () => {
  const approvals = new Approvals(() => undefined);
  const ask = (name: string) =>
    approvals.ask({ name, risk: "destructive", arguments: {} }, forever);
  const [one, other] = [ask("one"), ask("other")];
  const [first, second] = approvals.pending;
  approvals.answer(second?.id ?? "", { approved: true });
  expect(await other).toMatchObject({ approved: true });
  expect(() => approvals.answer(second?.id ?? "", { approved: true })).toThrow("waits");
  expect(approvals.pending.map(({ name }) => name)).toEqual(["one"]);
  approvals.answer(first?.id ?? "", { approved: false });
  expect(await one).toMatchObject({ approved: false });
});

it("a request whose call is over is cancelled, and waits no longer", async () => {
  const drop = { isDestructive: true, execute: () => "dropped" };
  await using registry = await ToolRegistry.open({ tools: { drop }, onApproval: () => undefined });
  const calling = new AbortController();
  const call = registry.call("drop", {}, { signal: calling.signal });
  await expect.poll(() => registry.approvals.pending.length).toBe(1);
  calling.abort();
  await expect(call).rejects.toMatchObject({ code: "CANCELLED" });
  expect(registry.approvals.pending).toEqual([]);
});
