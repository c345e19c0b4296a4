import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { userScope } from "../../../isolation/cgroups/user-scope.js";
import { enterScope } from "./grouped-wall.js";

const SCOPE_SCRIPT = fileURLToPath(
  new URL("../../../../python/cellar_runner/bootstrap/enter_scope.py", import.meta.url),
);
const NAME = `cellar-${process.pid}-abcdef`;
const NUMBER = 7;
const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };

/**
 * Stands in for systemd-run, and for the kernel: it says where the process is as /proc would, and
 * makes the scope's folder. Neither systemd nor version 2 groups are needed for this.
 */
const STAND_IN = `#!/bin/sh
[ "$XDG_RUNTIME_DIR" = FOLDER ] || exit 1
for option; do
  shift
  case "$option" in
    --unit=*) unit="\${option#--unit=}" ;;
    --) break ;;
  esac
done
mkdir -p "FOLDER/tree/app/$unit" "FOLDER/proc/$$"
printf 'cpu memory pids' > "FOLDER/tree/app/$unit/cgroup.controllers"
: > "FOLDER/tree/app/$unit/cgroup.subtree_control"
echo '30 20 0:26 / FOLDER/tree rw - cgroup2 cgroup2 rw' > "FOLDER/proc/$$/mountinfo"
echo "0::/app/$unit" > "FOLDER/proc/$$/cgroup"
exec "$@"
`;

describe("a wall in a scope of the user's systemd", () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "cellar-scope-"));
    mkdirSync(join(folder, "bin"));
    const program = STAND_IN.replaceAll("FOLDER", folder);
    writeFileSync(join(folder, "bin", "systemd-run"), program, { mode: 0o755 });
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));

  const reached = () => ({ runtimeFolder: folder, busAddress: undefined });
  const scopeOf = (path = join(folder, "bin")) => userScope(NAME, path, reached());

  function started(command: readonly string[]) {
    const scope = scopeOf();
    if (scope === undefined) throw new Error("the stand-in was not found");
    const [program = "", ...before] = scope.command;
    const child = spawn(program, [...before, ...command], {
      env: { ...scope.environment, PATH: process.env.PATH },
      stdio: ["pipe", "pipe", "inherit"],
    });
    const pid = child.pid ?? 0;
    const enter = () =>
      enterScope(
        scope,
        pid,
        owner,
        NAME,
        () => child.exitCode !== null,
        join(folder, "proc", String(pid)),
      );
    return { child, pid, enter };
  }

  it("is looked for only where systemd says how to reach it", () => {
    expect(userScope(NAME, "/nowhere", reached())).toBeUndefined();
    const unreached = { runtimeFolder: undefined, busAddress: undefined };
    expect(userScope(NAME, join(folder, "bin"), unreached)).toBeUndefined();
    expect(scopeOf()?.command).toContain("--property=Delegate=yes");
  });

  it("gets a divided group, and is handed its folder before it goes on", async () => {
    const wanted = `import os; print(os.readlink("/proc/self/fd/${NUMBER}"))`;
    const wall = ["/usr/bin/env", "python3", "-c", wanted];
    const { child, pid, enter } = started(["python3", SCOPE_SCRIPT, String(NUMBER), ...wall]);
    const said = text(child.stdout);
    const cgroups = await enter();
    const place = join(folder, "tree", "app", `${NAME}.scope`, NAME);
    expect(cgroups?.directories.unified).toBe(place);
    expect(readFileSync(join(place, "zygote", "cgroup.procs"), "utf8")).toBe(String(pid));
    for (const group of [place, join(place, "..")]) {
      const enabled = readFileSync(join(group, "cgroup.subtree_control"), "utf8");
      expect(enabled).toBe("+memory +pids +cpu");
    }
    child.stdin.end(`${place}\n`);
    expect((await said).trim()).toBe(place);
  });

  it("is not waited for when systemd refuses", async () => {
    const { child } = started(["false"]);
    const stranger = join(folder, "stranger");
    mkdirSync(stranger, { recursive: true });
    writeFileSync(join(stranger, "cgroup"), "0::/user.slice/session-2.scope\n");
    const scope = scopeOf();
    if (scope === undefined) throw new Error("the stand-in was not found");
    const ended = () => child.exitCode !== null;
    expect(await enterScope(scope, child.pid ?? 0, owner, NAME, ended, stranger)).toBeUndefined();
  });
});
