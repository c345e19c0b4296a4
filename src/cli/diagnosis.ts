import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { release } from "node:os";
import { promisify } from "node:util";
import type { Isolation } from "../backends/backend.js";
import { daemonAddress } from "../backends/daemon/address.js";
import { machine } from "../backends/native/machine.js";
import { findInterpreter } from "../backends/native/nursery.js";
import { preloadNames } from "../backends/native/preload.js";
import type { NativeRuntime } from "../backends/native/runtime.js";
import { createSandbox, sharedRuntime } from "../backends/select.js";
import { type IsolationLevel, type Settings, surroundings } from "../config.js";
import { describeError } from "../errors.js";
import { locateBwrap } from "../isolation/layout.js";
import { claimOf, type IsolationCheck, meets } from "../isolation/levels.js";
import { remedyFor } from "../isolation/remedies.js";
import { describeReport, inspectDaemon } from "./daemon.js";
import { describeFailure } from "./failures.js";

/** `info` is neither good nor bad; `warn` costs comfort or a level, `fail` the sandbox. */
export interface HealthCheck {
  readonly name: string;
  readonly status: "ok" | "warn" | "fail" | "info";
  readonly detail: string;
  readonly fix?: string | undefined;
}

export interface Diagnosis {
  /** A sandbox can be made and its level is at least the minimum. */
  readonly ok: boolean;
  /** Null when no sandbox can be made. */
  readonly level: IsolationLevel | null;
  readonly claims: string | null;
  readonly minimum: IsolationLevel;
  /** What stands between this machine and L3. */
  readonly missing: readonly string[];
  readonly python: {
    readonly executable: string;
    readonly version: string;
    readonly reason: string;
  } | null;
  readonly checks: readonly HealthCheck[];
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly remedy: string | null;
  } | null;
}

type Live = Awaited<ReturnType<ReturnType<NativeRuntime["nursery"]>["warm"]>>;
type Attempt<T> = { readonly value: T } | { readonly error: unknown };

/** Not needed for L3, so their absence is no fault. */
const BEYOND: readonly string[] = ["landlock", "guest-kernel"];
const OLDEST_NODE = [20, 19] as const;

/** Looks at everything the sandbox stands on; whatever is missing becomes a line, never a throw. */
export async function diagnose(settings: Settings): Promise<Diagnosis> {
  const python = await attempt(findInterpreter(settings, surroundings()));
  const live = await attempt(
    sharedRuntime().then((runtime) => runtime.nursery({ ...settings, poolSize: 0 }).warm()),
  );
  const isolation = "value" in live ? live.value.isolation : await withoutWalls(settings);
  const checks = [
    nodeCheck(),
    platformCheck(),
    pythonCheck(python),
    ...("value" in live ? packageChecks(live.value) : []),
    await bwrapCheck(),
    ...machineChecks(),
    await daemonCheck(),
    ...("value" in live ? live.value.isolation.checks.map(probeCheck) : [wallsCheck(live.error)]),
    isolationCheck(isolation, settings.minIsolation),
  ];
  return {
    ok: isolation !== undefined && meets(isolation.level, settings.minIsolation),
    level: isolation?.level ?? null,
    claims: isolation === undefined ? null : claimOf(isolation.level),
    minimum: settings.minIsolation,
    missing: isolation?.missing ?? [],
    python:
      "value" in python
        ? {
            executable: python.value.executable,
            version: python.value.version,
            reason: python.value.reason,
          }
        : null,
    checks,
    error: "error" in live ? describeFailure(live.error) : null,
  };
}

async function attempt<T>(work: Promise<T>): Promise<Attempt<T>> {
  try {
    return { value: await work };
  } catch (error) {
    return { error };
  }
}

function nodeCheck(): HealthCheck {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const fits = major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1]);
  const detail = `${process.versions.node}, ${process.execPath}`;
  return fits
    ? { name: "node", status: "ok", detail }
    : {
        name: "node",
        status: "fail",
        detail,
        fix: `Install Node ${OLDEST_NODE.join(".")} or newer.`,
      };
}

function platformCheck(): HealthCheck {
  const detail = `${process.platform} ${release()} ${process.arch}`;
  return process.platform === "linux"
    ? { name: "platform", status: "ok", detail }
    : {
        name: "platform",
        status: "fail",
        detail,
        fix: "The sandbox needs Linux: use a virtual machine, WSL 2 or a container.",
      };
}

function pythonCheck(python: Attempt<Awaited<ReturnType<typeof findInterpreter>>>): HealthCheck {
  if ("value" in python) {
    const { version, executable, reason, hidden } = python.value;
    const detail = `${version}, ${executable} (${reason})`;
    const [first] = hidden;
    if (first === undefined) return { name: "python", status: "ok", detail };
    const others = hidden.length > 1 ? ` and ${hidden.length - 1} more` : "";
    return {
      name: "python",
      status: "warn",
      detail: `${detail}; not shown inside: ${first.path}${others}, named by a .pth file (${first.reason})`,
      fix: "Install that package without -e, or keep its source where sessions may read it.",
    };
  }
  const { message, remedy } = describeFailure(python.error);
  return { name: "python", status: "fail", detail: message, fix: remedy ?? remedyFor("python") };
}

