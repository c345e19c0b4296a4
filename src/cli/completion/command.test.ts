import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cellar, MAIN, Screen } from "../../../test/support/command-line.js";
import { commandTree } from "../program.js";
import { completeWords } from "./words.js";

/** A notebook that has no cell yet, as it lies on the disk. */
const IPYNB = JSON.stringify({ nbformat: 4, nbformat_minor: 5, metadata: {}, cells: [] });

describe("completion in a shell", () => {
  let home = "";
  let env: Record<string, string> = {};
  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), "cellar-test-"));
    const bin = join(home, "bin");
    mkdirSync(bin);
    const program = join(bin, "cellar");
    writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
    chmodSync(program, 0o755);
    env = { HOME: home, XDG_STATE_HOME: home, PATH: `${bin}:${process.env.PATH}` };
    writeFileSync(join(home, "report.py"), "1");
    writeFileSync(join(home, "empty.ipynb"), IPYNB);
    const imported = await cellar(["notebook", "import", "empty.ipynb", "sales-2024"], {
      env,
      cwd: home,
    });
    expect(imported).toMatchObject({ code: 0 });
  });
  afterAll(() => rmSync(home, { recursive: true, force: true, maxRetries: 10 }));

  const told = async (...words: string[]) => {
    const names = async ({ user }: { user?: string }) => (user === undefined ? ["sales-2024"] : []);
    const found = await completeWords(await commandTree(undefined), words, names);
    return [...found.words.map(({ word }) => word), ...(found.files ? [":files"] : [])];
  };

  it("knows commands, options, their values, notebooks and where files go", async () => {
    expect(await told("no")).toEqual(["notebook"]);
    expect(await told("")).toContain("completion");
    expect(await told("daemon", "st")).toEqual(["start", "stop", "status"]);
    expect(await told("exec", "--back")).toEqual(["--backend"]);
    expect(await told("exec", "--backend", "")).toEqual(["auto", "native", "daemon", "pyodide"]);
    expect(await told("exec", "--policy=re")).toEqual(["--policy=restricted"]);
    expect(await told("exec", "-q", "rep")).toEqual([":files"]);
    expect(await told("exec", "--timeout", "")).toEqual([]);
    expect(await told("notebook", "show", "sa")).toEqual(["sales-2024"]);
    expect(await told("notebook", "show", "--user", "other", "")).toEqual([]);
    expect(await told("notebook", "run", "sales-2024", "re")).toEqual([":files"]);
    expect(await told("notebook", "import", "x.ipynb", "")).toEqual([]);
    expect(await told("completion", "")).toEqual(["bash", "zsh", "fish"]);
  });

  it("works in bash", () => {
    const script = `
      eval "$(cellar completion bash)"
      try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _cellar; printf '%s|' "\${COMPREPLY[@]}"; echo; }
      try cellar not
      try cellar exec --backend = nat
      try cellar exec rep
      try cellar notebook show sal
      complete -p cellar`;
    const run = spawnSync("bash", ["--norc", "--noprofile", "-c", script], {
      env: { ...process.env, ...env },
      cwd: home,
      encoding: "utf8",
    });
    expect(run.stderr).toBe("");
    expect(run.stdout.split("\n")).toEqual([
      "notebook|",
      "native|",
      "report.py|",
      "sales-2024|",
      "complete -F _cellar cellar",
      "",
    ]);
  });

  it("works in zsh", async (ctx) => {
    if (spawnSync("zsh", ["-fc", "exit 0"]).status !== 0) ctx.skip("zsh is not installed");
    using shell = new Screen(["-f", "-i"], { program: ["zsh"], env, cwd: home });
    shell.type(
      'autoload -U compinit; compinit -u -D; eval "$(cellar completion zsh)"; print rea""dy\r',
    );
    await shell.sees(/\nready\r/);
    shell.type("cellar noteb\t");
    await shell.sees(/notebook/);
    shell.type("show sal\t");
    await shell.sees(/sales-2024/);
    shell.type("\u0015cellar exec --backend=nat\t");
    await shell.sees(/--backend=native/);
    shell.type("rep\t");
    await shell.sees(/report\.py/);
  });

  it("works in fish", (ctx) => {
    const lines = ["cellar noteb", "cellar exec --backend=nat", "cellar exec rep"];
    const asked = lines.map((line) => `complete -C '${line}'`).join("; ");
    const script = `cellar completion fish | source; ${asked}; complete -C 'cellar notebook show sal'`;
    const run = spawnSync("fish", ["--no-config", "-c", script], {
      env: { ...process.env, ...env },
      cwd: home,
      encoding: "utf8",
    });
    if (run.error !== undefined) ctx.skip("fish is not installed");
    expect(run.stdout.split("\n").map((line) => line.split("\t")[0])).toEqual([
      "notebook",
      "--backend=native",
      "report.py",
      "sales-2024",
      "",
    ]);
  });
});

describe("wrong usage", () => {
  it.each([
    [["exec", "--env", "SURELY_NOT_SET", "-c", "1"], "write --env SURELY_NOT_SET=VALUE"],
    [["notebook", "run"], "fix: cellar notebook run [options] <session> [files...]"],
    [["exec", "--timeout", "soon", "-c", "1"], "fix: cellar exec --help"],
    [["notebook", "shwo", "x"], "did you mean show? See cellar notebook --help"],
  ])("is told with the way out: %j", async (args, fix) => {
    const { code, stdout, stderr } = await cellar(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr.split("\n")[1]).toContain(fix);
    const json = await cellar([...args, "--json"]);
    expect(JSON.parse(json.stdout).error).toMatchObject({ code: "INVALID_INPUT" });
  });
});
