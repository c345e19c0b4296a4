import { describe, expect, test } from "vitest";
import { type FarEnd, open } from "../../test/support/far-end.js";
import { MAX_CHECKED_VALUES, MAX_JSON_DEPTH, MAX_JSON_VALUES } from "./bounds.js";
import { encodeFrame } from "./frames.js";
import { MAX_FRAME_BYTES, type Params } from "./messages.js";
import type { Peer } from "./peer.js";

function note(method: string, params: unknown): Buffer {
  return encodeFrame({ jsonrpc: "2.0", method, params });
}

function answer(id: number, result: unknown): Buffer {
  return encodeFrame({ jsonrpc: "2.0", id, result });
}

function failure(id: number | null, message: string): Buffer {
  return encodeFrame({ jsonrpc: "2.0", id, error: { code: -32603, message } });
}

function binary(body: string): Buffer {
  const bytes = Buffer.from(`0000\0${body}`, "latin1");
  bytes.writeUInt32BE(bytes.length - 4);
  return bytes;
}

function raw(text: string): Buffer {
  const bytes = Buffer.from(`0000${text}`);
  bytes.writeUInt32BE(bytes.length - 4);
  return bytes;
}

const output = {
  branch: 0,
  generation: 0,
  step: 1,
  stream: "stdout",
  text: "hello\n",
  seq: 0,
} satisfies Params<"output">;

function display(sizes: number[]): Params<"display"> {
  const attachments = sizes.map((bytes) => ({ mime: "image/png", bytes }));
  return { step: 1, seq: 1, data: {}, attachments, metadata: {} };
}

function shown(peer: Peer): string[][] {
  const seen: string[][] = [];
  peer.on("display", (_, attachments) => {
    seen.push(attachments.map((body) => body.toString("latin1")));
  });
  return seen;
}

async function expectBroken(peer: Peer, far: FarEnd): Promise<void> {
  expect(peer.isOpen).toBe(false);
  await expect(peer.closed).resolves.toMatchObject({ code: "PROTOCOL_ERROR" });
  expect(far.destroyed).toBe(true);
}

describe("requests", () => {
  test("are answered by id, in any order", async () => {
    const { far, peer } = open();
    const first = peer.request("get_variable", { name: "a" });
    const second = peer.request("get_variable", { name: "b" });
    expect(far.received.map(({ id, params }) => [id, params])).toEqual([
      [1, { name: "a" }],
      [2, { name: "b" }],
    ]);
    await far.send(answer(2, { found: false }), answer(1, { found: true, value: [1] }));
    await expect(first).resolves.toEqual({ found: true, value: [1] });
    await expect(second).resolves.toEqual({ found: false });
  });

  test("drop answers that nobody asked for, and second ones", async () => {
    const { far, peer } = open();
    const asked = peer.request("get_variable", { name: "a" });
    await far.send(answer(77, { found: false }), failure(78, "no"), failure(null, "no"));
    await far.send(answer(1, { found: false }), answer(1, { nonsense: 1 }), failure(1, "late"));
    await expect(asked).resolves.toEqual({ found: false });
    expect(peer.isOpen).toBe(true);
  });

  test("fail alone when the far end refuses them", async () => {
    const { far, peer } = open();
    const both = Promise.allSettled([peer.request("variables", {}), peer.request("variables", {})]);
    await far.send(failure(1, "no such thing"), answer(2, { variables: [] }));
    const [refused, other] = await both;
    expect(refused).toMatchObject({
      reason: {
        code: "REMOTE_ERROR",
        message: "no such thing",
        details: { method: "variables", code: -32603 },
      },
    });
    expect(other).toEqual({ status: "fulfilled", value: { variables: [] } });
  });

  test("end the link when an answer does not fit", async () => {
    const { far, peer } = open();
    const asked = peer.request("variables", {});
    const other = peer.request("variables", {});
    const both = Promise.allSettled([asked, other]);
    await far.send(answer(1, { variables: "all" }));
    for (const outcome of await both) {
      expect(outcome).toMatchObject({ reason: { code: "PROTOCOL_ERROR" } });
    }
    await expectBroken(peer, far);
  });

  test("above the frame limit are refused and harm no other", async () => {
    const { far, peer } = open();
    const code = "x".repeat(MAX_FRAME_BYTES);
    const params = { step: 1, number: 1, code, max_output: 0, checkpoint: "off" } as const;
    await expect(peer.request("execute", params)).rejects.toMatchObject({ code: "TOO_LARGE" });
    const next = peer.request("variables", {});
    await far.send(answer(far.received[0]?.id ?? -1, { variables: [] }));
    await expect(next).resolves.toEqual({ variables: [] });
  });
});

