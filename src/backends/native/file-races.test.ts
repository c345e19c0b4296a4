import { afterAll, describe, expect, it } from "vitest";
import { openNativeRuntime } from "../../../test/support/native-runtime.js";
import { isCellarError } from "../../errors.js";

const { runtime, unavailable } = await openNativeRuntime();
afterAll(() => runtime[Symbol.asyncDispose]());

const create = () => runtime.createSandbox({ preload: "none", poolSize: 0, checkpoints: "off" });

/** A process that makes `d` a folder and a link to elsewhere by turns, with no moment in between. */
const SWAPPING = `
import os, subprocess, sys
os.makedirs('/tmp/elsewhere')
open('/tmp/elsewhere/f', 'w').write('outside')
os.makedirs('d')
open('d/f', 'w').write('inside')
os.symlink('/tmp/elsewhere', 'way')
swapper = subprocess.Popen([sys.executable, '-c', '''
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
while True:
    if libc.renameat2(-100, b"d", -100, b"way", 2):
        raise SystemExit(ctypes.get_errno())
'''])
`;

describe("files of a session at work", () => {
  it("go in and out while a cell runs", async (context) => {
    if (unavailable !== undefined) context.skip(unavailable);
    await using sandbox = await create();
    const waiting =
      "import os, time\nopen('at', 'w').write('work')\nwhile not os.path.exists('go'): time.sleep(0.01)";
    const run = sandbox.execute(`${waiting}\nopen('go').read()`);
    const at = async (): Promise<string> => {
      try {
        const text = String(await sandbox.getFile("at"));
        return text === "" ? at() : text;
      } catch (error) {
        if (isCellarError(error, "NOT_FOUND")) return at();
        throw error;
      }
    };
    expect(await at()).toBe("work");
    await sandbox.putFile("go", "now");
    expect((await run).result?.["text/plain"]).toBe("'now'");
  });

  it("never come from elsewhere, whatever a cell puts in their place", async (context) => {
    if (unavailable !== undefined) context.skip(unavailable);
    await using sandbox = await create();
    expect((await sandbox.execute(SWAPPING)).error).toBeNull();
    const seen = new Set<string>();
    const isSeen = () => seen.has("inside") && seen.has("INVALID_INPUT");
    for (let round = 0; round < 100 || (round < 5000 && !isSeen()); round += 1) {
      for (const work of [
        () => sandbox.getFile("d/f").then(String),
        () => sandbox.putFile("d/planted", "x").then(() => "put"),
      ]) {
        const told = await work().catch((error: unknown) => {
          if (isCellarError(error)) return error.code;
          throw error;
        });
        seen.add(told);
      }
    }
    expect([...seen].sort()).toEqual(["INVALID_INPUT", "inside", "put"]);
    const { result } = await sandbox.execute(
      "swapper.kill(); os.path.exists('/tmp/elsewhere/planted')",
    );
    expect(result?.["text/plain"]).toBe("False");
  });

  it("stay with the session that a large context is given to", async (context) => {
    if (unavailable !== undefined) context.skip(unavailable);
    await using sandbox = await create();
    await sandbox.putFile("kept", "x");
    await sandbox.initialize("y".repeat(2_000_000));
    expect(String(await sandbox.getFile("kept"))).toBe("x");
  });

  it("are seen by a twin", async (context) => {
    if (unavailable !== undefined) context.skip(unavailable);
    await using sandbox = await runtime.createSandbox({ preload: "none", poolSize: 0 });
    await sandbox.execute("x = 1");
    await using twin = await sandbox.fork();
    await sandbox.putFile("shared", "x");
    expect(String(await twin.getFile("shared"))).toBe("x");
    const lists = await Promise.all([sandbox.listFiles(), twin.listFiles()]);
    expect(lists[0]).toEqual(lists[1]);
  });
});
