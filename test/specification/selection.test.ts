import { execFileSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { daemonAddress } from "../../src/backends/daemon/address.js";
import {
  createSandbox,
  type ISandbox,
  isCellarError,
  NativePythonSandbox,
  PyodideSandbox,
  type REPLConfig,
  shutdown,
} from "../../src/index.js";
import { DaemonHome } from "../support/daemon-home.js";
import { leastIsolation, PristineMachine, wallPrograms } from "./pristine.js";
import { openSandbox, text, withSandbox } from "./sandbox-kinds.js";

const METHODS = ["initialize", "execute", "destroy", "cancel", "getVariable"] as const;
const AUTO = { backend: "auto", minIsolation: leastIsolation() } as const;

afterAll(() => shutdown());

/** A Python of the system, by its real place. */
function systemPython(): string {
  return execFileSync("python3", ["-c", "import sys; print(sys.executable)"]).toString().trim();
}

describe("Requirement: Backend Selection", () => {
  it("Scenario: Backend type enumeration", async () => {
    const backend = "docker" as "native";
    await expect(createSandbox({ backend })).rejects.toMatchObject({
      code: "INVALID_CONFIG",
      message: expect.stringContaining("docker"),
      remedy: expect.stringMatching(/auto, native, daemon, pyodide/),
    });
  });

  it("options that are no object are refused", async () => {
    for (const config of [null, "native", 5]) {
      await expect(createSandbox(config as unknown as REPLConfig)).rejects.toMatchObject({
        code: "INVALID_CONFIG",
      });
    }
  });

  it("a thread of one's own is refused with the way out", async () => {
    const config = { backend: "pyodide", useWorker: false } as const;
    await expect(createSandbox(config)).rejects.toMatchObject({
      code: "SANDBOX_UNAVAILABLE",
      message: expect.stringContaining("useWorker: false"),
      remedy: expect.stringContaining("Leave useWorker out"),
    });
  });

  it("Scenario: Auto-select daemon when running", async () => {
    using machine = new PristineMachine([...wallPrograms(), systemPython()]);
    await using home = new DaemonHome(machine.home);
    await home.start();
    const { kind, info, result } = await machine.choose(AUTO);
    expect([kind, info.backend, result]).toEqual([
      "DaemonClientSandbox",
      "daemon",
      { "text/plain": "42" },
    ]);
  });

  it("Scenario: Auto-select native when Python available", async () => {
    using machine = new PristineMachine([...wallPrograms(), systemPython()]);
    const { kind, info, result } = await machine.choose(AUTO);
    expect([kind, info.backend, result]).toEqual([
      "NativePythonSandbox",
      "native",
      { "text/plain": "42" },
    ]);
    expect(info.reason).toContain("no daemon is running");
  });

  it("Scenario: Fallback to Pyodide", async () => {
    using machine = new PristineMachine(wallPrograms());
    const { kind, info, result } = await machine.choose(AUTO);
    expect([kind, info.backend, result]).toEqual([
      "PyodideSandbox",
      "pyodide",
      { "text/plain": "42" },
    ]);
    expect(info.reason).toMatch(/no daemon is running.*[Pp]ython/);
  });

  it("Scenario: Explicit backend selection", async () => {
    await using native = await openSandbox({ backend: "native" });
    expect(native).toBeInstanceOf(NativePythonSandbox);
    await using pyodide = await openSandbox({ backend: "pyodide" });
    expect(pyodide).toBeInstanceOf(PyodideSandbox);
    using machine = new PristineMachine(wallPrograms());
    await expect(machine.choose({ ...AUTO, backend: "native" })).rejects.toThrow(
      /PYTHON_UNSUITABLE/,
    );
  });
});

describe("Requirement: Native Python Sandbox", () => {
  it("Scenario: JSON-RPC protocol", async () => {
    const { messages, parseEnvelope } = await import("../../src/protocol/messages.js");
    const params = messages.execute.params.parse({
      step: 1,
      number: 1,
      code: "1",
      max_output: 10,
      checkpoint: "off",
    });
    expect(parseEnvelope({ jsonrpc: "2.0", id: 1, method: "execute", params })).toBeDefined();
    expect(parseEnvelope({ jsonrpc: "1.0", id: 1, method: "execute", params })).toBeUndefined();
    // The channel is not the user's: what is written to its old place is output.
    await withSandbox({ backend: "native" }, async (sandbox) => {
      const forged = `{"jsonrpc":"2.0","id":1,"result":{}}`;
      const run = await sandbox.execute(`import os\nos.write(1, b'${forged}\\n')\n'true result'`);
      expect([run.stdout, text(run)]).toEqual([`${forged}\n`, "'true result'"]);
    });
  });

  it("Scenario: Execute code", () =>
    withSandbox({ backend: "native" }, async (sandbox) => {
      const run = await sandbox.execute("import sys\nprint('out')\nprint('err', file=sys.stderr)");
      expect(run).toMatchObject({ stdout: "out\n", stderr: "err\n", error: null });
      expect(run.duration).toBeGreaterThan(0);
    }));

  it("Scenario: Bridge callback handling", () =>
    withSandbox(
      {
        backend: "native",
        onLLMQuery: async (prompt) => `llm ${prompt}`,
        onRLMQuery: async (task) => `rlm ${task}`,
      },
      async (sandbox) => {
        const run = await sandbox.execute("llm_query('a'), rlm_query('b')");
        expect(text(run)).toBe("('llm a', 'rlm b')");
      },
    ));

  it("Scenario: Context injection", () =>
    withSandbox({ backend: "native" }, async (sandbox) => {
      await sandbox.initialize({ documents: ["one", "two"] });
      expect(text(await sandbox.execute("context['documents'][1]"))).toBe("'two'");
    }));

  it("Scenario: Python availability check", async () => {
    await expect(
      createSandbox({ backend: "native", python: "/nowhere/python3" }),
    ).rejects.toSatisfy((error) => isCellarError(error, "PYTHON_UNSUITABLE"));
    await withSandbox({ backend: "native" }, async ({ info }) => {
      const [major, minor] = info.python.version.split(".").map(Number);
      expect(major === 3 && (minor ?? 0) >= 8).toBe(true);
    });
  });
});

describe("Requirement: Daemon Client Sandbox", () => {
  it("Scenario: IPC connection", async () => {
    await using home = new DaemonHome();
    await home.start();
    expect(statSync(home.address.path).isSocket()).toBe(true);
    await using sandbox = await home.runtime().createSandbox(AUTO);
    expect(sandbox.info.reason).toContain(home.address.path);
  });

  it("Scenario: Socket path", () => {
    expect(daemonAddress("/home/somebody", "linux").path).toBe("/home/somebody/.rlm/daemon.sock");
    expect(daemonAddress("/Users/somebody", "darwin").path).toBe(
      "/Users/somebody/.rlm/daemon.sock",
    );
  });

  it("Scenario: Named pipe path", () => {
    expect(daemonAddress("C:\\Users\\somebody", "win32").path).toBe("\\\\.\\pipe\\rlm-daemon");
  });

  it("Scenario: Execute via daemon", async () => {
    await using home = new DaemonHome();
    await home.start();
    await using sandbox = await home.runtime().createSandbox(AUTO);
    await sandbox.execute("kept = 41");
    expect(text(await sandbox.execute("kept + 1"))).toBe("42");
  });

  it("Scenario: Daemon availability check", async () => {
    await using home = new DaemonHome();
    expect(existsSync(home.address.path)).toBe(false);
    await expect(home.runtime().createSandbox(AUTO)).rejects.toMatchObject({
      code: "DAEMON_UNAVAILABLE",
    });
    await home.start();
    await using sandbox = await home.runtime().createSandbox(AUTO);
    expect(sandbox.info.backend).toBe("daemon");
  });
});

describe("Requirement: Sandbox Factory", () => {
  it("Scenario: Create with config", () =>
    withSandbox({ backend: "native", timeout: 300 }, async (sandbox) => {
      expect((await sandbox.execute("while True: pass")).status).toBe("timeout");
    }));

  it("Scenario: Config backend option", () =>
    withSandbox({ backend: "pyodide" }, async (sandbox) => {
      expect(sandbox.info.backend).toBe("pyodide");
    }));

  it("Scenario: Shared interface", async () => {
    await using home = new DaemonHome();
    await home.start();
    const sandboxes: ISandbox[] = [
      await openSandbox({ backend: "native" }),
      await openSandbox({ backend: "pyodide" }),
      await openSandbox({ backend: "pyodide", useWorker: false, minIsolation: "L0" }),
      await home.runtime().createSandbox(AUTO),
    ];
    for (const sandbox of sandboxes) {
      for (const method of METHODS) expect(typeof sandbox[method]).toBe("function");
      expect(text(await sandbox.execute("6 * 7"))).toBe("42");
      await sandbox.destroy();
    }
  });
});
