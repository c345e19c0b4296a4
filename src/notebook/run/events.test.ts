import { describe, expect, it } from "vitest";
import { CellEvents } from "./events.js";

async function all(events: CellEvents): Promise<unknown[]> {
  const seen: unknown[] = [];
  for await (const event of events) seen.push(event);
  return seen;
}

describe("events of a cell", () => {
  it("wait for who takes them, and end", async () => {
    const events = new CellEvents();
    events.push({ type: "stdout", text: "early" });
    const taking = all(events);
    await Promise.resolve();
    events.push({ type: "stdout", text: "late" });
    events.end();
    events.push({ type: "stdout", text: "after the end" });
    expect(await taking).toEqual([
      { type: "stdout", text: "early" },
      { type: "stdout", text: "late" },
    ]);
  });

  it("end with the reason when Cellar itself fails", async () => {
    const events = new CellEvents();
    events.push({ type: "stdout", text: "x" });
    events.end(new Error("disk full"));
    await expect(all(events)).rejects.toThrow("disk full");
  });

  it("do not pile up without bounds, and tell what is left out", async () => {
    const events = new CellEvents();
    for (let n = 0; n < 5_000; n += 1) events.push({ type: "stdout", text: `${n}` });
    events.push({ type: "state", state: "COMPLETED" });
    events.end();
    const seen = await all(events);
    expect(seen).toHaveLength(1_002);
    expect(seen.slice(-2)).toEqual([
      { type: "omitted", events: 4_000 },
      { type: "state", state: "COMPLETED" },
    ]);
  });

  it("are left out by their size too", async () => {
    const events = new CellEvents();
    for (let n = 0; n < 10; n += 1) events.push({ type: "stdout", text: "x".repeat(1 << 20) });
    events.end();
    expect(await all(events)).toHaveLength(4);
  });
});
