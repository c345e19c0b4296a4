import { execFile } from "node:child_process";
import { release } from "node:os";
import { promisify } from "node:util";
import { machine } from "../../backends/host/machine.js";
import { hostEnvironment } from "../../config/environment.js";
import { describeError } from "../../errors.js";
import { locateBwrap } from "../../isolation/layout.js";
import { osRelease } from "../../isolation/python-needed.js";
import { remedyFor } from "../../isolation/remedies.js";
import type { HealthCheck } from "./health-check.js";

const OLDEST_NODE = [20, 19] as const;

export function nodeCheck(): HealthCheck {
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

export function platformCheck(): HealthCheck {
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

export async function bwrapCheck(): Promise<HealthCheck> {
  const path = locateBwrap(hostEnvironment().path);
  if (path === undefined) {
    const fix = remedyFor("bwrap-missing", osRelease());
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
    const fix = remedyFor("bwrap-missing", osRelease());
    const detail = `${path} cannot be run: ${describeError(error)}`;
    return { name: "bwrap", status: "fail", detail, fix };
  }
}

export function machineChecks(): HealthCheck[] {
  const { namespacesDisabled, appArmorRestricts, inContainer, isRealTime } = machine();
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
    ...(isRealTime
      ? [
          {
            name: "scheduling",
            status: "info",
            detail: "real-time: sessions are put back to an ordinary policy",
          } as const,
        ]
      : []),
  ];
}
