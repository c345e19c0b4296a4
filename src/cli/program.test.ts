import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  existsSync,
  linkSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { cellar, MAIN, sandboxAbsence } from "../../test/support/command-line.js";

const COMMANDS = [
  "exec",
  "repl",
  "notebook",
  "mcp",
  "rlm",
  "trace",
  "daemon",
  "doctor",
  "demo",
  "install",
  "completion",
];

describe("cellar", () => {
  it.each(["exec", "repl", "notebook run", "mcp", "rlm", "rlm serve"])(
    "lets %s choose a policy, and has none by default",
    async (command) => {
      const { stdout } = await cellar([...command.split(" "), "--help"]);
      expect(stdout.replace(/\s+/g, " ")).toContain("what cells may contain (default: off)");
    },
  );

  it.each([
    ["install", "10m; a bare number is seconds (default: 30m)"],
    ["repl", "a bare number is seconds (default: 30s; 600s with --context)"],
    ["notebook show", "where notebooks are kept (default: ~/.local/state/cellar, or CELLAR_HOME)"],
    ["notebook list", "--user <name> whose notebooks (default: those of all users)"],
  ])("tells the units and defaults of %s", async (command, told) => {
    const { stdout } = await cellar([...command.split(" "), "--help"]);
    expect(stdout.replace(/\s+/g, " ")).toContain(told);
  });

  it("offers a choice of backends only where there is one", async () => {
    for (const command of ["exec", "repl", "rlm"]) {
      expect((await cellar([command, "--help"])).stdout).toContain("--backend");
    }
    for (const command of [["notebook", "run"], ["notebook", "put"], ["mcp"]]) {
      expect((await cellar([...command, "--help"])).stdout).not.toContain("--backend");
    }
  });

  it("tells its version and its commands", async () => {
    const { version } = JSON.parse(
      readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
    );
    expect((await cellar(["--version"])).stdout).toBe(`${version}\n`);
    const { code, stdout } = await cellar(["--help"]);
    expect(code).toBe(0);
    for (const name of COMMANDS) expect(stdout).toMatch(new RegExp(`^  ${name} `, "m"));
    expect((await cellar([])).stdout).toBe(stdout);
  });

  it.each(COMMANDS)("explains %s", async (name) => {
    const { code, stdout } = await cellar([name, "--help"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^Usage: cellar ${name}`));
  });

  it("refuses what it does not know with code 2 and a suggestion", async () => {
    const command = await cellar(["exce"]);
    expect(command).toMatchObject({ code: 2, stdout: "" });
    expect(command.stderr).toBe(
      "cellar: unknown command 'exce'\n  fix: did you mean exec? See cellar --help\n",
    );
    const option = await cellar(["doctor", "--jsn"]);
    expect(option).toMatchObject({ code: 2, stdout: "" });
    expect(option.stderr).toBe(
      "cellar: unknown option '--jsn'\n  fix: did you mean --json? See cellar doctor --help\n",
    );
    const nothing = await cellar(["daemon"]);
    expect(nothing).toMatchObject({ code: 2, stdout: "" });
    expect(nothing.stderr).toBe(
      "cellar: missing subcommand of cellar daemon: start, stop, status, run\n" +
        "  fix: cellar daemon --help\n",
    );
    const json = await cellar(["doctor", "--json", "--nonsense"]);
    expect(json.code).toBe(2);
    expect(JSON.parse(json.stdout).error.message).toContain("--nonsense");
  });

  it("refuses settings that do not fit", async () => {
    const { code, stderr } = await cellar(["exec", "-c", "1"], { env: { CELLAR_TIMEOUT: "soon" } });
    expect(code).toBe(2);
    expect(stderr).toContain('CELLAR_TIMEOUT is "soon", which is not a duration');
    const short = await cellar(["exec", "-c", "1"], { env: { CELLAR_TIMEOUT: "5" } });
    expect(short).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/CELLAR_TIMEOUT: 5 means 5 ms\n {2}fix: Write 5s for seconds/),
    });
  });

  it("refuses files that cannot be used, with code 2", async () => {
    const folder = mkdtempSync(join(tmpdir(), "cellar-test-"));
    try {
      const table = join(folder, "data.csv");
      writeFileSync(table, "a,b\n");
      const nowhere = join(folder, "nope", "x");
      const asking = ["rlm", "q", "--model", "m", "--base-url", "http://127.0.0.1:9/v1"];
      const wrong = [
        ["trace", "view", table],
        ["trace", "view", folder],
        ["rlm", "q", "--replay", table],
        [...asking, "--record", table],
        [...asking, "--trace", nowhere],
      ];
      for (const args of wrong) {
        const { code, stderr } = await cellar(args);
        expect({ args, code, stderr }).toEqual({
          args,
          code: 2,
          stderr: expect.stringMatching(/^cellar: .*\n {2}fix: /),
        });
      }
    } finally {
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
    }
  });
});

describe("cellar trace view", () => {
  it("does not write the page over the trace, whatever it is called", async () => {
    const folder = mkdtempSync(join(tmpdir(), "cellar-test-"));
    try {
      const [trace, page] = [join(folder, "run.jsonl"), join(folder, "page.html")];
      writeFileSync(trace, "");
      linkSync(trace, page);
      for (const out of [trace, page]) {
        const { code, stderr } = await cellar(["trace", "view", trace, "--out", out]);
        expect({ code, stderr }).toMatchObject({
          code: 2,
          stderr: expect.stringContaining("over"),
        });
      }
      expect(readFileSync(trace, "utf8")).toBe("");
    } finally {
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
    }
  });
});

describe("what cannot be written", () => {
  it("is no success, and is told where it can be", async (context) => {
    if (!existsSync("/dev/full")) context.skip("there is no /dev/full");
    const full = openSync("/dev/full", "w");
    const child = spawn(process.execPath, [MAIN, "--help"], { stdio: ["ignore", full, "pipe"] });
    closeSync(full);
    let stderr = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    expect((await once(child, "close"))[0]).toBe(125);
    expect(stderr).toMatch(/^cellar: [^\n]*ENOSPC/);
  });
});

describe("cellar demo", () => {
  let absence: string | undefined;
  beforeAll(async () => {
    absence = await sandboxAbsence();
  });

  it("shows that everything it promises happens", async () => {
    const { code, stdout, stderr } = await cellar(["demo"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).not.toContain("✗");
    const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
    const next = stdout.slice(stdout.indexOf("Next:"));
    expect(readme).toContain(`\n${next.trimEnd()}\n\`\`\`\n`);
    for (const act of ["state", "endless", "speed"]) expect(stdout).toMatch(new RegExp(`✓ ${act}`));
    const walled = absence === undefined ? "✓" : "-";
    for (const act of ["file", "network"]) expect(stdout).toMatch(new RegExp(`${walled} ${act}`));
  });
});
