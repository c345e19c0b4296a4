import { describe, expect, it } from "vitest";
import { WebServers } from "../../test/support/web-servers.js";
import { WebFetcher } from "./web-fetcher.js";

/** What a fetch fails with, and every address that it tried to connect to. */
async function attempt(
  url: string,
  resolve?: (host: string) => Promise<readonly string[]>,
): Promise<{ error: unknown; dialed: readonly string[] }> {
  await using servers = new WebServers();
  const port = await servers.http((_, response) => response.end("reached"));
  const fetcher = new WebFetcher({ connect: servers.dialing(port), resolve });
  const error: unknown = await fetcher.fetch(url).then(
    (page) => page,
    (failure: unknown) => failure,
  );
  return { error, dialed: servers.dialed };
}

const REFUSED = { code: "INVALID_INPUT", details: { isRefused: true } };

describe("an address that is not public", () => {
  it.each([
    ["http://127.0.0.1/", "loopback"],
    ["http://127.1/", "short form"],
    ["http://127.0.0.2:8080/", "the rest of loopback"],
    ["http://2130706433/", "decimal"],
    ["http://0x7f000001/", "hexadecimal"],
    ["http://0x7f.0x0.0x0.0x1/", "hexadecimal parts"],
    ["http://0177.0.0.1/", "octal"],
    ["http://017700000001/", "octal in one"],
    ["http://0/", "the unspecified address"],
    ["http://0.0.0.0:8000/", "the unspecified address"],
    ["http://①②⑦.⓪.⓪.①/", "digits in circles"],
    ["http://127。0。0。1/", "full stops of other scripts"],
    ["http://%31%32%37.0.0.1/", "escaped digits"],
    ["http://127.0.0.1./", "a dot at the end"],
    ["http://localhost/", "its name"],
    ["http://LOCALHOST:3000/", "in capitals"],
    ["http://localhost./", "with a dot"],
    ["http://a.localhost/", "a name below it"],
    ["http://10.0.0.7/", "private"],
    ["http://172.16.0.1/", "private"],
    ["http://192.168.1.1/", "private"],
    ["http://3232235777/", "private, decimal"],
    ["http://169.254.169.254/latest/meta-data/", "a cloud's metadata"],
    ["http://0xa9fea9fe/", "the same, hexadecimal"],
    ["http://168.63.129.16/", "another cloud's"],
    ["http://100.100.100.200/", "of a carrier"],
    ["http://224.0.0.1/", "multicast"],
    ["http://255.255.255.255/", "broadcast"],
    ["http://192.0.2.1/", "for documentation"],
    ["http://[::1]/", "IPv6 loopback"],
    ["http://[::]/", "IPv6 unspecified"],
    ["http://[0:0:0:0:0:0:0:1]:9000/", "written out"],
    ["http://[::ffff:127.0.0.1]/", "mapped"],
    ["http://[::ffff:7f00:1]/", "mapped, in hexadecimal"],
    ["http://[::127.0.0.1]/", "compatible"],
    ["http://[64:ff9b::7f00:1]/", "NAT64"],
    ["http://[64:ff9b:1::a00:1]/", "NAT64 of a site"],
    ["http://[2002:7f00:1::1]/", "6to4"],
    ["http://[2001::1]/", "Teredo"],
    ["http://[fe80::1]/", "link-local"],
    ["http://[fd00:ec2::254]/", "a cloud's metadata in IPv6"],
    ["http://[ff02::1]/", "multicast"],
    ["https://[fc00::1]/", "private"],
  ])("is refused before a connection: %s (%s)", async (url) => {
    const { error, dialed } = await attempt(url);
    expect(error).toMatchObject(REFUSED);
    expect(error).toMatchObject({ remedy: expect.stringContaining("allowed") });
    expect(dialed).toEqual([]);
  });

  it.each([
    ["127.0.0.1"],
    ["10.1.2.3"],
    ["169.254.169.254"],
    ["::1"],
    ["::ffff:10.0.0.1"],
    ["64:ff9b::a00:1"],
    ["fe80::1%eth0"],
    ["not an address"],
  ])("is refused when a public name leads to it: %s", async (address) => {
    const { error, dialed } = await attempt("http://innocent.example/", async () => [address]);
    expect(error).toMatchObject(REFUSED);
    expect(dialed).toEqual([]);
  });

  it("is passed over when a name has a public one too, and that one is connected to", async () => {
    const { error, dialed } = await attempt("http://mixed.example/", async () => [
      "10.0.0.1",
      "93.184.215.14",
      "::1",
    ]);
    expect(error).toMatchObject({ kind: "text", text: "reached" });
    expect(dialed).toEqual(["93.184.215.14:80"]);
  });

  it("is refused when a name leads there the second time", async () => {
    await using servers = new WebServers();
    const port = await servers.http((_, response) => response.end("reached"));
    let lookups = 0;
    const fetcher = new WebFetcher({
      cacheSeconds: 0,
      connect: servers.dialing(port),
      resolve: async () => [lookups++ === 0 ? "93.184.215.14" : "127.0.0.1"],
    });
    await fetcher.fetch("http://rebound.example/");
    await expect(fetcher.fetch("http://rebound.example/")).rejects.toMatchObject(REFUSED);
    // One lookup for each, so that nothing can change between check and connection.
    expect(lookups).toBe(2);
    expect(servers.dialed).toEqual(["93.184.215.14:80"]);
  });
});

