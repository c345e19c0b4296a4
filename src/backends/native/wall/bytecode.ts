import { spawn } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { packageVersion } from "../../../config/environment.js";
import type { Interpreter } from "../../../isolation/interpreter.js";
import { bootstrapCommand } from "./wall-parts.js";

/**
 * Compiles the runner in the background, for the next start with this interpreter; once for each.
 * Only in a package of this user: another one could not remove the files.
 */
export function compileRunner(interpreter: Interpreter, runner: string): Disposable | undefined {
  const done = join(runner, "__pycache__", `all-${interpreter.version}-${packageVersion()}`);
  if (existsSync(done) || statSync(runner).uid !== process.getuid?.()) return undefined;
  const [program = "", ...rest] = bootstrapCommand(interpreter, runner, "compile_runner");
  const child = spawn(program, [...rest, runner, done], { env: {}, cwd: "/", stdio: "ignore" });
  // Without it the next start is as slow as this one, and says nothing either.
  child.on("error", () => {});
  child.unref();
  return { [Symbol.dispose]: () => void child.kill() };
}
