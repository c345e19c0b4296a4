import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  cellar,
  type RunOptions,
  Screen,
  sandboxAbsence,
} from "../../../test/support/command-line.js";

let home: string;
let absence: string | undefined;

beforeAll(async () => {
  absence = await sandboxAbsence();
});

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "ch-"));
});

afterEach(async () => {
  await run(["daemon", "stop"]);
  rmSync(home, { recursive: true, force: true, maxRetries: 10 });
});

function run(args: readonly string[], options: RunOptions = {}) {
  const env = { HOME: home, CELLAR_PRELOAD: "standard", CELLAR_POOL_SIZE: "1", ...options.env };
  return cellar(args, { ...options, env });
}

async function status() {
  const { code, stdout } = await run(["daemon", "status", "--json"]);
  return { code, ...JSON.parse(stdout) };
}

function check(name: string, body: () => Promise<void>): void {
  it(name, async (context) => {
    if (absence !== undefined) context.skip(absence);
    await body();
  });
}

const INFO = "import os; os.environ.get('HOME')";

describe("cellar daemon", () => {
  it("tells that none runs, and that there is nothing to stop", async () => {
    const path = join(home, ".rlm", "daemon.sock");
    expect(await status()).toEqual({
      code: 1,
      running: false,
      path,
      pid: null,
      version: null,
      status: null,
    });
    expect(await run(["daemon", "status"])).toMatchObject({
      code: 1,
      stdout: `no daemon is running (${path})\n`,
    });
    expect(await run(["daemon", "stop"])).toMatchObject({
      code: 0,
      stdout: "no daemon is running\n",
    });
  });

  check("starts, is seen, is found running, and stops", async () => {
    const started = await run(["daemon", "start"]);
    expect(started).toMatchObject({ code: 0, stderr: "" });
    expect(started.stdout).toMatch(/^the daemon is started \(pid \d+, .*daemon\.sock\)\nPython 3/);
    const seen = await status();
    expect(seen).toMatchObject({ code: 0, running: true, status: { kept: true, sessions: 0 } });
    const again = await run(["daemon", "start"]);
    expect(again.stdout).toContain(`the daemon is already running (pid ${seen.pid}`);
    const shown = await run(["daemon", "status"]);
    expect(shown.stdout).toMatch(/runs until it is stopped\n$/);
    const doctor = JSON.parse((await run(["doctor", "--json"])).stdout);
    const line = doctor.checks.find(({ name }: { name: string }) => name === "daemon");
    expect(line).toMatchObject({
      status: "info",
      detail: expect.stringContaining(`pid ${seen.pid}`),
    });
    expect(await run(["daemon", "stop"])).toMatchObject({
      code: 0,
      stdout: `the daemon (pid ${seen.pid}) is stopped\n`,
    });
    expect((await status()).running).toBe(false);
  });

  check("keeps one that a client had started", async () => {
    const first = await run(["exec", "--backend", "daemon", "-c", "1 + 1"]);
    expect(first).toMatchObject({ code: 0, stdout: "2\n", stderr: "" });
    expect((await status()).status.kept).toBe(false);
    await run(["daemon", "start"]);
    expect((await status()).status.kept).toBe(true);
    expect((await run(["exec", "-c", "x = 6", "-c", "x * 7"])).stdout).toBe("42\n");
    expect((await run(["exec"], { input: "5*5" })).stdout).toBe("25\n");
  });

  check("runs in the foreground until it is interrupted", async () => {
    using screen = new Screen(["daemon", "run"], { env: { HOME: home, CELLAR_PRELOAD: "none" } });
    await screen.sees(/listening at .*daemon\.sock/);
    expect((await status()).running).toBe(true);
    screen.type("\u0003");
    expect(await screen.ended()).toBe(0);
    expect((await status()).running).toBe(false);
  });

  it("refuses a folder that others may enter, with the remedy", async () => {
    mkdirSync(join(home, ".rlm"), { mode: 0o755 });
    const { code, stderr } = await run(["daemon", "start"]);
    expect(code).toBe(125);
    expect(stderr).toMatch(/open to other users\n {2}fix: Run chmod 700 .*\.rlm\n$/);
    expect(await run(["exec", "-c", "1"], { env: { CELLAR_MIN_ISOLATION: "L0" } })).toMatchObject({
      code: 0,
    });
  });
});

describe("cellar exec", () => {
  check("goes through a daemon that runs, with what it has preloaded", async () => {
    await run(["daemon", "start"]);
    const code = "import sys; 'sqlite3' in sys.modules";
    expect((await run(["exec", "-c", code])).stdout).toBe("True\n");
    expect((await run(["exec", "--backend", "native", "-c", code])).stdout).toBe("False\n");
  });

  check("gives the same results and exit codes through the daemon", async () => {
    await run(["daemon", "start"]);
    const file = join(home, "cell.py");
    writeFileSync(file, "x = 'from the file'\nprint(x)");
    const commands = [
      ["-c", "print('a'); 40 + 2"],
      ["-q", "-c", "5"],
      ["-c", "import sys; print('e', file=sys.stderr); sys.exit(3)"],
      ["-c", "1 / 0"],
      ["-c", INFO],
      [file],
      [file, file],
      ["-c", "import os; os.abort()"],
      ["--timeout", "0.3", "-c", "while True: pass"],
      ["--env", "A=1", "-c", "import os; os.environ['A']"],
      ["-c", "print('x' * 100)", "--max-output", "10"],
      ["nowhere.py"],
      ["--nonsense"],
      [],
    ];
    for (const command of commands) {
      const through = await run(["exec", ...command]);
      const native = await run(["exec", "--backend", "native", ...command]);
      expect([command, through]).toEqual([command, native]);
    }
    const piped = { input: "print('from stdin')" };
    expect((await run(["exec", "-"], piped)).stdout).toBe("from stdin\n");
    const json = JSON.parse((await run(["exec", "--json", "-c", "1 / 0"])).stdout);
    expect(json).toMatchObject({ status: "error", error: { type: "ZeroDivisionError" } });
    expect((await status()).status.sessions).toBe(0);
  });

  check("passes wrong settings on as wrong usage", async () => {
    await run(["daemon", "start"]);
    const { code, stderr } = await run(["exec", "-c", "1"], { env: { CELLAR_TIMEOUT: "soon" } });
    expect(code).toBe(2);
    expect(stderr).toContain('CELLAR_TIMEOUT is "soon", which is not a duration');
    const file = join(realpathSync(home), "cellar.config.json");
    writeFileSync(file, JSON.stringify({ poolSize: 999 }));
    const around = { cwd: home, env: { CELLAR_POOL_SIZE: "" } };
    for (const backend of [[], ["--backend", "daemon"]]) {
      const refused = await run(["exec", ...backend, "-c", "1"], around);
      expect({ backend, code: refused.code }).toEqual({ backend, code: 2 });
      expect(refused.stderr).toContain(`"poolSize" in ${file} must be at most 256, not 999`);
    }
  });

  check("falls to native when the daemon was killed", async () => {
    await run(["daemon", "start"]);
    process.kill((await status()).pid, "SIGKILL");
    expect(await run(["exec", "-c", "1 + 1"])).toMatchObject({
      code: 0,
      stdout: "2\n",
      stderr: "",
    });
  });
});
