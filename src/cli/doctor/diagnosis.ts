import type { Isolation, REPLConfig } from "../../backends/backend.js";
import { createSandbox } from "../../backends/create-sandbox.js";
import { daemonAddress, hasSocket } from "../../backends/daemon/address.js";
import { findInterpreter } from "../../backends/host/find-interpreter.js";
import type { NativeRuntime } from "../../backends/native/runtime.js";
import { preloadNames } from "../../backends/native/zygote/preload.js";
import { sharedRuntime } from "../../backends/shared.js";
import { hostEnvironment } from "../../config/environment.js";
import type { IsolationLevel, Settings } from "../../config.js";
import { isCellarError } from "../../errors.js";
import { claimOf, type IsolationCheck, meets } from "../../isolation/levels.js";
import { osRelease } from "../../isolation/python-needed.js";
import { isolationCause, remedyFor } from "../../isolation/remedies.js";
import { describeReport, inspectDaemon } from "../daemon/control.js";
import { dirOf } from "../options/notebook-place.js";
import { describeFailure } from "../terminal/report-error.js";
import { notebooksCheck, ownFilesCheck, socketFault, temporaryCheck } from "./folder-checks.js";
import {
  AGAIN,
  type Attempt,
  attempt,
  type Diagnosis,
  fail,
  type HealthCheck,
  info,
  ok,
  warn,
} from "./health-check.js";
import { bwrapCheck, machineChecks, nodeCheck, platformCheck } from "./machine-checks.js";
import { tryAgent, tryCell, tryCheckpoint, tryNotebook } from "./trial-runs.js";

type Live = Awaited<ReturnType<Awaited<ReturnType<NativeRuntime["zygotes"]>>["warm"]>>;
type Interpreter = Awaited<ReturnType<typeof findInterpreter>>;
type Found = Attempt<Interpreter>;

const BEYOND: readonly string[] = ["landlock", "guest-kernel"];
const NEEDS_PYTHON = "notebooks, cellar mcp, cellar install and the daemon need CPython";

/** CPython on this machine, and how much it isolates. */
interface Footing {
  readonly isolation: Isolation | undefined;
  readonly checks: readonly HealthCheck[];
  readonly error: unknown;
}

/** Pyodide is probed only when a cell runs in it. */
const NOTHING: Footing = { isolation: undefined, checks: [], error: undefined };

/**
 * Tries everything that a session, an agent and a notebook stand on, in the way they do; whatever
 * is missing becomes a line, never a throw.
 */
export async function diagnose(settings: Settings): Promise<Diagnosis> {
  const { packageRoot, temporary } = hostEnvironment();
  const python = await attempt(findInterpreter(settings, hostEnvironment()));
  const fallsBack = isReplaced(python, settings);
  const folder = dirOf({});
  // Before the trials, which write there too.
  const ownFiles = ownFilesCheck(packageRoot);
  const scratch = temporaryCheck(temporary);
  const shelf = notebooksCheck(folder);
  const config: REPLConfig = {
    poolSize: 0,
    spares: 0,
    ...(settings.python !== undefined && { python: settings.python }),
  };
  const footing = fallsBack ? NOTHING : await onPython(settings);
  const level = footing.isolation?.level;
  const canStart =
    fallsBack || hasDaemon() || (level !== undefined && meets(level, settings.minIsolation));
  const cell = canStart ? await tryCell(config) : undefined;
  const info = cell?.value;
  const [checkpoint, agent, notebook] = await Promise.all([
    info?.backend === "native" && info.mode === "zygote" ? tryCheckpoint(config) : undefined,
    info && tryAgent(config),
    fallsBack || shelf.status === "fail" ? undefined : info && tryNotebook(config, folder),
  ]);
  const isolation =
    info?.isolation ??
    (fallsBack ? await leastOf({ ...config, backend: "pyodide" }) : footing.isolation);
  const trials = [cell, checkpoint, agent, notebook].flatMap((trial) => trial?.check ?? []);
  return {
    ok: info !== undefined,
    level: isolation?.level ?? null,
    claims: isolation === undefined ? null : claimOf(isolation.level),
    minimum: settings.minIsolation,
    missing: [...(isolation?.missing ?? [])],
    backend: info?.backend ?? null,
    works: {
      cells: info !== undefined,
      agents: agent?.check.status === "ok",
      notebooks: notebook?.check.status === "ok",
    },
    python: "value" in python ? summaryOf(python.value) : null,
    checks: [
      nodeCheck(),
      platformCheck(),
      ownFiles,
      pythonCheck(python, fallsBack),
      await bwrapCheck(),
      ...machineChecks(),
      scratch,
      shelf,
      await daemonCheck(),
      ...footing.checks,
      ...trials,
      isolationCheck(isolation, settings.minIsolation, footing.error),
    ],
    error: footing.error === undefined ? null : describeFailure(footing.error),
  };
}

function summaryOf({ executable, version, reason }: Interpreter): Diagnosis["python"] {
  return { executable, version, reason };
}

/** A daemon's sessions can have more isolation than this process can give. */
function hasDaemon(): boolean {
  try {
    return hasSocket(daemonAddress(hostEnvironment().home));
  } catch {
    return false;
  }
}

