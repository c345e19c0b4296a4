import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import {
  EverythingOverHttp,
  referenceServer,
} from "../../../test/support/mcp/reference-servers.js";
import type { ToolRequest, ToolSource } from "../tool.js";
import { McpServerSource } from "./server-source.js";
import { mcpSources } from "./sources.js";

const folder = mkdtempSync(join(tmpdir(), "cellar-mcp-"));
const opened: ToolSource[] = [];

afterEach(async () => {
  for (const source of opened.splice(0)) await source[Symbol.asyncDispose]();
});
afterAll(() => rmSync(folder, { recursive: true }));

function open(server: Record<string, unknown>, name = "server"): McpServerSource {
  const [source] = mcpSources({ [name]: server });
  if (!(source instanceof McpServerSource)) throw new Error("there is no source");
  opened.push(source);
  return source;
}

function node(name: Parameters<typeof referenceServer>[0], ...args: string[]) {
  return { command: process.execPath, args: [referenceServer(name), ...args] };
}

async function call(
  source: ToolSource,
  name: string,
  given: Record<string, unknown> = {},
  options: Partial<ToolRequest> = {},
) {
  const tool = (await source.tools()).find((one) => one.name === name);
  if (tool === undefined) throw new Error(`there is no ${name}`);
  return await tool.run({ arguments: given, signal: new AbortController().signal, ...options });
}

/** What holds for the everything server, however it is reached. */
function everythingWorks(start: () => McpServerSource) {
  it("lists its tools under names of Python, with what they do", async () => {
    const tools = await start().tools();
    const sum = tools.find(({ name }) => name === "get_sum");
    expect(sum).toMatchObject({
      description: expect.stringContaining("sum"),
      isReadOnly: true,
      isDestructive: false,
      allowedCallers: ["cell", "chain", "host"],
      parameters: { type: "object", required: ["a", "b"] },
    });
    const toggle = tools.find(({ name }) => name === "toggle_simulated_logging");
    expect(toggle).toMatchObject({ isReadOnly: false, allowedCallers: ["cell", "host"] });
  });

  it("gives texts, values, images, resources and links", async () => {
    const source = start();
    expect(await call(source, "get_sum", { a: 19, b: 23 })).toEqual({
      value: "The sum of 19 and 23 is 42.",
    });
    const weather = await call(source, "get_structured_content", { location: "Chicago" });
    expect(weather.value).toEqual({
      temperature: expect.any(Number),
      conditions: expect.any(String),
      humidity: expect.any(Number),
    });
    const image = await call(source, "get_tiny_image");
    expect(image.displays).toHaveLength(1);
    expect(image.displays?.[0]?.mime).toBe("image/png");
    const bytes = Buffer.from(image.displays?.[0]?.data ?? "", "base64");
    expect(bytes.subarray(1, 4).toString()).toBe("PNG");
    const { value: resource } = await call(source, "get_resource_reference", { resourceId: 7 });
    expect(resource).toEqual([
      expect.any(String),
      expect.objectContaining({ uri: "demo://resource/dynamic/text/7", mimeType: "text/plain" }),
      expect.any(String),
    ]);
    const { value: links } = await call(source, "get_resource_links", { count: 1 });
    expect(links).toEqual([
      expect.any(String),
      {
        uri: "demo://resource/dynamic/blob/1",
        name: "Blob Resource 1",
        mimeType: "text/plain",
      },
    ]);
  });

  it("fails with the tool's own words", async () => {
    await expect(call(start(), "get_sum", { a: "no" })).rejects.toMatchObject({
      name: "ToolError",
      code: "FAILED",
      isRetryable: false,
      message: expect.stringMatching(/expected number/),
    });
  });

  it("tells of its progress", async () => {
    const told: string[] = [];
    const onProgress = (text: string) => told.push(text);
    const given = { duration: 0.3, steps: 3 };
    const { value } = await call(start(), "trigger_long_running_operation", given, { onProgress });
    expect(value).toMatch(/completed/);
    // The last one may come with the answer, when nobody listens any more.
    expect(told.length).toBeGreaterThanOrEqual(2);
    expect(["1/3", "2/3", "3/3"].slice(0, told.length)).toEqual(told);
  });

  it("stops a call that is cancelled, and goes on with others", async () => {
    const source = start();
    const stopping = new AbortController();
    const long = call(
      source,
      "trigger_long_running_operation",
      { duration: 600, steps: 6000 },
      { signal: stopping.signal, onProgress: () => stopping.abort() },
    );
    await expect(long).rejects.toMatchObject({ code: "CANCELLED" });
    expect((await call(source, "echo", { message: "still here" })).value).toContain("still here");
  });
}

