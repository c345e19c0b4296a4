import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { PyodideRuntime } from "./runtime.js";
import { SnapshotStore, type StoredMemory } from "./snapshot.js";

const folders: string[] = [];

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "cellar-snapshot-"));
  folders.push(folder);
  return folder;
}

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
});

describe("the store of snapshots", () => {
  const memory = Buffer.from("memory of some Python".repeat(1000));

  async function stored(store: SnapshotStore): Promise<StoredMemory> {
    const found = await store.find();
    if ("reason" in found) throw new Error(found.reason);
    return found;
  }

  it("gives back what was saved, in a file for nobody else", async () => {
    const store = new SnapshotStore(newFolder(), ["a", "1"]);
    expect(await store.find()).toMatchObject({ reason: expect.stringContaining("no snapshot") });
    store.save(memory);
    const { file, offset } = await stored(store);
    expect(readFileSync(file).subarray(offset)).toEqual(memory);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it("keeps what was made of other parts apart", async () => {
    const folder = newFolder();
    new SnapshotStore(folder, ["a", "1"]).save(memory);
    expect(await new SnapshotStore(folder, ["a", "2"]).find()).toHaveProperty("reason");
    expect(await new SnapshotStore(folder, ["a1"]).find()).toHaveProperty("reason");
  });

  it("does not take a file that is cut, changed or open to others", async () => {
    const store = new SnapshotStore(newFolder(), ["a"]);
    store.save(memory);
    const { file } = await stored(store);
    const whole = readFileSync(file);
    truncateSync(file, whole.length - 1);
    expect(await store.find()).toMatchObject({ reason: expect.stringContaining("damaged") });
    const changed = Buffer.from(whole);
    changed[changed.length - 7] = 0;
    writeFileSync(file, changed);
    expect(await store.find()).toMatchObject({ reason: expect.stringContaining("damaged") });
    writeFileSync(file, whole);
    expect(await store.find()).toHaveProperty("file");
    chmodSync(file, 0o622);
    expect(await store.find()).toMatchObject({ reason: expect.stringContaining("others") });
  });

  it("leaves no drafts and few old versions", () => {
    const folder = newFolder();
    for (const version of ["1", "2", "3", "4", "5"])
      new SnapshotStore(folder, [version]).save(memory);
    expect(readdirSync(folder)).toHaveLength(3);
  });
});

describe("sessions and their snapshot", () => {
  const runtimes: PyodideRuntime[] = [];
  const open = (cache: string) => {
    const runtime = new PyodideRuntime({ walls: false, cache });
    runtimes.push(runtime);
    return runtime;
  };
  const start = (runtime: PyodideRuntime) =>
    runtime.createSandbox({ minIsolation: "L0", spares: 0 });
  const snapshotIn = (cache: string) =>
    join(cache, readdirSync(cache).find((name) => name.endsWith(".bin")) ?? "");

  afterEach(async () => {
    await Promise.all(runtimes.splice(0).map((runtime) => runtime[Symbol.asyncDispose]()));
  });

  it("start without one, make it, and start from it; a damaged one is made anew", async () => {
    const cache = newFolder();
    const first = await start(open(cache));
    expect(first.info.reason).toContain("no snapshot");
    expect((await first.execute("1 + 1")).status).toBe("ok");
    const file = snapshotIn(cache);
    const second = await start(open(cache));
    expect(second.info.reason).toContain("started from a snapshot");
    truncateSync(file, 1_000_000);
    const third = await start(open(cache));
    expect(third.info.reason).toContain("damaged");
    expect((await third.execute("1 + 1")).status).toBe("ok");
    expect((await start(open(cache))).info.reason).toContain("started from a snapshot");
  });

  it("go on without one that does not load, and say so", async () => {
    const cache = newFolder();
    await start(open(cache));
    const file = snapshotIn(cache);
    const nonsense = Buffer.alloc(4 * 1024 * 1024, 7);
    rewrite(file, nonsense);
    const sandbox = await start(open(cache));
    expect(sandbox.info.reason).toMatch(/did not start from its snapshot.*a new one was made/);
    expect((await sandbox.execute("1 + 1")).status).toBe("ok");
    expect((await start(open(cache))).info.reason).toContain("started from a snapshot");
  });

  it("make it at the same time without harm", async () => {
    const cache = newFolder();
    const both = await Promise.all([start(open(cache)), start(open(cache))]);
    for (const sandbox of both) expect((await sandbox.execute("1 + 1")).status).toBe("ok");
    const after = await start(open(cache));
    expect(after.info.reason).toContain("started from a snapshot");
    expect(readdirSync(cache).filter((name) => name.includes(".bin"))).toHaveLength(1);
  });
});

/** Puts another memory into a file, with a header that fits it. */
function rewrite(file: string, memory: Buffer): void {
  const folder = newFolder();
  new SnapshotStore(folder, ["other"]).save(memory);
  const [name = ""] = readdirSync(folder);
  writeFileSync(file, readFileSync(join(folder, name)), { mode: 0o600 });
}
