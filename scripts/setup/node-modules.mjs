import { existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { lastLine, run } from "./command.mjs";
import { giveToOwner, hashOf, triedLately } from "./state.mjs";

const OLDEST_NODE = [20, 19];
const INSTALL_TIMEOUT = 10 * 60 * 1000;
const REMEDY =
  "check the npm registry and that this folder is yours, then npm run setup -- --retry";

export function checkNode({ report }) {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const [wantedMajor, wantedMinor] = OLDEST_NODE;
  if (major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)) {
    report.ok("node", process.versions.node);
    return;
  }
  const wanted = OLDEST_NODE.join(".");
  report.missing("node", `${process.versions.node} is too old`, `install Node ${wanted} or newer`);
}

export async function installNodeModules({ root, report, state, retry }) {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  const folder = join(root, "node_modules");
  if (isInstalled(folder, lock)) {
    report.ok("npm packages", "up to date");
    return;
  }

  const { attempts } = state.values;
  const key = hashOf(JSON.stringify(lock));
  if (hasCompiler(folder) && triedLately(attempts.npm, key, retry)) {
    const text = `older ones kept, not tried again for a day: ${attempts.npm.cause}`;
    report.missing("npm packages", text, REMEDY);
    return;
  }
  const working = report.working("installing npm packages (about ten seconds)");
  const previous = join(root, "node_modules.previous");
  rmSync(previous, { recursive: true, force: true });
  const hadFolder = existsSync(folder);
  let result;
  try {
    // `npm ci` empties the folder before it knows whether the registry answers.
    if (hadFolder) renameSync(folder, previous);
    result = await run(...npmCommand(["ci", "--prefer-offline", "--fetch-retries=1"]), {
      cwd: root,
      timeout: INSTALL_TIMEOUT,
      onText: working.onText,
    });
    giveToOwner(root, folder);
  } catch (error) {
    result = { ok: false, output: error.message };
  }
  working.end();
  if (result.ok) {
    rmSync(previous, { recursive: true, force: true });
    delete attempts.npm;
    report.ok("npm packages", "installed");
    return;
  }

  if (hadFolder && existsSync(previous)) {
    rmSync(folder, { recursive: true, force: true });
    renameSync(previous, folder);
  }
  const cause = `npm ci failed: ${npmCause(result.output)}`;
  if (hasCompiler(folder)) {
    attempts.npm = { key, at: Date.now(), cause };
    report.missing("npm packages", `older ones kept, ${cause}`, REMEDY);
  } else {
    report.fatal("npm packages", cause, REMEDY);
  }
}

/** Compares npm's own record of the folder with the lock file, so that a manual `npm ci` counts. */
function isInstalled(folder, lock) {
  let installed;
  try {
    installed = JSON.parse(readFileSync(join(folder, ".package-lock.json"), "utf8"));
  } catch {
    return false;
  }
  if (!hasCompiler(folder)) return false;
  return Object.entries(lock.packages).every(([path, wanted]) => {
    if (path === "") return true;
    const present = installed.packages[path];
    if (present === undefined) return wanted.optional === true || wanted.devOptional === true;
    return present.version === wanted.version;
  });
}

function npmCause(output) {
  const reason = /request to .* failed, reason: .*/.exec(output)?.[0];
  const told = /^npm error (?!code |errno |syscall )(.*)$/m.exec(output)?.[1];
  return (reason ?? told ?? lastLine(output)).slice(0, 200);
}

function hasCompiler(folder) {
  return existsSync(join(folder, "typescript", "bin", "tsc"));
}

function npmCommand(args) {
  const beside = dirname(process.execPath);
  const scripts = [
    process.env.npm_execpath ?? "",
    join(beside, "..", "lib", "node_modules", "npm", "bin", "npm-cli.js"),
    join(beside, "node_modules", "npm", "bin", "npm-cli.js"),
  ];
  const script = scripts.find((path) => basename(path) === "npm-cli.js" && existsSync(path));
  return script === undefined ? ["npm", args] : [process.execPath, [script, ...args]];
}
