import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { GENERATE_COMMAND, generatedFiles } from "./generate.js";

const root = new URL("../../", import.meta.url);

test.each([...generatedFiles()])("%s is what its source generates", (path, text) => {
  const written = readFileSync(new URL(path, root), "utf8");
  expect(written === text, `${path} is out of date; run: ${GENERATE_COMMAND}`).toBe(true);
});

test("generation gives the same text every time", () => {
  expect([...generatedFiles()]).toEqual([...generatedFiles()]);
});
