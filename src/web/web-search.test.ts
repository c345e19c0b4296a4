import { describe, expect, it } from "vitest";
import { WebServers } from "../../test/support/web-servers.js";
import { deferred } from "../concurrency/deferred.js";
import { WebSearch } from "./web-search.js";

const RESULT = { title: "Tea", url: "https://tea.example/", excerpt: "Hot." };

describe("a search by a function", () => {
  it("passes on the query and the limit, and gives the results", async () => {
    const seen: unknown[] = [];
    const search = new WebSearch({
      provider: async (query, { limit, signal }) => {
        seen.push([query, limit, signal.aborted]);
        return [RESULT, RESULT, RESULT];
      },
    });
    expect(await search.search("  tea ", { limit: 2 })).toEqual([RESULT, RESULT]);
    expect(seen).toEqual([["tea", 2, false]]);
  });

  it("bounds and tidies what comes back", async () => {
    const search = new WebSearch({
      provider: async () => [
        { title: "x".repeat(10_000), url: "https://a.example/", excerpt: "a\0\n  b" },
        { title: "script", url: "javascript:alert(1)" },
        { url: "https://b.example/", content: null },
        { title: "no address" },
        "nonsense",
        null,
      ],
    });
    expect(await search.search("q")).toEqual([
      { title: "x".repeat(300), url: "https://a.example/", excerpt: "a b" },
      { title: "", url: "https://b.example/", excerpt: "" },
    ]);
  });

  it.each([[undefined], ["text"], [{ results: "no" }], [{}]])(
    "says that %j are no results",
    async (found) => {
      const search = new WebSearch({ provider: async () => found });
      await expect(search.search("q")).rejects.toMatchObject({ code: "PROTOCOL_ERROR" });
    },
  );

  it("reports what it throws, hangs or is cancelled", async () => {
    const broken = new WebSearch({ provider: () => Promise.reject(new Error("no quota left")) });
    await expect(broken.search("q")).rejects.toMatchObject({
      code: "REMOTE_ERROR",
      message: expect.stringContaining("no quota left"),
    });
    const hanging = { provider: () => deferred<unknown>().promise };
    await expect(new WebSearch({ ...hanging, timeoutMs: 50 }).search("q")).rejects.toMatchObject({
      code: "LIMIT_REACHED",
    });
    const signal = AbortSignal.abort();
    await expect(new WebSearch(hanging).search("q", { signal })).rejects.toMatchObject({
      code: "ABORTED",
    });
  });

  it.each([
    ["", {}],
    ["   ", {}],
    ["x".repeat(1001), {}],
    ["q", { limit: 0 }],
    ["q", { limit: 51 }],
    ["q", { limit: 1.5 }],
  ])("refuses %j with %j", async (query, options) => {
    const search = new WebSearch({ provider: async () => [RESULT] });
    await expect(search.search(query, options)).rejects.toMatchObject({ code: "INVALID_INPUT" });
  });
});

describe("a search without a provider", () => {
  it("says so, and what to do", async () => {
    const search = new WebSearch();
    for (const searching of [search.search("q"), search.searchAll(["q"])]) {
      await expect(searching).rejects.toMatchObject({
        code: "UNSUPPORTED",
        message: "there is no search provider",
        remedy: expect.stringContaining("SearXNG"),
      });
    }
  });
});

describe("several searches", () => {
  it("come in the order of the queries, and one that fails leaves the others alone", async () => {
    let now = 0;
    let most = 0;
    const search = new WebSearch({
      provider: async (query) => {
        now += 1;
        most = Math.max(most, now);
        await new Promise((resolve) => setTimeout(resolve, 5));
        now -= 1;
        if (query === "bad") throw new Error("broken");
        return [{ ...RESULT, title: query }];
      },
    });
    const queries = ["a", "bad", "b", "c", "d", "e", "f", "g", ""];
    const outcomes = await search.searchAll(queries);
    expect(outcomes.map(({ query }) => query)).toEqual(queries);
    expect(outcomes[0]).toEqual({ query: "a", results: [{ ...RESULT, title: "a" }] });
    expect(outcomes[1]).toMatchObject({ error: { code: "REMOTE_ERROR" } });
    expect(outcomes[8]).toMatchObject({ error: { code: "INVALID_INPUT" } });
    expect(most).toBe(4);
  });

  it("are at most 20", async () => {
    const search = new WebSearch({ provider: async () => [RESULT] });
    await expect(search.searchAll(Array(21).fill("q"))).rejects.toThrow("21 queries");
  });
});

describe("a search by a server", () => {
  it.each(["", "/", "/searx", "/searx/search"])(
    "asks it as SearXNG is asked, at %j",
    async (path) => {
      await using servers = new WebServers();
      const seen: unknown[] = [];
      const port = await servers.http((request, response) => {
        seen.push([request.url, request.headers["x-key"], request.headers.accept]);
        const results = [{ title: "Tea", url: "https://tea.example/", content: "Hot." }];
        response.setHeader("content-type", "application/json").end(JSON.stringify({ results }));
      });
      const url = `http://127.0.0.1:${port}${path}`;
      const search = new WebSearch({ provider: { url, headers: { "x-key": "k" } } });
      expect(await search.search("green tea & co")).toEqual([RESULT]);
      const wanted = path.startsWith("/searx") ? "/searx/search" : "/search";
      expect(seen).toEqual([[`${wanted}?q=green+tea+%26+co&format=json`, "k", "application/json"]]);
    },
  );

  it("follows it to no other host, so that its key stays there", async () => {
    await using servers = new WebServers();
    let leaked = 0;
    const other = await servers.http((_, response) => {
      leaked += 1;
      response.end("[]");
    });
    const port = await servers.http((_, response) => {
      response.writeHead(302, { location: `http://127.0.0.1:${other}/search` }).end();
    });
    const search = new WebSearch({ provider: { url: `http://127.0.0.1:${port}` } });
    await expect(search.search("q")).rejects.toMatchObject({ details: { isRefused: true } });
    expect(leaked).toBe(0);
  });

  it.each([
    ["not JSON", 200, "<html>", "PROTOCOL_ERROR"],
    ["another JSON", 200, "[1", "PROTOCOL_ERROR"],
    ["no results", 200, "{}", "PROTOCOL_ERROR"],
    ["a limit", 429, "", "REMOTE_ERROR"],
    ["that JSON is off", 403, "", "INVALID_INPUT"],
  ])("reports %s", async (_, status, body, code) => {
    await using servers = new WebServers();
    const port = await servers.http((_request, response) => response.writeHead(status).end(body));
    const search = new WebSearch({ provider: { url: `http://127.0.0.1:${port}` } });
    await expect(search.search("q")).rejects.toMatchObject({ code });
  });

  it("refuses an address that is none", () => {
    expect(() => new WebSearch({ provider: { url: "searx.example" } })).toThrow("not a URL");
  });
});
