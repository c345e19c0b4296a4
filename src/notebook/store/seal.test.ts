import {
  chmod,
  chown,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Seal, type SealedState } from "./seal.js";

const STATE: SealedState = { sha256: "a".repeat(64), user: "ann", session: "one", seq: 3 };

describe("the seal of snapshots", () => {
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), "cellar-seal-"));
  });
  afterEach(() => rm(dir, { recursive: true, force: true, maxRetries: 10 }));
  const key = () => join(dir, "key");

  it("holds for what was signed, and for nothing else", async () => {
    const seal = await Seal.open(dir);
    const mac = seal.sign(STATE);
    expect(mac).toMatch(/^[0-9a-f]{64}$/);
    expect(seal.verify(STATE, mac)).toBe(true);
    for (const other of [
      { sha256: "b".repeat(64) },
      { user: "bob" },
      { session: "two" },
      { seq: 4 },
      { user: "anno", session: "ne" },
    ]) {
      expect(seal.verify({ ...STATE, ...other }, mac)).toBe(false);
    }
    const flipped = `${mac[0] === "0" ? "1" : "0"}${mac.slice(1)}`;
    for (const wrong of [
      "",
      "0",
      flipped,
      mac.slice(2),
      `${mac}00`,
      mac.toUpperCase(),
      "z".repeat(64),
    ]) {
      expect(seal.verify(STATE, wrong)).toBe(false);
    }
  });

  it("holds for later processes with the same folder alone", async () => {
    const mac = (await Seal.open(dir)).sign(STATE);
    expect((await Seal.open(dir)).verify(STATE, mac)).toBe(true);
    const other = await Seal.open(join(dir, "other", "deep"));
    expect(other.verify(STATE, mac)).toBe(false);
  });

  it("has one key when many open at once", async () => {
    const seals = await Promise.all(Array.from({ length: 16 }, () => Seal.open(dir)));
    expect(new Set(seals.map((seal) => seal.sign(STATE))).size).toBe(1);
    expect(await readdir(dir)).toEqual(["key"]);
    const info = await stat(key());
    expect(info.size).toBe(32);
    expect(info.mode & 0o777).toBe(0o600);
  });

  it("shows its key to nobody", async () => {
    const seal = await Seal.open(dir);
    const secret = (await readFile(key())).toString("hex");
    expect(inspect(seal, { depth: 9, showHidden: true })).not.toContain(secret.slice(0, 8));
    expect(JSON.stringify(seal)).toBe("{}");
  });

  it("refuses a key that others may know or have made", async (context) => {
    await Seal.open(dir);
    await chmod(key(), 0o640);
    const refusal = { code: "INVALID_CONFIG", remedy: expect.stringContaining("chmod 600") };
    await expect(Seal.open(dir)).rejects.toMatchObject(refusal);
    await chmod(key(), 0o600);
    await Seal.open(dir);
    if (process.getuid?.() !== 0) context.skip("only root can give files away");
    await chown(key(), 65_534, 65_534);
    await expect(Seal.open(dir)).rejects.toThrow("belongs to user 65534");
  });

  it("refuses what is no key, and leaves it", async () => {
    for (const content of ["", "short", "x".repeat(33)]) {
      await writeFile(key(), content, { mode: 0o600 });
      await expect(Seal.open(dir)).rejects.toMatchObject({ code: "DAMAGED" });
      expect(await readFile(key(), "utf8")).toBe(content);
    }
    await rm(key());
    await writeFile(join(dir, "real"), "x".repeat(32), { mode: 0o600 });
    await symlink(join(dir, "real"), key());
    await expect(Seal.open(dir)).rejects.toMatchObject({ code: "INVALID_CONFIG" });
  });
});
