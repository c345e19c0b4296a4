import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, vi } from "vitest";
import { openNativeRuntime } from "../../../test/support/native-runtime.js";
import type { CodeExecution, Mount, REPLConfig } from "../backend.js";

const { runtime, unavailable } = await openNativeRuntime();
const folder = mkdtempSync(join(tmpdir(), "cellar-runtime-test-"));
chmodSync(folder, 0o755);
const text = (run: CodeExecution): string | undefined => run.result?.["text/plain"];

function check(name: string, body: () => Promise<void>): void {
  it(name, async (context) => {
    if (unavailable !== undefined) context.skip(unavailable);
    await body();
  });
}

async function evaluate(code: string, config: REPLConfig = {}): Promise<CodeExecution> {
  await using sandbox = await runtime.createSandbox({ preload: "none", poolSize: 0, ...config });
  return await sandbox.execute(code);
}

afterAll(async () => {
  await runtime[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
});

describe("settings of a sandbox", () => {
  check("mounts show folders of the host, read-only unless asked", async () => {
    mkdirSync(join(folder, "data"));
    writeFileSync(join(folder, "data", "a.txt"), "from the host", { mode: 0o644 });
    chmodSync(join(folder, "data"), 0o777);
    const mount = { host: join(folder, "data"), guest: "/data" };
    const read = await evaluate("open('/data/a.txt').read()", { mounts: [mount] });
    expect(text(read)).toBe("'from the host'");
    const refused = await evaluate("open('/data/b.txt', 'w')", { mounts: [mount] });
    expect(refused.error?.message).toMatch(/Read-only/);
    const written = await evaluate("open('/data/b.txt', 'w').write('x')", {
      mounts: [{ ...mount, readonly: false }],
    });
    expect(written.status).toBe("ok");
  });

  check("bad mounts, names and options are refused with a code", async () => {
    const bad: REPLConfig[] = [
      { mounts: [{ host: join(folder, "nowhere"), guest: "/data" }] },
      { mounts: [{ host: folder, guest: "/" }] },
      { mounts: [{ host: folder, guest: "data" }] },
      { mounts: [{ host: folder, guest: "/proc/x" }] },
      { mounts: [{ host: folder } as Mount] },
      { onStdout: "print" as unknown as REPLConfig["onStdout"] },
      { env: { "A=B": "x" } },
      { timeout: 0 },
      { limits: { memoryMb: -1 } },
      { minIsolation: "L9" as "L3" },
      { onLLMQuery: "ask" as unknown as REPLConfig["onLLMQuery"] },
      { surelyUnknown: 1 } as REPLConfig,
    ];
    for (const config of bad) {
      await expect(runtime.createSandbox(config), JSON.stringify(config)).rejects.toMatchObject({
        code: "INVALID_CONFIG",
      });
    }
  });

  check("env is set inside, and nothing of the host's environment passes", async () => {
    process.env.CELLAR_TEST_SECRET = "do not show";
    const run = await evaluate("import os; dict(os.environ)", { env: { COLOUR: 'it\'s "green"' } });
    delete process.env.CELLAR_TEST_SECRET;
    expect(text(run)).toContain("COLOUR");
    expect(text(run)).not.toContain("do not show");
  });

  check("limits hold: processes, files, workspace, memory", async () => {
    const limits = { memoryMb: 200, processes: 20, workspaceMb: 8, tmpMb: 4, openFiles: 64 };
    const code = [
      "import errno, os, time",
      "def code(work):",
      "    try: work()",
      "    except OSError as e: return errno.errorcode[e.errno]",
      "def forks():",
      "    for _ in range(100):",
      "        if os.fork() == 0: time.sleep(2); os._exit(0)",
      "def fill(path):",
      "    with open(path, 'wb') as f:",
      "        for _ in range(64): f.write(bytes(1 << 20))",
      "def opens(): return [os.open(os.devnull, 0) for _ in range(200)]",
      "[code(forks), code(lambda: fill('/workspace/x')), code(lambda: fill('/tmp/x')), code(lambda: fill('/dev/shm/x'))]",
    ].join("\n");
    expect(text(await evaluate(code, { limits }))).toBe("['EAGAIN', 'ENOSPC', 'ENOSPC', 'ENOSPC']");
    const open =
      "import os\nfds = []\ntry:\n    while True: fds.append(os.open(os.devnull, 0))\nexcept OSError as e: r = e.errno\nr";
    expect(text(await evaluate(open, { limits }))).toBe("24");
    expect((await evaluate("x = bytearray(1 << 30)", { limits })).status).toBe("oom");
  });

  check("a full workspace is an error of the cell and loses nothing", async () => {
    await using sandbox = await runtime.createSandbox({
      preload: "none",
      poolSize: 0,
      limits: { workspaceMb: 4 },
    });
    await sandbox.execute("kept = 1");
    const run = await sandbox.execute("open('f', 'wb').write(bytes(64 << 20))");
    expect(run.error).toMatchObject({ type: "OSError" });
    expect(run.error?.message).toMatch(/No space left/);
    expect(text(await sandbox.execute("kept"))).toBe("1");
  });

  check("more isolation than the machine has is refused with what is missing", async () => {
    await expect(
      runtime.createSandbox({ preload: "none", minIsolation: "L4" }),
    ).rejects.toMatchObject({ code: "SANDBOX_UNAVAILABLE", details: { option: "minIsolation" } });
  });

  check("a python that is none is refused with a remedy", async () => {
    const empty = join(folder, "not-python");
    writeFileSync(empty, "#!/bin/sh\nexit 3\n", { mode: 0o755 });
    for (const python of [empty, join(folder, "nowhere")]) {
      await expect(runtime.createSandbox({ python })).rejects.toMatchObject({
        code: "PYTHON_UNSUITABLE",
      });
    }
  });

  check(
    "an environment of one's own is used, and renewed when packages change",
    async (): Promise<void> => {
      const venv = join(folder, "venv");
      execFileSync("/usr/bin/python3", ["-m", "venv", "--without-pip", venv]);
      const site = execFileSync(join(venv, "bin", "python"), [
        "-c",
        "import sysconfig; print(sysconfig.get_paths()['purelib'])",
      ])
        .toString()
        .trim();
      const config = { python: venv, poolSize: 1 };
      await using before = await runtime.createSandbox({ preload: "none", ...config });
      expect((await before.execute("import fresh_package")).error?.type).toBe(
        "ModuleNotFoundError",
      );
      writeFileSync(join(site, "fresh_package.py"), "answer = 42\n");
      const later = new Date(Date.now() + 5000);
      utimesSync(site, later, later);
      expect(text(await evaluate("import fresh_package; fresh_package.answer", config))).toBe("42");
      expect((await before.execute("1")).status).toBe("ok");
    },
  );
});

describe("zygotes of many kinds", () => {
  check(
    "are bounded: the one that served longest ago lets go, sessions in use do not",
    async () => {
      const running = () => {
        const children = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, "utf8");
        return children.trim().split(" ").filter(Boolean).length;
      };
      await using held = await runtime.createSandbox({ preload: "none", poolSize: 0 });
      await held.execute("kept = 1");
      for (let index = 0; index < 8; index += 1) {
        const limits = { memoryMb: 300 + index };
        expect(text(await evaluate("1 + 1", { limits }))).toBe("2");
      }
      const waiting = { timeout: 30_000, interval: 50 };
      await vi.waitFor(() => expect(running()).toBeLessThanOrEqual(6), waiting);
      expect(text(await held.execute("kept"))).toBe("1");
      expect(text(await evaluate("3"))).toBe("3");
    },
  );
});

