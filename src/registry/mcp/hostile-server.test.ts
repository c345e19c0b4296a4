import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { RegisteredTool, ToolSource } from "../tool.js";
import type { McpSourceOptions } from "./server-source.js";
import { mcpSources } from "./sources.js";

const SERVER = fileURLToPath(
  new URL("../../../test/support/mcp/hostile-server.mjs", import.meta.url),
);
const TOKEN = "tok-4711-abcdef";
const MB = 1024 * 1024;

let folder = "";
let source: ToolSource | undefined;
const logFile = () => join(folder, "log");

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cellar-mcp-"));
});

afterEach(async () => {
  await source?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

function open(mode: string, options: McpSourceOptions = {}): ToolSource {
  const server = {
    command: process.execPath,
    args: [SERVER, mode, logFile()],
    env: { API_TOKEN: TOKEN },
  };
  const [opened] = mcpSources({ hostile: server }, options);
  if (opened === undefined) throw new Error("there is no source");
  source = opened;
  return opened;
}

function logged(word: string): string[] {
  const lines = readFileSync(logFile(), "utf8").split("\n");
  return lines.filter((line) => line.startsWith(word)).map((line) => line.slice(word.length + 1));
}

async function call(
  from: ToolSource,
  name: string,
  given: Record<string, unknown> = {},
  signal = new AbortController().signal,
) {
  const tool = (await from.tools()).find((one: RegisteredTool) => one.name === name);
  if (tool === undefined) throw new Error(`there is no ${name}`);
  return await tool.run({ arguments: given, signal });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

describe("a server that misbehaves", () => {
  it("is not started before it is needed", async () => {
    const from = open("plain");
    expect(() => logged("start")).toThrow(/ENOENT/);
    await from.tools();
    expect(logged("start")).toHaveLength(1);
  });

  it.each([
    ["no_message", /no valid message/],
    ["no_json", /no valid message/],
    ["number", /no valid message|no known form/],
    ["bad_parts", /no known form/],
    ["deep", /nested more than 100 levels/],
  ])("fails its own call with the nonsense of %s, and is used again", async (name, message) => {
    const from = open("plain");
    await expect(call(from, name)).rejects.toMatchObject({
      code: "BAD_RESULT",
      message: expect.stringMatching(message),
      isRetryable: false,
    });
    expect(await call(from, "echo", { value: "well" })).toEqual({ value: "well" });
    expect(logged("start")).toHaveLength(1);
  });

  it("may print to its output, and answer what nobody asked", async () => {
    expect(await call(open("plain"), "chatter")).toEqual({ value: "after the noise" });
  });

  it("gets no answer from a model or a person", async () => {
    expect(await call(open("plain"), "ask")).toEqual({ value: "asked" });
  });

  it("fails the call in which it dies, tells why without its secrets, and is started again", async () => {
    const from = open("plain");
    const hanging = call(from, "hang");
    await vi.waitFor(() => expect(logged("hangs")).toHaveLength(1), 10_000);
    const gone = { code: "UNAVAILABLE", isRetryable: true };
    await expect(call(from, "die")).rejects.toMatchObject({
      ...gone,
      message: expect.stringContaining("ended with code 3; it said: the last words with [hidden]"),
    });
    await expect(hanging).rejects.toMatchObject(gone);
    expect(await call(from, "echo", { value: 2 })).toEqual({ value: "2" });
    expect(logged("start")).toHaveLength(2);
  });

  it("is started less and less often when it dies again and again", async () => {
    const from = open("plain", { pauseMs: 600_000 });
    await from.tools();
    for (const starts of [1, 2]) {
      await expect(call(from, "die")).rejects.toMatchObject({ code: "UNAVAILABLE" });
      expect(logged("start")).toHaveLength(starts);
    }
    for (let time = 0; time < 3; time++) {
      await expect(call(from, "echo")).rejects.toMatchObject({
        code: "UNAVAILABLE",
        message: expect.stringMatching(/not tried again for \d+ s/),
      });
    }
    expect(logged("start")).toHaveLength(2);
  });

  it("that does not start is told with what it said, and tried again after a pause", async () => {
    const from = open("crash", { pauseMs: 1 });
    for (const starts of [1, 2]) {
      await expect(from.tools()).rejects.toMatchObject({
        code: "UNAVAILABLE",
        message: expect.stringContaining("cannot find the configuration"),
      });
      expect(logged("start")).toHaveLength(starts);
    }
  });

  it("whose program is missing is told so", async () => {
    const [from] = mcpSources({ gone: { command: "/no/such/program" } });
    await expect(from?.tools()).rejects.toThrow(/"gone" did not start: .*ENOENT/);
  });

  it("that is silent at the start has a limit of time, and leaves nothing behind", async () => {
    const from = open("mute", { startMs: 300 });
    await expect(from.tools()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(isAlive(Number(logged("start")[0]))).toBe(false);
  });

  it("that is silent at the start is closed at once when nobody needs it", async () => {
    const from = open("mute");
    const tools = from.tools();
    tools.catch(() => {});
    await vi.waitFor(() => expect(logged("asked")).toEqual([""]), 10_000);
    await from[Symbol.asyncDispose]();
    await expect(tools).rejects.toThrow();
    expect(isAlive(Number(logged("start")[0]))).toBe(false);
  });

  it("that never reads cannot be used, and leaves nothing behind", async () => {
    const from = open("deaf", { startMs: 300 });
    await expect(from.tools()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(isAlive(Number(logged("start")[0]))).toBe(false);
  });

  it("that lists nonsense has no tools to offer", async () => {
    await expect(open("no-list").tools()).rejects.toMatchObject({ code: "BAD_RESULT" });
  });

  it("is told when a call is cancelled", async () => {
    const from = open("plain");
    const stopping = new AbortController();
    const hanging = call(from, "hang", {}, stopping.signal);
    await vi.waitFor(() => expect(logged("hangs")).toHaveLength(1), 10_000);
    stopping.abort();
    await expect(hanging).rejects.toMatchObject({ code: "CANCELLED" });
    await vi.waitFor(() => expect(logged("cancelled")).toEqual(logged("hangs")), 10_000);
    expect(await call(from, "echo", { value: "on" })).toEqual({ value: "on" });
  });

  it("gives no secret away", async () => {
    expect(await call(open("plain"), "leak")).toEqual({ value: { token: "[hidden]" } });
  });

  it("is ended with all that it started, though it wants to stay", async () => {
    const from = open("stubborn");
    await from.tools();
    const pids = [...logged("start"), ...logged("child")].map(Number);
    expect(pids.map(isAlive)).toEqual([true, true]);
    await from[Symbol.asyncDispose]();
    await vi.waitFor(() => expect(pids.map(isAlive)).toEqual([false, false]), 10_000);
    await expect(
      from.tools().then(([tool]) => tool?.run({ arguments: {}, signal: AbortSignal.abort() })),
    ).rejects.toThrow();
  });
});

describe("a server that floods", () => {
  /** The most memory above what there was before, in megabytes. */
  async function growthDuring(work: Promise<unknown>): Promise<number> {
    const before = process.memoryUsage().rss;
    let most = before;
    const watch = setInterval(() => {
      most = Math.max(most, process.memoryUsage().rss);
    }, 20);
    await work.catch(() => {}).finally(() => clearInterval(watch));
    return (most - before) / MB;
  }

  it("its stderr loses all but the end of it", async () => {
    const from = open("plain");
    await from.tools();
    const answer = call(from, "flood_stderr");
    expect(await growthDuring(answer)).toBeLessThan(160);
    expect(await answer).toEqual({ value: "survived" });
  });

  it.each([
    { megabytes: 64, starts: 1 },
    { megabytes: 1024, starts: 2 },
  ])(
    "with a line of $megabytes MB fails the call that it answers",
    async ({ megabytes, starts }) => {
      const from = open("plain");
      await from.tools();
      const answer = call(from, "flood_line", { megabytes });
      expect(await growthDuring(answer)).toBeLessThan(200);
      await expect(answer).rejects.toMatchObject({ code: "TOO_LARGE", isRetryable: false });
      expect(await call(from, "echo", { value: "well" })).toEqual({ value: "well" });
      expect(logged("start")).toHaveLength(starts);
    },
  );

  it("with messages that answer nothing is ended", async () => {
    const from = open("plain");
    await from.tools();
    const answer = call(from, "flood_output");
    expect(await growthDuring(answer)).toBeLessThan(300);
    await expect(answer).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining("floods its output"),
    });
    expect(await call(from, "echo", { value: "new" })).toEqual({ value: "new" });
    expect(logged("start")).toHaveLength(2);
  });
});

describe("the tools of a server", () => {
  it("are limited in number and size, and each has a name of its own", async () => {
    const tools = await open("many").tools();
    expect(tools).toHaveLength(512);
    expect(new Set(tools.map(({ name }) => name)).size).toBe(512);
    expect(tools[0]?.name).toBe("tool_0");
    expect(tools[400]?.name).toBe("tool_0_2");
    expect(tools[0]?.description.length).toBe(20_000);
    for (const at of [1, 2]) {
      expect(tools[at]?.parameters).toEqual({ type: "object", additionalProperties: true });
    }
  });

  it("are asked for again when the server says that they changed", async () => {
    const from = open("plain");
    const before = await from.tools();
    expect(await from.tools()).toBe(before);
    expect(await call(from, "grow")).toEqual({ value: "grown" });
    const after = (await from.tools()).map(({ name }) => name);
    expect(after).toEqual([...before.map(({ name }) => name), "grown"]);
  });
});
