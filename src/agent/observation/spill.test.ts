import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { sessionDirOwner } from "../../backends/host/session-dir.js";
import { Spill, type SpillOptions } from "./spill.js";

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "cellar-spill-"));
});

afterEach(() => {
  rmSync(dir, { recursive: true, force: true, maxRetries: 10 });
});

const open = (options: Partial<SpillOptions> = {}) =>
  Spill.open({ dir, session: "one", ...options });
const numbered = (count: number) =>
  Array.from({ length: count }, (_, index) => `line ${index + 1}\n`).join("");
const written = (name: string) => readFileSync(join(dir, "one", name), "utf8");

describe("an output", () => {
  it("up to the cap is shown as it is, and not written", async () => {
    const spill = await open();
    const text = "x".repeat(8192);
    expect(await spill.observe(1, text)).toEqual({ text, spilled: undefined, redacted: {} });
    expect(readdirSync(join(dir, "one"))).toEqual([]);
  });

  it("over the cap goes whole into a file, and is summed up with calls to look into it", async () => {
    const spill = await open();
    const { text, spilled } = await spill.observe(3, numbered(2000));
    expect(written("turn_3.txt")).toBe(numbered(2000));
    expect(spilled).toMatchObject({
      path: "/spilled/turn_3.txt",
      lines: 2000,
      characters: numbered(2000).length,
      removed: [],
    });
    const lines = text.split("\n");
    expect(lines[0]).toBe(
      "[turn 3 printed 18,893 characters in 2,000 lines, too long to show; summary: static]",
    );
    expect(lines.slice(1, 16)).toEqual(numbered(15).trimEnd().split("\n"));
    expect(lines.slice(-8, -3)).toEqual([1996, 1997, 1998, 1999, 2000].map((n) => `line ${n}`));
    expect(lines.slice(-3)).toEqual([
      "[the whole output is in /spilled/turn_3.txt]",
      'peek(500, file="/spilled/turn_3.txt")',
      'grep("pattern", file="/spilled/turn_3.txt")',
    ]);
  });

  it("never takes more of the prompt than it may", async () => {
    const outputs = ["y".repeat(50_000), numbered(9000), "\n".repeat(9000), "😀\n".repeat(9000)];
    const worker = async () => "word ".repeat(5000);
    for (const preview of [960, 1500, 4000]) {
      for (const output of outputs) {
        for (const options of [{ preview }, { preview, worker }, { preview, maxMb: 0.001 }]) {
          const spill = await open(options);
          const { text } = await spill.observe(999_999_999_999, output);
          expect(text.length).toBeLessThanOrEqual(preview);
        }
        rmSync(join(dir, "one"), { recursive: true });
      }
    }
  });

  it("is summed up by the worker where there is one, and carried on", async () => {
    const known: (string | undefined)[] = [];
    const worker = async (previous: string | undefined) => {
      known.push(previous);
      return `${previous ?? "nothing"} and more`;
    };
    const spill = await open({ worker });
    const first = await spill.observe(1, numbered(2000));
    expect(first.text).toContain("summary: worker]\nnothing and more\n[the whole");
    const later = await open({ worker });
    later.restore(JSON.parse(JSON.stringify(spill)));
    await later.observe(2, numbered(2000));
    expect(known).toEqual([undefined, "nothing and more"]);
    expect(() => later.restore({ summary: 5 })).toThrow(/state/);
  });

  it("says in a word that the worker failed", async () => {
    const worker = () => Promise.reject(new Error("no model"));
    const { text } = await (await open({ worker })).observe(1, numbered(2000));
    expect(text).toContain("summary: static, failed]\nline 1\n");
  });
});

describe("secrets", () => {
  const secret = `ghp_${"Ab3Xy9Qz7Kd2".repeat(3)}`;

  it("are neither shown, nor written, nor told to the worker", async () => {
    const seen: string[] = [];
    const worker = async (_: string | undefined, tail: string) => {
      seen.push(tail);
      return tail;
    };
    const spill = await open({ worker });
    const { text, redacted } = await spill.observe(1, `${numbered(2000)}${secret}\n`);
    expect([text, written("turn_1.txt"), ...seen].join()).not.toContain(secret);
    expect(text).toContain("secrets redacted: 1");
    expect(redacted).toEqual({ "github-token": 1 });
    const short = await spill.observe(2, secret);
    expect(short).toMatchObject({ text: "[redacted: github-token]", spilled: undefined });
  });

  it("stay where that is asked for", async () => {
    const spill = await open({ redact: false });
    expect((await spill.observe(1, secret)).text).toBe(secret);
    const partly = await open({ redact: { except: ["github-token"] } });
    expect((await partly.observe(1, secret)).text).toBe(secret);
  });
});

