import { closeSync, mkdtempSync, openSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pack, recall } from "./inside/memory.js";

const HEAD = 128;
const PAGE = 4096;
const PAGES = 40;
const OFFSET = 48;

const folder = mkdtempSync(join(tmpdir(), "cellar-memory-"));
const path = join(folder, "memory.bin");
const code = Uint8Array.from({ length: 1001 }, (_, index) => index % 251);
const memory = sparse();
let descriptor = -1;

/** As Pyodide's snapshots are: a head that says how long it is, then memory with much nothing in it. */
function sparse(): Uint8Array {
  const whole = new Uint8Array(HEAD + PAGES * PAGE);
  new Uint32Array(whole.buffer)[1] = HEAD;
  whole.fill(7, 48, 80);
  for (const page of [0, 1, 5, 17, 18, 39]) whole[HEAD + page * PAGE + page] = page + 1;
  return whole;
}

beforeAll(() => {
  writeFileSync(path, Buffer.concat([Buffer.alloc(OFFSET, 1), pack({ code, memory })]));
  descriptor = openSync(path, "r");
});

afterAll(() => {
  closeSync(descriptor);
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
});

describe("remembered memory", () => {
  it("is kept without its zeros", () => {
    expect(pack({ code, memory }).length).toBeLessThan(code.length + HEAD + 7 * PAGE);
  });

  it("comes back into the heap when it is taken, and not before", () => {
    const heap = new Uint8Array(PAGES * PAGE);
    const recalled = recall({ descriptor, offset: OFFSET }, () => heap);
    expect(recalled.code).toEqual(code);
    expect(recalled.memory.length).toBe(memory.length);
    expect([...recalled.memory.subarray(48, 80)]).toEqual(Array(32).fill(7));
    expect(heap.every((byte) => byte === 0)).toBe(true);
    for (const at of [2, 3 * PAGE, 16 * PAGE + 1, 19 * PAGE, 38 * PAGE - 1]) heap[at] = 9;
    heap.set(recalled.memory.subarray(HEAD));
    expect(Buffer.from(heap).equals(memory.subarray(HEAD))).toBe(true);
  });

  it("is refused where it is taken otherwise, cut off, or does not fit", () => {
    const heap = new Uint8Array(PAGES * PAGE);
    const { memory: recalled } = recall({ descriptor, offset: OFFSET }, () => heap);
    expect(() => recalled.subarray(HEAD + 4)).toThrow("unknown format");
    const small = recall({ descriptor, offset: OFFSET }, () => new Uint8Array(PAGE));
    expect(() => small.memory.subarray(HEAD)).toThrow("larger than the memory");
    const torn = join(folder, "torn.bin");
    writeFileSync(torn, Buffer.concat([Buffer.alloc(OFFSET), pack({ code, memory })]));
    truncateSync(torn, OFFSET + 3 * PAGE);
    const open = openSync(torn, "r");
    const late = recall({ descriptor: open, offset: OFFSET }, () => heap);
    expect(() => late.memory.subarray(HEAD)).toThrow("truncated");
    truncateSync(torn, OFFSET + 500);
    expect(() => recall({ descriptor: open, offset: OFFSET }, () => heap)).toThrow("truncated");
    closeSync(open);
  });
});
