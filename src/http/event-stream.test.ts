import { describe, expect, it } from "vitest";
import { EventStreamDecoder } from "./event-stream.js";

function read(...pieces: readonly (string | Uint8Array)[]): string[] {
  const decoder = new EventStreamDecoder();
  const events = pieces.flatMap((piece) => decoder.push(Buffer.from(piece as string)));
  return [...events, ...decoder.end()];
}

describe("EventStreamDecoder", () => {
  it.each(["\n", "\r", "\r\n"])("reads lines that end with %j", (end) => {
    const text = ["event: one", "data: a", "", "data:b", "", "event: none", ""].join(end);
    const expected = ["a", "b"];
    expect(read(text)).toEqual(expected);
    expect(read(...text)).toEqual(expected);
  });

  it("reads data over several lines, passes over comments and unknown fields", () => {
    const text = ": hm\ndata: a\nid: 7\nretry: 9\ndata:  b\ndata\nfoo\n:\n\ndata: x:y\n\n";
    expect(read(text)).toEqual(["a\n b\n", "x:y"]);
  });

  it("puts characters together that were cut", () => {
    const bytes = Buffer.from("\ufeffdata: grün 🌳\n\n");
    const expected = ["grün 🌳"];
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      expect(read(bytes.subarray(0, cut), bytes.subarray(cut))).toEqual(expected);
    }
    expect(read(...[...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(expected);
  });

  it("gives the last event also where its end is missing", () => {
    expect(read("data: [DONE]")).toEqual(["[DONE]"]);
    expect(read("data: a\n\nevent: b")).toEqual(["a"]);
    expect(read()).toEqual([]);
  });

  it("has a limit, for a line and for an event of many lines", () => {
    const flood = (piece: string) => {
      const decoder = new EventStreamDecoder();
      const bytes = Buffer.from(piece.repeat(10_000));
      for (let count = 0; count < 500; count += 1) decoder.push(bytes);
    };
    expect(() => flood("data:")).toThrow("an event has over");
    expect(() => flood("data:abcd\n")).toThrow("an event has over");
  });
});