describe("the files", () => {
  it("of an earlier version are found again", async (context) => {
    const owner = sessionDirOwner();
    if (owner === undefined) return context.skip("only root's sessions run as another user");
    mkdirSync(join(dir, "one"), { mode: 0o700 });
    writeFileSync(join(dir, "one", "turn_7.txt"), "x");
    chownSync(join(dir, "one"), owner.uid, owner.gid);
    expect(await (await open()).files.names()).toEqual(["turn_7.txt"]);
  });

  it("can be read by the session and by nobody else", async () => {
    await (await open()).observe(1, numbered(2000));
    const folder = statSync(join(dir, "one"));
    const file = statSync(join(dir, "one", "turn_1.txt"));
    expect(folder.mode & 0o777).toBe(0o700);
    expect(file.mode & 0o777).toBe(0o600);
    const own = { uid: process.getuid?.(), gid: process.getgid?.() };
    expect(folder).toMatchObject(own);
    expect(file).toMatchObject(sessionDirOwner() ?? own);
  });

  it("are never overwritten: a number that was used is not used again", async () => {
    const spill = await open();
    await spill.observe(4, numbered(2000));
    const again = await spill.observe(4, numbered(3000));
    expect(again.spilled?.path).toBe("/spilled/turn_5.txt");
    expect(again.text).toContain('peek(500, file="/spilled/turn_5.txt")');
    const later = await open();
    const back = await later.observe(2, numbered(4000));
    expect(back.spilled?.path).toBe("/spilled/turn_6.txt");
    expect(written("turn_4.txt")).toBe(numbered(2000));
    expect(written("turn_5.txt")).toBe(numbered(3000));
  });

  it("get numbers of their own when several are written at once", async () => {
    const spills = await Promise.all([open(), open(), open(), open()]);
    const observed = await Promise.all(
      spills.flatMap((spill) => [1, 1, 2].map((turn) => spill.observe(turn, numbered(2000)))),
    );
    const paths = observed.map(({ spilled }) => spilled?.path);
    expect(new Set(paths).size).toBe(12);
    expect(readdirSync(join(dir, "one")).length).toBe(12);
  });

  it("make room for newer ones, which is told", async () => {
    const spill = await open({ maxMb: 0.04 });
    for (const turn of [1, 2]) {
      expect((await spill.observe(turn, numbered(2000))).spilled?.removed).toEqual([]);
    }
    const { text, spilled } = await spill.observe(3, numbered(2000));
    expect(spilled?.removed).toEqual(["turn_1.txt"]);
    expect(text).toContain("; removed to make space: turn_1.txt]");
    expect(readdirSync(join(dir, "one")).sort()).toEqual(["turn_2.txt", "turn_3.txt"]);
  });

  it("keep the beginning of an output that is larger than all may be", async () => {
    const spill = await open({ maxMb: 0.01 });
    const { text } = await spill.observe(1, `a${"é".repeat(20_000)}`);
    expect(text).toContain("[its beginning is in /spilled/turn_1.txt]");
    expect(written("turn_1.txt")).toMatch(/^aé+$/);
    expect(statSync(join(dir, "one", "turn_1.txt")).size).toBeLessThanOrEqual(10_486);
  });

  it("that cannot be written are told of, and the turn goes on", async () => {
    const spill = await open();
    rmSync(join(dir, "one"), { recursive: true });
    const { text, spilled } = await spill.observe(1, numbered(2000));
    expect(text).toContain("[the whole output could not be kept: could not write outputs to ");
    expect(text).not.toContain("peek(");
    expect(text.length).toBeLessThanOrEqual(1500);
    expect(spilled?.path).toBeUndefined();
  });
});

describe("what cannot be", () => {
  it.each(["", "..", "a/b", "../x", "a\0b", ".hidden", "x".repeat(65)])(
    "a session that is called %j",
    async (session) => {
      await expect(open({ session })).rejects.toMatchObject({ code: "INVALID_INPUT" });
    },
  );

  it("a folder that is a link or a file", async () => {
    mkdirSync(join(dir, "elsewhere"));
    symlinkSync(join(dir, "elsewhere"), join(dir, "linked"));
    writeFileSync(join(dir, "file"), "");
    for (const session of ["linked", "file"]) {
      await expect(open({ session })).rejects.toMatchObject({ code: "IO_ERROR" });
    }
  });

  it("a folder that is a link, or that others may enter", async () => {
    const target = join(dir, "target");
    mkdirSync(target, { mode: 0o700 });
    symlinkSync(target, join(dir, "link"));
    await expect(open({ dir: join(dir, "link") })).rejects.toMatchObject({
      code: "IO_ERROR",
      message: expect.stringContaining("is a symbolic link"),
    });
    for (const [mode, folder] of [
      [0o777, target],
      [0o770, join(target, "one")],
    ] as const) {
      mkdirSync(folder, { recursive: true });
      chmodSync(folder, mode);
      await expect(open({ dir: target })).rejects.toMatchObject({
        code: "INVALID_CONFIG",
        message: expect.stringContaining("open to other users"),
      });
      chmodSync(folder, 0o700);
    }
    expect(readdirSync(join(target, "one"))).toEqual([]);
  });

  it("a folder of another user, be it root's or one that cells could have", async (context) => {
    if (process.getuid?.() !== 0) context.skip("only root can give folders away");
    mkdirSync(join(dir, "foreign", "one"), { recursive: true, mode: 0o700 });
    for (const folder of [join(dir, "foreign"), join(dir, "foreign", "one")]) {
      chownSync(folder, 12_345, 12_345);
      await expect(open({ dir: join(dir, "foreign") })).rejects.toMatchObject({
        code: "INVALID_CONFIG",
        message: expect.stringContaining("belongs to uid 12345"),
      });
      chownSync(folder, 0, 0);
    }
  });
});
