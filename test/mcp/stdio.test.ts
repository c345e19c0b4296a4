import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { cellar, MAIN, sandboxAbsence } from "../support/command-line.js";
import { until } from "../support/notebook/notebook-fixture.js";

interface Answer {
  readonly id?: number;
  readonly method?: string;
  readonly result?: {
    readonly content?: readonly { readonly text: string }[];
    readonly structuredContent?: { readonly isolation: string };
    readonly isError?: boolean;
    readonly _meta?: Readonly<Record<string, unknown>>;
  };
  readonly error?: { readonly code: number; readonly message: string };
}

/** Before the test is given up, so that its words are shown. */
const HANGING_MS = 40_000;

/** The server with nothing between: what it writes is looked at byte for byte. */
class RawServer {
  readonly child: ChildProcessWithoutNullStreams;
  readonly ended: Promise<unknown[]>;
  stdout = "";
  stderr = "";
  #look: () => void = () => {};

  constructor(dir: string, env: Readonly<Record<string, string>> = {}) {
    const args = [MAIN, "mcp", "--dir", dir, "--preload", "none"];
    this.child = spawn(process.execPath, args, { env: { ...process.env, ...env } });
    this.child.stdin.on("error", () => {});
    this.child.stdout.setEncoding("utf8").on("data", (text: string) => {
      this.stdout += text;
      this.#look();
    });
    this.child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
      this.#look();
    });
    this.ended = once(this.child, "close").finally(() => this.#look());
  }

  write(text: string): void {
    this.child.stdin.write(text);
  }

  /** All that was written must be messages, each in a line. */
  get answers(): Answer[] {
    return this.stdout
      .split("\n")
      .slice(0, -1)
      .map((line) => {
        const message = JSON.parse(line);
        expect(message.jsonrpc).toBe("2.0");
        return message;
      });
  }

  async ask(id: number, method: string, params: object = {}): Promise<Answer> {
    this.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return await this.answer(id);
  }

  async answer(id: number): Promise<Answer> {
    const found = () => this.answers.find((one) => one.id === id);
    await this.sees(() => found() !== undefined);
    return found() ?? {};
  }

  /** Looks whenever something was written; a start may take its time on a busy machine. */
  async sees(isThere: () => boolean): Promise<void> {
    let isOver = false;
    const patience = setTimeout(() => {
      isOver = true;
      this.#look();
    }, HANGING_MS);
    while (!isThere()) {
      if (isOver || this.child.exitCode !== null) throw new Error(`it never came: ${this.stderr}`);
      await new Promise<void>((resolve) => {
        this.#look = resolve;
      });
    }
    clearTimeout(patience);
  }

  async begin(): Promise<void> {
    const clientInfo = { name: "raw", version: "1" };
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
    await this.ask(1, "initialize", params);
    this.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  }

  async run(id: number, code: string): Promise<string> {
    const { result } = await this.ask(id, "tools/call", cellOf(code));
    return result?.content?.[0]?.text ?? "";
  }
}

const cellOf = (code: string) => ({ name: "execute_cell", arguments: { session: "s", code } });

function peakMegabytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

