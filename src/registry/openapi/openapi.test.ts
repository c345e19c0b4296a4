import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
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

const pet = { $ref: "#/components/schemas/Pet" };
const shop = {
  openapi: "3.0.3",
  servers: [{ url: "/relative" }],
  paths: {
    "/pets": {
      get: {
        operationId: "list-pets",
        summary: "Lists pets.",
        parameters: [
          { name: "tags", in: "query", schema: { type: "array", items: { type: "string" } } },
          { name: "ids", in: "query", explode: false, schema: { type: "array" } },
          { name: "filter", in: "query", style: "deepObject", schema: { type: "object" } },
          {
            name: "X-Trace-Id",
            in: "header",
            description: "to find it",
            schema: { type: "string" },
          },
          { name: "X-Api-Key", in: "header", schema: { type: "string" } },
          { name: "Host", in: "header", schema: { type: "string" } },
        ],
        responses: {
          "200": { content: { "application/json": { schema: { type: "array", items: pet } } } },
        },
      },
      post: {
        operationId: "createPet",
        requestBody: { required: true, content: { "application/json": { schema: pet } } },
        responses: { "201": { description: "the new pet" } },
      },
    },
    "/pets/{id}": {
      parameters: [{ $ref: "#/components/parameters/Id" }],
      get: { operationId: "getPet" },
      head: {},
      put: {
        operationId: "putPet",
        requestBody: {
          required: true,
          content: { "application/json": { schema: { properties: { id: {}, name: {} } } } },
        },
      },
      delete: { operationId: "deletePet" },
    },
    "/upload": {
      post: { requestBody: { required: true, content: { "image/png": {} } } },
    },
  },
  components: {
    parameters: { Id: { name: "id", in: "path", required: true, schema: { type: "string" } } },
    schemas: {
      Pet: {
        allOf: [
          { $ref: "#/components/schemas/Named" },
          {
            type: "object",
            properties: {
              age: { type: "integer", nullable: true, minimum: 0, exclusiveMinimum: true },
              mother: { $ref: "#/components/schemas/Pet" },
              created: { type: "string", readOnly: true },
            },
          },
        ],
      },
      Named: { type: "object", required: ["name"], properties: { name: { type: "string" } } },
    },
  },
};

function open(options: Partial<OpenApiOptions> = {}): ToolSource {
  const baseUrl = `http://127.0.0.1:${portOf(service)}/v1`;
  return openApiSource({ name: "pet shop", document: shop, baseUrl, ...options });
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

describe("the tools of an OpenAPI document", () => {
  it("are its operations, with what they do and take", async () => {
    const source = open({ credentials: { header: { name: "x-api-key", value: TOKEN } } });
    const tools = await source.tools();
    expect(source.group).toBe("pet_shop");
    expect(
      tools.map(({ name, isReadOnly, isDestructive }) => [name, isReadOnly, isDestructive]),
    ).toEqual([
      ["list_pets", true, false],
      ["createPet", false, false],
      ["getPet", true, false],
      ["head_pets_id", true, false],
      ["putPet", false, false],
      ["deletePet", false, true],
    ]);
    expect(tools.every(({ permissions }) => permissions.join() === "network")).toBe(true);
    const [list, create, get, , put] = tools;
    expect(list).toMatchObject({ description: "Lists pets.", returns: "a list" });
    expect(Object.keys(list?.parameters.properties ?? {})).toEqual([
      "tags",
      "ids",
      "filter",
      "X_Trace_Id",
    ]);
    expect(create).toMatchObject({ returns: "the new pet" });
    expect(create?.parameters).toEqual({
      type: "object",
      properties: {
        name: { type: "string" },
        age: { type: ["integer", "null"], minimum: 0, exclusiveMinimum: 0 },
        mother: expect.anything(),
      },
      required: ["name"],
      additionalProperties: false,
    });
    expect(get?.parameters.required).toEqual(["id"]);
    expect(Object.keys(put?.parameters.properties ?? {})).toEqual(["id", "body"]);
  });

  it("can be JSON, YAML of version 3.1, or a file", async () => {
    const yaml = [
      'openapi: "3.1.0"',
      "servers: [{ url: 'http://{host}/api', variables: { host: { default: '127.0.0.1' } } }]",
      "paths:",
      "  /now:",
      "    get: { summary: The time }",
    ].join("\n");
    const folder = mkdtempSync(join(tmpdir(), "cellar-openapi-"));
    const file = join(folder, "api.yaml");
    writeFileSync(file, yaml);
    for (const document of [JSON.stringify(shop), shop]) {
      expect(await open({ document }).tools()).toHaveLength(6);
    }
    for (const document of [yaml, { file }]) {
      const tools = await openApiSource({ name: "t", document }).tools();
      expect(tools).toMatchObject([{ name: "get_now", description: "The time" }]);
    }
    rmSync(folder, { recursive: true });
  });

  it.each([
    ["swagger: '2.0'", /Swagger 2.0/],
    ["openapi: 2.9.9\npaths: {}", /"2.9.9" in openapi/],
    ["openapi: 3.1.0", /has no paths/],
    ["[1, 2]", /is not an object/],
    ["a: b: c", /neither JSON nor YAML/],
    [
      "a: &a [x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n? *d\n: 1",
      /OpenAPI document of pet shop/,
    ],
    [{ file: "/no/such/file" }, /cannot be read: ENOENT/],
  ])("are refused with the reason: %j", async (document, message) => {
    await expect(open({ document }).tools()).rejects.toMatchObject({
      code: "INVALID_CONFIG",
      message: expect.stringMatching(message),
    });
  });

  it("survive references in circles, to nowhere and to other documents", async () => {
    const schema = (name: string) => ({ $ref: `#/components/schemas/${name}` });
    const wide = Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => [`m${at}`, schema("Wide")]),
    );
    const bodies = ["Loop", "Nowhere", "Wide", "Outside"].map((name) => [
      `/${name}`,
      {
        post: {
          requestBody: {
            required: true,
            content: { "application/json": { schema: schema(name) } },
          },
        },
      },
    ]);
    const document = {
      openapi: "3.1.0",
      paths: { ...Object.fromEntries(bodies), "/self": { $ref: "#/paths/~1self" } },
      components: {
        schemas: {
          Loop: schema("Pool"),
          Pool: schema("Loop"),
          Wide: {
            type: "object",
            properties: { a: { properties: wide }, b: { properties: wide } },
          },
          Outside: { $ref: "http://127.0.0.1/other.json" },
        },
      },
    };
    const tools = await open({ document }).tools();
    expect(tools.map(({ name }) => name)).toEqual([
      "post_Loop",
      "post_Nowhere",
      "post_Wide",
      "post_Outside",
    ]);
    expect(JSON.stringify(tools).length).toBeLessThan(100_000);
  });

  it("need a whole address without secrets in it", async () => {
    const bad = ["ftp://a/", "http://me:pw@a/", "http://a/?key=1"];
    for (const baseUrl of bad) {
      await expect(open({ baseUrl }).tools()).rejects.toMatchObject({ code: "INVALID_CONFIG" });
    }
    await expect(openApiSource({ name: "t", document: shop }).tools()).rejects.toThrow(
      /without a whole address/,
    );
  });
});

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
