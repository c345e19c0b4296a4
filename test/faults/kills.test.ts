import { createHash, randomInt } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";
import { DiskStore } from "../../src/session/store/disk-store.js";
import { needWalls } from "../hostile/grounds.js";
import { Chronicle } from "./chronicle.case.test.js";
import { type Host, type HostOrder, Hosts, type Said } from "./hosts.case.test.js";

const KILLS = 200;
/** Notebooks that are worked on at the same time, each in a process of its own. */
const LANES = 4;
const PATIENCE_MS = 600_000;
/** A host that forgets what it has acknowledged is found out within so many kills. */
const HASTY_KILLS = 20;

needWalls();

describe("kill -9 of the host", () => {
  const seed = randomInt(1_000_000);
  const dir = mkdtempSync(join(tmpdir(), "cellar-kills-"));
  const hosts = new Hosts();
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  const orderFor = (session: string): HostOrder => ({
    user: "ann",
    session,
    dir,
    preload: "none",
    poolSize: 0,
    timeout: 20_000,
  });

  /** One host after the other works on the notebook until it is killed. */
  const torment = async (session: string, kills: number, isHasty = false): Promise<Chronicle> => {
    const chronicle = new Chronicle();
    const order = { ...orderFor(session), isHasty };
    for (let kill = 0; kill < kills && chronicle.violations.length === 0; kill += 1) {
      const chance = seeded(`${seed} ${session} ${kill}`);
      const host = hosts.start({ ...order, seed: chance(1_000_000_000) });
      await workFor(host, chronicle, chance);
      for (const said of await host.kill()) chronicle.hear(said);
      chronicle.violations.push(...(await wrongFiles(dir, session)));
    }
    const last = hosts.start(order);
    chronicle.hear(await last.opened());
    expect((await last.ask("close")).error).toBeUndefined();
    return chronicle;
  };

  it(
    `loses nothing that was acknowledged, whenever it comes (${KILLS} times, seed ${seed})`,
    async () => {
      const lanes = [...Array(LANES).keys()].map((lane) => torment(`s${lane}`, KILLS / LANES));
      const chronicles = await Promise.all(lanes);
      expect(chronicles.flatMap(({ violations }) => violations)).toEqual([]);
      const sum = (key: keyof Chronicle["counts"]) =>
        chronicles.reduce((total, { counts }) => total + counts[key], 0);
      // Otherwise nothing was tried.
      expect(sum("acknowledged")).toBeGreaterThan(KILLS / 2);
      for (const key of ["restored", "behind", "replayed"] as const) {
        expect(sum(key), key).toBeGreaterThan(0);
      }
      expect(readdirSync(join(dir, "rooms"))).toHaveLength(LANES);
      for (const room of readdirSync(join(dir, "rooms"))) {
        expect(readdirSync(join(dir, "rooms", room))).toEqual(["notebook", "workspace"]);
      }
    },
    PATIENCE_MS,
  );

  it("finds out a store that answers before it has saved", async () => {
    const { violations } = await torment("hasty", HASTY_KILLS, true);
    expect(violations.join("\n")).toMatch(
      /gone that was acknowledged|nobody acknowledged|ran after/,
    );
  });
});

/** Lets it work for a while: until a moment by the clock, or until just before or after a deed. */
async function workFor(
  host: Host,
  chronicle: Chronicle,
  chance: (end: number) => number,
): Promise<void> {
  const way = chance(10);
  if (way === 0) return sleep(chance(250));
  const first = await host.next();
  if (first === undefined) return;
  chronicle.hear(first);
  if (way < 5) return sleep(chance(200));
  const wanted: Said["at"] = way < 8 ? "begin" : "done";
  for (let left = 1 + chance(6); left > 0; ) {
    const said = await host.next();
    if (said === undefined) return;
    chronicle.hear(said);
    if (said.at === wanted) left -= 1;
  }
}

/** Files that nobody could read, or that nobody will clear away. */
async function wrongFiles(dir: string, session: string): Promise<string[]> {
  const id = { user: "ann", session };
  const store = new DiskStore(dir);
  const found = await store.heads.get(id);
  const wrong = [...(found?.damaged ?? [])];
  for await (const ref of store.blobs(id).list()) {
    try {
      await buffer(store.blobs(id).get(ref));
    } catch (error) {
      wrong.push(String(error));
    }
  }
  const names = found === undefined ? [] : readdirSync(store.heads.folderOf(id));
  return [...wrong, ...names.filter((name) => !/^(head-\d{12}\.json|blobs)$/.test(name))];
}

/** Numbers below an end that look random, and are the same for the same seed. */
function seeded(seed: string): (end: number) => number {
  let count = 0;
  return (end) => {
    const digest = createHash("sha256").update(`${seed}:${count}`).digest();
    count += 1;
    return digest.readUInt32LE() % end;
  };
}
