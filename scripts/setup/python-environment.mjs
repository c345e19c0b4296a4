import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { lastLine, run } from "./command.mjs";
import { findPython, insideEnvironment, probePython } from "./python-interpreter.mjs";
import { giveToOwner, hashOf, triedLately } from "./state.mjs";
import { installFromSystem } from "./system-packages.mjs";

const INSTALL_TIMEOUT = 12 * 60 * 1000;
const VENV_TIMEOUT = 2 * 60 * 1000;
const PIP_INSTALL = [
  "-m",
  "pip",
  "install",
  "--retries",
  "1",
  "--timeout",
  "15",
  "--disable-pip-version-check",
  "--no-input",
  "--only-binary",
  ":all:",
];
const UNREACHABLE = /connection broken|could not fetch url|max retries exceeded/i;
const INSTALLED = `
import importlib.metadata as m, json, sys
def has(name):
    try:
        return bool(m.version(name))
    except m.PackageNotFoundError:
        return False
print(json.dumps([name for name in sys.argv[1:] if has(name)]))
`;

export async function preparePython(context) {
  const { root, report } = context;
  const system = await findPython(context);
  if (system === undefined) {
    report.missing("python", "no Python 3.8 or newer found", "install it or set CELLAR_PYTHON");
    return;
  }
  report.ok("python", `${system.version}, ${system.path}`);

  const folder = join(root, ".venv");
  const venv = await openVenv(folder, system, context);
  if (venv === undefined) return;
  report.ok("python environment", `.venv with Python ${venv.version}`);
  await installPackages(folder, venv, context);
}

async function openVenv(folder, system, context) {
  const { root, report, state, retry } = context;
  const { attempts } = state.values;
  const present = await probePython(insideEnvironment(folder));
  const wanted = process.env.CELLAR_PYTHON;
  if (present !== undefined && (!wanted || present.prefix === system.prefix)) return present;

  const key = hashOf(system.path, system.version, String(system.ensurepip));
  const remedy = "npm run setup -- --retry; until then the system's Python is used";
  if (triedLately(attempts.venv, key, retry)) {
    report.missing(
      "python environment",
      `${attempts.venv.cause}; not tried again for a day`,
      remedy,
    );
    return undefined;
  }
  report.progress("creating .venv (a few seconds)");
  if (!system.ensurepip || !system.venv) {
    const debian = await installFromSystem(["python3-venv"]);
    if (!debian.ok && !(await probePython(system.path))?.ensurepip) {
      const cause = "this Python has no venv module";
      if (debian.tried) attempts.venv = { key, at: Date.now(), cause };
      report.missing("python environment", cause, `${debian.remedy}, then npm run setup`);
      return undefined;
    }
  }
  const made = await run(system.path, ["-m", "venv", "--clear", folder], { timeout: VENV_TIMEOUT });
  const venv = made.ok ? await probePython(insideEnvironment(folder)) : undefined;
  if (venv === undefined) {
    rmSync(folder, { recursive: true, force: true });
    const cause = `python -m venv failed: ${lastLine(made.output)}`;
    attempts.venv = { key, at: Date.now(), cause };
    report.missing("python environment", cause, remedy);
    return undefined;
  }
  giveToOwner(root, folder);
  delete attempts.venv;
  delete state.values.packages;
  return venv;
}

async function installPackages(folder, venv, { root, report, state, retry }) {
  const names = readRequirements(root);
  const key = hashOf(venv.version, ...names);
  const done = state.values.packages;
  if (done?.key === key && done.missing.length === 0) {
    report.ok("python packages", "up to date");
    return;
  }
  if (triedLately(done, key, retry)) {
    reportMissing(report, { ...done, again: "; not tried again for a day" });
    return;
  }
  const working = report.working(`installing ${names.length} Python packages (about a minute)`);
  shareSystemPackages(folder, false);
  const { cause, unreachable } = await pipInstall(venv, names, working.onText);
  working.end();
  if (unreachable) shareSystemPackages(folder, true);
  const installed = await listInstalled(venv, names);
  const missing = names.filter((name) => !installed.includes(name));
  giveToOwner(root, folder);
  state.values.packages = { key, at: Date.now(), missing, cause, unreachable };
  if (missing.length === 0) report.ok("python packages", `${names.length} installed`);
  else reportMissing(report, { missing, cause, unreachable, again: "" });
}

/** All at once; one by one only if the index answers but a package fails. */
async function pipInstall(venv, names, onText) {
  const deadline = Date.now() + INSTALL_TIMEOUT;
  const pip = (wanted) =>
    run(venv.path, [...PIP_INSTALL, ...wanted], {
      timeout: Math.max(deadline - Date.now(), 1),
      onText,
    });
  if (!venv.pip) await run(venv.path, ["-m", "ensurepip"], { timeout: VENV_TIMEOUT });
  let result = await pip(names);
  const isUnreachable = () => !result.ok && UNREACHABLE.test(result.output);
  if (result.ok || isUnreachable() || result.timedOut) {
    return { cause: result.ok ? "" : lastLine(result.output), unreachable: isUnreachable() };
  }
  let cause = "";
  for (const name of names) {
    result = await pip([name]);
    if (!result.ok) cause = lastLine(result.output);
    if (isUnreachable() || result.timedOut) break;
  }
  return { cause, unreachable: isUnreachable() };
}

/** Without an index, use the system's packages; with one, they would mix with other versions. */
function shareSystemPackages(folder, share) {
  const path = join(folder, "pyvenv.cfg");
  const text = readFileSync(path, "utf8");
  const line = `include-system-site-packages = ${share}`;
  writeFileSync(path, text.replace(/^include-system-site-packages\s*=.*$/m, line));
}

async function listInstalled(venv, names) {
  const result = await run(venv.path, ["-I", "-c", INSTALLED, ...names]);
  return result.ok ? JSON.parse(result.stdout) : [];
}

function reportMissing(report, { missing, cause, unreachable, again }) {
  const text = unreachable
    ? `no package index answered, using the system's packages${again}; missing ${missing.join(" ")}`
    : `missing ${missing.join(" ")}${again}: ${cause}`;
  const isNetwork = unreachable || /^stopped after/.test(cause);
  const remedy = `${isNetwork ? "check the network or PIP_INDEX_URL, then " : ""}npm run setup -- --retry`;
  report.missing("python packages", text, remedy);
}

function readRequirements(root) {
  const lines = readFileSync(join(root, "python", "requirements.txt"), "utf8").split("\n");
  return lines.map((line) => line.replace(/#.*/, "").trim()).filter((line) => line !== "");
}
