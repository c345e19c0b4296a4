import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { cellar, MAIN, Screen, sandboxAbsence } from "../../../test/support/command-line.js";
import { FakeServer } from "../../../test/support/rlm/fake-model-server.js";

let folder = "";
let server: FakeServer;
let absence: string | undefined;
beforeAll(async () => {
  server = await FakeServer.open();
  absence = await sandboxAbsence();
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach((context) => {
  if (absence !== undefined) context.skip(absence);
  folder = mkdtempSync(join(tmpdir(), "cellar-test-"));
  mkdirSync(join(folder, "tmp"));
  // The sandbox's own user has to pass through.
  chmodSync(folder, 0o755);
  server.requests.length = 0;
});
afterEach(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));

const fence = (code: string) => `\`\`\`repl\n${code}\n\`\`\``;

const put = (path: string, content: string | Uint8Array): string => {
  const whole = join(folder, path);
  mkdirSync(dirname(whole), { recursive: true });
  writeFileSync(whole, content);
  return whole;
};

const command = (...more: string[]) => [
  ...["rlm", "What is it?", "--preload", "none", "--backend", "native", ...more],
];
const live = (...more: string[]) =>
  command("--model", "big", "--base-url", server.baseUrl, ...more);
/** With a folder for temporary files of its own, to see what is left in it. */
const hostEnvironment = () => ({ cwd: folder, env: { TMPDIR: join(folder, "tmp") } });
const ask = (args: readonly string[], input?: string) =>
  cellar(args, { ...hostEnvironment(), ...(input !== undefined && { input }) });
const leftovers = () =>
  readdirSync(join(folder, "tmp")).filter((name) => name.startsWith("cellar-"));

describe("the context of cellar rlm", () => {
  it("is documents by their names where it is a folder and more, and what is left out is told", async () => {
    put("src/a.txt", "alpha\nthe secret is 4711\n");
    put("src/deep/b.txt.gz", gzipSync("beta"));
    put("src/logo.png", "\x89PNG\0");
    put("notes.md", "gamma");
    server.inOrder(
      fence("hits = grep('secret')\nprint(hits, list(context))"),
      fence("FINAL(hits[0].where + context['notes.md'] + context['src/deep/b.txt.gz'])"),
    );
    expect(await ask(live("--context", "src", "--context", "./notes.md"))).toEqual({
      code: 0,
      stdout: "['src/a.txt']gammabeta\n",
      stderr: "note: src: took 2 files; left out 1 binary (src/logo.png)\n",
    });
    const [, second] = server.requests;
    expect(second?.body.messages.at(-1)?.content).toContain("in ['src/a.txt']:\n1-alpha\n2:the");
    expect(leftovers()).toEqual([]);
  });

  it("is shared with loops below, as documents too", async () => {
    put("a.txt", "x".repeat(10));
    put("b.txt", "y".repeat(2_000_000));
    server.answer = ({ body }) => {
      const isChild = JSON.stringify(body.messages).includes("how long");
      return fence(isChild ? "FINAL(len(context['b.txt']))" : "FINAL(rlm_query('how long'))");
    };
    const args = live("--context", "a.txt", "--context", "b.txt");
    expect(await ask(args)).toMatchObject({ code: 0, stdout: "2000000\n" });
  });

  it("comes from stdin, and from an address whose secrets are not shown", async () => {
    await using site = await siteOf("<h1>Title</h1><p>from afar");
    server.inOrder(fence("FINAL(sorted(context.items()))"));
    const address = site.address.replace("//", "//name:word@");
    const run = await ask(live("--context", "-", "--context", `${address}?token=abc`), "typed");
    const expected = [
      [`${site.address}?…`, "# Title\n\nfrom afar\n"],
      ["stdin", "typed"],
    ];
    expect(run).toMatchObject({ code: 0, stderr: "" });
    expect(run.stdout.replaceAll("(", "[").replaceAll(")", "]")).toBe(
      `${JSON.stringify(expected).replaceAll('"', "'").replaceAll(",", ", ")}\n`,
    );
    expect(JSON.stringify(server.requests)).not.toMatch(/word|abc/);
    expect(leftovers()).toEqual([]);
  });

  it("that cannot be had ends it before a model is asked", async () => {
    await using site = await siteOf("x", 404);
    const run = await ask(live("--context", `${site.address}?token=abc`));
    expect(run).toMatchObject({ code: 2, stdout: "" });
    expect(run.stderr).toMatch(/^cellar: http:.*\?…: the server answered 404\n {2}fix: /);
    expect(server.requests).toEqual([]);
  });

  it.each([
    ["Ctrl-C", "SIGINT", 130, "cellar: loading the context was cancelled\n"],
    ["an order to end", "SIGTERM", 143, ""],
  ] as const)("that does not come is given up at %s", async (_, signal, code, told) => {
    const args = [MAIN, ...live("--context", "-")];
    const child = spawn(process.execPath, args, {
      stdio: ["pipe", "ignore", "pipe"],
      cwd: folder,
      env: { ...process.env, TMPDIR: join(folder, "tmp") },
    });
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.stdin.on("error", () => {});
    const ended = once(child, "close");
    for (let tries = 0; tries < 400 && leftovers().length === 0; tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(leftovers()).toHaveLength(1);
    child.kill(signal);
    expect((await ended)[0]).toBe(code);
    expect(stderr).toBe(told);
    expect(leftovers()).toEqual([]);
  });
});

describe("cellar rlm", () => {
  it("keeps to dollars, with a price for each model, and keys where they belong", async () => {
    const env = {
      CELLAR_TEST_KEY: "key-one-0123456789",
      CELLAR_TEST_SUB_KEY: "key-two-0123456789",
    };
    const big = { input: 1000, output: 500 };
    server.answer = ({ body }) =>
      body.model === "big"
        ? { text: fence("FINAL(llm_query('hi'))"), usage: big }
        : { text: "small words", usage: { input: 100, output: 10 } };
    const args = [
      ...live("--price-in", "2", "--price-out", "4", "--max-dollars", "0.5", "--json"),
      ...["--key-env", "CELLAR_TEST_KEY", "--sub-model", "small", "--sub-base-url", server.baseUrl],
      ...["--sub-key-env", "CELLAR_TEST_SUB_KEY", "--sub-price-in", "1", "--sub-price-out", "10"],
      ...["--sub-anthropic", "--window", "100000", "--sub-window", "8000"],
    ];
    const { code, stdout } = await cellar(args, { env });
    expect(code).toBe(0);
    const { usage, answer } = JSON.parse(stdout);
    expect(answer).toBe("small words");
    expect(usage).toMatchObject({ calls: 2, unpriced: 0 });
    expect(usage.cost).toBeCloseTo(0.004 + 0.0002, 10);
    const [first, second] = server.requests;
    expect(first?.headers.authorization).toBe(`Bearer ${env.CELLAR_TEST_KEY}`);
    expect(second?.path).toBe("/v1/messages");
    expect(second?.headers["x-api-key"]).toBe(env.CELLAR_TEST_SUB_KEY);
    const tight = args.map((argument) => (argument === "0.5" ? "0.000001" : argument));
    server.requests.length = 0;
    const refused = await cellar(tight, { env });
    expect(refused.code).toBe(1);
    expect(JSON.parse(refused.stdout)).toMatchObject({ status: "out-of-budget" });
    expect(server.requests).toEqual([]);
  });

  it("sends the key of one address to no other", async () => {
    server.inOrder(fence("FINAL(llm_query('hi'))"), "fine");
    const run = await cellar(
      live("--key-env", "CELLAR_TEST_KEY", "--sub-base-url", server.baseUrl),
      { env: { CELLAR_TEST_KEY: "key-one-0123456789" } },
    );
    expect(run).toMatchObject({ code: 0, stdout: "fine\n" });
    expect(server.requests.map(({ headers }) => typeof headers.authorization)).toEqual([
      "string",
      "undefined",
    ]);
  });

  it("answers in the form of a schema", async () => {
    const schema = put(
      "schema.json",
      JSON.stringify({
        type: "object",
        properties: { host: { type: "string" }, count: { type: "integer" } },
        required: ["host", "count"],
      }),
    );
    server.inOrder(
      fence("FINAL({'host': 'a', 'count': 'many'})"),
      fence("FINAL({'host': 'a', 'count': 2})"),
    );
    const run = await ask(live("--output-schema", schema));
    expect(run).toEqual({ code: 0, stdout: '{"host":"a","count":2}\n', stderr: "" });
    expect(server.requests[1]?.body.messages.at(-1)?.content).toMatch(/another form.*count/s);
  });

  it("plays a recording without its models, and tells where another run goes another way", async () => {
    const [text, cassette] = [put("a.txt", "the secret is 4711"), join(folder, "run.cassette")];
    server.inOrder(
      fence("print(grep('secret'))"),
      fence("FINAL(llm_query('which number? ' + context))"),
      "4711",
    );
    const context = ["--context", text];
    const recorded = await ask(live("--record", cassette, ...context));
    expect(recorded).toMatchObject({ code: 0, stdout: "4711\n" });
    expect(recorded.stderr).toMatch(/^wrote .*run\.cassette \(.*\)\n$/);
    expect(readFileSync(cassette, "utf8")).toContain("which number?");
    const again = await ask(live("--record", cassette, ...context));
    expect(again.code).not.toBe(0);
    server.requests.length = 0;
    const replayed = await ask(command("--replay", cassette, ...context));
    expect(replayed).toEqual({ ...recorded, stderr: "" });
    put("a.txt", "the secret is 1174");
    for (const more of [[], ["--json"]]) {
      const astray = await ask(command("--replay", cassette, ...context, ...more));
      expect(astray.code).toBe(1);
      expect(astray.stderr).toMatch(/^cellar: the run differs from its recording/);
      expect(astray.stderr).toMatch(/^- .*4711$/m);
      expect(astray.stderr).toMatch(/^\+ .*1174$/m);
    }
    expect(server.requests).toEqual([]);
  });

  it("shows on a terminal what it costs and does now, and in the end what it came to", async () => {
    await using site = await siteOf("x".repeat(100_000));
    const held: (() => void)[] = [];
    server.answer = async ({ body }) => {
      if (body.messages.length > 1) return fence("FINAL(len(llm_query_batched(['a', 'b', 'c'])))");
      await new Promise<void>((resolve) => held.push(resolve));
      return "fine";
    };
    const prices = ["--price-in", "1000", "--price-out", "1000"];
    const args = live("--context", site.address, ...prices);
    using screen = new Screen(args, hostEnvironment());
    await screen.sees(/fetching http:\S+: 0\.1 MB/);
    await screen.sees(/turn 1\/30 · depth 0 · 1 call · 0 tokens · \d+ s · asking/);
    await screen.sees(/4 calls · 18 tokens · \$0\.0180 · \d+ s · 3 sub-calls/);
    // While nothing happens the seconds go on.
    await screen.sees(/4 calls · 18 tokens .* 3 sub-calls/);
    for (const release of held) release();
    await screen.sees(/3\r\n/);
    await screen.sees(/answered · 1 turn · 4 calls · 72 tokens · \$0\.0720 · \d+ s/);
    expect(await screen.ended()).toBe(0);
  });
});

/** One page on loopback. */
async function siteOf(page: string, status = 200) {
  const site = createServer((_, response) => {
    response.writeHead(status, { "content-type": "text/html" }).end(page);
  }).listen(0, "127.0.0.1");
  await once(site, "listening");
  return {
    address: `http://127.0.0.1:${(site.address() as AddressInfo).port}/page`,
    [Symbol.asyncDispose]: async () => {
      site.closeAllConnections();
      site.close();
      await once(site, "close");
    },
  };
}
