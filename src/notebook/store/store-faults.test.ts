import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { ID, StoreFixture } from "../../../test/support/notebook/store-fixture.js";
import { blobRefSchema } from "../cell.js";

const STORE = fileURLToPath(new URL("../../../dist/notebook/store/disk-store.js", import.meta.url));

const STEPS = 200;
const KILLS = 30;

const countsSchema = z.record(z.string(), z.int());
const workSchema = z.strictObject({ n: z.int(), blob: blobRefSchema });

/** Adds 1 to its own number in the head until that is `STEPS`, against others who do the same. */
const COUNTER = `
  for (let n = 1; n <= ${STEPS}; ) {
    const now = await store.heads.get(id);
    const done = now?.head[name] ?? 0;
    if (done === n) n += 1;
    else if (done !== n - 1) throw new Error(\`\${name} was at \${n - 1} and is at \${done}\`);
    else {
      try {
        await store.heads.cas(id, { ...now?.head, [name]: n }, now?.rev ?? 0);
      } catch (error) {
        if (error.code !== "CONFLICT") throw error;
      }
    }
  }`;

/** Commits, each time with content of its own, and tells what was answered. */
const WORKER = `
  const blobs = store.blobs(id);
  const now = await store.heads.get(id);
  if (now?.damaged) throw new Error(String(now.damaged));
  let rev = now?.rev ?? 0;
  for (let n = (now?.head.n ?? 0) + 1; ; n += 1) {
    const blob = await blobs.put(Buffer.from(\`\${n} \`.repeat(500)));
    rev = await store.heads.cas(id, { n, blob }, rev);
    writeSync(1, \`\${n}\\n\`);
  }`;

type Child = ChildProcessByStdio<null, Readable, null>;

describe("a store on a disk", () => {
  let fixture: StoreFixture;
  const children = new Set<Child>();
  beforeEach(async () => {
    fixture = await StoreFixture.open();
  });
  afterEach(async () => {
    for (const child of children) child.kill("SIGKILL");
    children.clear();
    await fixture[Symbol.asyncDispose]();
  });

  /** Runs a script in a process of its own. */
  const start = (name: string, script: string): Child => {
    const source = `
      import { writeSync } from "node:fs";
      import { DiskStore } from ${JSON.stringify(STORE)};
      const [store, id] = [new DiskStore(${JSON.stringify(fixture.dir)}), ${JSON.stringify(ID)}];
      const name = ${JSON.stringify(name)};
      ${script}`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", source], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    children.add(child);
    return child;
  };

  it("loses no step of processes that count at the same time", async () => {
    const names = ["a", "b", "c"];
    const ends = names.map((name) => once(start(name, COUNTER), "exit"));
    expect((await Promise.all(ends)).map(([code]) => code)).toEqual(names.map(() => 0));
    const found = await fixture.reopen().heads.get(ID);
    expect(countsSchema.parse(found?.head)).toEqual({ a: STEPS, b: STEPS, c: STEPS });
    expect(found?.rev).toBe(names.length * STEPS);
    expect(await fixture.names("temp-")).toEqual([]);
  });

  it("has all that was answered when its writer is killed at any moment", async () => {
    let last = 0;
    for (let kill = 0; kill < KILLS; kill += 1) {
      const child = start("worker", WORKER);
      const ended = once(child, "close");
      let told = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        told += text;
      });
      await Promise.race([once(child.stdout, "data"), ended]);
      expect(told).not.toBe("");
      // At once, it finds out who answers before the work is done.
      if (kill % 2 === 0) await sleep(Math.random() * 30);
      child.kill("SIGKILL");
      await ended;
      const answered = Number(told.trimEnd().split("\n").at(-1));
      const store = fixture.reopen();
      const found = await store.heads.get(ID);
      expect(found?.damaged).toBeUndefined();
      const { n, blob } = workSchema.parse(found?.head);
      expect(n).toBeGreaterThanOrEqual(answered);
      expect(n).toBeLessThanOrEqual(answered + 1);
      expect(answered).toBeGreaterThan(last);
      last = n;
      expect(String(await buffer(store.blobs(ID).get(blob)))).toBe(`${n} `.repeat(500));
      expect(await fixture.names("temp-")).toEqual([]);
    }
    for await (const ref of fixture.reopen().blobs(ID).list()) {
      expect((await buffer(fixture.reopen().blobs(ID).get(ref))).length).toBe(ref.bytes);
    }
    expect(await fixture.names("damaged-")).toEqual([]);
  });
});
