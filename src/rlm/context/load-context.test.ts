import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type LoadContextOptions, loadContext } from "./load-context.js";

let folder = "";
let temporary = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cellar-test-"));
  temporary = mkdtempSync(join(tmpdir(), "cellar-test-"));
  vi.stubEnv("TMPDIR", temporary);
});
afterEach(() => {
  vi.unstubAllEnvs();
  const left = readdirSync(temporary);
  for (const each of [folder, temporary])
    rmSync(each, { recursive: true, force: true, maxRetries: 10 });
  expect(left).toEqual([]);
});

const put = (path: string, content: string | Uint8Array): string => {
  const whole = join(folder, path);
  mkdirSync(dirname(whole), { recursive: true });
  writeFileSync(whole, content);
  return whole;
};

const fileOf = (context: unknown): string => (context as { file: string }).file;

/** What it makes of sources, and what it says. */
async function load(sources: readonly string[], options: LoadContextOptions = {}) {
  const notes: string[] = [];
  await using loaded = await loadContext(sources, {
    ...options,
    onNote: (note) => notes.push(note),
  });
  const { context, description, documents, bytes } = loaded;
  const isFile = !(context instanceof Map);
  const content = isFile ? readFileSync(fileOf(context), "utf8") : Object.fromEntries(context);
  return { content, keys: isFile ? [] : [...context.keys()], description, documents, bytes, notes };
}

describe("loadContext, of one text", () => {
  it("leaves a file where it is", async () => {
    const path = put("a.txt", "hello\r\n\u0000".slice(0, 7));
    await using loaded = await loadContext(path);
    expect(loaded).toMatchObject({
      context: { file: path },
      description: "a.txt, 7 bytes",
      documents: 1,
      bytes: 7,
    });
  });

  it("unpacks and recodes, and leaves nothing behind", async () => {
    const text = "häuser 😀\n".repeat(1000);
    const wide = Buffer.from(`\ufeff${text}`, "utf16le");
    for (const content of [gzipSync(text), wide, gzipSync(wide), Buffer.from(wide).swap16()]) {
      const loaded = await loadContext(put("text", content));
      const file = fileOf(loaded.context);
      expect(readFileSync(file, "utf8")).toBe(text);
      expect(statSync(file).mode & 0o077).toBe(0);
      expect(statSync(dirname(file)).mode & 0o077).toBe(0);
      await loaded[Symbol.asyncDispose]();
      expect(existsSync(dirname(file))).toBe(false);
      await loaded[Symbol.asyncDispose]();
    }
  });

  it("reads - from where it is told to", async () => {
    const stdin = (async function* () {
      yield Buffer.from("from ");
      yield Buffer.from("stdin");
    })();
    expect((await load(["-"], { stdin })).content).toBe("from stdin");
  });

  it.each([
    [
      "what is not there",
      () => ["/no/such/file"],
      /\/no\/such\/file cannot be read: the file does not/,
    ],
    ["a device", () => ["/dev/null"], /not a regular file/],
    ["a binary", () => [put("x.bin", "a\0b")], /x.bin is not text/],
    ["a PDF", () => [put("x.pdf", "%PDF-1.7 text")], /x.pdf is not text/],
    ["a packed binary", () => [put("x.gz", gzipSync("a\0b"))], /x.gz is not text/],
    [
      "a torn pack",
      () => [put("x.gz", gzipSync("abc").subarray(0, 15))],
      /x.gz could not be decompressed/,
    ],
    ["nothing", () => [], /there is no context/],
    ["an empty name", () => [""], /there is no context/],
    ["stdin twice", () => ["-", "-"], /only once/],
    ["another scheme", () => ["ftp://name:word@example.com/x"], /^ftp: cannot be fetched/],
    ["no address", () => ["http://name:word@/"], /invalid address of the context/],
    ["an empty folder", () => [folder], /context has no text/],
  ])("refuses %s", async (_, sources, told) => {
    const failed = await load(sources()).catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: "INVALID_INPUT", remedy: expect.any(String) });
    expect((failed as Error).message).toMatch(told);
    expect((failed as Error).message).not.toContain("word");
  });

  it("stops when it is told to, also while it waits", async () => {
    const controller = new AbortController();
    const stdin = (async function* () {
      yield Buffer.from("begun");
      controller.abort();
      await new Promise(() => {});
    })();
    await expect(load(["-"], { stdin, signal: controller.signal })).rejects.toMatchObject({
      code: "ABORTED",
    });
    await expect(load([folder], { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: "ABORTED",
    });
  });
});

