import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, describe, expect, it } from "vitest";
import { DirectPyodideSandbox, PyodideSandbox, shutdown } from "../../src/index.js";
import { openSandbox, text, withSandbox } from "./sandbox-kinds.js";

const WORKER = { backend: "pyodide" } as const;
const DIRECT = { backend: "pyodide", useWorker: false, minIsolation: "L0" } as const;

afterAll(() => shutdown());

describe("Requirement: Timeout Handling", () => {
  it("Scenario: True interrupt with worker", () =>
    withSandbox({ ...WORKER, timeout: 500, grace: 60_000 }, async (sandbox) => {
      const run = await sandbox.execute(
        "kept = 1\ntry:\n  while True: pass\nexcept KeyboardInterrupt:\n  print('interrupted')",
      );
      expect(run).toMatchObject({ status: "timeout", stdout: "interrupted\n" });
      // Only an interrupt leaves the state; ending the worker would not.
      expect(text(await sandbox.execute("kept"))).toBe("1");
    }));
});

describe("Requirement: Worker Isolation", () => {
  it("Scenario: Worker-based execution", () =>
    withSandbox(WORKER, async (sandbox) => {
      expect(sandbox).toBeInstanceOf(PyodideSandbox);
      expect(sandbox.info).toMatchObject({ backend: "pyodide", mode: "worker" });
      let turns = 0;
      const timer = setInterval(() => {
        turns += 1;
      }, 10);
      await sandbox.execute("n = 0\nfor i in range(1_000_000): n += i");
      clearInterval(timer);
      // The caller's own thread went on meanwhile.
      expect(turns).toBeGreaterThan(1);
    }));

  it("Scenario: Fallback to direct mode", () =>
    withSandbox(DIRECT, async (sandbox) => {
      expect(sandbox).toBeInstanceOf(DirectPyodideSandbox);
      expect(sandbox.info).toMatchObject({ backend: "pyodide", mode: "direct" });
      expect(sandbox.info.isolation.level).toBe("L0");
      expect(text(await sandbox.execute("6 * 7"))).toBe("42");
    }));

  it("Scenario: Worker termination cleanup", async () => {
    const sandbox = await openSandbox(WORKER);
    const running = sandbox.execute(
      "while True:\n  try:\n    while True: pass\n  except BaseException: pass",
    );
    await sandbox.destroy();
    expect((await running).status).toBe("cancelled");
  });
});

describe("Requirement: Execution Cancellation", () => {
  it("Scenario: Cancel with worker isolation", () =>
    withSandbox({ ...WORKER, grace: 60_000 }, async (sandbox) => {
      let isRunning: () => void = () => {};
      const begun = new Promise<void>((resolve) => {
        isRunning = resolve;
      });
      await using watched = await openSandbox({ ...WORKER, grace: 60_000, onStdout: isRunning });
      const running = watched.execute("kept = 1\nprint('begun')\nwhile True: pass");
      await begun;
      await watched.cancel();
      expect((await running).status).toBe("cancelled");
      expect(text(await watched.execute("kept"))).toBe("1");
      expect(text(await sandbox.execute("1"))).toBe("1");
    }));

  it("Scenario: Cancel without worker", () =>
    withSandbox({ ...DIRECT, timeout: 1000 }, async (sandbox) => {
      const running = sandbox.execute("import asyncio\nawait asyncio.sleep(0.2)\n'went on'");
      await sandbox.cancel();
      expect(text(await running)).toBe("'went on'");
      expect((await sandbox.execute("while True: pass")).status).toBe("timeout");
    }));
});

describe("Requirement: Configurable CDN", () => {
  /** A server that has nothing, and remembers what it was asked for. */
  async function emptyServer(): Promise<{ url: string; asked: string[] } & AsyncDisposable> {
    const asked: string[] = [];
    const server = createServer((request, response) => {
      asked.push(request.url ?? "");
      response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/full/`,
      asked,
      [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
    };
  }

  it("Scenario: Custom indexURL string", async () => {
    await using server = await emptyServer();
    await expect(openSandbox({ ...WORKER, indexURL: server.url })).rejects.toMatchObject({
      code: "INSTALL_FAILED",
    });
    expect(server.asked.length).toBeGreaterThan(0);
    expect(server.asked.every((path) => path.startsWith("/full/"))).toBe(true);
  });

  it("Scenario: IndexURL with fallbacks", async () => {
    await using first = await emptyServer();
    await using second = await emptyServer();
    const indexURL = [first.url, second.url];
    await expect(openSandbox({ ...WORKER, indexURL })).rejects.toThrow();
    expect(first.asked.length).toBeGreaterThan(0);
    expect(second.asked.length).toBeGreaterThan(0);
  });

  it("Scenario: Default CDN", async () => {
    const { packagedDistribution } = await import("../../src/backends/pyodide/distribution.js");
    expect(packagedDistribution().sources.at(-1)).toMatch(
      /^https:\/\/cdn\.jsdelivr\.net\/pyodide\/v[\d.]+\/full\/$/,
    );
  });
});
