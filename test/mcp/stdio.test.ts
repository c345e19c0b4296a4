import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { cellar, MAIN, sandboxAbsence } from "../../src/cli/command-line.case.test.js";

interface Answer {
  readonly id?: number;
  readonly method?: string;
  readonly result?: { readonly content?: readonly { readonly text: string }[] };
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
    rmSync(dir, { recursive: true, force: true });
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
      /✓ 15 tools: [\s\S]*✓ a cell ran: 6 \* 7 is 42[\s\S]*isolation L3/,
    );
    expect(shown.stdout).toContain('{"mcpServers":{"cellar":{');
    const { stdout } = await cellar(["notebook", "list", "--dir", dir, "--json"]);
    expect(JSON.parse(stdout).notebooks).toEqual([]);
  });

  it("tells as JSON what it found, or why it cannot be used", async () => {
    const place = ["--dir", dir, "--preload", "none"];
    const told = JSON.parse((await cellar(["mcp", ...place, "--check", "--json"])).stdout);
    expect(told).toMatchObject({ ok: true, isolation: expect.stringMatching(/^L3/) });
    expect(told.tools.length).toBe(15);
    expect(told.args.slice(1)).toEqual(["mcp", ...place]);
    const failed = await cellar(["mcp", "--check", ...place, "--min-isolation", "L4"]);
    expect(failed).toMatchObject({ code: 1, stdout: "" });
    expect(failed.stderr).toMatch(/below the minimum L4[\s\S]*cannot be used/);
  });
});
