import { afterEach, describe, expect, it, vi } from "vitest";
import type { FarEnd } from "../../../../test/support/far-end.js";
import { open } from "../../../../test/support/far-end.js";
import { encodeFrame } from "../../../protocol/frames.js";
import { Branch } from "../branch.js";
import { Session } from "../session.js";
import { StepHistory } from "../step-history.js";
import { HostCalls } from "./host-calls.js";
import { RunningCell } from "./running-cell.js";

const HELLO = { protocol: 1, session: "s", token: "t", branch: 0, generation: 0, python: "3.11.7" };

function notice(method: string, params: object): Buffer {
  return encodeFrame({ jsonrpc: "2.0", method, params });
}

/** A cell on a session whose two links the test plays. */
function begin(): { cell: RunningCell; session: Session; init: FarEnd; head: FarEnd } {
  const session = new Session("s", {});
  const links = { init: open(), head: open() };
  for (const role of ["init", "head"] as const) {
    session.welcome({ ...HELLO, role, abilities: [] }, links[role].peer);
  }
  const branch = new Branch(
    session,
    0,
    new StepHistory(),
    () => {},
    () => {},
  );
  const calls = new HostCalls({}, () => undefined, { queryConcurrency: 1, queryTimeout: 1000 });
  const limits = { timeout: 1000, grace: 100, maxOutputLength: 100, queryTotal: 1000 };
  const order = { ...limits, step: 1, number: 1, code: "1" };
  const cell = new RunningCell(branch, {
    ...order,
    policy: { checkpoint: "auto", interval_ms: 1000 },
    callbacks: {},
    calls,
  });
  return { cell, session, init: links.init.far, head: links.head.far };
}

afterEach(() => {
  vi.useRealTimers();
});

describe("a cell that is over", () => {
  it("has no timer left that could end its session, whatever its dead head's link still says", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { cell, session, init, head } = begin();
    const running = cell.run();
    const cause = { kind: "signal", signal: 11 };
    const death = { branch: 0, generation: 0, step: 1, cause, restored: 0, next_generation: 1 };
    await init.send(notice("died", death));
    expect((await running).kind).toBe("died");
    // The end of the link is seen later than init's word.
    head.push(null);
    await init.send();
    expect(vi.getTimerCount()).toBe(0);
    await vi.advanceTimersByTimeAsync(120_000);
    expect(session.isAlive).toBe(true);
  });
});