function packageChecks({ report }: Live): HealthCheck[] {
  const standard = new Set(preloadNames("standard"));
  const packages = report.preloaded.filter(({ name }) => !standard.has(name));
  const named = packages.map(({ name, version }) => `${name} ${version}`).join(", ");
  const preloaded: HealthCheck = {
    name: "preload",
    status: "ok",
    detail: `${named || "no packages"} (in ${report.seconds.toFixed(1)} s)`,
  };
  if (report.absent.length === 0) return [preloaded];
  const modules = report.absent.map(({ name }) => name.split(".")[0] ?? name);
  const names = [...new Set(modules.map(distributionOf))];
  return [
    preloaded,
    {
      name: "absent",
      status: "warn",
      detail: report.absent.map(describeAbsence).join(", "),
      fix: `cellar install ${names.join(" ")}`,
    },
  ];
}

function describeAbsence({ name, reason }: Live["report"]["absent"][number]): string {
  return reason.startsWith("ModuleNotFoundError") ? name : `${name} (${reason})`;
}

function distributionOf(module: string): string {
  return module === "sklearn" ? "scikit-learn" : module;
}

async function bwrapCheck(): Promise<HealthCheck> {
  const path = locateBwrap(surroundings().path);
  if (path === undefined) {
    const fix = remedyFor("bwrap-missing", readText("/etc/os-release"));
    return { name: "bwrap", status: "fail", detail: "bubblewrap is not installed", fix };
  }
  try {
    const { stdout } = await promisify(execFile)(path, ["--version"], { timeout: 10_000 });
    return {
      name: "bwrap",
      status: "ok",
      detail: `${stdout.trim().replace(/^\w+ /, "")}, ${path}`,
    };
  } catch (error) {
    const fix = remedyFor("bwrap-missing", readText("/etc/os-release"));
    const detail = `${path} cannot be run: ${describeError(error)}`;
    return { name: "bwrap", status: "fail", detail, fix };
  }
}

function machineChecks(): HealthCheck[] {
  const { namespacesDisabled, appArmorRestricts, inContainer } = machine();
  const root = process.getuid?.() === 0;
  return [
    namespacesDisabled
      ? {
          name: "user-namespaces",
          status: "fail",
          detail: "switched off by a kernel setting",
          fix: remedyFor("user-namespaces-off"),
        }
      : { name: "user-namespaces", status: "ok", detail: "no kernel setting forbids them" },
    appArmorRestricts
      ? {
          name: "apparmor",
          // Root is not held by that restriction.
          status: root ? "info" : "warn",
          detail: "keeps user namespaces from programs without a profile",
          ...(!root && { fix: remedyFor("apparmor") }),
        }
      : { name: "apparmor", status: "ok", detail: "does not restrict user namespaces" },
    {
      name: "container",
      status: "info",
      detail: inContainer ? "this machine is a container" : "no sign of a container",
    },
    {
      name: "started-as",
      status: "info",
      detail: root
        ? "root: an unprivileged uid is taken before the sandbox starts"
        : `uid ${process.getuid?.() ?? "unknown"}`,
    },
  ];
}

async function daemonCheck(): Promise<HealthCheck> {
  try {
    const report = await inspectDaemon(daemonAddress(surroundings().home));
    const detail = describeReport(report).replaceAll("\n", "; ");
    if (!report.running || report.status !== null)
      return { name: "daemon", status: "info", detail };
    return { name: "daemon", status: "warn", detail, fix: "Run cellar daemon stop." };
  } catch (error) {
    const { message, remedy } = describeFailure(error);
    const fix = remedy ?? "Run cellar daemon stop.";
    return { name: "daemon", status: "warn", detail: message, fix };
  }
}

function probeCheck({ name, ok, detail, fix }: IsolationCheck): HealthCheck {
  if (ok) return { name, status: "ok", detail };
  if (BEYOND.includes(name)) return { name, status: "info", detail };
  const status = name.startsWith("cgroup.") ? "warn" : "fail";
  return { name, status, detail, fix: fix ?? "Tell the maintainers: this wall should have held." };
}

function wallsCheck(error: unknown): HealthCheck {
  const { code, message, remedy } = describeFailure(error);
  const fix = remedy ?? "Mend the lines above, then run cellar doctor again.";
  const detail = code === "PYTHON_UNSUITABLE" ? "not tried without a Python" : message;
  return { name: "walls", status: "fail", detail, fix };
}

function isolationCheck(isolation: Isolation | undefined, minimum: IsolationLevel): HealthCheck {
  if (isolation === undefined) {
    return {
      name: "isolation",
      status: "fail",
      detail: "no session can be started at all",
      fix: "Mend the lines above, then run cellar doctor again.",
    };
  }
  const { level, missing } = isolation;
  const without = missing.length === 0 ? "" : ` Missing: ${missing.join(", ")}.`;
  const detail = `${level} (at least ${minimum} is asked for): ${claimOf(level)}${without}`;
  return meets(level, minimum)
    ? { name: "isolation", status: "ok", detail }
    : {
        name: "isolation",
        status: "fail",
        detail,
        fix: `Mend the lines above, or accept less: --min-isolation ${level} of exec and repl, or the setting minIsolation.`,
      };
}

/** What a session would have that goes without walls, tried out. */
async function withoutWalls(settings: Settings): Promise<Isolation | undefined> {
  const plain = {
    ...settings,
    backend: "native",
    preload: "none",
    poolSize: 0,
    minIsolation: "L0",
  } as const;
  const session = await attempt(createSandbox(plain));
  if ("error" in session) return undefined;
  await session.value.destroy();
  return session.value.info.isolation;
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
