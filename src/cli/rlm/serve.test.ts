import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { cellar, MAIN, sandboxAbsence } from "../../../test/support/command-line.js";
import { FakeServer } from "../../../test/support/rlm/fake-model-server.js";

const KEY = "key-of-the-test-0123456789";
const fence = (code: string) => `Let me look.\n\`\`\`repl\n${code}\n\`\`\``;

let folder = "";
let provider: FakeServer;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "cellar-test-"));
  provider = await FakeServer.open();
});
afterAll(async () => {
  await provider[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
});

describe("cellar rlm serve, before anything is started", () => {
  it.each([
    ["no model", ["serve"], /no model was given/],
    ["a context that is not there", ["serve", "--model", "a", "--context", "/no/file"], /no\/file/],
    ["others without a key", ["serve", "--model", "a", "--host", "0.0.0.0"], /a key is required/],
    [
      "a key that is not set",
      ["serve", "--model", "a", "--server-key-env", "CELLAR_TEST_NO_KEY"],
      /CELLAR_TEST_NO_KEY is not set/,
    ],
    ["dollars without a price", ["serve", "--model", "a", "--max-dollars", "1"], /--price-in/],
    ["a port that is none", ["serve", "--model", "a", "--port", "99999"], /port/],
    ["what is for one question", ["serve", "--model", "a", "--trace", "t"], /not know --trace/],
    ["limits before the word too", ["--max-dollars", "1", "serve", "--model", "a"], /--price-in/],
  ])("refuses %s", async (_, args, told) => {
    const { code, stdout, stderr } = await cellar(["rlm", ...args]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(told);
  });
});

describe("cellar rlm serve", () => {
  let absence: string | undefined;
  beforeAll(async () => {
    absence = await sandboxAbsence();
  });
  beforeEach((context) => {
    if (absence !== undefined) context.skip(absence);
  });

  it("answers a chat client about its context, logs no key, and ends at Ctrl-C", async () => {
    const context = join(folder, "context.txt");
    writeFileSync(context, "the secret number is 4711");
    provider.inOrder(fence("FINAL(context.split()[-1])"));
    const args = [
      ...["rlm", "serve", "--model", "big", "--base-url", provider.baseUrl, "--context", context],
      ...["--port", "0", "--server-key-env", "CELLAR_TEST_KEY", "--name", "numbers"],
      ...["--preload", "none", "--backend", "native"],
    ];
    const child = spawn(process.execPath, [MAIN, ...args], {
      env: { ...process.env, CELLAR_TEST_KEY: KEY },
      stdio: ["ignore", "pipe", "pipe"],
    });
    try {
      let [stdout, stderr] = ["", ""];
      const ended = once(child, "close");
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        stdout += text;
      });
      const isReady = new Promise<void>((resolve) => {
        child.stderr.setEncoding("utf8").on("data", (text: string) => {
          stderr += text;
          if (stderr.includes("Ctrl-C")) resolve();
        });
      });
      await Promise.race([isReady, ended]);
      const [, baseURL = ""] = /^numbers listens on (http:\S+)$/m.exec(stderr) ?? [];
      expect(stderr).toContain(`curl ${baseURL}/chat/completions`);
      const client = new OpenAI({ baseURL, apiKey: KEY, maxRetries: 0 });
      const answer = await client.chat.completions.create({
        model: "numbers",
        messages: [{ role: "user", content: "What is the private question?" }],
      });
      expect(answer.choices[0]?.message.content).toBe("4711");
      provider.inOrder({ status: 400, body: { error: { message: "odd\n\u001b[2Jend" } } });
      const messages = [{ role: "user" as const, content: "Again?" }];
      const failing = client.chat.completions.create({ model: "numbers", messages });
      await expect(failing).rejects.toMatchObject({ status: 502 });
      child.kill("SIGINT");
      expect((await ended)[0]).toBe(0);
      expect(stdout).toBe("");
      expect(stderr).toMatch(/answered · \d+\.\d s · 1 call · 18 tokens/);
      expect(stderr).toMatch(/ failed: \S+ HTTP 400: odd \\x1b\[2Jend · /);
      expect(stderr).not.toContain(KEY);
      expect(stderr).not.toContain("private question");
    } finally {
      child.kill("SIGKILL");
    }
  });
});
