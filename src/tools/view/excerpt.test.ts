import { describe, expect, it } from "vitest";
import { counted } from "../../errors.js";
import { excerptOf, pageOf, shares } from "./excerpt.js";

const notice = (omitted: number, from: number) => `[${omitted} from ${from}]`;

describe("an excerpt", () => {
  it("is the whole where that fits", () => {
    expect(excerptOf("abc", 3, notice)).toEqual({ text: "abc", length: 3, omitted: 0 });
  });

  it("has the start and the end, and tells exactly what is missing", () => {
    const text = Array.from({ length: 100 }, (_, at) => String(at % 10)).join("");
    const { text: shown, omitted } = excerptOf(text, 30, notice);
    expect(omitted).toBe(70);
    expect(shown).toBe(`${text.slice(0, 20)}\n[70 from 20]\n${text.slice(-10)}`);
  });

  it("cuts through no character", () => {
    for (let cap = 3; cap < 12; cap++) {
      const { text, omitted } = excerptOf("😀".repeat(10), cap, notice);
      expect(Buffer.from(text).toString()).toBe(text);
      expect(text.replace(/\n.*\n/, "").length + omitted).toBe(20);
    }
  });
});

describe("pages", () => {
  it("follow each other without a gap, whatever their size", () => {
    const text = "a😀b😀😀c".repeat(5);
    for (const limit of [1, 2, 3, 7, 1000]) {
      let read = "";
      let offset: number | null = 0;
      for (let tries = 0; offset !== null && tries < 100; tries++) {
        const page = pageOf(text, offset, limit);
        expect(Buffer.from(page.text).toString()).toBe(page.text);
        read += page.text;
        offset = page.next;
      }
      expect(read).toBe(text);
    }
  });

  it("are empty beyond the end", () => {
    expect(pageOf("abc", 10, 5)).toEqual({ text: "", offset: 3, length: 3, next: null });
  });
});

describe("shares", () => {
  it("leave short texts whole and give the rest to the long ones", () => {
    expect(shares([10, 5_000, 20], 1_000, 800)).toEqual([333, 800, 495]);
    expect(shares([5_000, 5_000], 1_000, 800)).toEqual([500, 500]);
  });
});

it("counts in words", () => {
  expect([counted(0, "cell"), counted(1, "cell"), counted(1_200, "cell")]).toEqual([
    "0 cells",
    "1 cell",
    "1,200 cells",
  ]);
});
