import { describe, expect, it } from "vitest";
import { citedIn, mentionedIn } from "./references.js";

describe("the model's words", () => {
  it.each([
    ["G1 shows the cause, CS2 does not", ["G1", "CS2"]],
    ['# see G1, then (P2) and "L3".', ["G1", "P2", "L3"]],
    ["answer = combine(G1, P2[0])", ["G1", "P2"]],
    ["G1 == G2", ["G1", "G2"]],
    ["«G1»…", ["G1"]],
  ])("name calls: %s", (text, ids) => {
    expect([...mentionedIn(text)]).toEqual(ids);
  });

  it.each([
    "PG13 and G1x and xG1 and _G1 and G1_a and ÄG1 and G1é",
    "G0 and G01 and g1 and G and E1 and G1234567890",
    "G1 = 5",
    "G1=5",
    "G1()",
    "self.G1 and G1.rows and a/G1 and G1/b and a-G1 and G1-b and $G1 and #G1",
  ])("do not name calls: %s", (text) => {
    expect([...mentionedIn(text)]).toEqual([]);
  });
});

describe("a document", () => {
  it.each([
    ["for details see G1.", ["G1"]],
    ["Based on P2 and L1, or on G3", ["P2", "L1"]],
    ["refs: G1, P1, CS4", ["G1", "P1", "CS4"]],
    ["as found in\n  W2", ["W2"]],
    ["(cf. DS3)", ["DS3"]],
    ["using [G1]", ["G1"]],
  ])("cites calls: %s", (text, ids) => {
    expect([...citedIn(text)]).toEqual(ids);
  });

  it.each([
    "cells are arrested in G1 before S2",
    "P1 is a protein",
    "oversee G1 and unbased ons P2",
    "see PG13",
    "see g1",
    "G1, see page 4",
  ])("does not cite calls: %s", (text) => {
    expect([...citedIn(text)]).toEqual([]);
  });

  it("is read in one go however it is made", () => {
    const hostile = ["see ".repeat(16_000), `see G1${", G1".repeat(20_000)}`, " ".repeat(65_000)];
    for (const text of hostile) expect(citedIn(`${text}x`).size).toBeLessThanOrEqual(1);
  });
});