describe("a URL that is no plain web address", () => {
  it.each([
    ["http://user@example.org/", "name or password"],
    ["http://user:secret@example.org/", "name or password"],
    ["http://example.org:80@127.0.0.1/", "name or password"],
    ["http://:secret@example.org/", "name or password"],
    ["http://example.org\\@127.0.0.1/", undefined],
    ["file:///etc/passwd", "neither http: nor https:"],
    ["ftp://example.org/", "neither http: nor https:"],
    ["gopher://127.0.0.1:6379/_INFO", "neither http: nor https:"],
    ["data:text/html,hello", "neither http: nor https:"],
    ["javascript:alert(1)", "neither http: nor https:"],
    ["//example.org/", "not a URL"],
    ["example.org", "not a URL"],
    ["", "not a URL"],
    ["http://", "not a URL"],
    ["http://exa mple.org/", "not a URL"],
    ["http://[fe80::1%25eth0]/", "not a URL"],
    ["http://1.2.3.4.5/", undefined],
    ["http://example.org:0/", "clearly"],
    ["http://example.org:99999/", "not a URL"],
    ["http://example..org/", "clearly"],
    [`http://example.org/${"a".repeat(5000)}`, "too long"],
    ["http://example.org:22/", "port 22"],
    ["http://example.org:25/", "port 25"],
  ])("is refused before a connection: %s", async (url, why) => {
    // Where no name is said to be wrong, its host is what is found, which is looked up here.
    const { error, dialed } = await attempt(url, async () => ["10.0.0.1"]);
    expect(error).toMatchObject({ code: "INVALID_INPUT" });
    if (why !== undefined) expect(error).toMatchObject({ message: expect.stringContaining(why) });
    expect(dialed).toEqual([]);
  });

  it("never shows a password in the error", async () => {
    const { error } = await attempt("http://ann:hunter2@example.org/");
    const other = await attempt("gopher://ann:hunter2@example.org/");
    expect(JSON.stringify([error, other.error, String(error), String(other.error)])).not.toContain(
      "hunter2",
    );
  });
});

describe("a redirect", () => {
  it.each([
    ["http://127.0.0.1:1/", "127.0.0.1"],
    ["http://2130706433/", "127.0.0.1"],
    ["http://169.254.169.254/latest/", "169.254.169.254"],
    ["http://[::ffff:127.0.0.1]/", "::ffff"],
    ["//10.0.0.1/", "10.0.0.1"],
    ["http://user:pw@example.org/", "name or password"],
    ["file:///etc/passwd", "neither"],
    ["javascript:1", "neither"],
    ["http://[", "not a URL"],
    ["http://inside.example/", "10.0.0.9"],
  ])("to %s is not followed", async (location, why) => {
    await using servers = new WebServers();
    const port = await servers.http((_, response) => {
      response.writeHead(302, { location }).end();
    });
    const fetcher = new WebFetcher({
      connect: servers.dialing(port),
      resolve: async (host) => [host === "inside.example" ? "10.0.0.9" : "93.184.215.14"],
    });
    const fetching = fetcher.fetch("http://public.example/");
    await expect(fetching).rejects.toMatchObject({
      ...REFUSED,
      message: expect.stringContaining(why),
    });
    expect(servers.dialed).toEqual(["93.184.215.14:80"]);
  });

  it("to a host outside the list is not followed", async () => {
    await using servers = new WebServers();
    const hidden = await servers.http((_, response) => response.end("secret"));
    const port = await servers.http((_, response) => {
      response.writeHead(307, { location: `http://127.0.0.1:${hidden}/` }).end();
    });
    const fetcher = new WebFetcher({ allow: [`127.0.0.1:${port}`] });
    await expect(fetcher.fetch(`http://127.0.0.1:${port}/`)).rejects.toMatchObject(REFUSED);
  });

  it("is followed five times, and not a sixth", async () => {
    await using servers = new WebServers();
    const port = await servers.http((request, response) => {
      const left = Number(request.url?.slice(1));
      if (left > 0) response.writeHead(301, { location: `/${left - 1}` }).end();
      else response.end("there");
    });
    const fetcher = new WebFetcher({ allow: [`127.0.0.1:${port}`] });
    const page = await fetcher.fetch(`http://127.0.0.1:${port}/5`);
    expect(page).toMatchObject({ text: "there", url: `http://127.0.0.1:${port}/0` });
    await expect(fetcher.fetch(`http://127.0.0.1:${port}/6`)).rejects.toMatchObject({
      message: expect.stringContaining("more than 5 times"),
    });
  });

  it("to itself ends", async () => {
    await using servers = new WebServers();
    let requests = 0;
    const port = await servers.http((_, response) => {
      requests += 1;
      response.writeHead(302, { location: "/" }).end();
    });
    const fetcher = new WebFetcher({ allow: [`127.0.0.1:${port}`] });
    await expect(fetcher.fetch(`http://127.0.0.1:${port}/`)).rejects.toMatchObject(REFUSED);
    expect(requests).toBe(6);
  });
});

describe("a list of allowed hosts", () => {
  it("opens what it names, and nothing else", async () => {
    await using servers = new WebServers();
    const port = await servers.http((_, response) => response.end("inside"));
    const fetcher = new WebFetcher({
      allow: [`127.0.0.1:${port}`, "intranet.example", "10.0.0.7"],
      connect: servers.dialing(port),
      resolve: async () => ["10.0.0.7"],
    });
    expect(await fetcher.fetch(`http://127.0.0.1:${port}/`)).toMatchObject({ text: "inside" });
    expect(await fetcher.fetch("http://intranet.example/")).toMatchObject({ text: "inside" });
    for (const url of ["http://example.org/", "http://127.0.0.1/", "http://10.0.0.8/"]) {
      await expect(fetcher.fetch(url)).rejects.toMatchObject(REFUSED);
    }
  });

  it("that is empty opens nothing", async () => {
    await expect(new WebFetcher({ allow: [] }).fetch("http://example.org/")).rejects.toMatchObject(
      REFUSED,
    );
  });
});
