import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, readFileSync } from "node:fs";
import { encodeOptions, type Mount, oneShotOptions } from "../../../isolation/bwrap.js";
import { seccompProgram } from "../../../isolation/seccomp/seccomp.js";
import type { Limits } from "../../../protocol/messages.js";
import {
  bootCode,
  bootstrapCommand,
  feed,
  PACKAGE_GUEST,
  showInside,
  type WallParts,
} from "./wall-parts.js";

/** Beside the standard streams: the subreaper's lifeline, what bwrap and drop_root.py read, and files. */
const ARGUMENTS_FD = 4;
const SECCOMP_FD = 5;
const ORDERS_FD = 6;
const EXCHANGE_FD = 7;
const FIRST_FREE_FD = 8;

/** A wall around one plain process, which has no namespace of process numbers. */
export interface SingleWall extends WallParts {
  readonly mounts: readonly Mount[];
  /** A folder of the host that becomes /workspace, instead of an empty one. */
  readonly workspace: string | undefined;
  /** An open file through which states come out and go in. */
  readonly exchange: number;
}

/** The subreaper stays outside: it inherits the session's orphans and kills them. */
export function launchBehindWall(wall: SingleWall, limits: Limits): ChildProcess {
  const { bwrap, identity, interpreter, runner, workspace } = wall;
  const { view, sources, descriptors } = showInside(wall, wall.mounts, FIRST_FREE_FD);
  const own =
    workspace === undefined
      ? []
      : [{ host: sources.path(workspace), guest: "/workspace", readonly: false }];
  const options = oneShotOptions({
    ...view,
    mounts: [...view.mounts, ...own],
    tmpMb: limits.tmp_mb,
    workspaceMb: limits.workspace_mb,
    seccompFd: SECCOMP_FD,
    sharesPids: true,
  });
  const args = `${EXCHANGE_FD}, ${wall.sharesNetwork ? "True" : "False"}`;
  const boot = bootCode(PACKAGE_GUEST, "session.plain", "main_walled", args);
  const inside = [interpreter.guestExecutable, "-I", "-B", "-X", "utf8", "-c", boot];
  const argv = [bwrap, "--args", String(ARGUMENTS_FD), "--", ...inside];
  const script = (name: string) => bootstrapCommand(interpreter, runner, name);
  const launched = identity === undefined ? argv : [...script("drop_root"), String(ORDERS_FD)];
  const [program = "", ...rest] = [...script("subreaper"), ...launched];
  const pipes = Array.from({ length: EXCHANGE_FD }, () => "pipe" as const);
  const child = spawn(program, rest, {
    env: {},
    cwd: "/",
    stdio: [...pipes, wall.exchange, ...descriptors],
  });
  for (const fd of descriptors) closeSync(fd);
  const orders =
    identity === undefined ? "" : JSON.stringify({ ...identity, binds: sources.binds, argv });
  const told: readonly unknown[] = child.stdio;
  feed(told[ARGUMENTS_FD], encodeOptions(options));
  const architecture = process.arch === "arm64" ? "arm64" : "x64";
  feed(told[SECCOMP_FD], seccompProgram(architecture, { inotify: limits.inotify_watches > 0 }));
  feed(told[ORDERS_FD], orders);
  return child;
}

/** The child of the subreaper, which has dropped root by the time the session speaks. */
export function processBehind(keeper: number): number {
  const children = readFileSync(`/proc/${keeper}/task/${keeper}/children`, "utf8");
  return Number(children.trim().split(" ")[0]);
}
