import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { petShop } from "../../../test/support/openapi/pet-shop.js";
import type { ToolSource } from "../tool.js";
import { type OpenApiOptions, openApiSource } from "./source.js";

const TOKEN = "tok/4711 abcdef";

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

type Handler = (response: ServerResponse, seen: Seen) => void;

let service: Server;
let elsewhere: Server;
let seen: Seen[] = [];
let strangers = 0;
let answer: Handler = json({});

function json(value: unknown, status = 200): Handler {
  return (response) => {
    response.writeHead(status, { "content-type": "application/json; charset=utf-8" });
    response.end(JSON.stringify(value));
  };
}

function typed(type: string, body: string | Buffer, status = 200): Handler {
  return (response) => {
    response.writeHead(status, type === "" ? {} : { "content-type": type });
    response.end(body);
  };
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("there is no port");
  return address.port;
}

beforeAll(async () => {
  service = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece);
    const { method, url, headers } = request;
    const one = { method, url, headers, body: Buffer.concat(pieces).toString() };
    seen.push(one);
    answer(response, one);
  }).listen(0, "127.0.0.1");
  elsewhere = createServer((_, response) => {
    strangers += 1;
    response.end("got it");
  }).listen(0, "127.0.0.1");
  await Promise.all([once(service, "listening"), once(elsewhere, "listening")]);
});

afterAll(() => {
  for (const server of [service, elsewhere]) {
    server.closeAllConnections();
    server.close();
  }
});

beforeEach(() => {
  seen = [];
  strangers = 0;
  answer = json({});
});

function open(options: Partial<OpenApiOptions> = {}): ToolSource {
  const baseUrl = `http://127.0.0.1:${portOf(service)}/v1`;
  return openApiSource({ name: "pet shop", document: petShop, baseUrl, ...options });
}

async function call(
  source: ToolSource,
  name: string,
  given: Record<string, unknown> = {},
  signal = new AbortController().signal,
) {
  const tool = (await source.tools()).find((one) => one.name === name);
  if (tool === undefined) throw new Error(`there is no ${name}`);
  return await tool.run({ arguments: given, signal });
}

describe("a call of an operation", () => {
  it("places its arguments in path, query, header and body", async () => {
    const source = open();
    await call(source, "list_pets", {
      tags: ["a b", "c&d"],
      ids: [1, 2],
      filter: { kind: "cat" },
      X_Trace_Id: "t1",
    });
    await call(source, "getPet", { id: "a/b?c#d" });
    await call(source, "createPet", { name: "Rex", age: null });
    await call(source, "putPet", { id: "7", body: { id: 7, name: "Rex" } });
    expect(seen.map(({ method, url, body }) => `${method} ${url} ${body}`)).toEqual([
      "GET /v1/pets?tags=a+b&tags=c%26d&ids=1%2C2&filter%5Bkind%5D=cat ",
      "GET /v1/pets/a%2Fb%3Fc%23d ",
      'POST /v1/pets {"name":"Rex","age":null}',
      'PUT /v1/pets/7 {"id":7,"name":"Rex"}',
    ]);
    expect(seen[0]?.headers["x-trace-id"]).toBe("t1");
    expect(seen[2]?.headers["content-type"]).toBe("application/json");
  });

  it.each([
    ["getPet", { id: ".." }, /must not be \. or \.\./],
    ["getPet", { id: "" }, /id must not be empty/],
    ["getPet", {}, /missing: id/],
    ["getPet", { id: "1", limit: 5 }, /no argument limit; those known are: id/],
    ["list_pets", { X_Trace_Id: "a\r\nb: c" }, /X_Trace_Id has characters/],
  ])("is refused before it is sent: %s %j", async (name, given, message) => {
    await expect(call(open(), name, given)).rejects.toMatchObject({
      code: "BAD_ARGUMENTS",
      message: expect.stringMatching(message),
    });
    expect(seen).toEqual([]);
  });

  it.each([
    [json({ a: [1, { b: null }] }), { a: [1, { b: null }] }],
    [typed("application/problem+json", "[1]"), [1]],
    [typed("text/plain; charset=iso-8859-1", Buffer.from([0x67, 0x72, 0xfc, 0x6e])), "grün"],
    [typed("text/csv", "a,b\n"), "a,b\n"],
    [typed("", "bare"), "bare"],
    [typed("application/json", ""), null],
  ])("gives JSON as a value and text as text", async (handler, value) => {
    answer = handler;
    expect(await call(open(), "getPet", { id: 1 })).toEqual({ value });
  });

  it("gives the headers, where nothing else was asked for", async () => {
    answer = typed("text/plain", "");
    const { value } = await call(open(), "head_pets_id", { id: 1 });
    expect(value).toMatchObject({ "content-type": "text/plain" });
  });

  it.each([
    [typed("image/png", "x"), "BAD_RESULT", /image\/png, which is neither JSON nor text/],
    [typed("application/json", "{"), "BAD_RESULT", /is not/],
    [typed("application/json", `${"[".repeat(200)}${"]".repeat(200)}`), "BAD_RESULT", /nested/],
    [json("x".repeat(900), 404), "FAILED", /^HTTP 404 Not Found: "x{499}$/],
    [json({ error: "slow down" }, 429), "RATE_LIMITED", /^HTTP 429 .*slow down/],
    [typed("text/plain", "", 503), "UNAVAILABLE", /^HTTP 503 Service Unavailable$/],
    [typed("text/plain", "oops", 500), "FAILED", /^HTTP 500 .*: oops$/],
  ])("fails with what the service said", async (handler, code, message) => {
    answer = handler;
    await expect(call(open(), "getPet", { id: 1 })).rejects.toMatchObject({
      name: "ToolError",
      code,
      isRetryable: code === "RATE_LIMITED" || code === "UNAVAILABLE",
      message: expect.stringMatching(message),
    });
  });

  it("has limits of size and time, and ends when it is cancelled", async () => {
    const source = open({ limits: { maxBytes: 1000, timeoutMs: 200 } });
    answer = (response) => {
      response.writeHead(200, { "content-type": "text/plain" });
      const more = () =>
        response.write("x".repeat(500), () => response.writable && setTimeout(more, 1));
      more();
    };
    await expect(call(source, "getPet", { id: 1 })).rejects.toMatchObject({ code: "TOO_LARGE" });
    answer = () => {};
    await expect(call(source, "getPet", { id: 1 })).rejects.toMatchObject({ code: "TIMEOUT" });
    const stopping = new AbortController();
    const waiting = call(open(), "getPet", { id: 9 }, stopping.signal);
    await vi.waitFor(() => expect(seen.at(-1)?.url).toBe("/v1/pets/9"));
    stopping.abort();
    await expect(waiting).rejects.toMatchObject({ code: "CANCELLED" });
  });

  it("says when nobody is there", async () => {
    const gone = createServer().listen(0, "127.0.0.1");
    await once(gone, "listening");
    const baseUrl = `http://127.0.0.1:${portOf(gone)}`;
    gone.close();
    await once(gone, "close");
    await expect(call(open({ baseUrl }), "getPet", { id: 1 })).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringMatching(/cannot be reached/),
    });
  });

  it("follows redirects within the origin only", async () => {
    const credentials = { bearer: TOKEN };
    answer = (response, { url }) => {
      if (url === "/v2/pets/1") return json({ moved: true })(response, seen[0] as Seen);
      response.writeHead(302, { location: "/v2/pets/1" }).end();
    };
    expect((await call(open({ credentials }), "getPet", { id: 1 })).value).toEqual({ moved: true });
    expect(seen.at(-1)?.headers.authorization).toBe(`Bearer ${TOKEN}`);
    for (const location of [`http://127.0.0.1:${portOf(elsewhere)}/`, "file:///etc/passwd"]) {
      answer = (response) => response.writeHead(307, { location }).end();
      await expect(call(open({ credentials }), "createPet", { name: "Rex" })).rejects.toMatchObject(
        { code: "FAILED", message: expect.stringMatching(/redirects to/) },
      );
    }
    answer = (response) => response.writeHead(302, { location: "/v1/pets/1" }).end();
    await expect(call(open(), "getPet", { id: 1 })).rejects.toThrow(/more than 5 times/);
    expect(strangers).toBe(0);
  });
});

