import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { WebServers } from "../../test/support/web-servers.js";
import { parseWebAddress } from "./web-address.js";
import { redirected } from "./web-client.js";
import { WebFetcher } from "./web-fetcher.js";

interface Served {
  readonly type?: string;
  readonly body: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status?: number;
}

/** One server with one answer, and how often it was asked. */
class Site implements AsyncDisposable {
  readonly #servers = new WebServers();
  readonly requests: IncomingMessage[] = [];
  #port = 0;

  async open(served: Served): Promise<this> {
    this.#port = await this.#servers.http((request, response) => {
      this.requests.push(request);
      const type = served.type === undefined ? {} : { "content-type": served.type };
      response.writeHead(served.status ?? 200, { ...type, ...served.headers }).end(served.body);
    });
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/page?a=b`;
  }

  fetcher(options: ConstructorParameters<typeof WebFetcher>[0] = {}): WebFetcher {
    return new WebFetcher({ allow: [`127.0.0.1:${this.#port}`], ...options });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#servers[Symbol.asyncDispose]();
  }
}

const open = (served: Served) => new Site().open(served);

describe("a fetch", () => {
  it("gives a page as Markdown with its title and its final address", async () => {
    const body =
      "<title>Tea</title><nav>Menu</nav><main><h1>Tea</h1><p>Hot <a href='/w'>water</a>.</p></main>";
    await using site = await open({ type: "text/html", body });
    const { origin } = new URL(site.url);
    const text = `# Tea\n\nHot [water](${origin}/w).`;
    expect(await site.fetcher().fetch(`${site.url}#part`)).toEqual({
      kind: "page",
      url: site.url,
      title: "Tea",
      text,
      characters: text.length,
      isTruncated: false,
    });
    const [request] = site.requests;
    expect(request?.url).toBe("/page?a=b");
    expect(request?.headers.host).toBe(new URL(site.url).host);
    expect(request?.headers["user-agent"]).toMatch(/^cellar\//);
  });

  it("gives text as it is, and no more of it than is asked for", async () => {
    const body = "line\r\n  <b>not bold</b>\n".repeat(1000);
    await using site = await open({ type: "text/plain; charset=utf-8", body });
    const fetcher = site.fetcher();
    const page = await fetcher.fetch(site.url);
    expect(page).toMatchObject({ kind: "text", characters: body.length, isTruncated: true });
    if (page.kind === "text") expect(page.text).toBe(body.slice(0, 10_000));
    const whole = await fetcher.fetch(site.url, { maxCharacters: 100_000 });
    expect(whole).toMatchObject({ text: body, isTruncated: false });
  });

  it("does not cut a character in half", async () => {
    await using site = await open({ type: "text/plain", body: "ab😀c" });
    const fetcher = site.fetcher();
    expect(await fetcher.fetch(site.url, { maxCharacters: 3 })).toMatchObject({ text: "ab" });
    expect(await fetcher.fetch(site.url, { maxCharacters: 4 })).toMatchObject({ text: "ab😀" });
  });

  it.each([0, -1, 1.5, Number.NaN])("wants a number of characters, not %s", async (most) => {
    const fetching = new WebFetcher().fetch("http://example.org/", { maxCharacters: most });
    await expect(fetching).rejects.toMatchObject({ code: "INVALID_INPUT" });
  });

  it.each(["application/json", "application/ld+json", "text/json; charset=utf-8"])(
    "gives %s as a value of its own each time",
    async (type) => {
      await using site = await open({ type, body: '\ufeff{"a": [1, "ü"]}' });
      const fetcher = site.fetcher();
      const first = await fetcher.fetch(site.url, { maxCharacters: 1 });
      expect(first).toEqual({ kind: "json", url: site.url, value: { a: [1, "ü"] } });
      if (first.kind === "json") (first.value as { a: unknown }).a = "changed";
      expect(await fetcher.fetch(site.url)).toMatchObject({ value: { a: [1, "ü"] } });
    },
  );

  it("gives a PDF as its bytes, also one that nobody calls so", async () => {
    const body = Buffer.from("%PDF-1.7\n\0\x01binary", "latin1");
    for (const type of ["application/pdf", "application/octet-stream", undefined]) {
      await using site = await open({ body, ...(type !== undefined && { type }) });
      const page = await site.fetcher().fetch(site.url);
      if (page.kind !== "pdf") throw new Error(page.kind);
      expect(Buffer.from(page.bytes)).toEqual(body);
    }
  });

  it.each([
    ["<!DOCTYPE html><p>a", "page"],
    ["  <!-- x --><html><p>a", "page"],
    ["just words", "text"],
  ])("looks at %j to find that it is a %s", async (body, kind) => {
    await using site = await open({ body });
    expect(await site.fetcher().fetch(site.url)).toMatchObject({ kind });
  });

  it.each([
    ["gzip", gzipSync("packed")],
    ["deflate", deflateSync("packed")],
    ["br", brotliCompressSync("packed")],
    ["GZIP", gzipSync("packed")],
    ["identity", Buffer.from("packed")],
  ])("unpacks %s", async (coding, body) => {
    const headers = { "content-encoding": coding };
    await using site = await open({ type: "text/plain", body, headers });
    expect(await site.fetcher().fetch(site.url)).toMatchObject({ text: "packed" });
    expect(site.requests[0]?.headers["accept-encoding"]).toBe("gzip, deflate, br");
  });

  it.each([
    [404, "NOT_FOUND"],
    [403, "INVALID_INPUT"],
    [429, "REMOTE_ERROR"],
    [500, "REMOTE_ERROR"],
    [304, "INVALID_INPUT"],
  ])("fails with the status %i", async (status, code) => {
    await using site = await open({ status, body: status === 304 ? "" : "no" });
    await expect(site.fetcher().fetch(site.url)).rejects.toMatchObject({
      code,
      details: { status },
      message: expect.stringContaining(String(status)),
    });
  });

  it("says so where nobody listens", async () => {
    const site = await open({ body: "" });
    const { url } = site;
    const fetcher = site.fetcher();
    await site[Symbol.asyncDispose]();
    await expect(fetcher.fetch(url)).rejects.toMatchObject({ code: "IO_ERROR" });
  });

  it("is cancelled before it begins", async () => {
    await using site = await open({ body: "never" });
    const fetching = site.fetcher().fetch(site.url, { signal: AbortSignal.abort() });
    await expect(fetching).rejects.toMatchObject({ code: "ABORTED" });
    expect(site.requests).toHaveLength(0);
  });
});

describe("the charset", () => {
  it.each([
    [
      "of a byte order mark, whatever else is said",
      "text/plain; charset=latin1",
      Buffer.from("\ufeffgrün"),
    ],
    ["of UTF-16 with a mark", "text/plain", Buffer.from("\ufeffgrün", "utf16le")],
    [
      "of the other UTF-16 with a mark",
      "text/plain",
      Buffer.from("\ufeffgrün", "utf16le").swap16(),
    ],
    ["of the Content-Type", 'text/plain; charset="ISO-8859-1"', Buffer.from("grün", "latin1")],
    [
      "of the Content-Type, before the page's",
      "text/html; charset=latin1",
      Buffer.from("<meta charset=utf-8>grün", "latin1"),
    ],
    ["of the page", "text/html", Buffer.from("<meta charset='windows-1252'>grün", "latin1")],
    [
      "of the page, in the old way",
      "text/html",
      Buffer.from(
        '<meta http-equiv="content-type" content="text/html; charset=latin1">grün',
        "latin1",
      ),
    ],
    ["UTF-8, where nothing is said", "text/plain", Buffer.from("grün")],
    [
      "latin-1, where nothing is said and it is not UTF-8",
      "text/plain",
      Buffer.from("grün", "latin1"),
    ],
  ])("is that %s", async (_, type, body) => {
    await using site = await open({ type, body });
    expect(await site.fetcher().fetch(site.url)).toMatchObject({ text: "grün" });
  });

  it("may be one of another script", async () => {
    const body = Buffer.from([0x93, 0xfa, 0x96, 0x7b]);
    await using site = await open({ type: "text/plain; charset=shift_jis", body });
    expect(await site.fetcher().fetch(site.url)).toMatchObject({ text: "日本" });
  });
});

describe("the cache", () => {
  it.each([
    ["nothing is said", {}, 1],
    ["it may be kept", { "cache-control": "max-age=60" }, 1],
    ["it must not", { "cache-control": "private, No-Store" }, 2],
    ["it must be asked for", { "cache-control": "no-cache" }, 2],
    ["it is old at once", { "cache-control": "max-age=0" }, 2],
  ])("answers the second time only where it may: %s", async (_, headers, requests) => {
    await using site = await open({ type: "text/plain", body: "kept", headers });
    const fetcher = site.fetcher();
    for (const part of ["", "#a"]) {
      expect(await fetcher.fetch(site.url + part)).toMatchObject({ text: "kept" });
    }
    expect(site.requests).toHaveLength(requests);
    await fetcher.fetch(`${site.url}&other`);
    expect(site.requests).toHaveLength(requests + 1);
  });

  it("can be turned off, and keeps no failure", async () => {
    await using site = await open({ type: "text/plain", body: "kept" });
    const fetcher = site.fetcher({ cacheSeconds: 0 });
    await fetcher.fetch(site.url);
    await fetcher.fetch(site.url);
    expect(site.requests).toHaveLength(2);
    await using broken = await open({ status: 500, body: "" });
    const other = broken.fetcher();
    for (let time = 0; time < 2; time += 1) {
      await expect(other.fetch(broken.url)).rejects.toThrow("500");
    }
    expect(broken.requests).toHaveLength(2);
  });

  it("minds what a redirect said", async () => {
    await using servers = new WebServers();
    let requests = 0;
    const port = await servers.http((request, response) => {
      requests += 1;
      if (request.url === "/there") response.end("there");
      else response.writeHead(302, { location: "/there", "cache-control": "no-store" }).end();
    });
    const fetcher = new WebFetcher({ allow: [`127.0.0.1:${port}`] });
    await fetcher.fetch(`http://127.0.0.1:${port}/here`);
    await fetcher.fetch(`http://127.0.0.1:${port}/here`);
    expect(requests).toBe(4);
  });
});

describe("a fetch over TLS", () => {
  it("needs a certificate for the name, and of someone trusted", async (context) => {
    const folder = mkdtempSync(join(tmpdir(), "cellar-web-"));
    const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
    try {
      const request = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"];
      const names = ["-subj", "/CN=web.example", "-addext", "subjectAltName=DNS:web.example"];
      const files = ["-keyout", key, "-out", certificate];
      await promisify(execFile)("openssl", [...request, ...names, ...files]);
    } catch {
      context.skip("openssl is not installed");
    }
    const ca = readFileSync(certificate, "utf8");
    const server = createTlsServer({ key: readFileSync(key), cert: ca }, (request, response) =>
      response.setHeader("content-type", "text/plain").end(`for ${request.headers.host}`),
    );
    rmSync(folder, { recursive: true });
    await using servers = new WebServers();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const connect = servers.dialing(port);
    const resolve = async () => ["93.184.215.14"];
    const trusting = new WebFetcher({ ca, connect, resolve });
    const page = await trusting.fetch("https://web.example/");
    expect(page).toMatchObject({ text: "for web.example", url: "https://web.example/" });
    await expect(trusting.fetch("https://other.example/")).rejects.toMatchObject({
      code: "IO_ERROR",
      message: expect.stringContaining("altnames"),
    });
    await expect(
      new WebFetcher({ connect, resolve }).fetch("https://web.example/"),
    ).rejects.toMatchObject({ code: "IO_ERROR", message: expect.stringContaining("certificate") });
    expect(servers.dialed).toEqual(Array(3).fill("93.184.215.14:443"));
    server.closeAllConnections();
    server.close();
  });

  it("does not go on without it", () => {
    const from = parseWebAddress("https://a.example/");
    expect(() => redirected(from, "http://a.example/")).toThrow("without encryption");
    expect(redirected(from, "/b").url.href).toBe("https://a.example/b");
  });
});
