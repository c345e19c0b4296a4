import { createHash } from "node:crypto";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { BlobRef, BlobStore, NotebookId, NotebookStore } from "./store.js";

export interface StoresOptions {
  readonly name: string;
  /** A new and empty store, and a second view of it as another process would have. */
  open(): Promise<{ store: NotebookStore; other: NotebookStore } & AsyncDisposable>;
}

const ANN: NotebookId = { user: "ann", session: "one" };

async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const one of source) all.push(one);
  return all;
}

async function* parts(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

function refOf(text: string): BlobRef {
  const sha256 = createHash("sha256").update(text).digest("hex");
  return { sha256, bytes: Buffer.byteLength(text) };
}

/** What every pair of a HeadStore and a BlobStore must do. */
export function describeStores(options: StoresOptions): void {
  let opened: Awaited<ReturnType<StoresOptions["open"]>>;
  let count = 0;
  /** A notebook that no other test knows. */
  const fresh = (): NotebookId => ({ user: "bob", session: `s${count++}` });

  beforeAll(async () => {
    opened = await options.open();
  });
  afterAll(() => opened?.[Symbol.asyncDispose]());

  describe(`${options.name}: heads`, () => {
    it("know nothing at first", async () => {
      const { heads } = opened.store;
      expect(await heads.get(ANN)).toBeUndefined();
      expect(await collect(heads.list())).toEqual([]);
      await heads.delete(ANN, 0);
    });

    it("give back what was committed last, here and elsewhere", async () => {
      const id = fresh();
      const { store, other } = opened;
      expect(await store.heads.cas(id, { n: 1, text: "ü\u0000\n", list: [null, 1.5] }, 0)).toBe(1);
      expect(await store.heads.cas(id, { n: 2 }, 1)).toBe(2);
      expect(await store.heads.get(id)).toEqual({ rev: 2, head: { n: 2 } });
      expect(await other.heads.get(id)).toEqual({ rev: 2, head: { n: 2 } });
      expect(await other.heads.cas(id, ["three"], 2)).toBe(3);
      expect(await store.heads.get(id)).toEqual({ rev: 3, head: ["three"] });
    });

    it("refuse any revision but the newest, and stay as they are", async () => {
      const id = fresh();
      const { heads } = opened.store;
      await expect(heads.cas(id, "early", 1)).rejects.toMatchObject({ code: "CONFLICT" });
      for (let rev = 0; rev < 40; rev += 1) await heads.cas(id, rev + 1, rev);
      for (const view of [heads, opened.other.heads]) {
        for (const expected of [0, 1, 2, 20, 31, 38, 39, 41, 100]) {
          await expect(view.cas(id, "wrong", expected)).rejects.toMatchObject({ code: "CONFLICT" });
        }
        expect(await view.get(id)).toEqual({ rev: 40, head: 40 });
      }
    });

    it("refuse one who fell behind while others went on", async () => {
      const id = fresh();
      const { store, other } = opened;
      await store.heads.cas(id, 1, 0);
      expect(await other.heads.get(id)).toMatchObject({ rev: 1 });
      for (let rev = 1; rev < 30; rev += 1) await store.heads.cas(id, rev + 1, rev);
      await expect(other.heads.cas(id, "late", 1)).rejects.toMatchObject({ code: "CONFLICT" });
      expect(await other.heads.get(id)).toEqual({ rev: 30, head: 30 });
    });

    it("let one of many win", async () => {
      const id = fresh();
      for (let rev = 0; rev < 10; rev += 1) {
        const tries = Array.from({ length: 8 }, (_, index) =>
          (index % 2 === 0 ? opened.store : opened.other).heads.cas(id, index, rev),
        );
        const results = await Promise.allSettled(tries);
        const won = results.flatMap(({ status }, index) => (status === "fulfilled" ? [index] : []));
        expect(won).toHaveLength(1);
        for (const result of results) {
          if (result.status === "rejected")
            expect(result.reason).toMatchObject({ code: "CONFLICT" });
        }
        expect(await opened.other.heads.get(id)).toEqual({ rev: rev + 1, head: won[0] });
      }
    });

    it("lose no step when many count at once", async () => {
      const id = fresh();
      const add = async ({ heads }: NotebookStore): Promise<void> => {
        for (let tries = 0; tries < 1000; tries += 1) {
          const now = await heads.get(id);
          try {
            await heads.cas(id, Number(now?.head ?? 0) + 1, now?.rev ?? 0);
            return;
          } catch (error) {
            expect(error).toMatchObject({ code: "CONFLICT" });
          }
        }
        throw new Error("never won");
      };
      const views = [opened.store, opened.other, opened.store, opened.other];
      await Promise.all(
        views.map(async (view) => {
          for (let step = 0; step < 10; step += 1) await add(view);
        }),
      );
      expect(await opened.store.heads.get(id)).toEqual({ rev: 40, head: 40 });
    });

    it("are listed by user, each once, under the very same names", async () => {
      const { heads } = opened.store;
      const ids = ["Ann", "ann", "aNN", "a.n@n-_"].map((user) => ({ user, session: "S.1" }));
      for (const id of ids) await heads.cas(id, id.user, 0);
      expect(await collect(heads.list("Ann"))).toEqual([{ user: "Ann", session: "S.1" }]);
      expect(await collect(opened.other.heads.list())).toEqual(expect.arrayContaining(ids));
      for (const id of ids) expect(await heads.get(id)).toMatchObject({ head: id.user });
      expect(await collect(heads.list("nobody"))).toEqual([]);
    });

    it("are gone when deleted, for one who still held them too", async () => {
      const id = fresh();
      const { store, other } = opened;
      await store.heads.cas(id, "old", 0);
      await store.heads.cas(id, "old", 1);
      await other.heads.delete(id, 2);
      expect(await other.heads.get(id)).toBeUndefined();
      await expect(store.heads.cas(id, "zombie", 2)).rejects.toMatchObject({ code: "CONFLICT" });
      expect(await collect(other.heads.list(id.user))).not.toContainEqual(id);
      expect(await other.heads.cas(id, "new", 0)).toBe(1);
      expect(await other.heads.get(id)).toEqual({ rev: 1, head: "new" });
    });

    it("stay as they are when one who held a deleted one of their name goes on", async () => {
      const { store, other } = opened;
      for (const last of [15, 31, 32]) {
        const id = fresh();
        for (let rev = 0; rev < last; rev += 1) await store.heads.cas(id, "old", rev);
        await other.heads.delete(id, last);
        for (let rev = 0; rev < 3; rev += 1) await other.heads.cas(id, `new ${rev + 1}`, rev);
        await expect(store.heads.cas(id, "zombie", last)).rejects.toMatchObject({
          code: "CONFLICT",
        });
        expect(await opened.other.heads.get(id)).toEqual({ rev: 3, head: "new 3" });
        expect(await other.heads.cas(id, "new 4", 3)).toBe(4);
      }
    });

    it("are not deleted by one who fell behind, nor by one who never saw them", async () => {
      const id = fresh();
      const { store, other } = opened;
      const blob = await store.blobs(id).put(Buffer.from("content"));
      for (let rev = 0; rev < 40; rev += 1) await store.heads.cas(id, rev + 1, rev);
      for (const view of [store, other]) {
        for (const expected of [0, 1, 20, 38, 39, 41, 100]) {
          const late = view.heads.delete(id, expected);
          await expect(late).rejects.toMatchObject({ code: "CONFLICT" });
        }
      }
      expect(await other.heads.get(id)).toEqual({ rev: 40, head: 40 });
      expect(await other.blobs(id).has(blob)).toBe(true);
      await other.heads.delete(id, 40);
      await expect(store.heads.delete(id, 40)).rejects.toMatchObject({ code: "CONFLICT" });
      await store.heads.delete(id, 0);
      await store.heads.cas(id, "new", 0);
      await expect(other.heads.delete(id, 40)).rejects.toMatchObject({ code: "CONFLICT" });
      expect(await other.heads.get(id)).toEqual({ rev: 1, head: "new" });
    });

    it("are deleted or go on, when one deletes while another one commits", async () => {
      const { store, other } = opened;
      for (let round = 0; round < 20; round += 1) {
        const id = fresh();
        await store.heads.cas(id, "old", 0);
        await other.heads.get(id);
        const [deleted, saved] = await Promise.allSettled([
          other.heads.delete(id, 1),
          store.heads.cas(id, "saved", 1),
        ]);
        const lost = saved.status === "fulfilled" ? deleted : saved;
        expect([deleted.status, saved.status].sort()).toEqual(["fulfilled", "rejected"]);
        expect(lost).toMatchObject({ reason: { code: "CONFLICT" } });
        const left = saved.status === "fulfilled" ? { rev: 2, head: "saved" } : undefined;
        expect(await other.heads.get(id)).toEqual(left);
      }
    });

    it("tell their newest revision", async () => {
      const id = fresh();
      const { store, other } = opened;
      expect(await store.heads.revision(id)).toBe(0);
      for (const rev of [1, 2, 3]) {
        await store.heads.cas(id, rev, rev - 1);
        expect(await other.heads.revision(id)).toBe(rev);
      }
      await other.heads.delete(id, 3);
      expect(await store.heads.revision(id)).toBe(0);
    });

    it("refuse names that are paths", async () => {
      const { heads, ...store } = opened.store;
      const hostile = { user: "..", session: "x" };
      await expect(heads.get(hostile)).rejects.toMatchObject({ code: "INVALID_INPUT" });
      await expect(heads.cas(hostile, 1, 0)).rejects.toMatchObject({ code: "INVALID_INPUT" });
      await expect(heads.delete(hostile, 1)).rejects.toMatchObject({ code: "INVALID_INPUT" });
      await expect(collect(heads.list("../x"))).rejects.toMatchObject({ code: "INVALID_INPUT" });
      expect(() => opened.store.blobs(hostile)).toThrow(/name of the user/);
      expect(store).toBeDefined();
    });
  });

  describe(`${options.name}: blobs`, () => {
    const read = async (blobs: BlobStore, ref: BlobRef) => String(await buffer(blobs.get(ref)));

    it("give back what was put in, whole or in parts", async () => {
      const blobs = opened.store.blobs(fresh());
      const long = "0123456789abcdef".repeat(100_000);
      for (const text of ["", "x", "ü\u0000\n", long]) {
        const ref = await blobs.put(Buffer.from(text));
        expect(ref).toEqual(refOf(text));
        expect((await read(blobs, ref)) === text).toBe(true);
      }
      const ref = await blobs.put(parts("a", "", "bc", long));
      expect(ref).toEqual(refOf(`abc${long}`));
      expect((await read(blobs, ref)) === `abc${long}`).toBe(true);
    });

    it("are kept once, and seen by others at once", async () => {
      const id = fresh();
      const blobs = opened.store.blobs(id);
      const refs = await Promise.all([
        blobs.put(Buffer.from("same")),
        blobs.put(parts("sa", "me")),
        opened.other.blobs(id).put(Buffer.from("same")),
      ]);
      expect(new Set(refs.map(({ sha256 }) => sha256)).size).toBe(1);
      const other = opened.other.blobs(id);
      expect(await collect(other.list())).toEqual([refOf("same")]);
      expect(await other.has(refOf("same"))).toBe(true);
      expect(await read(other, refOf("same"))).toBe("same");
    });

    it("belong to one notebook alone", async () => {
      const ref = await opened.store.blobs(fresh()).put(Buffer.from("mine"));
      const others = opened.store.blobs(fresh());
      expect(await others.has(ref)).toBe(false);
      await expect(read(others, ref)).rejects.toMatchObject({ code: "NOT_FOUND" });
    });

    it("are gone when deleted", async () => {
      const blobs = opened.store.blobs(fresh());
      const ref = await blobs.put(Buffer.from("gone"));
      await blobs.delete(ref);
      await blobs.delete(ref);
      expect(await blobs.has(ref)).toBe(false);
      expect(await collect(blobs.list())).toEqual([]);
      await expect(read(blobs, ref)).rejects.toMatchObject({ code: "NOT_FOUND" });
      expect(await blobs.put(Buffer.from("gone"))).toEqual(ref);
      expect(await read(blobs, ref)).toBe("gone");
    });

    it("are not taken away by one who deletes the same bytes of another generation", async () => {
      const id = fresh();
      const former = opened.other.blobs(id, "generation-1");
      const [old, bare] = [
        await former.put(Buffer.from("same")),
        await opened.store.blobs(id).put(parts("sa", "me")),
      ];
      expect(old).toEqual({ ...refOf("same"), generation: "generation-1" });
      // Whoever comes later and stores the same bytes has them, whatever the former one deletes.
      const later = opened.store.blobs(id, "generation-2");
      const mine = [await later.put(Buffer.from("same")), await later.put(parts("sam", "e"))];
      expect(mine).toEqual(mine.map(() => ({ ...refOf("same"), generation: "generation-2" })));
      await Promise.all([former.delete(old), former.delete(bare)]);
      expect([await later.has(old), await later.has(bare)]).toEqual([false, false]);
      for (const blobs of [later, former, opened.other.blobs(id)]) {
        expect(await read(blobs, mine[0] as BlobRef)).toBe("same");
      }
    });

    it("are listed by generation", async () => {
      const id = fresh();
      const names = ["generation-1", "generation-2"];
      const bare = await opened.store.blobs(id).put(Buffer.from("bare"));
      const refs = await Promise.all(
        names.map((name) => opened.store.blobs(id, name).put(Buffer.from(name))),
      );
      const blobs = opened.other.blobs(id);
      expect(await blobs.generations()).toEqual(expect.arrayContaining(["", ...names]));
      expect(await collect(blobs.list())).toEqual(expect.arrayContaining([bare, ...refs]));
      expect(await collect(blobs.list(""))).toEqual([bare]);
      for (const [at, name] of names.entries()) {
        expect(await collect(blobs.list(name))).toEqual([refs[at]]);
      }
      expect(await collect(blobs.list("generation-3"))).toEqual([]);
    });

    it("are not there when their source failed", async () => {
      const blobs = opened.store.blobs(fresh());
      async function* broken(): AsyncGenerator<Uint8Array> {
        yield Buffer.from("half");
        throw new Error("no more");
      }
      await expect(blobs.put(broken())).rejects.toThrow("no more");
      expect(await collect(blobs.list())).toEqual([]);
      expect(await blobs.has(refOf("half"))).toBe(false);
    });

    it("refuse references that are none", async () => {
      const blobs = opened.store.blobs(fresh());
      for (const sha256 of ["", "../../key", "A".repeat(64), `${"a".repeat(63)}/`]) {
        const ref = { sha256, bytes: 1 };
        await expect(blobs.has(ref)).rejects.toMatchObject({ code: "INVALID_INPUT" });
        await expect(blobs.delete(ref)).rejects.toMatchObject({ code: "INVALID_INPUT" });
        await expect((async () => read(blobs, ref))()).rejects.toMatchObject({
          code: "INVALID_INPUT",
        });
      }
    });

    it("can be taken over, and outlive where they come from", async () => {
      const [from, to] = [opened.store.blobs(fresh()), opened.store.blobs(fresh())];
      const ref = await from.put(Buffer.from("shared"));
      if (to.adopt === undefined) return;
      expect(await to.adopt(ref, from)).toBe(true);
      expect(await to.adopt(ref, from)).toBe(true);
      const marked = await opened.store.blobs(fresh(), "generation-1").put(Buffer.from("shared"));
      expect(await to.adopt(marked, from)).toBe(false);
      await from.delete(ref);
      expect(await read(to, ref)).toBe("shared");
      expect(await to.adopt(refOf("nowhere"), from)).toBe(false);
    });

    it("go with their notebook", async () => {
      const id = fresh();
      const ref = await opened.store.blobs(id).put(Buffer.from("with it"));
      await opened.store.heads.cas(id, ref, 0);
      await opened.store.heads.delete(id, 1);
      expect(await opened.store.blobs(id).has(ref)).toBe(false);
    });
  });
}
