import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openNativeRuntime } from "../../test/support/native-runtime.js";
import type { REPLConfig } from "../backends/backend.js";
import { ToolRegistry } from "../registry/registry.js";
import { AgentRepl } from "./agent-repl.js";

const { runtime, unavailable } = await openNativeRuntime();

beforeEach((context) => {
  if (unavailable !== undefined) context.skip(unavailable);
});

describe("the web of an agent", () => {
  const asked: string[] = [];
  let server: Server;
  let registry: ToolRegistry;
  let repl: AgentRepl;
  let site: string;

  beforeAll(async () => {
    if (unavailable !== undefined) return;
    server = createServer(async (request, response) => {
      asked.push(`${request.method} ${request.url} ${request.headers["x-key"] ?? ""}`.trim());
      if (request.url === "/page") {
        response.setHeader("content-type", "text/html");
        response.end("<title>T</title><main><h1>Head</h1><p>Some <b>text</b>.</p></main>");
      } else if (request.url === "/away") {
        response.writeHead(302, { location: "http://localhost:1/elsewhere" }).end();
      } else {
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify({ sent: await bodyOf(request), n: [1, 2] }));
      }
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    site = `http://${host}`;
    registry = await ToolRegistry.open({
      web: {
        allow: [host],
        provider: async (query) => [{ title: query, url: `${site}/page`, excerpt: "found" }],
      },
      catalogue: ["http_get", "http_post", "web_research", "fetch_wikipedia"],
      onApproval: () => true,
    });
    repl = await AgentRepl.open({ tools: registry });
  });

  afterAll(async () => {
    await repl?.close();
    await registry?.[Symbol.asyncDispose]();
    server?.closeAllConnections();
    server?.close();
    await runtime[Symbol.asyncDispose]();
  });

  const see = async (code: string) => (await repl.turn(code)).observation;

  it("reads pages as Markdown and JSON as values, as nodes of the map", async () => {
    const { observation, calls } = await repl.turn(`web_fetch("${site}/page")`);
    expect(observation).toContain("# Head\n\nSome **text**.");
    expect(calls.map(({ id, name }) => [id, name])).toEqual([["W1", "web_fetch"]]);
    expect(await see(`web_fetch("${site}/json")["n"]`)).toBe("[1, 2]");
    expect(
      await see(`p = web_fetch("${site}/page", max_chars=6)\nprint(p.is_truncated, p.url)`),
    ).toBe(`True ${site}/page`);
  });

  it("searches by the provider", async () => {
    expect(await see("web_search('abacus')")).toContain("1. abacus");
    expect(await see("batch_web_search(['a', 'b'])[1]['results'][0]['title']")).toContain("b");
    expect(await see("tools.web_research('x')[0]['text']")).toContain("# Head");
  });

  it("sends requests for the catalogue, where they may go", async () => {
    asked.length = 0;
    expect(await see(`tools.http_get("${site}/x", headers={"X-Key": "k"})["status"]`)).toBe("200");
    expect(await see(`tools.http_post("${site}/x", {"a": 1})["body"]["sent"]`)).toContain(
      '{"a":1}',
    );
    expect(asked).toEqual(["GET /x k", "POST /x"]);
    expect(await see(`tools.http_get("${site}/x", headers={"Host": "evil"})`)).toContain(
      "cannot be sent",
    );
    expect(await see(`tools.http_get("${site}/x", headers={"A": "b\\r\\nC: d"})`)).toContain(
      "cannot be sent",
    );
    expect(await see(`tools.http_post("${site}/away")["status"]`)).toBe("302");
    for (const call of [
      `tools.http_get("${site}/away")`,
      `tools.http_get("http://127.0.0.1:1/")`,
      "tools.fetch_wikipedia('Braille')",
      "web_fetch('http://169.254.169.254/latest')",
    ]) {
      expect(await see(call)).toContain("may not be reached");
    }
  });

  it("is open to cells where config.network names a host, and not where it names none", async () => {
    const { host } = new URL(site);
    const read = `import urllib.request\nprint(urllib.request.urlopen("${site}/json").status)`;
    await using some = await AgentRepl.open({
      config: { network: { allow: [host] }, policy: "off" },
    });
    expect((await some.turn(read)).observation).toBe("200");
    await using none = await AgentRepl.open({ config: { policy: "off" } });
    expect((await none.turn(read)).observation).toContain("URLError");
  });

  it("ends for good when something private is there", async () => {
    const { host } = new URL(site);
    const read = `import urllib.request\nprint(urllib.request.urlopen("${site}/json").status)`;
    const config: REPLConfig = { network: { allow: [host] }, policy: "off" };
    await using one = await AgentRepl.open({ tools: registry, config });
    expect((await one.turn(read)).observation).toBe("200");
    expect((await one.turn(`web_fetch("${site}/json")["n"]`)).observation).toBe("[1, 2]");
    await one.markPrivate("patients.csv");
    for (const again of [false, true]) {
      if (again) await one.reset();
      expect((await one.turn(read)).observation).toMatch(/URLError|HTTPError/);
      expect((await one.turn(`web_fetch("${site}/json")`)).observation).toContain("private");
    }
  });

  it("is refused to a private agent, and said to be missing without a registry", async () => {
    await using hidden = await AgentRepl.open({ tools: registry, private: true });
    expect((await hidden.turn(`web_fetch("${site}/page")`)).observation).toContain("private");
    await using alone = await AgentRepl.open({});
    expect((await alone.turn("web_fetch('http://a.example')")).observation).toContain(
      "not available",
    );
  });
});

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const part of request) text += part;
  return text;
}
