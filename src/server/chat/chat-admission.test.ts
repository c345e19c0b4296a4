import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { CHAT, client, question, say, serve } from "../../../test/support/chat-server.js";
import { scripted } from "../../rlm/models/scripted.js";

const KEY = "key-of-the-test-0123456789";

/** A request whose body is still to come, and the first that is heard of it. */
function open(address: string, headers: readonly string[]) {
  const { port } = new URL(address);
  const socket = connect(Number(port), "127.0.0.1");
  const lines = [`POST ${CHAT} HTTP/1.1`, `host: localhost:${port}`, ...headers];
  socket.write(`${lines.join("\r\n")}\r\ncontent-type: application/json\r\n\r\n`);
  const heard = new Promise<string>((resolve) => {
    socket.once("data", (bytes) => resolve(bytes.toString("latin1")));
  });
  return { socket, heard };
}

describe("what needs no run", () => {
  const model = scripted([]);

  it("lists its one model and says that it lives", async () => {
    await using server = await serve({ model, name: "my/model" });
    const listed = await client(server.address).models.list();
    expect(listed.data.map(({ id }) => id)).toEqual(["my/model"]);
    expect(await client(server.address).models.retrieve("my/model")).toMatchObject({
      id: "my/model",
    });
    await expect(client(server.address).models.retrieve("other")).rejects.toMatchObject({
      status: 404,
    });
    const health = await say(server.address, "/health");
    expect({ ...health, headers: {} }).toEqual({
      status: 200,
      headers: {},
      text: '{"status":"ok"}',
    });
  });

  it.each([
    ["another path", "/v1/embeddings", { body: {} }, 404, /ends with \/v1/],
    ["another method", CHAT, {}, 405, /POST/],
    ["no JSON", CHAT, { raw: "{" }, 400, /not JSON/],
    ["bytes that are no text", CHAT, { raw: Buffer.from([0x22, 0xff, 0x22]) }, 400, /not JSON/],
    ["a form", CHAT, { raw: "a=b", headers: { "content-type": "text/plain" } }, 415, /JSON/],
    ["a number", CHAT, { body: 3 }, 400, /expected object/],
    ["another model", CHAT, { body: question("a", { model: "other" }) }, 404, /cellar-rlm/],
    ["no messages", CHAT, { body: question("a", { messages: [] }) }, 400, /messages/],
    ["an empty question", CHAT, { body: question(" ") }, 400, /last message/],
    ["several answers", CHAT, { body: question("a", { n: 2 }) }, 400, /n = 1/],
    ["probabilities", CHAT, { body: question("a", { logprobs: true }) }, 400, /logprobs/],
    ["tools", CHAT, { body: question("a", { tools: [{ type: "function" }] }) }, 400, /tools/],
    [
      "results of tools",
      CHAT,
      { body: question("a", { messages: [{ role: "tool", content: "b" }] }) },
      400,
      /tools/,
    ],
    [
      "more parts than a message has",
      CHAT,
      { body: question("a", { messages: [{ role: "user", content: Array(1_001).fill(1) }] }) },
      400,
      /^messages\[0\]\.content/,
    ],
    [
      "a part that is none",
      CHAT,
      {
        body: question("a", {
          messages: [
            { role: "user", content: "a" },
            { role: "user", content: [1] },
          ],
        }),
      },
      400,
      /^messages\[1\]\.content/,
    ],
    [
      "an image",
      CHAT,
      {
        body: question("a", {
          messages: [
            { role: "user", content: [{ type: "image_url", image_url: { url: "data:," } }] },
          ],
        }),
      },
      400,
      /only text/,
    ],
    [
      "a pattern",
      CHAT,
      {
        body: question("a", {
          response_format: { type: "json_schema", json_schema: { schema: { pattern: "(a+)+$" } } },
        }),
      },
      400,
      /patterns/,
    ],
    ["what is too long", CHAT, { body: question("x".repeat(5_000)) }, 413, /4000 bytes/],
    [
      "what is too long and does not say so",
      CHAT,
      { body: question("x".repeat(3_000_000)), headers: { "transfer-encoding": "chunked" } },
      413,
      /4000 bytes/,
    ],
  ])("refuses %s in OpenAI's form", async (_, path, saying, status, told) => {
    await using server = await serve({ model, maxBodyBytes: 4_000 });
    const heard = await say(server.address, path, saying);
    expect(heard.status).toBe(status);
    const { error } = JSON.parse(heard.text);
    expect(error.message).toMatch(told);
    expect(Object.keys(error)).toEqual(["message", "type", "code", "param"]);
    expect(error.type).toBe("invalid_request_error");
    expect(model.requests).toEqual([]);
  });

  it("answers no web page, and no other name of its host", async () => {
    await using server = await serve({ model });
    const { port } = new URL(server.address);
    const statusOf = async (headers: Record<string, string>, path = "/health") =>
      (await say(server.address, path, { headers })).status;
    for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`, "LOCALHOST"]) {
      expect(await statusOf({ host })).toBe(200);
    }
    for (const host of [
      "evil.example",
      `127.0.0.1.evil.example:${port}`,
      "localhost@evil",
      "[::1].evil",
    ]) {
      expect(await statusOf({ host })).toBe(403);
      expect(await statusOf({ host }, "/v1/models")).toBe(403);
    }
    for (const origin of ["https://evil.example", `http://localhost:${port}`, "null"]) {
      expect(await statusOf({ origin })).toBe(403);
    }
    const flight = await say(server.address, CHAT, {
      method: "OPTIONS",
      headers: { origin: "https://evil.example", "access-control-request-method": "POST" },
    });
    expect(flight.status).toBe(403);
    expect(Object.keys(flight.headers).filter((name) => name.startsWith("access-"))).toEqual([]);
  });

  it("wants its key, for everything but the sign of life, and never repeats it", async () => {
    await using server = await serve({ model, key: KEY });
    for (const authorization of [undefined, "", "Bearer", `Bearer ${KEY}x`, KEY, "Bearer wrong"]) {
      const heard = await say(server.address, "/v1/models", {
        headers: { ...(authorization !== undefined && { authorization }) },
      });
      expect(heard).toMatchObject({ status: 401, headers: { "www-authenticate": "Bearer" } });
      expect(heard.text).toContain("invalid_api_key");
      expect(heard.text).not.toContain(KEY);
    }
    expect((await say(server.address, "/health")).status).toBe(200);
    await expect(client(server.address, "wrong").models.list()).rejects.toMatchObject({
      status: 401,
    });
    expect((await client(server.address, KEY).models.list()).data).toHaveLength(1);
    const foreign = { host: "models.example", authorization: `bearer ${KEY}` };
    expect((await say(server.address, "/v1/models", { headers: foreign })).status).toBe(200);
  });

  it.each([
    ["another host without a key", { host: "0.0.0.0" }, /key is required/],
    ["a host that only looks like this one", { host: "127.0.0.1.evil.example" }, /key is required/],
    ["a short key", { key: "short" }, /not a valid key/],
    [
      "a key that is not set",
      { key: { env: "CELLAR_TEST_NO_KEY" } },
      /CELLAR_TEST_NO_KEY is not set/,
    ],
    ["a port that is none", { port: 70_000 }, /port/],
    ["no room", { maxConcurrent: 0 }, /maxConcurrent/],
    ["dollars without a price", { budget: { dollars: 1 } }, /price/],
  ])("does not start with %s", async (_, options, told) => {
    await expect(serve({ model, ...options })).rejects.toThrow(told);
  });

  it("does not start at a port that is taken", async () => {
    await using server = await serve({ model });
    const port = Number(new URL(server.address).port);
    const second = serve({ model, port });
    await expect(second).rejects.toMatchObject({
      code: "IO_ERROR",
      remedy: expect.stringContaining("another port"),
    });
  });

  it("does not tell a million faults of one request, for they fill the memory", async () => {
    await using server = await serve({ model });
    const before = process.memoryUsage().rss;
    const parts = `[${"1,".repeat(700)}1]`;
    const wide = `{"role":"user","content":[${"1,".repeat(2_000_000)}1]}`;
    const many = `${`{"role":"user","content":${parts}},`.repeat(2_000)}1`;
    for (const messages of [wide, many, `${"1,".repeat(2_000_000)}1`]) {
      const raw = `{"model":"cellar-rlm","messages":[${messages}]}`;
      expect((await say(server.address, CHAT, { raw })).status).toBe(400);
    }
    expect(process.memoryUsage().rss - before).toBeLessThan(300 * 1024 * 1024);
  });

  it("gives places to those who have said all, not to those who are slow", async () => {
    await using server = await serve({ model, maxConcurrent: 1, maxWaiting: 0 });
    const slow = Array.from({ length: 18 }, () => open(server.address, ["content-length: 1000"]));
    for (const { socket } of slow) {
      socket.on("error", () => {});
      await new Promise<void>((resolve) => socket.write("{", () => resolve()));
    }
    const other = { body: question("a", { model: "other" }) };
    for (let turn = 0; turn < 5; turn += 1) {
      expect((await say(server.address, CHAT, other)).status).toBe(404);
    }
    for (const { socket } of slow) socket.destroy();
  });

  it("refuses what is too much to read before it is parsed", async () => {
    await using server = await serve({ model });
    const properties = `{${Array.from({ length: 100_000 }, (_, n) => `"p${n}":{}`).join()}}`;
    const format = `{"type":"json_schema","json_schema":{"schema":{"properties":${properties}}}}`;
    const asked = JSON.stringify(question("a")).slice(0, -1);
    const raw = `${asked},"response_format":${format}}`;
    const heard = await say(server.address, CHAT, { raw });
    expect([heard.status, heard.text]).toEqual([400, expect.stringContaining("100000 values")]);
  });

  it("closes a connection that says nothing, or not all", async () => {
    await using server = await serve({ model, patience: 50 });
    const silent = connect(Number(new URL(server.address).port), "127.0.0.1");
    const { socket: slow } = open(server.address, ["content-length: 1000"]);
    slow.write("{");
    await Promise.all(
      [silent, slow].map((socket) => new Promise((gone) => socket.resume().once("close", gone))),
    );
  });

  it("takes what it does not want to its end, so that its sender reads why", async () => {
    await using server = await serve({ model, maxBodyBytes: 4_000 });
    const { socket, heard } = open(server.address, ["transfer-encoding: chunked"]);
    const errors: Error[] = [];
    socket.on("error", (error) => errors.push(error));
    const chunk = (size: number) => `${size.toString(16)}\r\n${"x".repeat(size)}\r\n`;
    socket.write(chunk(5_000));
    expect(await heard).toContain("HTTP/1.1 413");
    const gone = new Promise((resolve) => socket.once("close", resolve));
    socket.write(chunk(1_000_000));
    socket.end("0\r\n\r\n");
    await gone;
    expect(errors).toEqual([]);
  });

  it("closes though a request never ends", async () => {
    const server = await serve({ model });
    const { socket, heard } = open(server.address, [
      "content-length: 1000",
      "expect: 100-continue",
    ]);
    await heard;
    const gone = new Promise((resolve) => socket.once("close", resolve));
    socket.on("error", () => {});
    await server.close();
    await gone;
  });
});
