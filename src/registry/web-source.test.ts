import { describe, expect, it } from "vitest";
import { WebServers } from "../../test/support/web-servers.js";
import { WebFetcher } from "../web/web-fetcher.js";
import { type SearchProvider, WebSearch } from "../web/web-search.js";
import type { RegisteredTool } from "./tool.js";
import { webSource } from "./web-source.js";

async function toolsOf(fetcher: WebFetcher, provider?: SearchProvider) {
  const tools = await webSource({ fetcher, search: new WebSearch({ provider }) }).tools();
  const named = new Map(tools.map((tool) => [tool.name, tool]));
  return async (
    name: string,
    given: Record<string, unknown>,
    signal = AbortSignal.timeout(10_000),
  ) => (await (named.get(name) as RegisteredTool).run({ arguments: given, signal })).value;
}

describe("the tools of the web", () => {
  it("are three, read-only, and need the network", async () => {
    await using source = webSource({ fetcher: new WebFetcher(), search: new WebSearch() });
    const tools = await source.tools();
    expect(tools.map(({ name }) => name)).toEqual(["web_fetch", "web_search", "batch_web_search"]);
    for (const tool of tools) {
      expect(tool).toMatchObject({
        permissions: ["network"],
        isReadOnly: true,
        isDestructive: false,
        parameters: { type: "object", additionalProperties: false },
      });
    }
    expect(source.group).toBeUndefined();
  });

  it("give pages, JSON and PDFs as plain values", async () => {
    await using servers = new WebServers();
    const answers: Record<string, [string, string]> = {
      "/page": ["text/html", "<title>T</title><p>Hello <b>you</b></p>"],
      "/json": ["application/json", '{"a": 1}'],
      "/pdf": ["application/pdf", "%PDF-1.4"],
    };
    const port = await servers.http((request, response) => {
      const [type, body] = answers[request.url ?? ""] ?? ["", ""];
      response.setHeader("content-type", type).end(body);
    });
    const call = await toolsOf(new WebFetcher({ allow: [`127.0.0.1:${port}`] }));
    const url = (path: string) => `http://127.0.0.1:${port}${path}`;
    expect(await call("web_fetch", { url: url("/page"), max_chars: 5 })).toEqual({
      kind: "page",
      url: url("/page"),
      title: "T",
      text: "Hello",
      characters: 13,
      is_truncated: true,
    });
    expect(await call("web_fetch", { url: url("/json") })).toMatchObject({ value: { a: 1 } });
    expect(await call("web_fetch", { url: url("/pdf") })).toEqual({
      kind: "pdf",
      url: url("/pdf"),
      base64: Buffer.from("%PDF-1.4").toString("base64"),
    });
  });

  it("search, for one query or several", async () => {
    const provider: SearchProvider = async (query, { limit }) => {
      if (query === "bad") throw new Error("broken");
      return Array(limit).fill({ title: query, url: "https://a.example/", excerpt: "e" });
    };
    const call = await toolsOf(new WebFetcher(), provider);
    const result = { title: "tea", url: "https://a.example/", excerpt: "e" };
    expect(await call("web_search", { query: "tea", limit: 2 })).toEqual([result, result]);
    expect(await call("batch_web_search", { queries: ["tea", "bad"], limit: 1 })).toEqual([
      { query: "tea", results: [result] },
      { query: "bad", error: expect.stringContaining("broken") },
    ]);
  });

  it.each([
    ["web_fetch", { url: "http://169.254.169.254/" }, "NOT_PERMITTED", false],
    ["web_fetch", { url: "nonsense" }, "BAD_ARGUMENTS", false],
    ["web_fetch", { url: 7 }, "BAD_ARGUMENTS", false],
    ["web_fetch", {}, "BAD_ARGUMENTS", false],
    ["web_fetch", { url: "http://a.example/", max_chars: 0 }, "BAD_ARGUMENTS", false],
    ["web_search", { query: "q" }, "FAILED", false],
    ["batch_web_search", { queries: "q" }, "BAD_ARGUMENTS", false],
  ])("fail as tools do: %s(%j)", async (name, given, code, isRetryable) => {
    const call = await toolsOf(new WebFetcher());
    await expect(call(name, given)).rejects.toMatchObject({ name: "ToolError", code, isRetryable });
  });

  it.each([
    [{ status: 500 }, "UNAVAILABLE", true],
    [{ status: 404 }, "FAILED", false],
    [{ type: "image/png" }, "FAILED", false],
    [{ body: "x".repeat(2000) }, "TOO_LARGE", false],
    [{ hangs: true }, "TIMEOUT", true],
    [{ coding: "zstd" }, "BAD_RESULT", false],
  ] as const)("fail as tools do when a server answers %j", async (answer, code, isRetryable) => {
    await using servers = new WebServers();
    const given = {
      status: 200,
      type: "text/plain",
      body: "",
      hangs: false,
      coding: "",
      ...answer,
    };
    const port = await servers.http((_, response) => {
      if (given.hangs) return;
      const headers = { "content-type": given.type, "content-encoding": given.coding };
      response.writeHead(given.status, headers).end(given.body);
    });
    const allow = [`127.0.0.1:${port}`];
    const call = await toolsOf(new WebFetcher({ allow, maxBytes: 1000, timeoutMs: 500 }));
    const calling = call("web_fetch", { url: `http://127.0.0.1:${port}/` });
    await expect(calling).rejects.toMatchObject({ name: "ToolError", code, isRetryable });
  });

  it("end when the call is cancelled", async () => {
    const call = await toolsOf(new WebFetcher());
    const calling = call("web_fetch", { url: "http://a.example/" }, AbortSignal.abort());
    await expect(calling).rejects.toMatchObject({ code: "CANCELLED" });
  });
});
