import { describe, expect, it } from "vitest";
import { shareModules, theEngine } from "./inside/engine.js";
import { partOfNode } from "./inside/node-parts.js";

/** A module that passes a call with so many numbers on. */
function passing(numbers: number): Uint8Array {
  const type = [1, 96, numbers, ...Array(numbers).fill(0x7f), 0];
  const ends = [2, 7, 1, 1, 101, 1, 102, 0, 0, 7, 5, 1, 1, 102, 0, 0];
  return Uint8Array.from([0, 97, 115, 109, 1, 0, 0, 0, 1, type.length, ...type, ...ends]);
}

describe("the engine while Pyodide loads", () => {
  it("makes one module of small ones that are alike, and of others their own", () => {
    const before = theEngine().Module;
    const unshare = shareModules();
    const { Module } = theEngine();
    const first = new Module(passing(2));
    expect(new Module(passing(2))).toBe(first);
    expect(new Module(passing(3))).not.toBe(first);
    expect(first).toBeInstanceOf(before);
    expect(() => new Module(Uint8Array.from([1, 2, 3]))).toThrow("WebAssembly.Module()");
    expect(() => new Module(undefined as unknown as Uint8Array)).toThrow("WebAssembly.Module()");
    const { buffer } = passing(2);
    expect(new Module(buffer as unknown as Uint8Array)).not.toBe(first);
    const words = Uint16Array.from(passing(2)) as unknown as Uint8Array;
    expect(() => new Module(words)).toThrow("WebAssembly.Module()");
    unshare();
    expect(theEngine().Module).toBe(before);
    expect(new before(passing(2))).not.toBe(first);
  });

  it("gives its script the parts of Node that it needs, and none that leads out", async () => {
    const { createRequire } = (await partOfNode("node:module")) as {
      createRequire(
        url: string,
      ): (name: string) => Record<string, (...given: unknown[]) => unknown>;
    };
    const require = createRequire("file:///");
    const filled = new Uint8Array(64);
    require("node:crypto").randomFillSync?.(filled);
    expect(filled.some((byte) => byte !== 0)).toBe(true);
    expect(require("node:path").dirname?.("/a/b")).toBe("/a");
    for (const name of ["node:child_process", "child_process", "ws", "node:net", "node:vm"]) {
      expect(() => require(name)).toThrow("in the sandbox");
      if (name !== "node:vm") await expect(partOfNode(name)).rejects.toThrow("in the sandbox");
    }
  });
});
