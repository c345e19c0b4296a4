import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { loadContext } from "./load-context.js";
import type { DownloadProgress } from "./web.js";

type Page = (request: IncomingMessage, response: ServerResponse) => void;

let server: Server;
let origin = "";
let seen: IncomingMessage[] = [];
const pages = new Map<string, Page>();

beforeAll(async () => {
  server = createServer((request, response) => {
    seen.push(request);
    const page = pages.get((request.url ?? "").split("?")[0] ?? "");
    if (page === undefined) response.writeHead(404).end();
    else page(request, response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
});
beforeEach(() => {
  seen = [];
  pages.clear();
});

const page = (path: string, type: string | undefined, body: string | Uint8Array, more = {}) =>
  pages.set(path, (_, response) =>
    response.writeHead(200, { ...(type && { "content-type": type }), ...more }).end(body),
  );

async function fetched(path: string, options: Parameters<typeof loadContext>[1] = {}) {
  await using loaded = await loadContext(path.startsWith("http") ? path : origin + path, options);
  return readFileSync((loaded.context as { file: string }).file, "utf8");
}

const failure = (path: string, options: Parameters<typeof loadContext>[1] = {}) =>
  fetched(path, options).then(
    (text) => expect.unreachable(text),
    (error: { code: string; message: string; remedy: string }) => error,
  );

describe("a context behind an address", () => {
  it("is its text, whatever its encoding is", async () => {
    page("/a", "text/plain; charset=utf-8", "häuser");
    page("/b", "application/json", '{"a": 1}');
    page("/c", "text/plain; charset=ISO-8859-1", Buffer.from("häuser", "latin1"));
    page("/d", "application/atom+xml", "<feed/>");
    page("/e", "application/gzip", gzipSync("packed"));
    page("/f", "text/csv", gzipSync("a,b"), { "content-encoding": "gzip" });
    page("/g", undefined, "plain");
    page("/h", "text/plain; charset=nonsense", "ok");
    const texts = await Promise.all([..."abcdefgh"].map((name) => fetched(`/${name}`)));
    const json = '{"a": 1}';
    expect(texts).toEqual(["häuser", json, "häuser", "<feed/>", "packed", "a,b", "plain", "ok"]);
  });

  it("is what a reader sees of a page", async () => {
    page("/p", "text/html", "<meta charset=utf-8><h1>Über</h1><script>x</script><p>uns &amp; co");
    page("/q", "text/html", Buffer.from('<meta charset="latin1"><p>ä', "latin1"));
    expect(await fetched("/p")).toBe("# Über\n\nuns & co\n");
    expect(await fetched("/q")).toBe("ä\n");
  });

  it("tells how far it is", async () => {
    const text = "x".repeat(300_000);
    page("/long", "text/plain", text, { "content-length": text.length });
    const told: DownloadProgress[] = [];
    await fetched("/long?token=abc", { onProgress: (one) => told.push(one) });
    expect(told.at(-1)).toEqual({ name: `${origin}/long?…`, bytes: 300_000, total: 300_000 });
  });

  it("becomes a document beside others, without the secrets of its address", async () => {
    page("/a", "text/plain", "one");
    page("/b", "text/plain", "two");
    const withWord = origin.replace("//", "//name:s%20cret@");
    const sources = [`${withWord}/a?key=1`, `${origin}/a?key=2`, `${origin}/b`];
    await using loaded = await loadContext(sources);
    expect([...(loaded.context as Map<string, string>)]).toEqual([
      [`${origin}/a?…`, "one"],
      [`${origin}/a?… (2)`, "one"],
      [`${origin}/b`, "two"],
    ]);
    const basic = `Basic ${Buffer.from("name:s cret").toString("base64")}`;
    expect(seen.map(({ headers }) => headers.authorization)).toEqual([basic, undefined, undefined]);
  });

  it("is looked for where redirects lead, and the password stays at home", async () => {
    page("/end", "text/plain", "there");
    const elsewhere = origin.replace("127.0.0.1", "localhost");
    const moved = (path: string, to: string) =>
      pages.set(path, (_, response) => response.writeHead(302, { location: to }).end("moved"));
    moved("/one", "two");
    moved("/two", `${elsewhere}/end`);
    moved("/loop", "/loop");
    moved("/file", "file:///etc/passwd");
    moved("/lost", "http://");
    expect(await fetched(`${origin.replace("//", "//a:word@")}/one`)).toBe("there");
    expect(seen.map(({ headers }) => typeof headers.authorization)).toEqual([
      "string",
      "string",
      "undefined",
    ]);
    expect((await failure("/loop")).message).toMatch(/\/loop redirects more than 5 times$/);
    expect(seen.filter(({ url }) => url === "/loop")).toHaveLength(6);
    expect((await failure("/file")).message).toMatch(
      /redirects to something other than a web address/,
    );
    expect((await failure("/lost")).message).toMatch(
      /redirects to something other than a web address/,
    );
  });

  it("may not lead from the public network to the inside, nor to what is not encrypted", async () => {
    const asked: string[] = [];
    const redirecting = (to: string): typeof fetch => {
      return async (input) => {
        asked.push(String(input));
        return new Response(null, { status: 307, headers: { location: to } });
      };
    };
    const inside = { fetch: redirecting(`${origin.replace("http", "https")}/secret`) };
    // An address for documentation is none of the public ones; this one of a resolver is.
    expect((await failure("https://1.1.1.1/x", inside)).message).toMatch(
      /is not a public address$/,
    );
    const plain = { fetch: redirecting("http://1.1.1.1/y") };
    expect((await failure("https://1.1.1.1/x", plain)).message).toMatch(/is not encrypted$/);
    expect(asked).toEqual(["https://1.1.1.1/x", "https://1.1.1.1/x"]);
    expect(seen).toEqual([]);
  });

  it("may not lead out and in again to somewhere else, but home", async () => {
    const by = new Map([
      ["/start", "https://1.1.1.1/out"],
      ["/login", "https://1.1.1.1/back"],
      ["/out", "https://169.254.169.254/meta"],
      ["/back", `${origin.replace("http", "https")}/home`],
    ]);
    const hops: typeof fetch = async (input) => {
      const location = by.get(new URL(String(input)).pathname);
      if (location === undefined) return new Response("here");
      return new Response(null, { status: 302, headers: { location } });
    };
    const strayed = await failure("/start", { fetch: hops });
    expect(strayed.message).toMatch(/169\.254\.169\.254\/meta, which is not a public address$/);
    expect(await fetched("/login", { fetch: hops })).toBe("here");
  });

  it("is refused where it cannot be used, in words that say what to do", async () => {
    page("/image", "image/png", "x");
    page("/binary", "application/octet-stream", "a\0b");
    page("/huge", "text/html", "x", { "content-length": 40 * 1024 ** 2 });
    pages.set("/locked", (_, response) => response.writeHead(401).end());
    pages.set("/broken", (_, response) => response.writeHead(503).end());
    pages.set("/torn", (_, response) => {
      response.writeHead(200, { "content-type": "text/plain", "content-length": 100 });
      response.write("x", () => response.destroy());
    });
    expect(await failure("/image")).toMatchObject({ code: "INVALID_INPUT" });
    expect((await failure("/binary")).message).toMatch(/is not text/);
    expect(await failure("/huge")).toMatchObject({ code: "TOO_LARGE" });
    expect(await failure("/none?token=abc")).toMatchObject({
      code: "INVALID_INPUT",
      message: `${origin}/none?…: the server answered 404`,
    });
    expect((await failure("/locked")).remedy).toMatch(/NAME:PASSWORD@/);
    expect(await failure("/broken")).toMatchObject({ code: "REMOTE_ERROR" });
    expect(await failure("/torn")).toMatchObject({ code: "REMOTE_ERROR" });
    expect(await failure("http://word@127.0.0.1:1/")).toMatchObject({
      code: "REMOTE_ERROR",
      message: expect.not.stringContaining("word"),
    });
    expect(await failure("http://a%:b@127.0.0.1/")).toMatchObject({ code: "INVALID_INPUT" });
  });

  it("is refused while it comes, when it is more than a page may have", async () => {
    pages.set("/endless", (_, response) => {
      response.writeHead(200, { "content-type": "text/html" });
      const more = () => response.destroyed || response.write(Buffer.alloc(1 << 20, "x"), more);
      more();
    });
    expect(await failure("/endless")).toMatchObject({ code: "TOO_LARGE" });
  });

  it("is given up when it is told to", async () => {
    const controller = new AbortController();
    pages.set("/slow", (_, response) => {
      response.writeHead(200, { "content-type": "text/plain" });
      response.write("x", () => controller.abort());
    });
    expect(await failure("/slow", { signal: controller.signal })).toMatchObject({
      code: "ABORTED",
    });
  });
});
