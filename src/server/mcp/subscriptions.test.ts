import { describe, expect, it } from "vitest";
import { Subscriptions } from "./subscriptions.js";

const CELL = "notebook://session/sales/cell/0";
const FILE = "notebook://session/sales/files/a.csv";
const OTHER = "notebook://session/other";

function listen(id: number, resourceSubscriptions: unknown) {
  const params = { notifications: { resourceSubscriptions } };
  return { jsonrpc: "2.0" as const, id, method: "subscriptions/listen", params };
}

describe("the subscriptions", () => {
  it("has what was asked for one by one, and all at once", () => {
    const list = new Subscriptions();
    list.add(CELL);
    list.observe(listen(1, [FILE, OTHER, CELL]));
    expect(list.of("sales")).toEqual([CELL, FILE]);
    expect(list.of("other")).toEqual([OTHER]);
    list.delete(CELL);
    list.observe({
      jsonrpc: "2.0",
      method: "notifications/cancelled",
      params: { requestId: 1 },
    });
    expect(list.of("sales")).toEqual([]);
  });

  it("takes only what names something in a notebook, and not too much", () => {
    const list = new Subscriptions();
    expect(() => list.add("file:///etc/passwd")).toThrow("does not name");
    list.observe(listen(1, "x"));
    list.observe(listen(2, ["file:///etc/passwd"]));
    expect(list.of("sales")).toEqual([]);
    list.observe(
      listen(
        3,
        Array.from({ length: 5_000 }, (_, n) => `${CELL}${n}`),
      ),
    );
    expect(list.of("sales").length).toBeLessThan(1_001);
    expect(() => list.add(OTHER)).toThrow("more than 1000");
  });
});
