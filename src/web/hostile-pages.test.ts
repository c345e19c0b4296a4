import type { Socket } from "node:net";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebServers } from "../../test/support/web-servers.js";
import { deferred } from "../concurrency/deferred.js";
import { WebFetcher, type WebFetcherOptions } from "./web-fetcher.js";
import type { WebPage } from "./web-page.js";

const MEGABYTE = 1024 ** 2;
const LIMIT = 2 * MEGABYTE;
const HEAD = "HTTP/1.1 200 OK\r\n";
const bomb = gzipSync(Buffer.alloc(64 * MEGABYTE));

let servers: WebServers;
beforeAll(() => {
  servers = new WebServers();
});
afterAll(() => servers[Symbol.asyncDispose]());

async function fetchFrom(port: number, options: Partial<WebFetcherOptions> = {}): Promise<WebPage> {
  const fetcher = new WebFetcher({ allow: [`127.0.0.1:${port}`], maxBytes: LIMIT, ...options });
  return await fetcher.fetch(`http://127.0.0.1:${port}/`, { maxCharacters: 10 * MEGABYTE });
}

const headed = (headers: string, body: string | Buffer = "") =>
  Buffer.concat([Buffer.from(`${HEAD}${headers}\r\n\r\n`), Buffer.from(body)]);
const length = (body: string | Buffer) => `Content-Length: ${Buffer.byteLength(body)}`;

/** Writes as fast as it is read, without an end. */
function flood(socket: Socket, start: string, piece: Buffer | string): void {
  socket.once("data", () => {
    socket.write(start);
    const more = () => {
      while (!socket.destroyed && socket.write(piece));
    };
    socket.on("drain", more);
    more();
  });
}

describe("a server that answers too much", () => {
  it.each([
    ["a gzip bomb", "gzip", bomb],
    ["a deflate bomb", "deflate", deflateSync(Buffer.alloc(64 * MEGABYTE))],
    ["a brotli bomb", "br", brotliCompressSync(Buffer.alloc(64 * MEGABYTE))],
  ])("is cut off: %s", async (_, coding, body) => {
    const headers = `Content-Type: text/plain\r\nContent-Encoding: ${coding}\r\n${length(body)}`;
    const port = await servers.answering(headed(headers, body));
    await expect(fetchFrom(port)).rejects.toMatchObject({
      code: "TOO_LARGE",
      message: expect.stringContaining("2,097,152 bytes"),
    });
  });

  it("is not even heard where it says how much it is", async () => {
    const port = await servers.answering(headed("Content-Length: 99999999999"));
    await expect(fetchFrom(port)).rejects.toMatchObject({ code: "TOO_LARGE" });
  });

  it.each([
    ["a body without an end", `${HEAD}Content-Type: text/html\r\n\r\n`, Buffer.alloc(65_536, "x")],
    [
      "chunks without an end",
      `${HEAD}Transfer-Encoding: chunked\r\nContent-Type: text/plain\r\n\r\n`,
      `10000\r\n${"y".repeat(65_536)}\r\n`,
    ],
    [
      "packed bytes that become none",
      `${HEAD}Content-Encoding: gzip\r\nContent-Type: text/plain\r\n\r\n`,
      gzipSync(""),
    ],
  ])("is cut off: %s", async (_, start, piece) => {
    const port = await servers.raw((socket) => flood(socket, start, piece));
    await expect(fetchFrom(port)).rejects.toMatchObject({ code: "TOO_LARGE" });
  });

  it.each([
    ["headers without an end", HEAD, "X-Header: some value\r\n"],
    ["one header without an end", `${HEAD}X-Header: `, "x".repeat(1000)],
    ["a status line without an end", "HTTP/1.1 200 ", "x".repeat(1000)],
    ["announcements without an end", "", "HTTP/1.1 103 Early Hints\r\n\r\n"],
  ])("is cut off: %s", async (_, start, piece) => {
    const port = await servers.raw((socket) => flood(socket, start, piece));
    await expect(fetchFrom(port)).rejects.toMatchObject({ code: "PROTOCOL_ERROR" });
  });

  it("is cut off after many headers in one piece", async () => {
    const port = await servers.answering(
      headed(`${"X-Name: value\r\n".repeat(5000)}${length("")}`),
    );
    await expect(fetchFrom(port)).rejects.toMatchObject({
      message: expect.stringContaining("headers have more than"),
    });
  });
});

