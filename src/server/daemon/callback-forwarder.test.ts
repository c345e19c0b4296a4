import { describe, expect, it } from "vitest";
import type { Display } from "../../backends/daemon/client-callbacks.js";
import type { Peer } from "../../protocol/peer.js";
import { CallbackForwarder } from "./callback-forwarder.js";

describe("a display that a result has", () => {
  it("is sent with it if it was not before, and as the first of its id", () => {
    const sent: unknown[] = [];
    const peer = { notify: (...message: unknown[]) => sent.push(message[1]) };
    const order = { listens: [], answers: [], tools: undefined };
    const relay = new CallbackForwarder(peer as unknown as Peer, "s", order);
    const show = (text: string): Display => ({
      type: "display",
      data: { "text/plain": text },
      binary: {},
      metadata: {},
      displayId: "i",
      isUpdate: true,
    });
    const [early, late] = [show("early"), show("late")];
    relay.callbacks.onDisplay?.(early);
    expect([relay.numberOf(early), relay.numberOf(late), relay.numberOf(late)]).toEqual([0, 1, 1]);
    expect(sent).toMatchObject([
      { data: { "text/plain": "early" }, display_id: "i", role: "update" },
      { data: { "text/plain": "late" }, display_id: "i" },
    ]);
    expect(sent[1]).not.toHaveProperty("role");
  });
});
