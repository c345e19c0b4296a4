import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { cellar, MAIN, sandboxAbsence } from "../../../test/support/command-line.js";

describe("an output that cannot be written", () => {
  it("is told, and is no success", async (context) => {
    if (!existsSync("/dev/full")) context.skip("there is no /dev/full");
    await using full = await open("/dev/full", "w");
    const child = spawn(process.execPath, [MAIN, "--help"], { stdio: ["ignore", full.fd, "pipe"] });
    let stderr = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    const [code] = (await once(child, "close")) as [number | null];
    expect(code).toBe(125);
    expect(stderr.match(/ENOSPC/g)).toHaveLength(1);
  });
});

/** Goes on writing, so that it notices when its reader goes away. */
const ENDLESS = "import time\nfor i in range(30000): print(i, flush=True); time.sleep(0.01)";

const WAITING = "print('begun')\nimport time; time.sleep(300)";

describe("a command whose reader goes away, or that is told to end", () => {
  let absence: string | undefined;
  let home = "";
  let env: Record<string, string> = {};
  beforeAll(async () => {
    absence = await sandboxAbsence();
    home = mkdtempSync(join(tmpdir(), "cellar-test-"));
    env = { HOME: home, XDG_STATE_HOME: home, CELLAR_PRELOAD: "none", CELLAR_TIMEOUT: "300000" };
  });
  afterAll(() => rmSync(home, { recursive: true, force: true, maxRetries: 10 }));
  beforeEach((ctx) => {
    if (absence !== undefined) ctx.skip(`no sandbox: ${absence}`);
  });

  /** Through a pipe of the shell: the command's exit code, and what it said on stderr. */
  const intoHead = async (args: readonly string[], input = "/dev/null") => {
    const said = join(home, "said");
    const script =
      'said=$1 input=$2; shift 2; "$@" <"$input" 2>"$said" | head -n 1 >&2; echo "$PIPESTATUS"';
    const words = ["-c", script, "sh", said, input, process.execPath, MAIN, ...args];
    const child = spawn("bash", words, {
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "ignore"],
    });
    const [code] = await Promise.all([child.stdout.toArray(), once(child, "close")]);
    return { code: Buffer.concat(code).toString().trim(), stderr: readFileSync(said, "utf8") };
  };

  /** Ends it when it has written something, or when `begun` says so. */
  const afterSignal = async (
    args: readonly string[],
    signal: NodeJS.Signals,
    { input = "", begun }: { input?: string; begun?: Promise<unknown> } = {},
  ) => {
    const child = spawn(process.execPath, [MAIN, ...args], { env: { ...process.env, ...env } });
    child.stdin.write(input);
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    const closed = once(child, "close");
    await (begun ?? once(child.stdout, "data"));
    child.stdout.resume();
    child.kill(signal);
    const [code, by] = await closed;
    return { code, by, stderr };
  };

  it("says nothing when a pipe closes", async () => {
    expect(await intoHead(["exec", "-c", ENDLESS])).toEqual({ code: "141", stderr: "" });
    expect(await intoHead(["notebook", "run", "n", "-c", ENDLESS])).toEqual({
      code: "141",
      stderr: "",
    });
    const cells = await written(join(home, "cells.py"), ENDLESS);
    expect(await intoHead(["repl"], cells)).toEqual({
      code: "141",
      stderr: "",
    });
  });

  it.each(["SIGTERM", "SIGHUP"] as const)("says nothing at %s", async (signal) => {
    const ended = { code: 143, by: null, stderr: "" };
    expect(await afterSignal(["exec", "-c", WAITING], signal)).toEqual(ended);
    expect(await afterSignal(["notebook", "run", "m", "-c", WAITING], signal)).toEqual(ended);
    expect(await afterSignal(["repl"], signal, { input: `${WAITING}\n\n` })).toEqual(ended);
  });

  it("says nothing when a model is waited for, or a server serves", async () => {
    const server = createServer(() => {});
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    const model = ["--model", "m", "--base-url", `http://127.0.0.1:${port}/v1`];
    const begun = once(server, "request");
    const rlm = await afterSignal(["rlm", "q", ...model], "SIGTERM", { begun });
    server.closeAllConnections();
    server.close();
    expect(rlm).toEqual({ code: 143, by: null, stderr: "" });
    const served = { code: 0, by: null, stderr: "" };
    expect(await afterSignal(["daemon", "run"], "SIGTERM")).toEqual(served);
    const greeting = {
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: {
        protocolVersion: "2025-06-18",
        capabilities: {},
        clientInfo: { name: "test", version: "1" },
      },
    };
    const input = `${JSON.stringify(greeting)}\n`;
    expect(await afterSignal(["mcp"], "SIGTERM", { input })).toEqual(served);
  });

  it("says nothing with a daemon either", async () => {
    expect((await cellar(["daemon", "start"], { env })).code).toBe(0);
    try {
      expect(await intoHead(["exec", "-c", ENDLESS])).toEqual({ code: "141", stderr: "" });
      const ended = { code: 143, by: null, stderr: "" };
      expect(await afterSignal(["exec", "-c", WAITING], "SIGTERM")).toEqual(ended);
      expect(await afterSignal(["exec", "-c", WAITING], "SIGHUP")).toEqual(ended);
    } finally {
      await cellar(["daemon", "stop"], { env });
    }
  });
});

async function written(path: string, text: string): Promise<string> {
  await using file = await open(path, "w");
  await file.writeFile(text);
  return path;
}