describe("a server that takes its time", () => {
  const slow = { timeoutMs: 300 };

  it.each<[string, (socket: Socket) => void]>([
    ["says nothing", () => {}],
    ["sends a byte of its headers now and then", (socket) => drip(socket, HEAD)],
    [
      "sends a byte of its body now and then",
      (socket) => {
        socket.write(`${HEAD}Content-Type: text/plain\r\n\r\n`);
        drip(socket, "slowly ".repeat(1000));
      },
    ],
    ["keeps the body open", (socket) => void socket.write(`${HEAD}Content-Length: 10\r\n\r\nabc`)],
    [
      "keeps what it packed open",
      (socket) => {
        socket.write(`${HEAD}Content-Encoding: gzip\r\nContent-Type: text/plain\r\n\r\n`);
        socket.write(gzipSync("text").subarray(0, 12));
      },
    ],
  ])("is left: %s", async (_, behave) => {
    const closed = deferred<void>();
    const port = await servers.raw((socket) => {
      socket.once("close", () => closed.resolve());
      // Who does not read never hears of the end.
      socket.resume();
      behave(socket);
    });
    await expect(fetchFrom(port, slow)).rejects.toMatchObject({
      code: "LIMIT_REACHED",
      message: expect.stringContaining("longer than 300 ms"),
    });
    await closed.promise;
  });

  it("is left when its name is not found in time", async () => {
    const fetcher = new WebFetcher({ ...slow, resolve: () => new Promise(() => {}) });
    await expect(fetcher.fetch("http://slow.example/")).rejects.toMatchObject({
      code: "LIMIT_REACHED",
    });
  });

  it("is left when nobody waits any more", async () => {
    const started = deferred<void>();
    const closed = deferred<void>();
    const port = await servers.raw((socket) => {
      socket.once("data", () => started.resolve());
      socket.once("close", () => closed.resolve());
    });
    const abort = new AbortController();
    const fetcher = new WebFetcher({ allow: [`127.0.0.1:${port}`] });
    const fetching = fetcher.fetch(`http://127.0.0.1:${port}/`, { signal: abort.signal });
    await started.promise;
    abort.abort();
    await expect(fetching).rejects.toMatchObject({ code: "ABORTED" });
    await closed.promise;
  });
});

function drip(socket: Socket, text: string): void {
  let sent = 0;
  const timer = setInterval(() => socket.write(text[sent++ % text.length] ?? ""), 20);
  socket.once("close", () => clearInterval(timer));
}

