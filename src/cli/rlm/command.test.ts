import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { cellar, MAIN, Screen, sandboxAbsence } from "../../../test/support/command-line.js";
import { FakeServer } from "../../../test/support/rlm/fake-model-server.js";

const QUESTION = "What is the secret number?";
const KEY = "key-of-the-test-0123456789";
const TEXT = Array.from({ length: 2000 }, (_, index) =>
  index === 777 ? "the secret number is 4711" : `line ${index}`,
).join("\n");

let folder = "";
let server: FakeServer;
beforeAll(async () => {
  server = await FakeServer.open();
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cellar-test-"));
  server.requests.length = 0;
});
afterEach(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));

const fence = (code: string) => `Let me look.\n\`\`\`repl\n${code}\n\`\`\``;

const file = (name: string, content: string): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};

const command = (...more: string[]) => [
  ...["rlm", QUESTION, "--model", "big", "--base-url", server.baseUrl],
  ...["--context", file("context.txt", TEXT), "--preload", "none", "--backend", "native", ...more],
];

const ask = (...more: string[]) => cellar(command(...more), { env: { CELLAR_TEST_KEY: KEY } });

describe("cellar rlm, before anything is started", () => {
  it.each([
    ["no model", ["rlm", QUESTION], /--model/],
    ["no question", ["rlm", "--model", "big"], /question/],
    ["an empty question", ["rlm", " ", "--model", "big"], /question is empty/],
    [
      "a context that is not there",
      ["rlm", "a", "--model", "b", "--context", "/no/file"],
      /the file does not exist/,
    ],
    ["a device as context", ["rlm", "a", "--model", "b", "--context", "/dev/null"], /regular file/],
    ["half a price", ["rlm", "a", "--model", "b", "--price-in", "3"], /--price-in and --price-out/],
    ["a price that is none", ["rlm", "a", "--model", "b", "--price-in", "-3"], /--price-in/],
    [
      "dollars without a price",
      ["rlm", "a", "--model", "b", "--max-dollars", "1"],
      /needs to know.*\n {2}fix: Give --price-in and --price-out: dollars/,
    ],
    [
      "dollars without the price of the sub-model",
      [
        ...["rlm", "a", "--model", "b", "--max-dollars", "1", "--price-in", "1"],
        ...["--price-out", "1", "--sub-model", "c"],
      ],
      /fix: Give --sub-price-in and --sub-price-out/,
    ],
    [
      "what says nothing without a sub-model",
      ["rlm", "a", "--model", "b", "--sub-key-env", "K"],
      /--sub-key-env: no sub-model was given/,
    ],
    [
      "a model with a replay",
      ["rlm", "a", "--model", "b", "--replay", "c"],
      /--replay takes its mod/,
    ],
    ["a replay that is not there", ["rlm", "a", "--replay", "/no/file"], /\/no\/file/],
    [
      "a schema that is none",
      ["rlm", "a", "--model", "b", "--output-schema", "/dev/null"],
      /the schema \/dev\/null cannot be used/,
    ],
    [
      "an address that is none",
      ["rlm", "a", "--model", "b", "--base-url", "x"],
      /base URL is not a usable/,
    ],
    ["turns that are none", ["rlm", "a", "--model", "b", "--max-turns", "0"], /--max-turns/],
  ])("refuses %s", async (_, args, told) => {
    const { code, stdout, stderr } = await cellar(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(told);
  });
});

describe("cellar rlm", () => {
  let absence: string | undefined;
  beforeAll(async () => {
    absence = await sandboxAbsence();
  });
  beforeEach((context) => {
    if (absence !== undefined) context.skip(absence);
  });

  it("answers on stdout, says nothing else, and shows the model no more than it looked at", async () => {
    server.inOrder(
      fence("hits = grep('secret')\nprint(hits)"),
      fence("FINAL(int(hits[0].split()[-1]))"),
    );
    expect(await ask("--key-env", "CELLAR_TEST_KEY")).toEqual({
      code: 0,
      stdout: "4711\n",
      stderr: "",
    });
    const [first] = server.requests;
    expect(first).toMatchObject({ path: "/v1/chat/completions", body: { model: "big" } });
    expect(first?.headers.authorization).toBe(`Bearer ${KEY}`);
    expect(JSON.stringify(server.requests)).not.toContain("line 1999");
  });

  it("speaks Anthropic's messages too, and sends no key to an address of one's own", async () => {
    server.inOrder(fence("FINAL('done')"));
    expect(await ask("--anthropic")).toMatchObject({ code: 0, stdout: "done\n" });
    expect(server.requests[0]?.path).toBe("/v1/messages");
    expect(server.requests[0]?.headers["x-api-key"]).toBeUndefined();
  });

  it("prints one object with --json, with what the whole tree used", async () => {
    server.answer = ({ body }) => {
      if (body.model === "big") {
        return fence("FINAL({'n': 10 ** 20, 'said': llm_query('a'), 'child': rlm_query('b')})");
      }
      return body.messages.length > 1 ? fence("FINAL(context_len())") : "small words";
    };
    const { code, stdout } = await ask("--json", "--sub-model", "small");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      status: "answered",
      output: { n: String(10n ** 20n), said: "small words", child: String(TEXT.length) },
      turns: 1,
      usage: { calls: 3, inputTokens: 33, outputTokens: 21 },
      usageByDepth: { 0: { calls: 2 }, 1: { calls: 1 } },
      error: null,
    });
  });

  it("leaves with 1 when the turns are over, and says so beside the best answer", async () => {
    server.inOrder(fence("1"), fence("2"), "perhaps 4711");
    const { code, stdout, stderr } = await ask("--max-turns", "2");
    expect({ code, stdout }).toEqual({ code: 1, stdout: "perhaps 4711\n" });
    expect(stderr).toMatch(/^cellar: all turns are used \(2\).*\n {2}fix: .*--max-turns/);
  });

  it("leaves with 1 when the budget is used up", async () => {
    server.inOrder(fence("1"));
    const { code, stdout, stderr } = await ask("--max-calls", "1");
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^cellar: the budget is used up.*\n {2}fix: .*--max-calls/);
    const seconds = await ask("--max-tokens", "100", "--json");
    expect(seconds.code).toBe(1);
    expect(JSON.parse(seconds.stdout)).toMatchObject({ status: "out-of-budget", answer: null });
  });

  it("leaves with 1 when the model fails, and with 2 when its key is not there", async () => {
    server.inOrder({ status: 400, body: { error: { message: `no ${KEY} here` } } });
    const { code, stdout, stderr } = await ask("--key-env", "CELLAR_TEST_KEY");
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("no [hidden] here");
    const keyless = await ask("--key-env", "CELLAR_TEST_NO_KEY");
    expect(keyless).toMatchObject({ code: 2, stdout: "" });
    expect(keyless.stderr).toContain("CELLAR_TEST_NO_KEY is not set");
  });

  it.each([
    ["a request", []],
    ["a cell that asks", [fence("llm_query('hi')")]],
  ])("ends %s at Ctrl-C with 130", async (_, before) => {
    let asked = () => {};
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    server.answer = (_, number) => {
      const said = before[number - 1];
      if (said !== undefined) return said;
      asked();
      return { text: "never", hangAfter: 1 };
    };
    const child = spawn(process.execPath, [MAIN, ...command()], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let [stdout, stderr] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    const ended = once(child, "close");
    await Promise.race([isAsked, ended]);
    child.kill("SIGINT");
    expect((await ended)[0]).toBe(130);
    expect({ stdout, stderr }).toEqual({ stdout: "", stderr: "cellar: the run was cancelled\n" });
  });

  it("shows how far it is on a terminal, and nothing that the terminal would obey", async () => {
    server.inOrder(fence("print(llm_query('hi'))"), "fine", fence("FINAL('a\\x1b]0;title\\x07b')"));
    using screen = new Screen(command());
    await screen.sees(/turn 1\/30 · depth 0 · 2 calls · \d+ tokens/);
    await screen.sees(/turn 2\/30 · depth 0 · 3 calls/);
    await screen.sees(/a\\x1b\]0;title\\x07b\r\n/);
    expect(await screen.ended()).toBe(0);
  });

  it("writes a trace that becomes a page, without the key", async () => {
    server.inOrder(fence("print(grep('secret'))"), fence("FINAL('<b>4711</b>')"));
    const trace = join(folder, "run.jsonl");
    expect((await ask("--trace", trace, "--key-env", "CELLAR_TEST_KEY")).code).toBe(0);
    const page = join(folder, "run.html");
    expect(await cellar(["trace", "view", trace])).toEqual({
      code: 0,
      stdout: `${page}\n`,
      stderr: expect.stringMatching(/^wrote .*run\.html \(\d+ KB\)\n$/),
    });
    expect(await cellar(["trace", "view", trace])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--force"),
    });
    const html = readFileSync(page, "utf8");
    expect(html).toContain(QUESTION);
    expect(html).toContain("&lt;b&gt;4711");
    expect(html + readFileSync(trace, "utf8")).not.toContain(KEY);
    expect(statSync(page).mode & 0o077).toBe(0);
  });
});