/** Sessions use Pyodide only if no Python was named and no environment exists. */
function isReplaced(python: Found, settings: Settings): boolean {
  return (
    "error" in python &&
    isCellarError(python.error, "PYTHON_UNSUITABLE") &&
    python.error.details.environment === undefined &&
    settings.python === undefined
  );
}

async function onPython(settings: Settings): Promise<Footing> {
  const live = await attempt(
    sharedRuntime()
      .then((runtime) => runtime.zygotes({ ...settings, poolSize: 0 }))
      .then((zygotes) => zygotes.warm()),
  );
  if ("value" in live) {
    const { isolation } = live.value;
    const checks = [...packageChecks(live.value), ...isolation.checks.map(probeCheck)];
    return { isolation, checks, error: undefined };
  }
  const isolation = await leastOf({ backend: "native", preload: "none", poolSize: 0 });
  return { isolation, checks: [wallsCheck(live.error)], error: live.error };
}

async function leastOf(config: REPLConfig): Promise<Isolation | undefined> {
  const session = await createSandbox({ ...config, minIsolation: "L0" }).catch(() => undefined);
  await session?.destroy();
  return session?.info.isolation;
}

function pythonCheck(python: Found, fallsBack: boolean): HealthCheck {
  if ("value" in python) {
    const { version, executable, reason, hidden } = python.value;
    const detail = `${version}, ${executable} (${reason})`;
    const [first] = hidden;
    if (first === undefined) return ok("python", detail);
    const others = hidden.length > 1 ? ` and ${hidden.length - 1} more` : "";
    return warn(
      "python",
      `${detail}; not shown inside: ${first.path}${others}, named by a .pth file (${first.reason})`,
      "Install that package without -e, or keep its source where sessions may read it.",
    );
  }
  const { message, remedy } = describeFailure(python.error);
  if (!fallsBack) return fail("python", message, remedy ?? remedyFor("python"));
  const detail = `${message}\nCells run on Pyodide; ${NEEDS_PYTHON}.`;
  return warn("python", detail, remedyFor("python", osRelease()));
}

function packageChecks({ report }: Live): HealthCheck[] {
  const standard = new Set(preloadNames("standard"));
  const packages = report.preloaded.filter(({ name }) => !standard.has(name));
  const named = packages.map(({ name, version }) => `${name} ${version}`).join(", ");
  const preloaded = ok("preload", `${named || "no packages"} (in ${report.seconds.toFixed(1)} s)`);
  if (report.absent.length === 0) return [preloaded];
  const modules = report.absent.map(({ name }) => name.split(".")[0] ?? name);
  const names = new Set(modules.map((name) => (name === "sklearn" ? "scikit-learn" : name)));
  const absent = report.absent.map(({ name, reason }) =>
    reason.startsWith("ModuleNotFoundError") ? name : `${name} (${reason})`,
  );
  return [preloaded, warn("absent", absent.join(", "), `cellar install ${[...names].join(" ")}`)];
}

async function daemonCheck(): Promise<HealthCheck> {
  try {
    const { path, folder } = daemonAddress(hostEnvironment().home);
    const report = await inspectDaemon({ path, folder });
    const told = describeReport(report).replaceAll("\n", "; ");
    const fault = folder === undefined || report.running ? undefined : socketFault(folder);
    if (fault !== undefined) {
      const fix = "Set HOME to a folder of yours, or do without cellar daemon.";
      return warn("daemon", `${told}; ${fault}`, fix);
    }
    if (!report.running) return info("daemon", told);
    const detail = `${told}; exec, repl and createSandbox() use it`;
    return report.status === null
      ? warn("daemon", detail, "Run cellar daemon stop.")
      : info("daemon", detail);
  } catch (error) {
    const { message, remedy } = describeFailure(error);
    return warn("daemon", message, remedy ?? "Run cellar daemon stop.");
  }
}

function probeCheck({ name, ok: holds, detail, fix }: IsolationCheck): HealthCheck {
  if (holds) return ok(name, detail);
  if (BEYOND.includes(name)) return info(name, detail);
  const check = name.startsWith("cgroup.") ? warn : fail;
  return check(
    name,
    detail,
    fix ?? "Report this to the maintainers: the isolation should have held.",
  );
}

function wallsCheck(error: unknown): HealthCheck {
  const { code, message, remedy } = describeFailure(error);
  const detail = code === "PYTHON_UNSUITABLE" ? "not tried without a Python" : message;
  return fail("sandbox", detail, remedy ?? AGAIN);
}

function isolationCheck(
  isolation: Isolation | undefined,
  minimum: IsolationLevel,
  error: unknown,
): HealthCheck {
  if (isolation === undefined) return fail("isolation", "no session can be started", AGAIN);
  const { level, missing } = isolation;
  const without = missing.length === 0 ? "" : ` Missing: ${missing.join(", ")}.`;
  const detail = `${level} (at least ${minimum} is required): ${claimOf(level)}${without}`;
  if (meets(level, minimum)) return ok("isolation", detail);
  const isAboutIsolation =
    error === undefined ||
    (isCellarError(error) && isolationCause(error.details.cause) !== undefined);
  const fix = `Fix the lines above, or accept less: --min-isolation ${level} of exec and repl, or the setting minIsolation.`;
  return fail("isolation", detail, isAboutIsolation ? fix : AGAIN);
}
