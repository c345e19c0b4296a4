import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { QUICK_PLACE, WorkspaceFixture } from "../../../test/support/notebook/workspace-fixture.js";
import type { Workspace } from "./workspace.js";

const ROUNDS = 500;
const MOST_ROUNDS = 5_000;

/** Exchanges the folder `sub` and a link for each other, as quickly as it can. */
const FLIPPER = `
import ctypes, os, sys
os.chdir(sys.argv[1])
exchange = getattr(ctypes.CDLL(None), "renameat2", lambda *_: -1)
swap = lambda: exchange(-100, b"sub", -100, b"link", 2)
print("flipping" if swap() == 0 else "unable", flush=True)
while swap() == 0:
    pass
`;

describe.runIf(process.platform === "linux")("a folder that turns into a link all the time", () => {
  let fixture: WorkspaceFixture;
  let workspace: Workspace;
  let flipper: ChildProcess;

  beforeEach(async (context) => {
    fixture = new WorkspaceFixture(16, QUICK_PLACE);
    workspace = fixture.open();
    const sub = join(workspace.path, "sub");
    mkdirSync(sub);
    writeFileSync(join(sub, "file"), "mine");
    mkdirSync(join(fixture.secret, "deep"));
    for (const name of ["file", "only-outside", "victim"]) {
      writeFileSync(join(fixture.secret, name), "SECRET");
    }
    symlinkSync(fixture.secret, join(workspace.path, "link"));
    flipper = spawn("python3", ["-c", FLIPPER, workspace.path], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [word] = await once(flipper.stdout as Readable, "data");
    if (!`${word}`.startsWith("flipping")) context.skip("names cannot be exchanged on this system");
  });
  afterEach(async () => {
    if (flipper.kill("SIGKILL")) await once(flipper, "exit");
    fixture[Symbol.dispose]();
  });

  /** Until both faces of the folder were met. */
  async function rounds(work: (round: number) => Promise<unknown>): Promise<void> {
    let [met, missed] = [0, 0];
    for (let round = 0; round < MOST_ROUNDS; round++) {
      if (round >= ROUNDS && met > 0 && missed > 0) break;
      const isMet = await work(round).then(
        () => true,
        () => false,
      );
      if (isMet) met += 1;
      else missed += 1;
    }
    expect(met).toBeGreaterThan(0);
    expect(missed).toBeGreaterThan(0);
    expect(readdirSync(fixture.secret).sort()).toEqual(["deep", "file", "only-outside", "victim"]);
    expect(readdirSync(join(fixture.secret, "deep"))).toEqual([]);
    expect(readFileSync(join(fixture.secret, "file"), "utf8")).toBe("SECRET");
  }

  it("gives no byte of what lies behind the link", async () => {
    const seen = new Set<string>();
    await rounds(async () => {
      seen.add((await workspace.get("sub/file")).toString());
    });
    expect([...seen]).toEqual(["mine"]);
  });

  it("takes no file to where the link leads", async () => {
    await rounds((round) => workspace.put(`sub/deep/new-${round % 7}`, "mine"));
  });

  it("has nothing removed behind the link", async () => {
    await rounds(async () => {
      await workspace.put("sub/victim", "mine");
      await workspace.remove("sub/victim");
    });
  });

  it("shows nothing of what lies behind the link", async () => {
    const seen = new Set<string>();
    await rounds(async () => {
      const { files } = await workspace.files();
      for (const { path } of files) seen.add(path);
      if (!files.some(({ path }) => path === "sub/file")) throw new Error("not met");
    });
    const outside = ["only-outside", "deep", "victim"];
    expect([...seen].filter((path) => outside.some((name) => path.includes(name)))).toEqual([]);
  });

  it("is copied with what it has itself, if at all", async () => {
    const seen = new Set<string>();
    const other = fixture.open("two");
    await rounds(async () => {
      await other.clear();
      await workspace.copyTo(other);
      const { files } = await other.files();
      for (const { path, kind } of files) {
        if (kind === "file") seen.add(`${path}=${await other.get(path)}`);
      }
      if (!files.some(({ path }) => path === "sub/file")) throw new Error("not met");
    });
    expect([...seen].filter((file) => !/^(sub|link)\/file=mine$/.test(file))).toEqual([]);
  });
});
