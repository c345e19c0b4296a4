import { describe, expect, it } from "vitest";
import { CellSplitter } from "./cell-splitter.js";

describe("cells in a pipe", () => {
  const split = async (text: string): Promise<string[]> => {
    const splitter = new CellSplitter(
      async (lines) => lines.split("(").length > lines.split(")").length,
    );
    const cells: (string | undefined)[] = [];
    for (const line of text.split("\n")) cells.push(await splitter.feed(line));
    return [...cells, splitter.flush()].filter((cell) => cell !== undefined);
  };

  it("end at blank lines, but not where something is open", async () => {
    expect(await split("x = 1\nx + 1\n\n\ny = (1,\n\n2)\n\nz")).toEqual([
      "x = 1\nx + 1",
      "y = (1,\n\n2)",
      "z",
    ]);
  });

  it("end at markers alone once there is one", async () => {
    const text = "#%%\ndef f():\n    a = 1\n\n    return a\n# %% next\nf()\n\nf()";
    expect(await split(text)).toEqual(["def f():\n    a = 1\n\n    return a", "f()\n\nf()"]);
  });
});
