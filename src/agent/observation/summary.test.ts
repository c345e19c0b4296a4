import { describe, expect, it } from "vitest";
import { countLines, excerpt, RollingSummary, type SummaryWorker } from "./summary.js";
import { loadTokenizer } from "./tokens.js";

const numbered = (count: number) =>
  Array.from({ length: count }, (_, index) => `line ${index + 1}\n`).join("");

describe("an excerpt", () => {
  it("has the first 15 and the last 5 lines, and tells how many are between", () => {
    const lines = excerpt(numbered(5000), 1000).split("\n");
    expect(lines.slice(0, 15)).toEqual(numbered(15).trimEnd().split("\n"));
    expect(lines[15]).toBe("… 4,980 lines between …");
    expect(lines.slice(16)).toEqual([4996, 4997, 4998, 4999, 5000].map((n) => `line ${n}`));
  });

  it("has all lines where they are few", () => {
    expect(excerpt(numbered(20), 1000)).toBe(numbered(20).trimEnd());
    expect(excerpt("no end", 1000)).toBe("no end");
    expect(excerpt("", 1000)).toBe("");
  });

  it("shows both ends of a line that is too long", () => {
    const shown = excerpt(`begin${"x".repeat(100_000)}end`, 200);
    expect(shown).toMatch(/^begin.*…x*end$/);
    expect(shown.length).toBeLessThanOrEqual(200);
  });

  it("lets short lines be whole when others are cut", () => {
    const shown = excerpt(`short\n${"y".repeat(5000)}\nalso short`, 100).split("\n");
    expect(shown[0]).toBe("short");
    expect(shown[1]).toMatch(/^y+…y+$/);
    expect(shown[2]).toBe("also short");
    expect(shown.join("\n").length).toBeGreaterThan(90);
  });

  it("fits, whatever it is made of", () => {
    const texts = [
      numbered(3),
      "z".repeat(9000),
      `${"w".repeat(300)}\n`.repeat(900),
      "\n".repeat(9000),
      "😀".repeat(5000),
      `${"😀".repeat(50)}\n`.repeat(40),
      `${"\u001b[31mred\u001b[0m\r".repeat(500)}\n`.repeat(30),
    ];
    for (const text of texts) {
      for (const room of [0, 1, 10, 60, 100, 300, 1020]) {
        const shown = excerpt(text, room);
        expect(shown.length).toBeLessThanOrEqual(room);
        expect(Buffer.from(shown).toString()).toBe(shown);
      }
    }
  });

  it("shows no control characters", () => {
    expect(excerpt("a\u001b[31mred\u001b[0m\u0001\tb\r\n", 100)).toBe("ared  b");
  });

  it.each([
    ["", 0],
    ["a", 1],
    ["a\n", 1],
    ["a\nb", 2],
    ["\n\n", 2],
  ])("counts the lines of %j", (text, lines) => {
    expect(countLines(text)).toBe(lines);
  });
});

describe("a rolling summary", () => {
  it("gives the worker its last summary and the end of the output", async () => {
    const asked: unknown[] = [];
    const worker: SummaryWorker = async (previous, tail) => {
      asked.push([previous, tail]);
      return `summary ${asked.length}`;
    };
    const summary = new RollingSummary({ worker });
    const output = `${"a".repeat(9000)}the end`;
    expect(await summary.of(output, 1000)).toEqual({ text: "summary 1", source: "worker" });
    await summary.of("short", 1000);
    expect(asked).toEqual([
      [undefined, output.slice(-4000)],
      ["summary 1", "short"],
    ]);
    expect(summary.latest).toBe("summary 2");
  });

  it("cuts what the worker says to 10 lines and 512 tokens", async () => {
    const answers = [numbered(50), "漢字 ".repeat(3000), "x ".repeat(100_000)];
    const tokenizer = await loadTokenizer();
    for (const answer of answers) {
      const summary = new RollingSummary({ worker: async () => answer });
      const { text } = await summary.of("output", 100_000);
      expect(countLines(text)).toBeLessThanOrEqual(10);
      expect(tokenizer.count(text)).toBeLessThanOrEqual(512);
      expect(text).not.toBe("");
    }
  });

  it("is static, and says so in a word, when the worker does not help", async () => {
    const refusals: [SummaryWorker, string][] = [
      [() => Promise.reject(new Error("no model")), "failed"],
      [
        () => {
          throw new Error("at once");
        },
        "failed",
      ],
      [async () => 42 as unknown as string, "failed"],
      [async () => " \n\n ", "empty"],
      [() => new Promise(() => {}), "timeout"],
    ];
    for (const [worker, fault] of refusals) {
      const summary = new RollingSummary({ worker, workerTimeout: 20 });
      summary.latest = "what was known";
      expect(await summary.of("only line", 1000)).toEqual({
        text: "only line",
        source: "static",
        fault,
      });
      expect(summary.latest).toBe("what was known");
    }
  });

  it("tells the worker to stop when its time is over", async () => {
    let signalled: AbortSignal | undefined;
    const worker: SummaryWorker = (_previous, _tail, signal) => {
      signalled = signal;
      return new Promise(() => {});
    };
    await new RollingSummary({ worker, workerTimeout: 5 }).of("x", 100);
    expect(signalled?.aborted).toBe(true);
  });

  it("ends with the caller", async () => {
    const controller = new AbortController();
    const worker: SummaryWorker = () => {
      controller.abort(new Error("enough"));
      return new Promise(() => {});
    };
    const summary = new RollingSummary({ worker });
    await expect(summary.of("x", 100, controller.signal)).rejects.toThrow("enough");
  });
});
