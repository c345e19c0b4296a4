import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it, type TestContext } from "vitest";
import { hostEnvironment } from "../../../config/environment.js";
import { describeError } from "../../../errors.js";
import type { Interpreter } from "../../../isolation/interpreter.js";
import { findInterpreter } from "../../host/find-interpreter.js";
import { compileRunner } from "./bytecode.js";

const RUNNER = fileURLToPath(new URL("../../../../python/cellar_runner", import.meta.url));
/** In the header of bytecode: it is checked against the hash of its source. */
const CHECKED_HASH = 0b11;

let folder = "";
let interpreter: Interpreter | undefined;
let absence = "";

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "cellar-test-"));
  interpreter = await findInterpreter({} as never, hostEnvironment()).catch((error: unknown) => {
    absence = describeError(error);
    return undefined;
  });
});
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));

function python(ctx: TestContext): Interpreter {
  return interpreter ?? ctx.skip(`no Python: ${absence}`);
}

function newRunner(name: string): string {
  const runner = join(folder, name);
  cpSync(RUNNER, runner, { recursive: true, filter: (path) => !path.includes("__pycache__") });
  return runner;
}

function markIn(runner: string): string | undefined {
  const place = join(runner, "__pycache__");
  if (!existsSync(place)) return undefined;
  return readdirSync(place).find((name) => name.startsWith("all-"));
}

function bytecodeOf(runner: string, module: string): Buffer {
  const place = join(runner, dirname(module), "__pycache__");
  const name = module.slice(module.lastIndexOf("/") + 1);
  const file = readdirSync(place).find((one) => one.startsWith(`${name}.`)) ?? "";
  return readFileSync(join(place, file));
}

async function compiled(one: Interpreter, runner: string): Promise<void> {
  using _ = compileRunner(one, runner);
  await expect.poll(() => markIn(runner), { timeout: 60_000 }).toBeDefined();
}

describe("the bytecode of the runner", () => {
  it("is made once, of every module, and tied to what its source says", async (ctx) => {
    const one = python(ctx);
    const runner = newRunner("once");
    await compiled(one, runner);
    for (const module of ["errors", "zygote/supervisor", "cells/magics/dispatch"]) {
      expect(bytecodeOf(runner, module).readUInt32LE(4)).toBe(CHECKED_HASH);
    }
    expect(compileRunner(one, runner)).toBeUndefined();
  });

  it("is made again where the source is another one", async (ctx) => {
    const one = python(ctx);
    const runner = newRunner("changed");
    await compiled(one, runner);
    const [before, same] = [bytecodeOf(runner, "errors"), bytecodeOf(runner, "pristine")];
    writeFileSync(join(runner, "errors.py"), "changed = True\n");
    rmSync(join(runner, "__pycache__", markIn(runner) ?? ""));
    await compiled(one, runner);
    expect(bytecodeOf(runner, "errors").equals(before)).toBe(false);
    expect(bytecodeOf(runner, "pristine").equals(same)).toBe(true);
  });

  it("is not written into a package of another user", async (ctx) => {
    const one = python(ctx);
    const runner = newRunner("owned");
    const getuid = process.getuid;
    try {
      process.getuid = () => 12_345;
      expect(compileRunner(one, runner)).toBeUndefined();
    } finally {
      if (getuid !== undefined) process.getuid = getuid;
    }
  });
});
