import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  AGENT_FUNCTIONS,
  CALL_PREFIXES,
  functionsOf,
  OTHER_PREFIX,
  OTHER_PREFIXES,
} from "../src/protocol/agent/functions.js";

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
const names = Object.keys(AGENT_FUNCTIONS);

describe("the table of an agent's functions", () => {
  it("has the prefixes that the map of calls was specified with", () => {
    expect({ ...CALL_PREFIXES, ...OTHER_PREFIXES }).toMatchObject({
      grep: "G",
      peek: "P",
      llm_call: "L",
      TOOL: "T",
      list_dir: "D",
      web_fetch: "W",
      recall: "R",
      code_search: "CS",
      doc_search: "DS",
    });
  });

  it.each(["docs/agent-tools.md", "docs/agent.md"])("is all in %s", (path) => {
    const text = read(path);
    expect(names.filter((name) => !new RegExp(`\`${name}\\b`).test(text))).toEqual([]);
  });

  it("is all in the help of `cellar repl`", () => {
    const text = read("src/cli/repl/commands.ts");
    expect(names.filter((name) => !new RegExp(`  ${name}\\b`).test(text))).toEqual([]);
  });

  it("has the prefixes of docs/research.md, and no function there that does not exist", () => {
    const rows = [...read("docs/research.md").matchAll(/`([A-Z]{1,2})` \| `(\w+)`/g)];
    const shown = Object.fromEntries(rows.map(([, prefix, name]) => [name, prefix]));
    const own = Object.entries(CALL_PREFIXES).filter(([, prefix]) => prefix !== OTHER_PREFIX);
    expect(shown).toEqual(Object.fromEntries(own));
  });

  it("has the functions that docs/agent.md leaves out of the strategy", () => {
    const [, listed = ""] =
      /do not count, nor do ([^.]*?),? which show nothing/.exec(read("docs/agent.md")) ?? [];
    const shown = [...listed.matchAll(/`(\w+)`/g)].map(([, name]) => name);
    expect(shown.sort()).toEqual([...functionsOf("measure", "act", "note", "answer")].sort());
  });
});
