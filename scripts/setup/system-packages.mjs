import { findProgram, lastLine, run } from "./command.mjs";
import { triedLately } from "./state.mjs";

const INSTALL_TIMEOUT = 5 * 60 * 1000;
const APT_OPTIONS = [
  "-o",
  "Acquire::Retries=1",
  "-o",
  "Acquire::http::Timeout=15",
  "-o",
  "Acquire::https::Timeout=15",
  "-o",
  "DPkg::Lock::Timeout=60",
];

const TOOLS = [
  { program: "bwrap", name: "bubblewrap", linuxOnly: true },
  { program: "rg", name: "ripgrep", linuxOnly: false },
];

const INSTALLERS = [
  {
    program: "apt-get",
    refresh: [...APT_OPTIONS, "update"],
    install: [...APT_OPTIONS, "install", "-y", "--no-install-recommends"],
    hint: "apt-get install",
  },
  { program: "dnf", install: ["install", "-y"], hint: "dnf install" },
  { program: "apk", install: ["add", "--no-progress"], hint: "apk add" },
  { program: "pacman", install: ["-Sy", "--noconfirm", "--needed"], hint: "pacman -S" },
  { program: "brew", hint: "brew install" },
];

export async function installSystemPackages({ report, state, retry }) {
  let refresh = true;
  for (const { program, name, linuxOnly } of TOOLS) {
    const found = findProgram(program);
    if (found !== undefined) {
      report.ok(name, found);
    } else if (linuxOnly && process.platform !== "linux") {
      report.note(name, "exists only on Linux; sessions run without OS isolation here");
    } else {
      await installTool({ program, name, report, state, retry, refresh });
      refresh = false;
    }
  }
}

/** Installs packages as root; otherwise returns the command to run. */
export async function installFromSystem(names, { refresh = true } = {}) {
  const installer = INSTALLERS.find(({ program }) => findProgram(program) !== undefined);
  if (installer === undefined) {
    return { ok: false, cause: "missing", remedy: `install ${names.join(" and ")}` };
  }
  const remedy = `${installer.hint} ${names.join(" ")}`;
  if (installer.install === undefined) return { ok: false, cause: "missing", remedy };
  if (process.getuid?.() !== 0) {
    return { ok: false, cause: "missing, and only root may install it", remedy: `sudo ${remedy}` };
  }
  const options = { env: { DEBIAN_FRONTEND: "noninteractive" }, timeout: INSTALL_TIMEOUT };
  if (refresh && installer.refresh !== undefined)
    await run(installer.program, installer.refresh, options);
  const result = await run(installer.program, [...installer.install, ...names], options);
  return { ok: result.ok, tried: true, cause: lastLine(result.output), remedy };
}

async function installTool({ program, name, report, state, retry, refresh }) {
  const { attempts } = state.values;
  if (triedLately(attempts[name], name, retry)) {
    report.missing(name, "missing; not tried again for a day", attempts[name].remedy);
    return;
  }
  if (process.getuid?.() === 0) report.progress(`installing ${name} (about ten seconds)`);
  const { cause, remedy, tried } = await installFromSystem([name], { refresh });
  const found = findProgram(program);
  if (found !== undefined) {
    delete attempts[name];
    report.ok(name, `installed, ${found}`);
    return;
  }
  if (tried)
    attempts[name] = {
      key: name,
      at: Date.now(),
      remedy: `${remedy}, or npm run setup -- --retry`,
    };
  report.missing(name, cause, remedy);
}