describe("credentials", () => {
  const pair = Buffer.from(`me:${TOKEN}`).toString("base64");
  const ways = [
    [{ bearer: TOKEN }, { authorization: `Bearer ${TOKEN}` }, "/v1/pets"],
    [
      { basic: { username: "me", password: TOKEN } },
      { authorization: `Basic ${pair}` },
      "/v1/pets",
    ],
    [{ header: { name: "X-Api-Key", value: TOKEN } }, { "x-api-key": TOKEN }, "/v1/pets"],
    [{ query: { name: "key", value: TOKEN } }, {}, "/v1/pets?key=tok%2F4711+abcdef"],
  ] as const;

  it.each(ways)("are placed by the host: %j", async (credentials, headers, url) => {
    await call(open({ credentials }), "list_pets");
    expect(seen[0]?.headers).toMatchObject(headers);
    expect(seen[0]?.url).toBe(url);
  });

  it.each(ways)("are in no result and no error: %j", async (credentials) => {
    const source = open({ credentials });
    const echo =
      (status: number): Handler =>
      (response, { headers, url }) =>
        json({ headers, url, [TOKEN]: [encodeURIComponent(TOKEN)] }, status)(
          response,
          seen[0] as Seen,
        );
    answer = echo(200);
    const { value } = await call(source, "list_pets");
    answer = echo(400);
    const error = await call(source, "list_pets").catch((one: unknown) => String(one));
    for (const text of [JSON.stringify(value), String(error)]) {
      expect(text).toContain("[hidden]");
      expect(text).not.toMatch(/4711|abcdef/);
      expect(text).not.toContain(pair);
    }
  });

  it("can be in a variable, which is read at each call", async () => {
    const credentials = { bearer: { env: "CELLAR_TEST_BEARER" } };
    const source = open({ credentials });
    await expect(call(source, "list_pets")).rejects.toThrow(/CELLAR_TEST_BEARER, which is not set/);
    vi.stubEnv("CELLAR_TEST_BEARER", "fresh-token");
    await call(source, "list_pets");
    vi.unstubAllEnvs();
    expect(seen[0]?.headers.authorization).toBe("Bearer fresh-token");
  });

  it("of no known form are refused and not shown", () => {
    const credentials = { token: TOKEN } as unknown as OpenApiOptions["credentials"];
    expect(() => open({ credentials })).toThrow(
      expect.objectContaining({
        code: "INVALID_CONFIG",
        message: expect.not.stringContaining("4711"),
      }),
    );
  });
});
