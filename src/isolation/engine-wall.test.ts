import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { engineWallOptions, thisEngine } from "./engine-wall.js";
import { locateBwrap } from "./layout.js";
import { engineSeccompProgram } from "./seccomp/seccomp.js";

const NODE = "/opt/node";
const folder = mkdtempSync(join(tmpdir(), "cellar-engine-"));
const identity = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
const bwrap = locateBwrap("/usr/bin:/bin");

afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));

/** What a script prints behind the wall, with the filter or without it. */
function behindWall(script: string, hasFilter = true) {
  const engine = thisEngine();
  const options = engineWallOptions({
    shown: [{ host: engine.executable, guest: NODE }, ...engine.libraries],
    environment: { LD_LIBRARY_PATH: engine.libraryPath },
    hostname: "cellar",
    seccompFd: 3,
  });
  const filter = join(folder, "filter");
  writeFileSync(filter, engineSeccompProgram(process.arch === "arm64" ? "arm64" : "x64"));
  const descriptor = openSync(filter, "r");
  const args = [...(hasFilter ? options : options.slice(0, -2)), "--", NODE, "-e", script];
  const run = spawnSync(bwrap ?? "", args, {
    env: {},
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe", descriptor],
    ...identity,
  });
  closeSync(descriptor);
  return { out: run.stdout, err: run.stderr, status: run.status };
}

const works = bwrap !== undefined && behindWall("0").status === 0;

describe("the wall around an engine, as arguments", () => {
  const options = engineWallOptions({
    shown: [
      { host: "/deep/er", guest: "/opt/a/b" },
      { host: "/flat", guest: "/opt" },
    ],
    environment: { A: "1" },
    hostname: "cellar",
    seccompFd: 7,
  });

  it("shares nothing, shows what was named, and makes all of it read-only", () => {
    for (const option of ["--unshare-all", "--unshare-user", "--disable-userns", "--clearenv"]) {
      expect(options).toContain(option);
    }
    for (const option of ["--bind", "--dev-bind", "--cap-add", "--share-net"]) {
      expect(options).not.toContain(option);
    }
    expect(options.join(" ")).toContain("--ro-bind /flat /opt --ro-bind /deep/er /opt/a/b");
    expect(options.join(" ")).toMatch(/--remount-ro \/ .*--seccomp 7$/);
  });
});

describe.skipIf(!works)("the wall around an engine", () => {
  it("lets it compute, also in threads", () => {
    const { out, err } = behindWall(
      `const { Worker } = require("node:worker_threads");
       const worker = new Worker("require('node:worker_threads').parentPort.postMessage(6 * 7)", { eval: true });
       worker.on("message", (value) => console.log(value));`,
    );
    expect([out, err]).toEqual(["42\n", ""]);
  });

  it("shows no other program or file", () => {
    const { out } = behindWall(
      `const { readdirSync } = require("node:fs");
       console.log(readdirSync("/").sort().join(), readdirSync("/opt").join());`,
    );
    const shown = out.trim().split(" ")[0]?.split(",") ?? [];
    for (const name of ["etc", "home", "root", "tmp", "bin"]) expect(shown).not.toContain(name);
    expect(out).toContain("node");
  });

  it.each([
    ["start a program", `require("node:child_process").spawnSync("${NODE}", ["-v"]).error`],
    ["change a file", `attempt(() => require("node:fs").mkdirSync("/dev/shm/x"))`],
    ["open a socket", `await connected()`],
  ])("the filter lets nobody %s, and is what hinders it", (_, attempt) => {
    const script = `
      const attempt = (work) => { try { work(); } catch (error) { return error; } };
      const connected = () => new Promise((resolve) => {
        const server = require("node:net").createServer().listen(0, "127.0.0.1", () => resolve());
        server.unref();
        server.on("error", resolve);
      });
      (async () => { console.log(String((${attempt})?.code)); process.exit(); })();`;
    expect(behindWall(script).out).toBe("EPERM\n");
    expect(behindWall(script, false).out).not.toBe("EPERM\n");
  });
});
