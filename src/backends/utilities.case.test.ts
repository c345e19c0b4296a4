import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ISandbox } from "./backend.js";
import type { ConformanceOptions } from "./conformance.case.test.js";

const BOOK = [
  "# One",
  "The whale came.\r",
  "It left.",
  "",
  "## Two",
  "```",
  "# not a header",
  "```",
  "A whole whale.",
].join("\n");

/** What every backend offers to look through a context. */
export function describeUtilities(options: ConformanceOptions): void {
  describe(`${options.name}: utilities`, () => {
    let sandbox: ISandbox;

    const check = (name: string, body: () => Promise<void>) =>
      it(name, async (context) => {
        const reason = options.unavailable() ?? options.skip?.[name];
        if (reason !== undefined) context.skip(reason);
        await body();
      });

    const value = async (code: string) => {
      const { result, error } = await sandbox.execute(code);
      return result?.["text/plain"] ?? error?.message;
    };

    beforeAll(async () => {
      if (options.unavailable() !== undefined) return;
      sandbox = await options.create({ timeout: 10_000 });
    });

    afterAll(async () => {
      await sandbox?.destroy();
    });

    check("say what to do where there is no context", async () => {
      expect(await value("count_lines()")).toContain("this session has no context");
    });

    check("look through the context", async () => {
      await sandbox.initialize(BOOK);
      expect(await value("[found.text for found in search_context('wh.le', 4)]")).toBe(
        "['The whale cam', '`\\nA whole wha', 'ole whale.']",
      );
      expect(await value("search_context('whale', max_results=1).more")).toBe("1");
      expect(await value("count_matches('whale'), count_lines(), get_line(3)")).toBe(
        "(2, 9, 'It left.')",
      );
      expect(await value("[number for number, line in find_line('whale')]")).toBe("[2, 9]");
      expect(await value("[s.title for s in extract_sections(context)]")).toBe("['One', 'Two']");
      expect(await value("''.join(chunk_by_headers(context)) == context")).toBe("True");
    });

    check("look through a list of documents", async () => {
      await sandbox.initialize([
        { title: "a", text: "no" },
        { title: "b", text: "a whale" },
      ]);
      expect(await value("[(f.where, f.match) for f in search_context('whale')]")).toBe(
        `[("[1]['text']", 'whale')]`,
      );
    });

    check("end where their originals did not", async () => {
      expect(await value("chunk_text('abcdef', 3, 1)")).toBe("['abc', 'cde', 'ef']");
      expect(await value("chunk_text('abc', 2, 2)")).toContain("overlap");
      expect(await value('extract_json(\'so: {"a": [1, "}"]} it is\')')).toBe("{'a': [1, '}']}");
      expect(await value("extract_json('nothing here')")).toBeUndefined();
      expect(await value("extract_json('{' * 100_000)")).toBeUndefined();
      expect(await value("search_context('(')")).toContain("position");
    });

    check("are shown by help()", async () => {
      const names = [
        "chunk_text",
        "search_context",
        "count_matches",
        "find_line",
        "get_line",
        "count_lines",
        "extract_json",
        "extract_sections",
        "chunk_by_headers",
      ];
      for (const name of names) {
        const { stdout } = await sandbox.execute(`help(${name})`);
        expect(stdout).toContain(`${name}(`);
        expect(stdout).toContain(">>>");
      }
    });

    check("completes what is being typed, and runs no property for it", async () => {
      const cell =
        "asked = []\nclass Tap:\n  @property\n  def flow(self): asked.append(1); return ''";
      await sandbox.execute(`${cell}\ntap = Tap(); number = 5; table = {'first key': 1}`);
      expect(await sandbox.complete("é😀 = number.bit_l")).toEqual({
        matches: ["bit_length"],
        start: 13,
        end: 18,
      });
      expect((await sandbox.complete("print(numb) + 1", 10)).matches).toEqual(["number"]);
      expect((await sandbox.complete("table['fi")).matches).toEqual(["first key']"]);
      expect((await sandbox.complete("tap.fl")).matches).toEqual(["flow"]);
      expect((await sandbox.complete("tap.flow.upp")).matches).toEqual([]);
      expect(await sandbox.getVariable("asked")).toEqual([]);
      await expect(sandbox.complete("x", 2)).rejects.toMatchObject({ code: "INVALID_INPUT" });
    });

    check("tells whether code can be run, needs more lines, or is wrong", async () => {
      expect(await sandbox.isComplete("x = 1")).toEqual({ status: "complete" });
      expect(await sandbox.isComplete("if x:")).toEqual({ status: "incomplete", indent: "    " });
      expect(await sandbox.isComplete("%%time\nx = (")).toEqual({
        status: "incomplete",
        indent: "",
      });
      expect(await sandbox.isComplete("x = )")).toEqual({ status: "invalid" });
      const long = "#".repeat(9 * 1024 * 1024);
      expect(await sandbox.isComplete(long)).toEqual({ status: "invalid" });
    });
  });
}
