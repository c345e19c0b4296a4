import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { open } from "../../test/support/far-end.js";
import { encodeFrame } from "./frames.js";

const FLOOD = 1000;

function output(number: number): Buffer {
  const place = { branch: 0, generation: 0, step: 1, seq: number };
  const params = { ...place, stream: "stdout", text: `${number}` };
  return encodeFrame({ jsonrpc: "2.0", method: "output", params });
}

const flood = () => Buffer.concat(Array.from({ length: FLOOD }, (_, number) => output(number)));
const inOrder = Array.from({ length: FLOOD }, (_, number) => `${number}`);

function listen() {
  const ends = open();
  const seen: string[] = [];
  ends.peer.on("output", ({ text }) => seen.push(text));
  return { ...ends, seen };
}

describe("the frames of one link", () => {
  test("leave turns of the event loop to others, and all arrive in order", async () => {
    const { far, seen } = listen();
    far.push(flood());
    let largest = 0;
    let last = 0;
    for (let turn = 0; turn < 10 * FLOOD && seen.length < FLOOD; turn += 1) {
      await nextTurn();
      largest = Math.max(largest, seen.length - last);
      last = seen.length;
    }
    expect(seen).toEqual(inOrder);
    // Two shares may fall between two looks.
    expect(largest).toBeLessThanOrEqual(256);
  });

  test("of several chunks count together", async () => {
    const { far, seen } = listen();
    for (let number = 0; number < FLOOD; number += 1) far.push(output(number));
    await nextTurn();
    expect(seen.length).toBeLessThanOrEqual(256);
    while (seen.length < FLOOD) await nextTurn();
    expect(seen).toEqual(inOrder);
  });

  test("are all heard although the other side left with them", async () => {
    for (const leave of ["end", "destroy"] as const) {
      const { far, peer, seen } = listen();
      const isFirst = new Promise<void>((resolve) => far.once("data", () => resolve()));
      far.push(flood());
      await isFirst;
      if (leave === "end") far.push(null);
      else far.destroy();
      expect(await peer.closed).toMatchObject({ code: "SESSION_LOST" });
      expect(seen).toEqual(inOrder);
    }
  });

  test("stop when the link is closed in the middle of them", async () => {
    const { far, peer, seen } = listen();
    far.push(flood());
    await nextTurn();
    peer.close();
    const heard = seen.length;
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    expect(heard).toBeLessThan(FLOOD);
    expect(seen.length).toBe(heard);
  });
});
