import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { OpenAIEmbedder, type OpenAIEmbedderOptions } from "./openai-embedder.js";

const KEY_NAME = "CELLAR_TEST_EMBEDDER_KEY";
const KEY = "sk-test-8f3a1c5d7e";

interface Request {
  readonly path: string | undefined;
  readonly authorization: string | undefined;
  readonly body: { model: string; input: string[]; encoding_format: string; dimensions?: number };
}
type Reply = (request: Request, response: ServerResponse, attempt: number) => void;

let server: Server;
let requests: Request[];
let reply: Reply;

beforeEach(async () => {
  requests = [];
  reply = answer;
  process.env[KEY_NAME] = KEY;
  server = createServer(async (incoming: IncomingMessage, response) => {
    let text = "";
    for await (const piece of incoming.setEncoding("utf8")) text += piece;
    const { authorization } = incoming.headers;
    const request = { path: incoming.url, authorization, body: JSON.parse(text) };
    requests.push(request);
    reply(request, response, requests.length);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterEach(async () => {
  delete process.env[KEY_NAME];
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const origin = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

function make(options: Partial<OpenAIEmbedderOptions> = {}): OpenAIEmbedder {
  const baseUrl = `${origin()}/v1`;
  return new OpenAIEmbedder({ baseUrl, model: "test-model", retryDelay: 1, ...options });
}

function send(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(typeof body === "string" ? body : JSON.stringify(body));
}

const vectorOf = (text: string) => [text.length, text.codePointAt(0) ?? 0, 1];

/** In another order than asked, as it is allowed. */
function answer({ body }: Request, response: ServerResponse): void {
  const data = body.input.map((text, index) => ({ index, embedding: vectorOf(text) }));
  send(response, 200, { object: "list", data: data.reverse() });
}

/** Fails so many times, then answers. */
function failing(times: number, fail: Reply): Reply {
  return (request, response, attempt) =>
    attempt <= times ? fail(request, response, attempt) : answer(request, response);
}

async function failure(work: Promise<unknown>): Promise<Error> {
  const error = await work.then(
    () => new Error("it went well"),
    (reason: unknown) => reason,
  );
  return error as Error;
}

describe("OpenAIEmbedder", () => {
  it("asks the endpoint as it should and puts the answer in order", async () => {
    const embedder = make({ key: { env: KEY_NAME }, dimensions: 3 });
    const vectors = await embedder.embed(["one", "three", ""]);
    const expected = ["one", "three", " "].map((text) => Float32Array.from(vectorOf(text)));
    expect(vectors).toEqual(expected);
    expect(requests).toEqual([
      {
        path: "/v1/embeddings",
        authorization: `Bearer ${KEY}`,
        body: {
          model: "test-model",
          input: ["one", "three", " "],
          encoding_format: "float",
          dimensions: 3,
        },
      },
    ]);
    expect([embedder.name, embedder.threshold]).toEqual(["test-model", 0.7]);
  });

  it("sends no key where none is named, and no request for no text", async () => {
    const embedder = make({ threshold: 0.4, baseUrl: `${origin()}/deep/v1/?api-version=2` });
    expect(await embedder.embed([])).toEqual([]);
    await embedder.embed(["a\ud800"]);
    expect(requests).toMatchObject([
      { path: "/deep/v1/embeddings?api-version=2", authorization: undefined },
    ]);
    expect(requests[0]?.body.input).toEqual(["a\ufffd"]);
    expect(embedder.threshold).toBe(0.4);
  });

  it("asks in batches", async () => {
    const texts = Array.from({ length: 7 }, (_, index) => "x".repeat(index + 1));
    const vectors = await make({ batchSize: 3 }).embed(texts);
    expect(requests.map(({ body }) => body.input.length)).toEqual([3, 3, 1]);
    expect(vectors.map(([length]) => length)).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });

  it.each([429, 500, 503])("asks again after a %i", async (status) => {
    reply = failing(2, (_, response) => send(response, status, "busy", { "retry-after": "0" }));
    expect(await make().embed(["a"])).toHaveLength(1);
    expect(requests).toHaveLength(3);
  });

  it("asks again after a lost connection", async () => {
    reply = failing(1, (_, response) => response.destroy());
    expect(await make().embed(["a"])).toHaveLength(1);
    expect(requests).toHaveLength(2);
  });

  it("asks again after an answer that does not come", async () => {
    reply = failing(1, () => {});
    expect(await make({ timeout: 300 }).embed(["a"])).toHaveLength(1);
    expect(requests).toHaveLength(2);
  });

  it("gives up after some attempts and says why", async () => {
    reply = (_, response) => send(response, 503, "overloaded");
    const error = await failure(make({ retries: 2 }).embed(["a"]));
    expect(error).toMatchObject({ code: "REMOTE_ERROR" });
    expect(error.message).toBe(`${origin()}: HTTP 503: overloaded`);
    expect(requests).toHaveLength(3);
  });

  it.each([400, 401, 404, 302])("asks only once when it is told %i", async (status) => {
    reply = (_, response) => send(response, status, "no", { location: `${origin()}/elsewhere` });
    expect(await failure(make().embed(["a"]))).toMatchObject({ code: "REMOTE_ERROR" });
    expect(requests.map(({ path }) => path)).toEqual(["/v1/embeddings"]);
  });

  it("never tells the key", async () => {
    reply = (_, response) => send(response, 401, { error: `the key ${KEY} is wrong` });
    const embedder = make({ key: { env: KEY_NAME } });
    const refused = await failure(embedder.embed(["a"]));
    expect(refused.message).toContain("the key [hidden] is wrong");
    expect(refused).toMatchObject({ remedy: `Check the key in ${KEY_NAME}.` });
    reply = (_, response) => send(response, 500, `${KEY}`);
    const broken = await failure(embedder.embed(["a"]));
    process.env[KEY_NAME] = `${KEY}\nx`;
    const odd = await failure(embedder.embed(["a"]));
    delete process.env[KEY_NAME];
    const missing = await failure(embedder.embed(["a"]));
    expect([odd, missing].map(({ message }) => message)).toEqual([
      `${KEY_NAME} has characters that are not allowed in a key`,
      `${KEY_NAME} is not set`,
    ]);
    const told = inspect([refused, broken, odd, missing, embedder], { depth: 9, showHidden: true });
    expect(told).not.toContain(KEY);
    expect(JSON.stringify(embedder)).not.toContain(KEY);
  });

  it.each([
    ["nothing", "", "is not JSON"],
    ["a page", "<html>", "is not JSON"],
    ["something else", { data: [{ index: 0 }] }, "has no list of embeddings"],
    ["too few", { data: [] }, "0 embeddings came for 2 texts"],
    ["one twice", [0, 0], "2 embeddings came for 2 texts"],
    ["others", [0, 7], "the embedding of text 1 is missing"],
  ])("does not take %s for an answer", async (_, body, message) => {
    const listed = Array.isArray(body) && {
      data: body.map((index) => ({ index, embedding: [1, 2] })),
    };
    reply = (__, response) => send(response, 200, listed || body);
    const error = await failure(make().embed(["a", "b"]));
    expect(error).toMatchObject({ code: "REMOTE_ERROR" });
    expect(error.message).toContain(message);
  });

  it("checks that all vectors have one length", async () => {
    const wrong = await failure(make({ dimensions: 4 }).embed(["a"]));
    expect(wrong.message).toContain("an embedding has 3 dimensions instead of 4");
    const embedder = make();
    await embedder.embed(["a"]);
    const short = { data: [{ index: 0, embedding: [1] }] };
    reply = (_, response) => send(response, 200, short);
    expect((await failure(embedder.embed(["a"]))).message).toContain("instead of 3");
  });

  it("ends when it is not wanted any more: before, during a request and between two", async () => {
    const aborted = { code: "ABORTED" };
    expect(await failure(make().embed(["a"], AbortSignal.abort()))).toMatchObject(aborted);
    const during = new AbortController();
    reply = () => during.abort();
    expect(await failure(make().embed(["a"], during.signal))).toMatchObject(aborted);
    const between = new AbortController();
    reply = (_, response) => {
      response.on("finish", () => setTimeout(() => between.abort(), 50));
      send(response, 429, "", { "retry-after": "20" });
    };
    expect(await failure(make().embed(["a"], between.signal))).toMatchObject(aborted);
    expect(requests).toHaveLength(2);
  });

  it.each(["nonsense", "ftp://127.0.0.1/v1", "http://me:secret@127.0.0.1/v1"])(
    "refuses the address %s",
    (baseUrl) => {
      expect(() => make({ baseUrl })).toThrow("base URL is not a usable");
    },
  );
});