describe("the server at stdio", () => {
  let dir = "";
  let absence: string | undefined;
  const open: RawServer[] = [];

  beforeAll(async () => {
    absence = await sandboxAbsence();
  });
  beforeEach((context) => {
    if (absence !== undefined) context.skip(absence);
    dir = mkdtempSync(join(tmpdir(), "cellar-mcp-"));
  });
  afterEach(async () => {
    for (const server of open.splice(0)) {
      server.child.kill("SIGKILL");
      await server.ended;
    }
    rmSync(dir, { recursive: true, force: true, maxRetries: 10 });
  });

  function start(env: Readonly<Record<string, string>> = {}): RawServer {
    const server = new RawServer(dir, env);
    open.push(server);
    return server;
  }

  it("answers malformed lines and unknown methods with errors, and goes on", async () => {
    const server = start();
    await server.begin();
    const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
    server.write(
      `{"jsonrpc":\n\u0000\u0001\n[]\n"text"\n{"jsonrpc":"1.0","id":5,"method":"ping"}\n`,
    );
    const nested = `{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"execute_cell",`;
    server.write(`${nested}"arguments":{"code":${deep}}}}\n`);
    expect((await server.answer(5)).error?.code).toBe(-32600);
    await server.answer(6);
    expect((await server.ask(7, "no/such/method")).error?.code).toBe(-32601);
    expect((await server.ask(8, "tools/call", { name: 5 })).error?.code).toBe(-32602);
    expect((await server.ask(9, "resources/list", { cursor: "x" })).error?.code).toBe(-32602);
    expect(await server.run(10, "6 * 7")).toContain("42");
    const errors = server.answers.filter(({ id }) => id === undefined).map(({ error }) => error);
    expect(errors.map((error) => error?.code)).toEqual([-32700, -32700, -32600, -32600]);
  });

  it("refuses a line of 200 MB without taking it in", async () => {
    const server = start();
    await server.begin();
    const before = peakMegabytes(server.child.pid ?? 0);
    const piece = "x".repeat(1_000_000);
    for (let count = 0; count < 200; count++) {
      if (!server.child.stdin.write(piece)) await once(server.child.stdin, "drain");
    }
    server.write("\n");
    expect(await server.run(2, "1 + 1")).toContain("2");
    expect(server.answers.some(({ error }) => error?.message.includes("bytes"))).toBe(true);
    expect(peakMegabytes(server.child.pid ?? 0) - before).toBeLessThan(150);
  });

  it("writes nothing but messages to stdout, whatever else is printed", async () => {
    const noise = 'setInterval(()=>{console.log("noise");process.stdout.write("loud")},1).unref()';
    const script = `data:text/javascript,${encodeURIComponent(noise)}`;
    const server = start({ NODE_OPTIONS: `--import=${script}` });
    // What is printed before the server stands is not ours to keep away.
    await server.sees(() => server.stderr.includes("noise"));
    server.stdout = "";
    await server.begin();
    expect(await server.run(2, "print('shown')")).toContain("shown");
    server.child.stdin.end();
    await server.ended;
    expect(server.answers.length).toBeGreaterThan(1);
    expect(server.stderr).toContain("loud");
  });

  it.each(["EOF", "SIGTERM", "SIGINT"] as const)(
    "closes its notebooks and leaves with 0 at %s, also in the middle of a cell",
    async (way) => {
      const server = start();
      await server.begin();
      expect(await server.run(2, "x = 42")).toContain("COMPLETED");
      const params = { ...cellOf("print('on')\nwhile True: pass"), _meta: { progressToken: 1 } };
      server.write(`${JSON.stringify({ jsonrpc: "2.0", id: 3, method: "tools/call", params })}\n`);
      await server.sees(() => server.stdout.includes("notifications/progress"));
      if (way === "EOF") server.child.stdin.end();
      else server.child.kill(way);
      const [code] = await server.ended;
      expect([code, server.stderr]).toEqual([0, ""]);

      const next = await cellar(["notebook", "run", "s", "-c", "x", "--dir", dir]);
      expect(next).toMatchObject({ code: 0, stdout: "42\n", stderr: "" });
    },
  );

  it("ends when nobody reads it any more", async () => {
    const server = start();
    await server.begin();
    server.child.stdout.destroy();
    server.write('{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n');
    const [code] = await server.ended;
    expect(code).toBe(0);
  });

  it("ends at SIGTERM also when its reader has stopped reading", async () => {
    const server = start();
    await server.begin();
    await server.run(2, "x = 42\nprint('x' * 3_000_000)");
    server.child.stdout.pause();
    const params = { uri: "notebook://session/s/cell/0/output/0" };
    server.write(
      `${JSON.stringify({ jsonrpc: "2.0", id: 3, method: "resources/read", params })}\n`,
    );
    await until(() => server.child.stdout.readableLength > 0);
    server.child.kill("SIGTERM");
    const [code] = await once(server.child, "exit");
    expect(code).toBe(0);
  });

  it("holds few of the files that it is asked for at once", async () => {
    const server = start();
    await server.begin();
    await server.run(2, "open('big', 'w').write('x' * 30_000_000)");
    const before = peakMegabytes(server.child.pid ?? 0);
    const ids = Array.from({ length: 60 }, (_, at) => at + 10);
    for (const id of ids) {
      const [method, params] =
        id % 2 === 0
          ? ["resources/read", { uri: "notebook://session/s/files/big" }]
          : ["tools/call", { name: "read_file", arguments: { session: "s", path: "big" } }];
      server.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    }
    const answers: Answer[] = [];
    for (const id of ids) answers.push(await server.answer(id));
    expect(answers.filter(({ result }) => result?.isError === false).length).toBe(30);
    const told = answers.flatMap(({ error }) => error?.message ?? []);
    expect(
      told.filter((message) =>
        message.includes("Read it in parts: notebook://session/s/files/big?offset=0"),
      ).length,
    ).toBe(30);
    expect(peakMegabytes(server.child.pid ?? 0) - before).toBeLessThan(700);
  });

  it("names the isolation in every result, also of a call that it refuses", async () => {
    const server = start();
    await server.begin();
    const ids = Array.from({ length: 70 }, (_, at) => at + 10);
    const params = cellOf("1");
    for (const id of ids) {
      server.write(`${JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params })}\n`);
    }
    const results: Answer["result"][] = [];
    for (const id of ids) results.push((await server.answer(id)).result);
    results.push((await server.ask(2, "tools/call", { name: "execute_cell" })).result);
    const uri = "notebook://session/s/cell/0";
    const read = (await server.ask(3, "resources/read", { uri })).result;
    expect(results.some((result) => result?.isError === true)).toBe(true);
    for (const result of [...results, read]) {
      const level = result?.structuredContent?.isolation ?? result?._meta?.["cellar/isolation"];
      expect(level).toMatch(/^L3/);
    }
  });

  it("speaks of its tools, and not of the library, where a resource cannot be read", async () => {
    const server = start();
    await server.begin();
    const absent = { uri: "notebook://session/nowhere" };
    const { error } = await server.ask(2, "resources/read", absent);
    expect(error?.message).toContain("list_notebooks");
    expect(error?.message).not.toContain("Notebook.list");
    const strange = { uri: "file:///etc/passwd" };
    expect((await server.ask(3, "resources/subscribe", strange)).error?.code).toBe(-32602);
  });

  it("sends no progress of a request that was cancelled", async () => {
    const server = start();
    await server.begin();
    const params = { ...cellOf("while True: print('on')"), _meta: { progressToken: 1 } };
    server.write(`${JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/call", params })}\n`);
    await server.sees(() => server.stdout.includes("notifications/progress"));
    const cancel = { method: "notifications/cancelled", params: { requestId: 2 } };
    server.write(`${JSON.stringify({ jsonrpc: "2.0", ...cancel })}\n`);
    await server.ask(3, "ping");
    expect(await server.run(4, "'after'")).toContain("after");
    const heard = server.answers.map(({ id, method }) => method ?? id);
    expect(heard.slice(heard.indexOf(3))).not.toContain("notifications/progress");
  });

  it("does not serve below the isolation that is asked for", async () => {
    const refused = await cellar([
      "mcp",
      ...["--dir", dir, "--preload", "none", "--min-isolation", "L4"],
    ]);
    expect(refused).toMatchObject({ code: 125, stdout: "" });
    expect(refused.stderr).toMatch(/below the minimum L4[\s\S]*fix: /);
    const usage = await cellar(["mcp", "--backend", "pyodide"]);
    expect(usage).toMatchObject({ code: 2, stdout: "" });
  });

  it("checks itself, and leaves nothing behind", async () => {
    const shown = await cellar(["mcp", "--check", "--dir", dir, "--preload", "none"]);
    expect([shown.code, shown.stderr]).toEqual([0, ""]);
    expect(shown.stdout).toMatch(
      /✓ 16 tools: [\s\S]*✓ a cell ran: 6 \* 7 is 42[\s\S]*isolation L3/,
    );
    expect(shown.stdout).toContain('{"mcpServers":{"cellar":{');
    const { stdout } = await cellar(["notebook", "list", "--dir", dir, "--json"]);
    expect(JSON.parse(stdout).notebooks).toEqual([]);
  });

  it("tells as JSON what it found, or why it cannot be used", async () => {
    const place = ["--dir", dir, "--preload", "none"];
    const told = JSON.parse((await cellar(["mcp", ...place, "--check", "--json"])).stdout);
    expect(told).toMatchObject({ ok: true, isolation: expect.stringMatching(/^L3/) });
    expect(told.tools.length).toBe(16);
    expect(told.args.slice(1)).toEqual(["mcp", ...place]);
    const failed = await cellar(["mcp", "--check", ...place, "--min-isolation", "L4"]);
    expect(failed).toMatchObject({ code: 1, stdout: "" });
    expect(failed.stderr).toMatch(/cannot be used: [\s\S]*below the minimum L4/);
    const { stdout } = await cellar([
      "mcp",
      "--check",
      "--json",
      ...place,
      "--min-isolation",
      "L4",
    ]);
    expect(JSON.parse(stdout).reason).toContain("below the minimum L4");
  });

  it("prints settings that work from any folder", async () => {
    const here = relative(process.cwd(), dir);
    const flags = ["--dir", here, `--mount=${here}:/data`, "--preload", "none"];
    const told = JSON.parse((await cellar(["mcp", "--check", "--json", ...flags])).stdout);
    const wanted = ["mcp", "--dir", dir, `--mount=${dir}:/data`, "--preload", "none"];
    expect(told.args.slice(1)).toEqual(wanted);
  });
});
