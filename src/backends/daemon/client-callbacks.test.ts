import { describe, expect, it } from "vitest";
import type { Params } from "../../protocol/messages.js";
import { ClientCallbacks } from "./client-callbacks.js";

const MEBIBYTE = 1024 * 1024;
const BIG = "x".repeat(8 * MEBIBYTE);

function clientCallbacks() {
  const listener = new ClientCallbacks({});
  const show = (text: string, more: Partial<Params<"session_display">> = {}) =>
    listener.display(
      { session: "s", data: { "text/plain": text }, attachments: [], metadata: "{}", ...more },
      [],
    );
  const kept = (count: number) =>
    [...Array(count).keys()].filter((index) => listener.take(index) !== undefined);
  return { show, kept };
}

describe("displays that wait for a result", () => {
  it("take no more than a cell may show and as much again, of which the last are kept", () => {
    const { show, kept } = clientCallbacks();
    for (let index = 0; index < 40; index++) show(BIG, { display_id: `cleared ${index}` });
    expect(kept(40)).toEqual([...Array(16).keys()].map((index) => index + 24));
    for (let index = 0; index < 16; index++) show(BIG);
    expect(kept(56)).toEqual([...Array(16).keys()].map((index) => index + 40));
  });

  it("are not pushed out by updates, of themselves or of what no cell shows", () => {
    const { show, kept } = clientCallbacks();
    show("first");
    show("bar", { display_id: "bar" });
    for (let index = 0; index < 2000; index++) {
      show(BIG, { display_id: `gone ${index}`, role: "update" });
      show(BIG, { display_id: "bar", role: "update" });
    }
    expect(kept(4002)).toEqual([0, 4001]);
  });
});
