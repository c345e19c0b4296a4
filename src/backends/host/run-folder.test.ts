import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SANDBOX_IDENTITY, sweep } from "./run-folder.js";

const DEAD = 2 ** 22 + 1;

describe("what hosts left behind", () => {
  let temporary: string;
  const leave = (name: string) => {
    const path = join(temporary, name);
    mkdirSync(join(path, "sockets"), { recursive: true });
    writeFileSync(join(path, "sockets", "file"), "");
    return path;
  };

  beforeEach(() => {
    temporary = mkdtempSync(join(tmpdir(), "cellar-sweep-test-"));
  });
  afterEach(() => rmSync(temporary, { recursive: true, force: true, maxRetries: 10 }));

  it("is removed when the host is gone, and nothing else is", () => {
    const gone = leave(`cellar-${DEAD}-abcdef`);
    const kept = [`cellar-${process.pid}-abcdef`, `cellar-${DEAD}-abcdefg`, "other"].map(leave);
    sweep(temporary);
    expect(existsSync(gone)).toBe(false);
    expect(kept.map(existsSync)).toEqual([true, true, true]);
  });

  it("stops nobody who may not remove it", () => {
    const folder = leave(`cellar-${DEAD}-abcdef`);
    const isRoot = process.getuid?.() === 0;
    chmodSync(temporary, 0o755);
    chmodSync(join(folder, "sockets"), 0);
    if (isRoot) process.seteuid?.(SANDBOX_IDENTITY.uid);
    try {
      expect(() => sweep(temporary)).not.toThrow();
    } finally {
      if (isRoot) process.seteuid?.(0);
      chmodSync(join(folder, "sockets"), 0o700);
    }
    expect(existsSync(folder)).toBe(true);
  });
});
