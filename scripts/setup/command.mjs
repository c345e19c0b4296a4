import { spawn } from "node:child_process";
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";

const OUTPUT_LIMIT = 200_000;

/** Runs a program until it exits. Never throws: a missing program is `{ ok: false }` with the cause. */
export function run(file, args, { cwd, env = {}, timeout = 60_000, onText } = {}) {
  return new Promise((resolve) => {
    const child = spawn(file, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let stdout = "";
    let output = "";
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      child.kill("SIGKILL");
    }, timeout);
    child.stdout.setEncoding("utf8").on("data", (text) => {
      stdout = (stdout + text).slice(-OUTPUT_LIMIT);
      output = (output + text).slice(-OUTPUT_LIMIT);
      onText?.(text);
    });
    child.stderr.setEncoding("utf8").on("data", (text) => {
      output = (output + text).slice(-OUTPUT_LIMIT);
      onText?.(text);
    });
    const finish = (ok, note) => {
      clearTimeout(timer);
      resolve({ ok, stdout, output: output + note, timedOut });
    };
    child.on("error", (error) => finish(false, error.message));
    child.on("exit", () => {
      // A grandchild may keep the pipes open after a kill.
      if (timedOut) finish(false, `\nstopped after ${Math.round(timeout / 1000)} s`);
    });
    child.on("close", (code) => finish(code === 0 && !timedOut, ""));
  });
}

/** The full path of a program on PATH, or undefined. */
export function findProgram(name) {
  const suffix = process.platform === "win32" ? ".exe" : "";
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    const path = join(folder, name + suffix);
    if (folder !== "" && isExecutable(path)) return path;
  }
  return undefined;
}

/** The last non-empty line, for a one-line report. */
export function lastLine(output) {
  const lines = output.split("\n").map((line) => line.trim());
  const errors = lines.filter((line) => /^(error|e:)/i.test(line));
  const told = (errors.length > 0 ? errors : lines).filter((line) => line !== "");
  return (told.at(-1) ?? "no output").slice(0, 200);
}

function isExecutable(path) {
  if (!existsSync(path) || !statSync(path).isFile()) return false;
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
