import { closeSync, openSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import type { HostEnvironment } from "../../../config/environment.js";
import type { Settings } from "../../../config.js";
import type { Mount } from "../../../isolation/bwrap.js";
import type { Interpreter } from "../../../isolation/interpreter.js";
import { locateBwrap } from "../../../isolation/layout.js";
import { assess, type IsolationReport } from "../../../isolation/levels.js";
import { requireOwnFiles } from "../../../isolation/own-files.js";
import { remedyFor } from "../../../isolation/remedies.js";
import { findInterpreter } from "../../host/find-interpreter.js";
import { sandboxIdentity } from "../../host/identity.js";
import { hostNames, RunFolder } from "../../host/run-folder.js";
import { fallen, unavailable } from "../../host/start-failure.js";
import { wireLimits } from "../../host/wire-limits.js";
import type { Session } from "../../session/session.js";
import { startPlain } from "./plain.js";
import { probeWalls } from "./probe.js";
import { processBehind } from "./single-wall.js";

export interface SingleProcessPlan {
  readonly settings: Settings;
  readonly mounts: readonly Mount[];
  readonly workspace: string | undefined;
  readonly hostEnvironment: HostEnvironment;
  /** What must not be left behind when the process ends. */
  readonly folders: Set<Disposable>;
}

/** One process behind a wall that shares the host's process numbers: no zygote, no checkpoints. */
export async function startLone(
  plan: SingleProcessPlan,
): Promise<{ session: Session; pid: number; interpreter: Interpreter }> {
  const { settings, hostEnvironment, folders } = plan;
  requireOwnFiles(hostEnvironment.packageRoot, "native");
  const bwrap = locateBwrap(hostEnvironment.path);
  if (bwrap === undefined) throw unavailable("bubblewrap is not installed", "bwrap-missing");
  const interpreter = await findInterpreter(settings, hostEnvironment);
  const isRoot = process.getuid?.() === 0;
  const identity = isRoot ? sandboxIdentity() : undefined;
  if (isRoot && identity === undefined) {
    throw unavailable("root has no other id to take in this user namespace", "one-id");
  }
  const sharesNetwork = settings.network === "host";
  const etc = sharesNetwork ? hostNames() : undefined;
  const folder = new RunFolder(hostEnvironment.temporary, identity, etc);
  folders.add(folder);
  const exchange = openExchange(folder);
  const tidy = () => {
    closeSync(exchange);
    folder[Symbol.dispose]();
    folders.delete(folder);
  };
  try {
    const { mounts, workspace } = plan;
    const wall = { bwrap, folder, identity, mounts, sharesNetwork, workspace, exchange };
    const limits = wireLimits(settings.limits);
    const { session, pid } = await startPlain({ interpreter, hostEnvironment, limits, wall });
    session.gone.then(tidy);
    return { session, pid, interpreter };
  } catch (error) {
    tidy();
    throw fallen(error);
  }
}

/** What such a session proves about its walls; it is used up by that. */
export async function probeLone(plan: SingleProcessPlan): Promise<IsolationReport> {
  const { session, pid } = await startLone(plan);
  try {
    const facts = await probeWalls({
      session,
      zygotePid: processBehind(pid),
      cgroups: {
        version: undefined,
        missing: "a session with the host's process numbers has no cgroup",
        remedy: remedyFor("cgroups"),
      },
      temporary: plan.hostEnvironment.temporary,
      environmentNames: plan.hostEnvironment.environmentNames,
    });
    return assess(facts);
  } finally {
    session.close();
    await session.gone;
  }
}

/** A file without a name: nobody can put another one in its place. */
function openExchange(folder: RunFolder): number {
  const path = join(folder.path, "exchange");
  const descriptor = openSync(path, "wx+", 0o600);
  unlinkSync(path);
  return descriptor;
}
