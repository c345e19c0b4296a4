import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const folder = dirname(dirname(fileURLToPath(import.meta.url)));
const BARE_IMPORT = /\b(?:from|import)\s*\(?\s*["']([^."'][^"']*)["']/g;

describe("the tools", () => {
  it("load no library of a provider", () => {
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
      (path) => path.endsWith(".ts") && !path.endsWith(".test.ts"),
    );
    const imported = files.flatMap((path) =>
      [...readFileSync(join(folder, path), "utf8").matchAll(BARE_IMPORT)].map(([, name]) => name),
    );
    expect(files).toContain("index.ts");
    expect([...new Set(imported)].filter((name) => !name?.startsWith("node:"))).toEqual(["zod"]);
  });
});
