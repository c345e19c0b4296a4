import { openSync } from "node:fs";
import { join } from "node:path";
import type { HostEnvironment } from "../../../config/environment.js";
import type { Settings } from "../../../config.js";
import type { Mount, WallView } from "../../../isolation/bwrap.js";
import type { Interpreter } from "../../../isolation/interpreter.js";
import type { EarlyAnswer } from "../../../isolation/interpreter-question.js";
import { locateBwrap, systemLayout } from "../../../isolation/layout.js";
import { requireOwnFiles } from "../../../isolation/own-files.js";
import { sessionPrograms } from "../../../isolation/programs.js";
import { shownRoots } from "../../../isolation/site-folders.js";
import { BindSources } from "../../host/bind-sources.js";
import { findInterpreter } from "../../host/find-interpreter.js";
import { sandboxIdentity } from "../../host/identity.js";
import { hostNames, type Identity, RunFolder } from "../../host/run-folder.js";
import { unavailable } from "../../host/start-failure.js";

/** The folder of the runner's package inside. */
export const PACKAGE_GUEST = "/opt/cellar";
const RUNNER_GUEST = `${PACKAGE_GUEST}/cellar_runner`;

export interface WallParts {
  readonly bwrap: string;
  readonly interpreter: Interpreter;
  readonly runner: string;
  readonly folder: RunFolder;
  readonly identity: Identity | undefined;
  readonly sharesNetwork: boolean;
}

/** Finds what a wall needs, or says what is missing. `stores` are folders that no session may see. */
export async function findWallParts(
  settings: Settings,
  environment: HostEnvironment,
  stores: readonly string[] = [],
  early?: EarlyAnswer,
): Promise<WallParts> {
  requireOwnFiles(environment.packageRoot, "native");
  const bwrap = locateBwrap(environment.path);
  if (bwrap === undefined) throw unavailable("bubblewrap is not installed", "bwrap-missing");
  const interpreter = await findInterpreter(settings, environment, stores, early);
  const isRoot = process.getuid?.() === 0;
  const identity = isRoot ? sandboxIdentity() : undefined;
  if (isRoot && identity === undefined) {
    throw unavailable("root has no other user id to switch to in this user namespace", "one-id");
  }
  const sharesNetwork = settings.network === "host";
  const etc = sharesNetwork ? hostNames() : undefined;
  const folder = new RunFolder(environment.temporary, identity, etc);
  const runner = join(environment.packageRoot, "python", "cellar_runner");
  return { bwrap, interpreter, runner, folder, identity, sharesNetwork };
}

/** What a wall shows inside. bwrap copies the files from `descriptors`, numbered from `firstFd`. */
export function showInside(
  { folder, interpreter, identity, runner, sharesNetwork }: WallParts,
  mounts: readonly Mount[],
  firstFd: number,
): { view: WallView; sources: BindSources; descriptors: number[] } {
  const { guestExecutable, version } = interpreter;
  const { scripts, links } = sessionPrograms(guestExecutable, version, RUNNER_GUEST);
  const sources = new BindSources(folder, identity);
  const readable = <T extends { host: string }>(bind: T) => ({
    ...bind,
    host: sources.path(bind.host),
  });
  const descriptors: number[] = [];
  const copied = <T extends { host: string }>({ host, ...rest }: T) => {
    descriptors.push(openSync(host, "r"));
    return { ...rest, fd: firstFd + descriptors.length - 1 };
  };
  const view = {
    python: {
      executable: guestExecutable,
      roots: shownRoots(interpreter, mounts).map(({ host, guest }) => readable({ host, guest })),
    },
    runner: readable({ host: runner, guest: RUNNER_GUEST }),
    mounts: mounts.map(readable),
    hostname: "cellar",
    files: folder.files.map(copied),
    programs: { scripts: folder.keepScripts(scripts).map(copied), links },
    system: systemLayout(),
    sharesNetwork,
  };
  return { view, sources, descriptors };
}

/** Python code that starts a module of the runner, whose package is in `folder`. */
export function bootCode(folder: string, module: string, name: string, args = ""): string {
  const path = JSON.stringify(folder);
  return [
    "import sys",
    `sys.path.insert(0, ${path})`,
    `from cellar_runner.${module} import ${name}`,
    `sys.path.remove(${path})`,
    `${name}(${args})`,
  ].join("\n");
}

/** Runs a script of the runner outside of any wall. */
export function bootstrapCommand(
  { executable }: Interpreter,
  runner: string,
  script: string,
): string[] {
  return [executable, "-I", "-S", join(runner, "bootstrap", `${script}.py`)];
}

/** Writes what a wall reads at its start. One that fell early says why by its exit, not by an error here. */
export function feed(stream: unknown, data: string | Buffer): void {
  const sink = stream as NodeJS.WritableStream | null | undefined;
  sink?.on("error", () => {});
  sink?.end(data);
}
