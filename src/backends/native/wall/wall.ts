import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { describeError } from "../../../errors.js";
import { encodeOptions, type Mount, wallOptions } from "../../../isolation/bwrap.js";
import type { UserScope } from "../../../isolation/cgroups/user-scope.js";
import { tailOf } from "../../host/stderr-tail.js";
import {
  bootCode,
  bootstrapCommand,
  feed,
  PACKAGE_GUEST,
  showInside,
  type WallParts,
} from "./wall-parts.js";

const SESSION_ROOT_GUEST = "/run/sessions";
const WALL_TMP_MB = 64;
/** stdin, stdout, stderr, the control channel, and the arguments of bwrap. */
const CONTROL_FD = 3;
const ARGUMENTS_FD = 4;
const FIRST_FREE_FD = 5;

export interface WallPlan extends WallParts {
  readonly mounts: readonly Mount[];
  /** The folder of session folders, where sessions may have any. */
  readonly sessionRoot: string | undefined;
  /** How many ids from the identity's on the wall has, for sessions. */
  readonly identityCount: number;
  /** Descriptors of control groups to hand over, in order. */
  readonly groupDescriptors: readonly number[];
  /** Where the wall's process must be written before it forks. */
  readonly groupProcesses: string | undefined;
  readonly cgroupNamespace: boolean;
  /** The scope of the user's systemd that the wall is started in; it then waits for its groups. */
  readonly scope?: UserScope | undefined;
}

export interface Wall {
  readonly process: ChildProcess;
  /** Settles when the process is gone, or could not be started, with how it ended. */
  readonly ended: Promise<string>;
  readonly control: Duplex;
  /** What the wall and the zygote said, cut to its end. */
  readonly said: () => string;
  /** The numbers under which the zygote finds `groupDescriptors`. */
  readonly groupNumbers: readonly number[];
  /** The host's end of the socket through which files are handed in. */
  readonly fileSocket: Socket;
  /** The number under which the zygote finds its own end. */
  readonly fileSocketNumber: number;
  /** Where a wall that was started in a scope makes the groups of sessions. */
  tellScope(folder: string): void;
}

/** Starts the outer wall with the zygote in it: as root through drop_root.py, else directly. */
export function startWall(plan: WallPlan): Wall {
  const { view, sources, descriptors } = showInside(plan, plan.mounts, FIRST_FREE_FD);
  const { sessionRoot } = plan;
  const options = wallOptions({
    ...view,
    sockets: { host: plan.folder.sockets, guest: "/run/cellar" },
    ...(sessionRoot !== undefined && {
      sessionRoot: { host: sources.path(sessionRoot), guest: SESSION_ROOT_GUEST },
    }),
    tmpMb: WALL_TMP_MB,
    cgroupNamespace: plan.cgroupNamespace,
    hasOwnUsers: plan.identityCount > 1,
  });
  // Bytecode beside the files of a session would be among those that its cells made.
  const boot = bootCode(PACKAGE_GUEST, "zygote.supervisor", "main");
  const command = [plan.interpreter.guestExecutable, "-I", "-B", "-c", boot];
  const argv = [plan.bwrap, "--args", String(ARGUMENTS_FD), "--", ...command];
  const handed = [...descriptors, ...plan.groupDescriptors];
  const fileSocketNumber = FIRST_FREE_FD + handed.length;
  const inScope = plan.scope
    ? [
        ...plan.scope.command,
        ...bootstrapCommand(plan.interpreter, plan.runner, "enter_scope"),
        String(fileSocketNumber + 1),
      ]
    : [];
  const [program = "", ...rest] =
    plan.identity === undefined
      ? [...inScope, ...argv]
      : bootstrapCommand(plan.interpreter, plan.runner, "drop_root");
  const child = spawn(program, rest, {
    env: { ...plan.scope?.environment },
    cwd: "/",
    // A Ctrl-C at the host's terminal is for the host, not for the wall.
    detached: true,
    stdio: ["pipe", "ignore", "pipe", "pipe", "pipe", ...handed, "pipe"],
  });
  const fileSocket = child.stdio[fileSocketNumber] as Socket;
  const ended = new Promise<string>((resolve) => {
    child.on("error", (error) => resolve(describeError(error)));
    child.once("exit", (code, signal) => resolve(signal ?? `exit ${code}`));
  });
  for (const fd of descriptors) closeSync(fd);
  // bwrap waits for its arguments, so it has not forked yet.
  if (plan.groupProcesses !== undefined && child.pid !== undefined) {
    writeFileSync(plan.groupProcesses, String(child.pid));
  }
  const orders =
    plan.identity === undefined
      ? ""
      : JSON.stringify({
          ...plan.identity,
          count: plan.identityCount,
          binds: sources.binds,
          argv,
        });
  // A caller that waits for a session keeps the process alive, not the wall.
  for (const stream of [child.stderr, child.stdio[CONTROL_FD], fileSocket])
    (stream as Socket).unref();
  fileSocket.on("error", () => {});
  if (plan.scope === undefined) feed(child.stdin, orders);
  feed(child.stdio[ARGUMENTS_FD], encodeOptions(options));
  return {
    process: child,
    ended,
    control: child.stdio[CONTROL_FD] as Duplex,
    said: tailOf(child.stderr),
    groupNumbers: plan.scope
      ? [fileSocketNumber + 1]
      : plan.groupDescriptors.map((_, index) => FIRST_FREE_FD + descriptors.length + index),
    fileSocket,
    fileSocketNumber,
    tellScope: (folder) => feed(child.stdin, `${folder}\n`),
  };
}