describe("loadContext, of documents", () => {
  it("takes the texts of a folder in order, and tells what it left out and why", async () => {
    put("b.md", "two");
    put("a/1.txt", "one");
    put("a/10.txt", "ten");
    put("a/__proto__", "kept");
    put("c.log.gz", gzipSync("packed"));
    put(".env", "SECRET=1");
    put(".git/config", "x");
    put("node_modules/x/index.js", "x");
    put("image.png", "\x89PNG\0");
    put("empty.txt", "");
    put("torn.gz", gzipSync("abc").subarray(0, 15));
    put("archive.gz", gzipSync("a\0b"));
    put(".gitignore", "*.tmp\n/out/\n");
    put("x.tmp", "ignored");
    put("out/y.txt", "ignored");
    put("a/.gitignore", "!x.tmp\n10.txt\n");
    put("a/x.tmp", "taken again");
    symlinkSync("/etc/hostname", join(folder, "link.txt"));
    const { keys, content, notes, documents } = await load([folder]);
    const name = basename(folder);
    const expected = ["a/1.txt", "a/__proto__", "a/x.tmp", "b.md", "c.log.gz"];
    expect(keys).toEqual(expected.map((path) => `${name}/${path}`));
    expect(content).toMatchObject({ [`${name}/c.log.gz`]: "packed", [`${name}/b.md`]: "two" });
    expect(documents).toBe(5);
    expect(notes).toHaveLength(1);
    expect(notes[0]).toMatch(/took 5 files; left out/);
    for (const told of [
      `4 hidden (${name}/.env, ${name}/.git/, ${name}/.gitignore, …)`,
      `1 made by tools (${name}/node_modules/)`,
      `3 ignored (${name}/a/10.txt, ${name}/out/, ${name}/x.tmp)`,
      `1 binary (${name}/image.png)`,
      `1 empty (${name}/empty.txt)`,
      `1 links (${name}/link.txt)`,
      "1 compressed but not text",
      "1 that could not be decompressed",
    ]) {
      expect(notes[0]).toContain(told);
    }
  });

  it("takes several, each once, under names that tell them apart", async () => {
    const [one, other] = [put("x/a.txt", "one"), put("y/a.txt", "other")];
    const { content, notes } = await load([one, other, one, join(folder, "x")]);
    expect(content).toEqual({ "a.txt": "one", "a.txt (2)": "other" });
    expect(notes).toEqual([]);
  });

  it("tells of bytes that are no text, and of names that would write on a terminal", async () => {
    put("a\u001b[31m\n.txt", Buffer.from([0x61, 0xff, 0x62]));
    const { content, notes } = await load([folder]);
    expect(Object.values(content)).toEqual(["a\ufffdb"]);
    expect(notes[0]).toMatch(/not valid UTF-8.*a \[31m \.txt$/);
  });

  it("makes one text of what is too much for a dict", async () => {
    const [big, small] = [put("big.txt", ""), put("small\n.txt", "the end")];
    const block = Buffer.alloc(1024 * 1024, "x\n");
    for (let at = 0; at < 40; at += 1) writeFileSync(big, block, { flag: "a" });
    await using loaded = await loadContext([big, small]);
    expect(loaded.description).toMatch(/^2 documents, 41,943,047 bytes: one text/);
    const file = fileOf(loaded.context);
    expect(file.startsWith(folder)).toBe(false);
    const text = readFileSync(file);
    const lead = [
      'This text has 2 documents. Each follows a line "===== FILE n/2: name =====".',
      "1/2: big.txt",
      "2/2: small .txt",
      "",
      "===== FILE 1/2: big.txt =====",
      "x",
    ].join("\n");
    expect(text.toString("utf8", 0, lead.length)).toBe(lead);
    expect(text.toString("utf8", text.length - 60)).toMatch(
      /x\n\n===== FILE 2\/2: small \.txt =====\nthe end\n$/,
    );
  });

  it("refuses more than a context may have before it copies anything", async () => {
    const [one, other] = [put("one", "x"), put("other", "y".repeat(10_000))];
    const failed = load([one, other, put("third", "z")]);
    expect((await failed).documents).toBe(3);
    truncateSync(other, 5 * 1024 ** 3);
    await expect(load([one, other])).rejects.toMatchObject({ code: "TOO_LARGE" });
  });
});
