import { ID_SOURCE } from "./node.js";

/** More than the code and prose of a turn. */
const MAX_TEXT = 65_536;
const BEFORE = "(?<![\\p{L}\\p{N}_$.@#/\\\\-])";
const AFTER = "(?![\\p{L}\\p{N}_$(]|[.@/\\\\-][\\p{L}\\p{N}_]|[ \\t]*=(?!=))";
const ONE = `${BEFORE}${ID_SOURCE}${AFTER}`;
const CUES =
  "see(?: also)?|based on|building on|according to|as (?:shown|found|seen) (?:in|by)|compared? (?:to|with)|" +
  "derived from|results? (?:of|from)|refers? to|referring to|ref(?:erence)?s?|cf\\.?|per|using|via";
const JOINT = "(?:,? (?:and|or|&) |, ?)";
const ID = new RegExp(ONE, "gu");
const CUED = new RegExp(
  `(?<![\\p{L}\\p{N}_])(?:${CUES}):? ?[(\\[]?(${ONE}(?:${JOINT}${ONE})*)`,
  "giu",
);

/** The ids in the model's own words. */
export function mentionedIn(text: string): ReadonlySet<string> {
  return new Set([...text.slice(0, MAX_TEXT).matchAll(ID)].map(([id]) => id));
}

/** The ids in a document, where only phrases count ("see G1"): `G1` alone may mean anything. */
export function citedIn(text: string): ReadonlySet<string> {
  const flat = text.slice(0, MAX_TEXT).replace(/\s+/g, " ");
  return new Set([...flat.matchAll(CUED)].flatMap(([, ids = ""]) => [...mentionedIn(ids)]));
}
