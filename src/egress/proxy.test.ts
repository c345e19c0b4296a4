import { existsSync, mkdirSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { type AddressInfo, connect, createServer as createNetServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { EgressHosts, readAll, readUntil } from "../../test/support/egress-hosts.js";

const get = (url: string, ...headers: string[]) =>
  [`GET ${url} HTTP/1.1`, ...headers, "", ""].join("\r\n");

describe.skipIf(process.platform !== "linux")("the egress proxy", () => {
  it("passes a request on to a host that is named, under that name", async () => {
    await using place = new EgressHosts();
    const seen: IncomingMessage[] = [];
    const port = await place.server((request, response) => {
      seen.push(request);
      response.setHeader("X-Own", "1");
      response.end(`you asked for ${request.url}`);
    });
    const proxy = await place.proxy([`127.0.0.1:${port}`]);
    const answer = await place.exchange(
      get(
        `http://127.0.0.1:${port}/a/b?c=d`,
        "Host: evil.example",
        "Proxy-Authorization: Basic c2VjcmV0",
        "Connection: X-Private",
        "X-Private: 1",
        "X-Kept: 2",
      ),
    );
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK/);
    expect(answer).toContain("X-Own: 1");
    expect(answer).toContain("you asked for /a/b?c=d");
    const headers = seen[0]?.headers ?? {};
    expect(headers.host).toBe(`127.0.0.1:${port}`);
    expect(headers["x-kept"]).toBe("2");
    expect(Object.keys(headers).sort()).toEqual(["connection", "host", "x-kept"]);
    expect(proxy.report.totals.allowed).toBe(1);
    expect(proxy.report.totals.receivedBytes).toBeGreaterThan(20);
    // Paths may hold secrets, so the log has hosts only.
    expect(JSON.stringify(proxy.report)).not.toContain("c=d");
  });

  it("passes bodies on, counted and chunked", async () => {
    await using place = new EgressHosts();
    const port = await place.server((request, response) => {
      request.pipe(response);
    });
    await place.proxy([`127.0.0.1:${port}`]);
    const post = (...rest: string[]) =>
      place.exchange([`POST http://127.0.0.1:${port}/ HTTP/1.1`, ...rest].join("\r\n"));
    expect(await post("Content-Length: 4", "", "abcd")).toContain("abcd");
    expect(await post("Transfer-Encoding: chunked", "", "3", "xyz", "0", "", "")).toContain("xyz");
  });

  it("refuses what is not in the list, and says what can be done", async () => {
    await using place = new EgressHosts();
    const proxy = await place.proxy(["example.org", "*.example.net"]);
    const answer = await place.exchange(get("http://evil.example/secret"));
    expect(answer).toMatch(/^HTTP\/1\.1 403 /);
    expect(answer).toContain("X-Cellar-Refused: evil.example is not in the list");
    const body = JSON.parse(answer.split("\r\n\r\n")[1] ?? "");
    expect(body.remedy).toContain("example.org, *.example.net");
    const tunnel = await place.exchange("CONNECT evil.example:443 HTTP/1.1\r\n\r\n");
    expect(tunnel).toMatch(/^HTTP\/1\.1 403 Forbidden by the sandbox/);
    expect(proxy.report.requests).toMatchObject([
      { target: "evil.example:80", isAllowed: false },
      { target: "evil.example:443", isAllowed: false },
    ]);
  });

  it.each([
    ["a host behind a user name", get("http://example.org@127.0.0.1:1/"), "400"],
    ["a path alone", get("/", "Host: example.org"), "400"],
    ["https in the open", get("https://example.org/"), "400"],
    ["another scheme", get("ftp://example.org/"), "400"],
    ["CONNECT without a port", "CONNECT example.org HTTP/1.1\r\n\r\n", "400"],
    ["CONNECT to a port that is not usual", "CONNECT example.org:22 HTTP/1.1\r\n\r\n", "403"],
    ["CONNECT to an address", "CONNECT 127.0.0.1:443 HTTP/1.1\r\n\r\n", "403"],
    ["the metadata service", get("http://169.254.169.254/latest"), "403"],
    ["the metadata service as a number", get("http://2852039166/latest"), "403"],
    ["a mapped address", get("http://[::ffff:127.0.0.1]/"), "403"],
    ["endless headers", get("http://example.org/", `X-Long: ${"x".repeat(20_000)}`), "431"],
  ])("refuses %s", async (_, request, status) => {
    await using place = new EgressHosts();
    const connect = () => {
      throw new Error("nothing may be connected");
    };
    await place.proxy(["example.org"], { connect, resolve: async () => ["127.0.0.1"] });
    expect(await place.exchange(request)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  });

  it.each([
    ["Content-Length: 4", "Transfer-Encoding: chunked"],
    ["Transfer-Encoding: chunked", "Content-Length: 4"],
    ["Content-Length: 4", "Content-Length: 0"],
    ["Content-Length: 4", "Content-Length: 4"],
    ["Transfer-Encoding: gzip, chunked", "X-A: 1"],
    ["Transfer-Encoding: chunked", "Transfer-Encoding: identity"],
    ["Transfer-Encoding:\u000bchunked", "Content-Length: 4"],
  ])("refuses a body with two ends (%j, %j)", async (...headers) => {
    await using place = new EgressHosts();
    const urls: (string | undefined)[] = [];
    const port = await place.server((request, response) => {
      urls.push(request.url);
      response.end();
    });
    await place.proxy([`127.0.0.1:${port}`]);
    const smuggled = "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
    const head = [`POST http://127.0.0.1:${port}/ HTTP/1.1`, ...headers, "", ""].join("\r\n");
    expect(await place.exchange(head + smuggled)).toMatch(/^HTTP\/1\.1 400 /);
    expect(urls).toEqual([]);
  });

  it("serves one request of a connection, whatever is behind it", async () => {
    await using place = new EgressHosts();
    const urls: (string | undefined)[] = [];
    const port = await place.server((request, response) => {
      urls.push(request.url);
      response.end("one");
    });
    await place.proxy([`127.0.0.1:${port}`]);
    const url = `http://127.0.0.1:${port}`;
    await place.exchange(get(`${url}/first`) + get(`${url}/second`));
    expect(urls).toEqual(["/first"]);
  });

  it("connects to the address that it checked, and checks again for the next request", async () => {
    await using place = new EgressHosts();
    const port = await place.server((request, response) => response.end(request.headers.host));
    const answers = [["93.184.215.14"], ["127.0.0.1"], ["::ffff:10.0.0.1", "169.254.169.254"]];
    const asked: string[] = [];
    const dialled: string[] = [];
    await place.proxy(["rebound.example"], {
      resolve: async (host) => {
        asked.push(host);
        return answers.shift() ?? [];
      },
      connect: (address) => {
        dialled.push(address);
        return connect({ host: "127.0.0.1", port });
      },
    });
    expect(await place.exchange(get("http://rebound.example/"))).toContain("rebound.example");
    const second = await place.exchange(get("http://rebound.example/"));
    expect(second).toMatch(/^HTTP\/1\.1 403 /);
    expect(second).toContain("127.0.0.1, which is loopback");
    expect(await place.exchange(get("http://rebound.example/"))).toMatch(/^HTTP\/1\.1 403 /);
    expect(await place.exchange(get("http://rebound.example/"))).toMatch(/^HTTP\/1\.1 502 /);
    expect(asked).toHaveLength(4);
    expect(dialled).toEqual(["93.184.215.14"]);
  });

  it("uses the public ones of several addresses only", async () => {
    await using place = new EgressHosts();
    const dialled: string[] = [];
    await place.proxy(["mixed.example"], {
      resolve: async () => ["10.0.0.1", "93.184.215.14", "::1", "2606:4700::1"],
      connect: (address) => {
        dialled.push(address);
        throw new Error("unreachable");
      },
    });
    expect(await place.exchange(get("http://mixed.example/"))).toMatch(/^HTTP\/1\.1 502 /);
    expect(dialled).toEqual(["93.184.215.14", "2606:4700::1"]);
  });

  it("carries a tunnel both ways and passes on the end of either side", async () => {
    await using place = new EgressHosts();
    const server = createNetServer({ allowHalfOpen: true }, async (socket) => {
      const text = await new Promise<string>((resolve) => {
        let all = "";
        socket.on("data", (chunk) => {
          all += chunk;
        });
        socket.on("end", () => resolve(all));
      });
      socket.end(`heard ${text.length}`);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    await place.proxy([`localhost:${port}`]);
    const client = place.connect();
    client.write(`CONNECT localhost:${port} HTTP/1.1\r\n\r\nearly `);
    expect(await readUntil(client, "\r\n\r\n")).toMatch(/^HTTP\/1\.1 200 /);
    client.write("x".repeat(300_000));
    client.end();
    const rest = readAll(client);
    client.resume();
    expect(await rest).toBe("heard 300006");
    server.close();
  });

  it("cuts at once: open connections end, waiting ones are refused, and it stays so", async () => {
    await using place = new EgressHosts();
    const port = await place.server((_, response) => response.write("first part"));
    let release = (_: string[]) => {};
    const proxy = await place.proxy([`127.0.0.1:${port}`, "slow.example"], {
      resolve: () =>
        new Promise((resolve) => {
          release = resolve;
        }),
      connect: (address, at) => {
        if (address !== "127.0.0.1") throw new Error("nothing more may be connected");
        return connect({ host: address, port: at });
      },
    });
    const streaming = place.connect();
    streaming.write(get(`http://127.0.0.1:${port}/`));
    await readUntil(streaming, "first part");
    const tunnel = place.connect();
    tunnel.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n`);
    await readUntil(tunnel, "\r\n\r\n");
    const waiting = place.exchange(get("http://slow.example/"));
    await expect.poll(() => proxy.report.totals.allowed).toBe(2);
    const ends = [streaming, tunnel].map((socket) => {
      const end = readAll(socket);
      socket.resume();
      return end;
    });
    proxy.cut("patients.csv was loaded");
    release(["93.184.215.14"]);
    expect(await Promise.all(ends)).toEqual(["", ""]);
    expect(await waiting).not.toContain("HTTP/1.1 2");
    proxy.cut("another reason");
    const answer = await place.exchange(get(`http://127.0.0.1:${port}/`));
    expect(answer).toMatch(/^HTTP\/1\.1 403 /);
    expect(answer).toContain("patients.csv was loaded");
    expect(proxy.report.cut).toBe("patients.csv was loaded");
  });

  it("tries no further address once it is cut", async () => {
    await using place = new EgressHosts();
    const dialled: string[] = [];
    const proxy = await place.proxy(["example.org"], {
      resolve: async () => ["93.184.215.14", "93.184.215.15"],
      connect: (address) => {
        dialled.push(address);
        proxy.cut("now");
        throw new Error("unreachable");
      },
    });
    await place.exchange(get("http://example.org/"));
    expect(dialled).toEqual(["93.184.215.14"]);
  });

  it("begins cut where it was cut before", async () => {
    await using place = new EgressHosts();
    const port = await place.server((_, response) => response.end("out"));
    await place.proxy([`127.0.0.1:${port}`], { cutReason: "it is private" });
    expect(await place.exchange(get(`http://127.0.0.1:${port}/`))).toContain("it is private");
  });

  it("bounds connections and ends silent ones", async () => {
    await using place = new EgressHosts();
    const port = await place.server(() => {});
    const proxy = await place.proxy([`127.0.0.1:${port}`], { maxConnections: 2, idle: 300 });
    const held = [1, 2].map(() => place.connect());
    const ends = held.map(readAll);
    for (const socket of held) socket.write(get(`http://127.0.0.1:${port}/`));
    await expect.poll(() => proxy.report.totals.allowed).toBe(2);
    expect(await place.exchange(get(`http://127.0.0.1:${port}/`))).toMatch(/^HTTP\/1\.1 503 /);
    expect(await Promise.all(ends)).toEqual(["", ""]);
  });

  it("remembers the latest requests only, and counts all", async () => {
    await using place = new EgressHosts();
    const proxy = await place.proxy(["example.org"], { maxConnections: 1000 });
    for (let round = 0; round < 52; round += 1) {
      await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          place.exchange(get(`http://host-${round}-${index}.example/`)),
        ),
      );
    }
    expect(proxy.report.totals.refused).toBe(520);
    expect(proxy.report.requests).toHaveLength(500);
  });

  it("listens in a folder whose path is too long for a socket, and replaces an older one", async () => {
    await using place = new EgressHosts();
    const folder = join(place.folder, "x".repeat(120));
    mkdirSync(folder);
    const older = await place.proxy(["example.org"], { folder });
    const newer = await place.proxy(["example.org"], { folder });
    await older[Symbol.asyncDispose]();
    expect(existsSync(join(folder, "egress.sock"))).toBe(true);
    await newer[Symbol.asyncDispose]();
    expect(existsSync(join(folder, "egress.sock"))).toBe(false);
  });
});
