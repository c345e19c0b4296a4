import { execFile } from "node:child_process";
import { release } from "node:os";
import { promisify } from "node:util";
import { machine } from "../../backends/host/machine.js";
import { hostEnvironment } from "../../config/environment.js";
import { describeError } from "../../errors.js";
import { locateBwrap } from "../../isolation/layout.js";
import { osRelease } from "../../isolation/python-needed.js";
import { remedyFor } from "../../isolation/remedies.js";
import { fail, type HealthCheck, info, ok, warn } from "./health-check.js";

const OLDEST_NODE = [20, 19] as const;

export function nodeCheck(): HealthCheck {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const fits = major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1]);
  const detail = `${process.versions.node}, ${process.execPath}`;
  return fits
    ? ok("node", detail)
    : fail("node", detail, `Install Node ${OLDEST_NODE.join(".")} or newer.`);
}

export function platformCheck(): HealthCheck {
  const detail = `${process.platform} ${release()} ${process.arch}`;
  if (process.platform === "linux") return ok("platform", detail);
  const fix = "The sandbox needs Linux: use a virtual machine, WSL 2 or a container.";
  return fail("platform", detail, fix);
}

export async function bwrapCheck(): Promise<HealthCheck> {
  const path = locateBwrap(hostEnvironment().path);
  const fix = remedyFor("bwrap-missing", osRelease());
  if (path === undefined) return fail("bwrap", "bubblewrap is not installed", fix);
  try {
    const { stdout } = await promisify(execFile)(path, ["--version"], { timeout: 10_000 });
    return ok("bwrap", `${stdout.trim().replace(/^\w+ /, "")}, ${path}`);
  } catch (error) {
    return fail("bwrap", `${path} cannot be run: ${describeError(error)}`, fix);
  }
}

export function machineChecks(): HealthCheck[] {
  const { namespacesDisabled, appArmorRestricts, inContainer, isRealTime } = machine();
  const isRoot = process.getuid?.() === 0;
  return [
    namespacesDisabled
      ? fail("user-namespaces", "disabled by a kernel setting", remedyFor("user-namespaces-off"))
      : ok("user-namespaces", "no kernel setting forbids them"),
    appArmorCheck(appArmorRestricts, isRoot),
    info("container", inContainer ? "this machine is a container" : "no sign of a container"),
    info(
      "started-as",
      isRoot
        ? "root: Cellar drops to an unprivileged uid before the sandbox starts"
        : `uid ${process.getuid?.() ?? "unknown"}`,
    ),
    ...(isRealTime ? [info("scheduling", "real-time: sessions return to an ordinary policy")] : []),
  ];
}

function appArmorCheck(restricts: boolean, isRoot: boolean): HealthCheck {
  const detail = "denies user namespaces to programs without a profile";
  if (!restricts) return ok("apparmor", "does not restrict user namespaces");
  // The restriction does not apply to root.
  return isRoot ? info("apparmor", detail) : warn("apparmor", detail, remedyFor("apparmor"));
}
