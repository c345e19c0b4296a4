import { readFileSync } from "node:fs";
import { join } from "node:path";
import { executablesOn } from "../layout.js";

/** How the user's own systemd is reached; undefined where it says nothing of itself. */
export interface UserManager {
  readonly runtimeFolder: string | undefined;
  readonly busAddress: string | undefined;
}

/** A way to start a program in a control group that is delegated to this user. */
export interface UserScope {
  readonly unit: string;
  /** Goes before the program's own command. */
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

const PATIENCE_MS = 5_000;
const LOOK_MS = 5;

/** A scope of this name that systemd's user manager could make, where there is one. */
export function userScope(
  name: string,
  path: string,
  { runtimeFolder, busAddress }: UserManager,
): UserScope | undefined {
  const [program] = executablesOn(path, "systemd-run");
  if (program === undefined || runtimeFolder === undefined) return undefined;
  const unit = `${name}.scope`;
  const options = ["--user", "--scope", "--quiet", "--collect", `--unit=${unit}`];
  return {
    unit,
    command: [program, ...options, "--property=Delegate=yes", "--"],
    environment: {
      XDG_RUNTIME_DIR: runtimeFolder,
      ...(busAddress !== undefined && { DBUS_SESSION_BUS_ADDRESS: busAddress }),
    },
  };
}

/** Waits until a process is in the scope; false when it has ended, or is not there in time. */
export async function isInScope(
  { unit }: UserScope,
  processFolder: string,
  hasEnded: () => boolean,
): Promise<boolean> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!hasEnded() && performance.now() < deadline) {
    if (groupOf(processFolder).endsWith(`/${unit}`)) return true;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  return false;
}

/** The process's group in the unified hierarchy; empty where it has none. */
function groupOf(processFolder: string): string {
  try {
    const groups = readFileSync(join(processFolder, "cgroup"), "utf8").split("\n");
    return groups.find((line) => line.startsWith("0::"))?.slice("0::".length) ?? "";
  } catch {
    return "";
  }
}