describe("the everything server over stdio", () => {
  everythingWorks(() => open(node("everything")));

  it("is killed in the middle of a call, and used again", async () => {
    const source = open(node("everything"));
    await source.tools();
    const first = await source.pid();
    const long = call(
      source,
      "trigger_long_running_operation",
      { duration: 600, steps: 6000 },
      { onProgress: () => process.kill(Number(first), "SIGKILL") },
    );
    await expect(long).rejects.toMatchObject({
      code: "UNAVAILABLE",
      isRetryable: true,
      message: expect.stringContaining("SIGKILL ended it"),
    });
    expect((await call(source, "echo", { message: "again" })).value).toContain("again");
    expect(await source.pid()).not.toBe(first);
  });

  it("gets few variables beside its own", async () => {
    const server = { ...node("everything"), env: { API_KEY: "abcdefgh-1234", MODE: "x" } };
    vi.stubEnv("CELLAR_TEST_SECRET", "must not be seen");
    const { value } = await call(open(server), "get_env");
    vi.unstubAllEnvs();
    expect(value).toMatchObject({ PATH: process.env.PATH, MODE: "x", API_KEY: "[hidden]" });
    expect(value).not.toHaveProperty("CELLAR_TEST_SECRET");
    expect(JSON.stringify(value)).not.toContain("must not be seen");
  });

  it("leaves no process", async () => {
    const source = open(node("everything"));
    await source.tools();
    const pid = Number(await source.pid());
    expect(() => process.kill(pid, 0)).not.toThrow();
    await source[Symbol.asyncDispose]();
    expect(() => process.kill(pid, 0)).toThrow(/ESRCH/);
  });
});

describe("the everything server over Streamable HTTP", () => {
  let server: EverythingOverHttp;
  beforeAll(async () => {
    server = await EverythingOverHttp.start();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  everythingWorks(() => open({ type: "http", url: server.url }));

  it("needs the network", async () => {
    const tools = await open({ url: server.url }).tools();
    expect(new Set(tools.flatMap(({ permissions }) => permissions))).toEqual(new Set(["network"]));
    expect(tools.every(({ permissions }) => permissions.length === 1)).toBe(true);
  });

  it("is killed in the middle of a call, and used again when it is back", async () => {
    await using own = await EverythingOverHttp.start();
    const source = open({ url: own.url });
    const long = call(
      source,
      "trigger_long_running_operation",
      { duration: 600, steps: 6000 },
      { onProgress: () => void own[Symbol.asyncDispose]() },
    );
    await expect(long).rejects.toMatchObject({ code: "UNAVAILABLE", isRetryable: true });
    await using _ = await EverythingOverHttp.start(own.port);
    await vi.waitFor(async () => {
      expect((await call(source, "echo", { message: "back" })).value).toContain("back");
    }, 30_000);
  });
});

describe("the filesystem server", () => {
  it("reads and writes, and what it writes is destructive", async () => {
    const source = open(node("filesystem", folder), "my-files");
    expect(source.group).toBe("my_files");
    const tools = await source.tools();
    expect(tools.find(({ name }) => name === "write_file")).toMatchObject({ isDestructive: true });
    expect(tools.find(({ name }) => name === "read_text_file")).toMatchObject({ isReadOnly: true });
    const path = join(folder, "note.txt");
    await call(source, "write_file", { path, content: "grüße" });
    expect(readFileSync(path, "utf8")).toBe("grüße");
    const { value } = await call(source, "read_text_file", { path });
    expect(value).toEqual({ content: "grüße" });
    await expect(call(source, "read_text_file", { path: "/etc/passwd" })).rejects.toMatchObject({
      code: "FAILED",
      message: expect.stringMatching(/denied|outside/i),
    });
  });

  it("gives an image as one", async () => {
    const path = join(folder, "dot.png");
    const dot =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    writeFileSync(path, Buffer.from(dot, "base64"));
    const { displays } = await call(open(node("filesystem", folder)), "read_media_file", { path });
    expect(displays).toEqual([{ mime: "image/png", data: dot }]);
  });
});

describe("the memory server", () => {
  it("keeps what it was told, as values", async () => {
    const file = join(folder, "memory.json");
    const source = open({ ...node("memory"), env: { MEMORY_FILE_PATH: file } });
    const ada = { name: "Ada", entityType: "person", observations: ["wrote a program"] };
    await call(source, "create_entities", { entities: [ada] });
    const { value } = await call(source, "search_nodes", { query: "Ada" });
    expect(value).toEqual({ entities: [ada], relations: [] });
    expect(existsSync(file)).toBe(true);
  });
});

describe("a server in Python", () => {
  it("tells the time of a place, and what is wrong", async (context) => {
    const environment = join(folder, "venv");
    const python = join(environment, "bin", "python");
    const run = promisify(execFile);
    try {
      await run("python3", ["-m", "venv", environment]);
      const install = ["-m", "pip", "install", "--quiet", "--retries", "1", "mcp-server-time"];
      await run(python, install, { timeout: 150_000 });
    } catch (error) {
      context.skip(`mcp-server-time cannot be installed: ${String(error).slice(0, 200)}`);
    }
    const source = open({ command: python, args: ["-m", "mcp_server_time"] });
    const given = { source_timezone: "UTC", time: "12:00", target_timezone: "Asia/Tokyo" };
    const { value } = await call(source, "convert_time", given);
    expect(value).toMatchObject({ time_difference: "+9.0h" });
    await expect(
      call(source, "get_current_time", { timezone: "Mars/Olympus" }),
    ).rejects.toMatchObject({ code: "FAILED", message: expect.stringContaining("Mars/Olympus") });
  });
});
