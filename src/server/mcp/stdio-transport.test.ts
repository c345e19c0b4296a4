import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import type { JSONRPCMessage } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { LineDecoder } from "./line-decoder.js";
import { LONGEST_ANSWER, StdioTransport } from "./stdio-transport.js";

const LONGEST = 1_000;

async function openWire({ isRead = true } = {}) {
  const stdin = new PassThrough();
  const stdout = new PassThrough();
  const wire = new StdioTransport({ stdin, stdout, longest: LONGEST });
  const seen: JSONRPCMessage[] = [];
  wire.onmessage = (message) => seen.push(message);
  await wire.start();
  const answers = isRead ? text(stdout) : "";
  /** Ends the input and gives what was answered. */
  const finish = async () => {
    stdin.end();
    await wire.ended;
    stdout.end();
    return (await answers)
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));
  };
  return { stdin, stdout, wire, seen, finish };
}

const ping = (id: number) => ({ jsonrpc: "2.0" as const, id, method: "ping" });

describe("the wire", () => {
  it("reads messages, however they are cut into pieces", async () => {
    const { stdin, seen, finish } = await openWire();
    for (const byte of Buffer.from(`${JSON.stringify(ping(1))}\r\n\n`)) {
      stdin.write(Buffer.from([byte]));
    }
    stdin.write(`${JSON.stringify(ping(2))}\n${JSON.stringify(ping(3))}\n`);
    expect(await finish()).toEqual([]);
    expect(seen).toEqual([ping(1), ping(2), ping(3)]);
  });

  it("answers what is no message with an error, and goes on", async () => {
    const { stdin, seen, finish } = await openWire();
    const lines = [
      "{",
      "[]",
      '{"jsonrpc":"2.0","id":7}',
      '{"id":"a","method":4}',
      "null",
      "\u0000",
    ];
    for (const line of lines) stdin.write(`${line}\n`);
    stdin.write(Buffer.from([0xff, 0xfe, 0x0a]));
    stdin.write(`${JSON.stringify(ping(1))}\n`);
    const answers = await finish();
    expect(answers.map(({ id, error }) => [id, error.code])).toEqual([
      [undefined, -32700],
      [undefined, -32600],
      [7, -32600],
      ["a", -32600],
      [undefined, -32600],
      [undefined, -32700],
      [undefined, -32700],
    ]);
    expect(seen).toEqual([ping(1)]);
  });

  it("refuses a line that is too long without keeping it, and reads the next", async () => {
    const { stdin, seen, finish } = await openWire();
    stdin.write(`${"x".repeat(LONGEST + 1)}\n${JSON.stringify(ping(1))}\n`);
    const answers = await finish();
    const message = expect.stringContaining("1000 bytes");
    expect(answers).toEqual([{ jsonrpc: "2.0", error: { code: -32600, message } }]);
    expect(seen).toEqual([ping(1)]);
  });

  it("sends no answer that a client would choke on", async () => {
    const { wire, finish } = await openWire();
    const result = { text: "x".repeat(LONGEST_ANSWER) };
    await wire.send({ jsonrpc: "2.0", id: 5, result });
    await wire.send({ jsonrpc: "2.0", id: 6, result: {} });
    const answers = await finish();
    expect(answers[0]).toMatchObject({ id: 5, error: { code: -32603 } });
    expect(answers[1]).toMatchObject({ id: 6, result: {} });
  });

  it("sends no half characters, which many parsers refuse", async () => {
    const { stdout, wire } = await openWire({ isRead: false });
    const texts = ["a\udcffb", "\ud83d", "\ud83d\ude00", "\\udcff", "\\\udcff", "\u0000é\n"];
    await wire.send({ jsonrpc: "2.0", id: 1, result: { texts } });
    const line = String(stdout.read());
    expect(line).not.toMatch(/[^\\](\\\\)*\\ud/);
    expect(JSON.parse(line).result.texts).toEqual([
      "a\ufffdb",
      "\ufffd",
      "\ud83d\ude00",
      "\\udcff",
      "\\\ufffd",
      "\u0000é\n",
    ]);
  });

  it("has room again when what was sent is taken, or when it ends", async () => {
    const { stdout, wire } = await openWire({ isRead: false });
    await wire.whenWritable();
    const big = { text: "x".repeat(5_000_000) };
    wire.send({ jsonrpc: "2.0", id: 1, result: big });
    let isRoom = false;
    const room = wire.whenWritable().then(() => {
      isRoom = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(isRoom).toBe(false);
    stdout.resume();
    await room;
    stdout.pause();
    wire.send({ jsonrpc: "2.0", id: 2, result: big });
    const last = wire.whenWritable();
    await wire.close();
    await last;
  });

  it("stops reading while nobody reads what it answers", async () => {
    const { stdin, stdout, seen, wire } = await openWire({ isRead: false });
    for (let number = 0; number < 5; number++) {
      wire.send({ jsonrpc: "2.0", id: number, result: { text: "x".repeat(1_000_000) } });
    }
    stdin.write(`${JSON.stringify(ping(1))}\n`);
    await new Promise((resolve) => setImmediate(resolve));
    expect(seen).toEqual([]);
    stdout.resume();
    await new Promise((resolve) => stdout.once("drain", resolve));
    await new Promise((resolve) => setImmediate(resolve));
    expect(seen).toEqual([ping(1)]);
  });

  it("ends with a reader that went away", async () => {
    const { stdout, wire } = await openWire({ isRead: false });
    stdout.destroy(new Error("EPIPE"));
    await wire.ended;
    await expect(wire.send({ jsonrpc: "2.0", id: 1, result: {} })).rejects.toMatchObject({
      code: "SESSION_CLOSED",
    });
  });
});

describe("lines", () => {
  it("keep nothing of one that is too long", () => {
    const lines = new LineDecoder(10);
    const kept: unknown[] = [];
    for (let piece = 0; piece < 1_000; piece++) kept.push(...lines.take(Buffer.alloc(1_000, "x")));
    expect(kept).toEqual([]);
    expect([...lines.take(Buffer.from("\n0123456789\n"))]).toEqual([
      { limit: 10 },
      { text: "0123456789" },
    ]);
  });
});
