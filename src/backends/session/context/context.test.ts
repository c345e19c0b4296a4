import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { contextOf, type LargeContext } from "./context.js";

const folder = mkdtempSync(join(tmpdir(), "cellar-family-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));

const LONG = 700_000;

async function large(given: unknown): Promise<LargeContext> {
  const context = await contextOf(given)();
  if (context.kind !== "large") throw new Error("it is small");
  return context;
}

async function collected(context: LargeContext): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of context.pieces()) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
}

describe("a large context", () => {
  const texts = {
    "utf-8": `x${"\u{1f600}".repeat(LONG)}`,
    "utf-16-le": `x${"\ud83da\u{1f600}".repeat(LONG)}`,
  } as const;
  for (const [format, text] of Object.entries(texts)) {
    it(`is cut nowhere inside a character: ${format}`, async () => {
      const context = await large(text);
      const bytes = await collected(context);
      expect([context.format, context.bytes]).toEqual([format, bytes.length]);
      expect(bytes.toString(format === "utf-8" ? "utf8" : "utf16le") === text).toBe(true);
    });
  }

  it("is put down in a file that nobody else can find or write", async () => {
    const context = await large([texts["utf-16-le"]]);
    await using file = await context.open(folder);
    expect(readdirSync(folder)).toEqual([]);
    const { mode, nlink, size } = await file.stat();
    expect([mode & 0o777, nlink, size]).toEqual([0o600, 0, context.bytes]);
    await expect(file.write("x")).rejects.toMatchObject({ code: "EBADF" });
    expect(JSON.parse(await file.readFile("utf8"))).toEqual([texts["utf-16-le"]]);
  });

  it("that cannot be put down is told, with what to do", async () => {
    const context = await large(texts["utf-8"]);
    await expect(context.open(join(folder, "missing"))).rejects.toMatchObject({
      code: "IO_ERROR",
      remedy: expect.stringContaining("TMPDIR"),
    });
  });

  it("is the same as another by what it holds", async () => {
    const file = join(folder, "text");
    writeFileSync(file, "z".repeat(2 * LONG));
    const values = [{ a: texts["utf-8"] }, { a: texts["utf-8"] }, { b: texts["utf-8"] }];
    const given = [texts["utf-8"], texts["utf-16-le"], { file }, ...values];
    const first = await Promise.all(given.map(large));
    const second = await Promise.all(given.map(large));
    const same = first.map((one) => second.map((other) => one.identity === other.identity));
    expect(same.map((row) => row.flatMap((is, index) => (is ? [index] : [])))).toEqual([
      [0],
      [1],
      [2],
      [3, 4],
      [3, 4],
      [5],
    ]);
    const [, , fromFile] = first as [LargeContext, LargeContext, LargeContext];
    await (await fromFile.open(folder)).close();
    utimesSync(file, 1, 1);
    expect((await large({ file })).identity).not.toBe(fromFile.identity);
    await expect(fromFile.open(folder)).rejects.toThrow(/has changed/);
  });

  it("is what was given then, whatever happens to it later", async () => {
    const documents: string[] = [texts["utf-8"]];
    const settle = contextOf(documents);
    documents.push("more");
    const context = await settle();
    expect(context.kind).toBe("large");
    expect(JSON.parse((await collected(context as LargeContext)).toString())).toHaveLength(1);
  });
});

describe("a file that is no regular one", () => {
  it("is refused without waiting for it", async () => {
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    for (const file of [pipe, folder, "/dev/null"]) {
      await expect(contextOf({ file })()).rejects.toMatchObject({ code: "INVALID_INPUT" });
    }
    expect(() => contextOf({ file: "" })).toThrow(/path of the context file is empty/);
  });
});