describe("the end of a link", () => {
  const endings: [string, (far: FarEnd, peer: Peer) => void, string][] = [
    ["closing it", (_, peer) => peer.close(), "SESSION_CLOSED"],
    ["the far end closing", (far) => far.destroy(), "SESSION_LOST"],
    ["the far end ending its side", (far) => far.push(null), "SESSION_LOST"],
    ["an error of the stream", (far) => far.destroy(new Error("reset")), "SESSION_LOST"],
    ["a broken frame", (far) => far.push(Buffer.alloc(4)), "PROTOCOL_ERROR"],
  ];

  test.each(endings)("%s rejects what is pending and what follows", async (_, end, code) => {
    const { far, peer } = open();
    const pending = Promise.allSettled([
      peer.request("variables", {}),
      peer.request("checkpoints", { branch: 0 }),
    ]);
    end(far, peer);
    for (const outcome of await pending) expect(outcome).toMatchObject({ reason: { code } });
    await expect(peer.closed).resolves.toMatchObject({ code });
    await expect(peer.request("variables", {})).rejects.toMatchObject({ code });
    peer.notify("kill", { branch: 0, generation: 1 });
    peer.close();
    await expect(peer.closed).resolves.toMatchObject({ code });
  });

  test("frames after it are not delivered", async () => {
    const { far, peer } = open();
    const seen: string[] = [];
    peer.on("output", ({ text }) => {
      seen.push(text);
      peer.close();
    });
    await far.send(Buffer.concat([note("output", output), note("output", output)]));
    expect(seen).toEqual(["hello\n"]);
  });
});

describe("notifications", () => {
  test("go out without an id", () => {
    const { far, peer } = open();
    peer.notify("interrupt", { branch: 0, step: 3 });
    expect(far.received).toEqual([
      { jsonrpc: "2.0", method: "interrupt", params: { branch: 0, step: 3 } },
    ]);
  });

  test("reach their handler in order, however they are cut", async () => {
    const { far, peer } = open();
    const seen: string[] = [];
    peer.on("output", ({ text }) => seen.push(text));
    const bytes = Buffer.concat(["a", "b", "c"].map((text) => note("output", { ...output, text })));
    for (let at = 0; at < bytes.length; at += 7) await far.send(bytes.subarray(at, at + 7));
    expect(seen).toEqual(["a", "b", "c"]);
  });

  test.each(["nonsense", "constructor", "__proto__", "toString", "hasOwnProperty", ""])(
    "with the unknown method %j are ignored",
    async (method) => {
      const { far, peer } = open();
      const asked = peer.request("variables", {});
      await far.send(note(method, { a: 1 }), answer(1, { variables: [] }));
      await expect(asked).resolves.toEqual({ variables: [] });
    },
  );

  test("cannot make the host serve a request", async () => {
    const { far, peer } = open();
    await far.send(encodeFrame({ jsonrpc: "2.0", id: 1, method: "execute", params: {} }));
    expect(far.received).toMatchObject([{ id: 1, error: { code: -32601 } }]);
    expect(peer.isOpen).toBe(true);
  });

  test("that do not fit end the link", async () => {
    const { far, peer } = open();
    const seen: unknown[] = [];
    peer.on("output", (params) => seen.push(params));
    await far.send(note("output", { ...output, step: -1 }));
    await expectBroken(peer, far);
    expect(seen).toEqual([]);
  });

  test("a failing handler ends its link and nothing else", async () => {
    const { far, peer } = open();
    peer.on("output", () => {
      throw new Error("broken handler");
    });
    await far.send(note("output", output));
    await expectBroken(peer, far);
  });

  test("do not give their params a foreign prototype", async () => {
    const { far, peer } = open();
    const metadata: unknown[] = [];
    peer.on("display", (params) => metadata.push(params.metadata));
    const text = JSON.stringify({ jsonrpc: "2.0", method: "display", params: display([]) });
    await far.send(raw(text.replace('"metadata":{}', '"metadata":{"__proto__":{"admin":true}}')));
    expect(metadata).toHaveLength(1);
    expect(metadata[0]).not.toHaveProperty("admin");
  });
});