describe("a server that answers nonsense", () => {
  it.each([
    ["nothing", ""],
    ["another protocol", "220 mail.example ESMTP\r\n"],
    ["noise", Buffer.from([0, 255, 1, 254, 13, 10, 13, 10])],
    ["half a header", `${HEAD}Content-Le`],
    ["a header without a colon", `${HEAD}nonsense\r\n\r\n`],
    ["a NUL in a header", `${HEAD}X-A: a\0b\r\n\r\n`],
    ["a wrong chunk size", `${HEAD}Transfer-Encoding: chunked\r\n\r\nZZ\r\nbody\r\n`],
    ["a negative length", `${HEAD}Content-Length: -5\r\n\r\nbody`],
    ["two lengths", `${HEAD}Content-Length: 4\r\nContent-Length: 5\r\n\r\nbody!`],
    [
      "a length and chunks",
      `${HEAD}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    ["less than it promised", headed("Content-Type: text/plain\r\nContent-Length: 100", "short")],
    [
      "another protocol on this connection",
      "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    ],
    ["a body that is not gzip", headed("Content-Encoding: gzip\r\nContent-Length: 4", "text")],
    [
      "gzip that ends early",
      headed("Content-Encoding: gzip", gzipSync("x".repeat(1000)).subarray(0, 20)),
    ],
    ["a coding nobody asked for", headed("Content-Encoding: zstd", "text")],
    ["a coding of codings", headed("Content-Encoding: gzip, gzip", gzipSync(gzipSync("text")))],
  ])("is reported: %s", async (_, answer) => {
    const port = await servers.answering(answer);
    await expect(fetchFrom(port)).rejects.toMatchObject({
      code: "PROTOCOL_ERROR",
      message: expect.stringContaining("cannot be read"),
      remedy: expect.any(String),
    });
  });

  it("gives what its length says, and no byte more", async () => {
    const port = await servers.answering(
      headed("Content-Type: text/plain\r\nContent-Length: 4", `textHTTP/1.1 200 OK\r\n\r\nmore`),
    );
    expect(await fetchFrom(port)).toMatchObject({ text: "text" });
  });

  it.each([
    ["image/png", "PNG"],
    ["application/zip", "PK"],
    ["video/mp4", "moov"],
    ["application/octet-stream", "\0\x01\x02"],
    ["", "\0\x01\x02"],
  ])("is told what cannot be read: %j", async (type, body) => {
    const port = await servers.answering(
      headed(type === "" ? "X: 1" : `Content-Type: ${type}`, body),
    );
    await expect(fetchFrom(port)).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringContaining(type === "" ? "no known type" : type),
    });
  });
});

describe("a page that is hostile", () => {
  async function markdownOf(html: string | Buffer, type = "text/html"): Promise<string> {
    const port = await servers.answering(headed(`Content-Type: ${type}\r\n${length(html)}`, html));
    const page = await fetchFrom(port);
    if (page.kind !== "page") throw new Error(page.kind);
    return page.text;
  }

  it.each([
    ["100,000 divs in each other", `${"<div>".repeat(100_000)}deep${"</div>".repeat(100_000)}`],
    ["100,000 that never end", `${"<div>".repeat(100_000)}deep`],
    ["100,000 ends of nothing", `${"</div></p></ul></table></a></b>".repeat(16_000)}deep`],
    ["lists in each other", `${"<ul><li>".repeat(50_000)}deep`],
    ["quotes in each other", `${"<blockquote>".repeat(50_000)}deep`],
    ["tables in each other", `${"<table><tr><td>".repeat(50_000)}deep`],
    ["forms, menus and articles in each other", `${"<form><nav><article>".repeat(30_000)}deep`],
    ["menus that end out of order", `${"<nav><aside></nav></aside>".repeat(30_000)}deep`],
    ["bold in bold", `${"<b><i><a href=/x>".repeat(50_000)}deep`],
    ["a huge attribute", `<div class="${"nav ".repeat(200_000)}">deep</div>`],
    ["a huge link", `<a href="${"x".repeat(1_000_000)}">deep</a>`],
    ["a huge name of a tag", `<${"x".repeat(1_000_000)}>deep`],
    ["100,000 attributes", `<div ${"a=1 ".repeat(100_000)}>deep</div>`],
    ["a tag that never ends", `deep<div class="`],
    ["a comment that never ends", `deep<!-- ${"- ".repeat(100_000)}`],
    ["a script that never ends", `deep<script>${"</scrip".repeat(100_000)}`],
    ["a menu that never ends", `<nav>menu<p>deep</p>`],
    ["code that never ends", `<pre>deep`],
    ["NULs", `d\0e\0ep<b>\0</b>deep`.replace("d\0e\0ep", "\0deep\0")],
    ["wrong entities", `&#0;&#xD800;&#99999999999;&nosuch;&deep; deep`],
    ["code full of fences", `<pre>${"```\n````\n".repeat(1000)}deep</pre>`],
    [
      "empty lines of code in quotes",
      `${"<blockquote>".repeat(8)}<pre>x${"\n".repeat(1_900_000)}deep</pre>`,
    ],
    ["blanks in code", `<pre>x${" ".repeat(1_900_000)}deep</pre>`],
    ["many columns", `<table><tr>${"<td colspan=1000>x</td>".repeat(20_000)}</tr></table>deep`],
  ])("gives a bounded text: %s", async (_, html) => {
    const text = await markdownOf(html);
    expect(text).toContain("deep");
    expect(text).not.toContain("\0");
    expect(text.length).toBeLessThan(2 * LIMIT);
  });

  it("cannot grow by its links", async () => {
    const base = `<base href="http://127.0.0.1/${"a".repeat(1500)}/">`;
    const port = await servers.answering(
      headed("Content-Type: text/html", `${base}${"<a href=b>x</a> ".repeat(100_000)}`),
    );
    const page = await fetchFrom(port);
    expect(page).toMatchObject({ kind: "page", isTruncated: true });
    if (page.kind === "page") expect(page.text.length).toBeLessThanOrEqual(LIMIT);
  });

  it.each([
    ["javascript:alert(1)", "click"],
    ["JAVASCRIPT:alert(1)", "click"],
    ["  javascript:alert(1)", "click"],
    ["java\nscript:alert(1)", "click"],
    ["data:text/html,x", "click"],
    ["vbscript:x", "click"],
    ["blob:x", "click"],
    ["/a)b (c) [d](e", "[click](http://127.0.0.1"],
  ])("keeps no link that is not one of the web: %j", async (href, expected) => {
    const text = await markdownOf(`<p><a href="${href}">click</a></p>`);
    expect(text.startsWith(expected)).toBe(true);
    expect(text).not.toMatch(/script:|data:|blob:/i);
    expect(text.match(/\]\(/g)?.length ?? 0).toBeLessThanOrEqual(1);
  });

  it.each([
    ["an unknown charset", "text/html; charset=klingon", Buffer.from("grün")],
    ["a charset that browsers refuse", "text/html; charset=utf-7", Buffer.from("grün")],
    ["latin-1 that nobody announced", "text/html", Buffer.from("grün", "latin1")],
    ["UTF-8 called UTF-16 in the page", "text/html", Buffer.from('<meta charset="utf-16">grün')],
  ])("is read with %s", async (_, type, body) => {
    expect(await markdownOf(body, type)).toBe("grün");
  });

  it("is read with wrong bytes in its charset", async () => {
    const body = Buffer.concat([Buffer.from("gr"), Buffer.from([0xff, 0xc0]), Buffer.from("n")]);
    expect(await markdownOf(body, "text/html; charset=utf-8")).toMatch(/^gr\ufffd+n$/);
    expect(
      await markdownOf(Buffer.from([0x61, 0x81, 0xff]), "text/html; charset=shift_jis"),
    ).toMatch(/^a/);
  });

  it("is no value where JSON is too deep or none", async () => {
    for (const body of ["[".repeat(200_000) + "]".repeat(200_000), '{"a": ', "NaN"]) {
      const port = await servers.answering(headed("Content-Type: application/json", body));
      expect(await fetchFrom(port)).toMatchObject({ kind: "text", text: body });
    }
  });

  it("keeps names that JavaScript has plans for as plain data", async () => {
    const port = await servers.answering(
      headed("Content-Type: application/json", '{"__proto__": {"polluted": 1}, "constructor": 2}'),
    );
    const page = await fetchFrom(port);
    expect(page).toMatchObject({ kind: "json" });
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});
