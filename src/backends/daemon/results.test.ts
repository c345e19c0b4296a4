import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DaemonHome, SMALL } from "../../../test/support/daemon-home.js";
import { openNativeRuntime } from "../../../test/support/native-runtime.js";
import { UnconvertedValue } from "../../protocol/values.js";
import type { Output } from "../backend.js";
import type { DaemonRuntime } from "./runtime.js";

const { runtime: probed, unavailable } = await openNativeRuntime();
await probed[Symbol.asyncDispose]();

let home: DaemonHome;
let runtime: DaemonRuntime;

beforeAll(async () => {
  home = new DaemonHome();
  if (unavailable === undefined) await home.start();
  runtime = home.runtime();
});

afterAll(() => home[Symbol.asyncDispose]());

function check(name: string, body: () => Promise<void>): void {
  it(name, async (context) => {
    if (unavailable !== undefined) context.skip(unavailable);
    await body();
  });
}

const IMAGE = [
  "class Image:",
  "    def __init__(self, n): self.n = n",
  "    def _repr_png_(self): return b'\\x89PNG\\r\\n\\x1a\\n' + bytes([self.n]) * 1000",
  "    def __repr__(self): return 'image %d' % self.n",
].join("\n");

function images(outputs: readonly Output[]): (number | undefined)[] {
  return outputs.flatMap((output) =>
    output.type === "display" ? [output.binary["image/png"]?.at(-1)] : [],
  );
}

describe("results through the daemon", () => {
  check("carry displays as bytes, in order with the text, to the cell they belong to", async () => {
    const shown: Output[] = [];
    const config = { ...SMALL, onDisplay: (output: Output) => shown.push(output) };
    await using sandbox = await runtime.createSandbox(config);
    await sandbox.execute(IMAGE);
    const first = await sandbox.execute(
      "print('a')\ndisplay(Image(1))\nprint('b')\ndisplay(Image(2))",
    );
    const kinds = first.outputs.map((output) => output.type);
    expect(kinds).toEqual(["stdout", "display", "stdout", "display"]);
    expect(images(first.outputs)).toEqual([1, 2]);
    await using twin = await sandbox.fork();
    const [second, third] = await Promise.all([
      sandbox.execute("display(Image(3))"),
      twin.execute("display(Image(4))"),
    ]);
    expect([images(second.outputs), images(third.outputs)]).toEqual([[3], [4]]);
    expect(images(shown).sort()).toEqual([1, 2, 3, 4]);
    const display = first.outputs[1];
    expect(display?.type === "display" && display.binary["image/png"]).toBeInstanceOf(Uint8Array);
  });

  check("have displays as they were shown last, and in their place", async () => {
    await using sandbox = await runtime.createSandbox(SMALL);
    const hook = "get_ipython().events.register('post_execute', lambda: print('after'))";
    const run = await sandbox.execute(
      `h = display('a', display_id='i')\nh.update('b')\nh.display('c')\n${hook}\n7`,
    );
    const shown = { type: "display", data: { "text/plain": "'c'" }, displayId: "i" };
    const told = { type: "stdout", text: "after\n", afterResult: true };
    expect(run.outputs).toMatchObject([shown, shown, told]);
    const cleared = await sandbox.execute("print('x'); get_ipython().display_pub.clear_output()");
    expect(cleared.stdout).toBe("after\n");
  });

  check("may be larger than a frame of a session", async () => {
    await using sandbox = await runtime.createSandbox(SMALL);
    const length = 30_000_000;
    const run = await sandbox.execute(
      `import sys\nfor _ in range(30): sys.stdout.write('x' * 1_000_000)`,
      { maxOutputLength: length },
    );
    expect([run.status, run.stdout.length]).toEqual(["ok", length]);
    expect((await sandbox.execute("1 + 1")).result?.["text/plain"]).toBe("2");
  });

  check("are cut and not lost when they have no room in a message", async () => {
    await using sandbox = await runtime.createSandbox(SMALL);
    const code = "import sys\nfor _ in range(60): sys.stdout.write('\\0' * 1_000_000)\nx = 7\nx";
    const run = await sandbox.execute(code, { maxOutputLength: 100_000_000, timeout: 30_000 });
    expect([run.status, run.result?.["text/plain"]]).toEqual(["ok", "7"]);
    const { stdout: omitted } = run.omitted;
    const notice = `\n... [${omitted.toLocaleString("en-US")} bytes omitted] ...\n`;
    const at = run.stdout.indexOf(notice);
    expect(at).toBeGreaterThan(20_000_000);
    expect(run.stdout.length - notice.length + omitted).toBe(60_000_000);
    expect((await sandbox.execute("x")).result?.["text/plain"]).toBe("7");
  });

  check("lose no text when they have very many pieces", async () => {
    await using sandbox = await runtime.createSandbox(SMALL);
    const run = await sandbox.execute(
      "import sys\nfor i in range(15_000):\n  print('o', flush=True)\n  print('e', file=sys.stderr, flush=True)",
      { timeout: 30_000 },
    );
    expect(run.stdout).toBe("o\n".repeat(15_000));
    expect(run.stderr).toBe("e\n".repeat(15_000));
    expect(run.outputs.length).toBeLessThanOrEqual(20_000);
  });

  check("keep errors as they were thrown, with code, remedy and details", async () => {
    await using sandbox = await runtime.createSandbox(SMALL);
    await sandbox.execute("x = 1");
    await expect(sandbox.undo(7)).rejects.toMatchObject({ code: "CHECKPOINT_GONE" });
    await expect(runtime.createSandbox({ minIsolation: "L4" })).rejects.toMatchObject({
      code: "SANDBOX_UNAVAILABLE",
      remedy: expect.any(String),
      details: { option: "minIsolation" },
    });
    const wrong = { tiemout: 5 } as object;
    await expect(runtime.createSandbox(wrong)).rejects.toMatchObject({
      code: "INVALID_CONFIG",
      message: expect.stringContaining("tiemout"),
    });
  });

  check("describe variables that have no other form", async () => {
    await using sandbox = await runtime.createSandbox(SMALL);
    await sandbox.execute("class A: pass\nthings = [object(), {1: A()}, {2, 3}, 2**80, b'x']");
    const things = (await sandbox.getVariable("things")) as unknown[];
    expect(things[0]).toBeInstanceOf(UnconvertedValue);
    expect((things[1] as Map<unknown, unknown>).get(1)).toBeInstanceOf(UnconvertedValue);
    expect(things.slice(2)).toEqual([new Set([2, 3]), 2n ** 80n, new Uint8Array([120])]);
  });
});
