import { randomInt } from "node:crypto";
import { Duplex } from "node:stream";
import { describe, expect, test } from "vitest";
import { readFixtures } from "../../test/support/message-fixtures.js";
import { encodeFrame, FrameDecoder } from "./frames.js";
import { type Method, messages, type NotificationMethod } from "./messages.js";
import { Peer } from "./peer.js";
import { decodeValue } from "./values.js";

const ROUNDS = 1500;
const FIXED_SEEDS = [1, 2, 3];
const seeds = [...FIXED_SEEDS, randomInt(2 ** 31)];

/** A small seeded generator, so that a failing seed can be run again. */
class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }

  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.below(256)));
  }
}

const samples = [...readFixtures()].flatMap(([message, { accept }]) =>
  Object.values(accept).map((value) => ({ message, text: JSON.stringify(value) })),
);

const notifications = Object.entries(messages)
  .filter(([, spec]) => spec.kind === "notification")
  .map(([method]) => method as NotificationMethod);

function deep(depth: number): unknown {
  return JSON.parse(`${'[{"a":'.repeat(depth)}1${"}]".repeat(depth)}`);
}

const oddValues: readonly unknown[] = [
  null,
  true,
  -1,
  0.5,
  1e308,
  2 ** 53,
  "",
  "\ud800",
  "x".repeat(5000),
  [],
  {},
  [[[[]]]],
  deep(50),
  deep(500),
  JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'),
  { $: "int", v: "9".repeat(5000) },
  { $: "dict", v: [[1], [2, 3]] },
  { $: "__proto__", v: [] },
  { toString: 1, valueOf: 1, toJSON: 1 },
];

const oddNames = ["__proto__", "constructor", "prototype", "toString", "then", "", "$", "length"];

/** Replaces, adds or removes something at a random place of a JSON value. */
function distort(dice: Dice, value: unknown): unknown {
  if (value === null || typeof value !== "object" || dice.below(4) === 0) {
    return dice.pick(oddValues);
  }
  if (Array.isArray(value)) {
    const at = dice.below(value.length + 1);
    return [...value.slice(0, at), distort(dice, value[at] ?? null), ...value.slice(at + 1)];
  }
  const entries = Object.entries(value);
  const at = dice.below(entries.length + 1);
  const [name, item] = entries[at] ?? [dice.pick(oddNames), null];
  entries.splice(at, 1);
  if (dice.below(5) > 0) entries.push([name, distort(dice, item)]);
  return Object.fromEntries(entries);
}

function envelope(dice: Dice): unknown {
  const { message, text } = dice.pick(samples);
  const value: unknown = JSON.parse(text);
  if (message === "envelope") return value;
  const jsonrpc = "2.0";
  if (message.endsWith(".result")) return { jsonrpc, id: dice.below(8), result: value };
  const method = dice.below(10) === 0 ? dice.pick(oddNames) : message;
  return { jsonrpc, method, params: value };
}

function frame(dice: Dice): Buffer {
  const kind = dice.below(10);
  if (kind === 0) return dice.bytes(dice.below(64));
  if (kind === 1) {
    const body = Buffer.concat([Buffer.alloc(5), dice.bytes(dice.below(40))]);
    body.writeUInt32BE(body.length - 4);
    return body;
  }
  if (kind < 6) return encodeFrame(envelope(dice));
  return encodeFrame(distort(dice, envelope(dice)));
}

function damage(dice: Dice, bytes: Buffer): Buffer {
  const damaged = Buffer.from(bytes);
  const at = dice.below(damaged.length + 1);
  switch (dice.below(6)) {
    case 0:
      for (let flips = dice.below(8); flips >= 0 && damaged.length > 0; flips--) {
        const place = dice.below(damaged.length);
        damaged[place] = (damaged[place] ?? 0) ^ (1 << dice.below(8));
      }
      return damaged;
    case 1:
      return damaged.subarray(0, at);
    case 2:
      return Buffer.concat([damaged.subarray(0, at), dice.bytes(4), damaged.subarray(at)]);
    case 3:
      return Buffer.concat([damaged, damaged.subarray(at)]);
    case 4:
      if (damaged.length >= 4) damaged.writeUInt32BE(dice.below(2 ** 32), 0);
      return damaged;
    default:
      return damaged;
  }
}