describe("cellar trace view", () => {
  const EVENT = JSON.stringify({
    ...{ run: "r", span: "1", parent: null, depth: 0, at: 0 },
    ...{ type: "run.started", version: 1, query: "How many?", model: "big" },
  });

  it("writes the page where it is wanted, and tells of a line that is torn", async () => {
    const trace = file("run.jsonl", `${EVENT}\n{"run":"r`);
    const out = join(folder, "page.html");
    const { code, stdout, stderr } = await cellar(["trace", "view", trace, "--out", out]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${out}\n` });
    expect(stderr).toContain("run.jsonl:2 is incomplete");
    const printed = await cellar(["trace", "view", trace, "--out", "-"]);
    expect(printed.stdout).toBe(readFileSync(out, "utf8"));
    expect(printed.stdout).toContain("How many?");
  });

  it("never writes over the trace, and refuses what is none", async () => {
    const trace = file("run.html", `${EVENT}\n`);
    expect(await cellar(["trace", "view", trace])).toMatchObject({ code: 2, stdout: "" });
    expect(readFileSync(trace, "utf8")).toBe(`${EVENT}\n`);
    const other = await cellar(["trace", "view", file("other.txt", "hello\n")]);
    expect(other).toMatchObject({ code: 2, stdout: "" });
    expect(other.stderr).toContain("Give a file that Cellar wrote as a trace");
    const missing = await cellar(["trace", "view", join(folder, "nothing.jsonl")]);
    expect(missing).toMatchObject({ code: 2, stdout: "" });
    const nowhere = ["trace", "view", trace, "--out", join(folder, "no", "page.html")];
    expect(await cellar(nowhere)).toMatchObject({ code: 2, stdout: "" });
  });
});