describe("sessions beside each other", () => {
  check("do not see each other's files, variables, processes or sockets", async () => {
    const config = { preload: "none", poolSize: 2 } as const;
    await using left = await runtime.createSandbox(config);
    await using right = await runtime.createSandbox(config);
    await left.execute(
      [
        "secret = 1",
        "open('/workspace/canary', 'w').close(); open('/tmp/canary', 'w').close()",
        "import socket, subprocess",
        "s = socket.socket(); s.bind(('127.0.0.1', 5055)); s.listen()",
        "u = socket.socket(socket.AF_UNIX); u.bind('\\0canary'); u.listen()",
        "p = subprocess.Popen(['sleep', '30'])",
      ].join("\n"),
    );
    const look = await right.execute(
      [
        "import os, socket",
        "def reach(family, address):",
        "    try: socket.socket(family).connect(address); return True",
        "    except OSError: return False",
        "['secret' in globals(), os.path.exists('/workspace/canary'), os.path.exists('/tmp/canary'),",
        " reach(socket.AF_INET, ('127.0.0.1', 5055)), reach(socket.AF_UNIX, '\\0canary'),",
        " any('sleep' in open(f'/proc/{p}/cmdline').read() for p in os.listdir('/proc') if p.isdigit())]",
      ].join("\n"),
    );
    expect(text(look)).toBe(`[${Array(6).fill("False").join(", ")}]`);
  });

  check("come from the pool unused", async () => {
    const config = { preload: "none", poolSize: 2 } as const;
    for (let round = 0; round < 4; round += 1) {
      const run = await evaluate(
        "import os\nr = ('x' in globals(), os.path.exists('/tmp/leak'), 'LEAK' in os.environ)\nx = 1\nopen('/tmp/leak', 'w').close()\nos.environ['LEAK'] = '1'\nr",
        config,
      );
      expect(text(run)).toBe("(False, False, False)");
    }
  });

  check("many at once from an empty pool all answer", async () => {
    const runs = await Promise.all(
      Array.from({ length: 24 }, (_, index) => evaluate(`${index} * 2`)),
    );
    expect(runs.map(text)).toEqual(Array.from({ length: 24 }, (_, index) => String(index * 2)));
  });
});