function cut(dice: Dice, bytes: Buffer): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = 1 + dice.below(dice.pick([3, 200, 70_000]));
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return chunks;
}

function traffic(dice: Dice): Buffer[] {
  const frames = Array.from({ length: 1 + dice.below(5) }, () => frame(dice));
  const bytes = Buffer.concat(frames);
  return cut(dice, dice.below(2) === 0 ? damage(dice, bytes) : bytes);
}

class Sink extends Duplex {
  override _read(): void {}

  override _write(_chunk: Buffer, _encoding: string, done: () => void): void {
    done();
  }
}

interface Tally {
  delivered: number;
  unfit: number;
  answered: number;
  broken: number;
}

async function playRound(dice: Dice, tally: Tally): Promise<void> {
  const stream = new Sink();
  const peer = new Peer(stream);
  for (const method of notifications) {
    peer.on(method, (params: unknown) => {
      tally.delivered++;
      if (!messages[method as Method].params.safeParse(params).success) tally.unfit++;
    });
  }
  const asked = Promise.allSettled([
    peer.request("variables", {}),
    peer.request("get_variable", { name: "x" }).then((result) => {
      tally.answered++;
      if (result.found) decodeValue(result.value);
    }),
    peer.request("checkpoints", { branch: 0 }),
    peer.request("rollback", { branch: 0, checkpoint: 1 }),
  ]);
  for (const chunk of traffic(dice)) stream.emit("data", chunk);
  if (!peer.isOpen) {
    tally.broken++;
    expect(await peer.closed).toMatchObject({ code: "PROTOCOL_ERROR" });
    expect(stream.destroyed).toBe(true);
  }
  peer.close();
  await asked;
}

describe.each(seeds)("seed %d", (seed) => {
  test("no traffic makes a peer throw, hang or deliver what does not fit", async () => {
    const dice = new Dice(seed);
    const tally: Tally = { delivered: 0, unfit: 0, answered: 0, broken: 0 };
    for (let round = 0; round < ROUNDS; round++) await playRound(dice, tally);
    expect(tally.unfit).toBe(0);
    expect(tally.delivered).toBeGreaterThan(ROUNDS / 40);
    // Answers that fit are rare in random traffic, so that only known seeds are sure to have one.
    if (FIXED_SEEDS.includes(seed)) expect(tally.answered).toBeGreaterThan(0);
    expect(tally.broken).toBeGreaterThan(ROUNDS / 20);
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect({}).not.toHaveProperty("polluted");
  });

  test("random bytes make a decoder refuse or wait, within its memory", () => {
    const dice = new Dice(seed);
    for (let round = 0; round < ROUNDS; round++) {
      const limit = dice.pick([16, 1000, 2 ** 24]);
      const decoder = new FrameDecoder(limit);
      let sent = 0;
      try {
        for (const chunk of cut(dice, dice.bytes(dice.below(300)))) {
          if (dice.below(3) === 0) chunk[0] = 0;
          sent += chunk.length;
          for (const { body } of decoder.push(chunk))
            expect(body.length).toBeLessThanOrEqual(limit);
          expect(decoder.reserved).toBeLessThanOrEqual(2 * sent + 64 * 1024);
        }
      } catch (error) {
        expect(error).toMatchObject({ code: "PROTOCOL_ERROR" });
      }
    }
  });

  test("no tagged value makes decoding throw", () => {
    const dice = new Dice(seed);
    const tags = ["int", "float", "bytes", "tuple", "set", "dict", "datetime", "timedelta"];
    const others = ["complex", "ndarray", "dataframe", "series", "object", "cycle", "truncated"];
    for (let round = 0; round < ROUNDS * 4; round++) {
      let value: unknown = dice.pick(oddValues);
      for (let layers = dice.below(5); layers > 0; layers--) {
        const list = [value, dice.pick(oddValues)];
        value = dice.pick([
          { $: dice.pick(tags), v: dice.pick([value, list, [list], "12", "2020-13-99T99:99:99"]) },
          { $: dice.pick(others), v: list, columns: list, rows: [list], shape: value, text: value },
        ]);
      }
      decodeValue(distort(dice, value));
    }
  });
});
