import { describe, expect, it } from "vitest";
import { attack, expectNextCell } from "./attack.js";
import { AttackFixture } from "./attack-fixture.js";
import { SECRET } from "./attack-runner.js";
import { campaign, readCells } from "./campaign.js";
import { EXPECTATIONS } from "./expectations.js";

/** Cells about features that have tests of their own. */
const ELSEWHERE = /^(pyo-|brg-|prot-1[1-4]$|prot-18$)/;
const POLICY = /^ast-/;

const cells = readCells("cells.json");

const fixture = new AttackFixture();

campaign(
  cells.filter(({ id }) => !ELSEWHERE.test(id) && !POLICY.test(id)),
  EXPECTATIONS,
  fixture,
);

describe("ways around a policy", () => {
  fixture.keepHost();

  const policyCells = cells.filter(({ id }) => POLICY.test(id));
  it.each(policyCells.map(({ id, code }) => [id, code] as const))("%s", async (_id, code) => {
    await using sandbox = await fixture.runner.sandbox();
    const run = await sandbox.execute(code);
    expect(run.stdout).toContain("REACHED");
    expect(run.stdout + run.stderr).not.toContain("PWNED");
    expect(run.stdout + run.stderr).not.toContain("root:");
    await expectNextCell(sandbox);
  });
});

describe("with a target that is really there", () => {
  fixture.keepHost();

  it("refuses the host's port, where something listens", async () => {
    const code = `import socket; socket.create_connection(('127.0.0.1', ${fixture.runner.port}), 2); print('PWNED')`;
    await attack(fixture.runner, code, {
      check: ({ last }) => expect(last.error?.type).toBe("ConnectionRefusedError"),
    });
  });

  it("does not show a file of the host", async () => {
    await attack(fixture.runner, `print(open(${JSON.stringify(fixture.runner.canary)}).read())`, {
      check: ({ last }) => expect(last.error?.type).toBe("FileNotFoundError"),
    });
  });

  it("does not show the host's environment", async () => {
    const code = "import os, subprocess\nprint(dict(os.environ), subprocess.getoutput('env'))";
    await attack(fixture.runner, code, {
      check: ({ last }) => expect(last.stdout).not.toContain(SECRET),
    });
  });

  it("had a shared memory segment to find, where the host can make one", () => {
    if (!fixture.runner.holdsSharedMemory)
      console.warn("no python3 on the host: iso-04 had no target");
  });

  it("ends what a cell left running together with a cell that must be killed", async () => {
    await using sandbox = await fixture.runner.sandbox({ timeout: 800, grace: 200 });
    const spun = await sandbox.execute(
      "import subprocess\nfor _ in range(3): subprocess.Popen(['sh', '-c', 'while :; do :; done'])",
    );
    expect(spun.background).toBeGreaterThanOrEqual(3);
    const stuck = await sandbox.execute("sum(range(10**12))");
    expect(stuck.status).toBe("timeout");
    const left = await sandbox.execute(
      "import os\n[p for p in os.listdir('/proc') if p.isdigit() and 'while' in open(f'/proc/{p}/cmdline').read()]",
    );
    expect(left.result).toEqual({ "text/plain": "[]" });
  });
});