describe("attachments", () => {
  test("are delivered with the message that announced them", async () => {
    const { far, peer } = open();
    const seen = shown(peer);
    await far.send(note("display", display([3, 0])), binary("png"), binary(""));
    await far.send(note("display", display([])), note("display", display([1])), binary("\0"));
    expect(seen).toEqual([["png", ""], [], ["\0"]]);
  });

  test("of a message without a handler are passed over", async () => {
    const { far, peer } = open();
    const asked = peer.request("variables", {});
    await far.send(note("display", display([3])), binary("png"), answer(1, { variables: [] }));
    await expect(asked).resolves.toEqual({ variables: [] });
  });

  const broken: [string, Buffer[]][] = [
    ["without an announcement", [binary("png")]],
    ["of another size", [note("display", display([3])), binary("jpeg")]],
    ["one too many", [note("display", display([3])), binary("png"), binary("png")]],
    ["with a message between", [note("display", display([3, 3])), binary("png"), note("x", {})]],
    ["swapped", [note("display", display([3, 4])), binary("jpeg"), binary("png")]],
    ["above the limit together", [note("display", display([MAX_FRAME_BYTES - 1, 2]))]],
  ];

  test.each(broken)("%s end the link", async (_, frames) => {
    const { far, peer } = open();
    shown(peer);
    await far.send(...frames);
    await expectBroken(peer, far);
  });
});

describe("hostile frames", () => {
  const variables = (list: string) => `{"jsonrpc":"2.0","id":1,"result":{"variables":${list}}}`;
  const deep = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;

  const hostile: [string, string][] = [
    ["no JSON", "hello"],
    ["cut JSON", '{"jsonrpc":"2.0",'],
    ["two documents", "{}{}"],
    ["a batch", '[{"jsonrpc":"2.0","method":"output","params":{}}]'],
    ["another version", '{"jsonrpc":"1.0","method":"output","params":{}}'],
    ["an id that is text", '{"jsonrpc":"2.0","id":"1","result":{}}'],
    ["an infinite id", '{"jsonrpc":"2.0","id":1e999,"result":{}}'],
    ["result and error", '{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":""}}'],
    ["deep nesting", variables(deep(MAX_JSON_DEPTH))],
    ["nesting without an end", "[".repeat(8_000_000)],
    ["millions of objects", variables(`[${"{},".repeat(5_000_000)}{}]`)],
    ["more values than the limit", `[${"1,".repeat(MAX_CHECKED_VALUES)}1]`],
  ];

  test.each(hostile)("%s ends the link", async (_, text) => {
    const { far, peer } = open();
    const asked = Promise.allSettled([peer.request("variables", {})]);
    await far.send(raw(text));
    await asked;
    await expectBroken(peer, far);
  });

  const numbers = (count: number) => `[${"1,".repeat(count - 1)}1]`;
  const value = (id: number, list: string) =>
    raw(`{"jsonrpc":"2.0","id":${id},"result":{"found":true,"value":${list}}}`);

  test("a large value arrives where one was asked for", async () => {
    const { far, peer } = open();
    const asked = peer.request("get_variable", { name: "x" });
    await far.send(value(1, numbers(MAX_JSON_VALUES - 10)));
    await expect(asked).resolves.toMatchObject({ found: true });
    await far.send(value(1, numbers(MAX_CHECKED_VALUES)));
    await expectBroken(peer, far);
  });

  const unasked: [string, Buffer][] = [
    ["a value above the limit", value(1, numbers(MAX_JSON_VALUES))],
    ["a large answer to nobody", value(9, numbers(MAX_CHECKED_VALUES))],
    [
      "a large unknown message",
      raw(`{"jsonrpc":"2.0","method":"x","params":{"a":${numbers(MAX_CHECKED_VALUES)}}}`),
    ],
  ];

  test.each(unasked)("%s ends the link while a value is awaited", async (_, frame) => {
    const { far, peer } = open();
    const asked = Promise.allSettled([peer.request("get_variable", { name: "x" })]);
    await far.send(frame);
    await asked;
    await expectBroken(peer, far);
  });

  test("brackets and commas inside strings are only text", async () => {
    const { far, peer } = open();
    const asked = peer.request("get_variable", { name: "x" });
    const text = `${"[{,".repeat(300_000)}\\"\\\\`;
    await far.send(answer(1, { found: true, value: text }));
    await expect(asked).resolves.toEqual({ found: true, value: text });
  });

  test("a deep value below the limit arrives", async () => {
    const { far, peer } = open();
    const asked = peer.request("get_variable", { name: "x" });
    const nested: unknown = JSON.parse(deep(MAX_JSON_DEPTH - 2));
    await far.send(answer(1, { found: true, value: nested }));
    await expect(asked).resolves.toEqual({ found: true, value: nested });
  });
});
