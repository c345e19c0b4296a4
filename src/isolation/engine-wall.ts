import { existsSync, realpathSync } from "node:fs";
import { dirname } from "node:path";
import type { Binding } from "./bwrap.js";

/** A single process that runs a JavaScript engine and needs nothing but to compute. */
export interface EngineWallPolicy {
  /** What it may read, and where it finds it. Nothing else of the host is there. */
  readonly shown: readonly Binding[];
  readonly environment: Readonly<Record<string, string>>;
  readonly hostname: string;
  /** Where bwrap finds the seccomp program, as it sees its own descriptors. */
  readonly seccompFd: number;
}

/** Every option of a wall that shows some files and no more: no shell, no program, no network. */
export function engineWallOptions(policy: EngineWallPolicy): string[] {
  return [
    ...["--unshare-all", "--unshare-user", "--disable-userns", "--uid", "1000", "--gid", "1000"],
    ...["--cap-drop", "ALL", "--die-with-parent", "--new-session", "--clearenv"],
    ...["--hostname", policy.hostname],
    ...["--proc", "/proc", "--dev", "/dev"],
    ...[...policy.shown]
      .sort((a, b) => depth(a.guest) - depth(b.guest))
      .flatMap(({ host, guest }) => ["--ro-bind", host, guest]),
    ...["--remount-ro", "/dev", "--remount-ro", "/proc", "--remount-ro", "/"],
    ...Object.entries(policy.environment).flatMap(([name, value]) => ["--setenv", name, value]),
    ...["--chdir", "/", "--seccomp", String(policy.seccompFd)],
  ];
}

function depth(path: string): number {
  return path.split("/").length;
}

/** The files of this process's own engine: its binary and the libraries that it loads. */
export interface Engine {
  readonly executable: string;
  readonly libraries: readonly Binding[];
  /** Where its loader is to look for them. */
  readonly libraryPath: string;
}

/** Parts of Node that some distributions keep outside its binary. */
const ENGINE_FOLDERS = ["/usr/share/nodejs"];
const LIBRARY = /^\/.*\.so(\.[\w.]+)?$/;

export function thisEngine(): Engine {
  const libraries = sharedObjects().filter((name) => LIBRARY.test(name) && existsSync(name));
  const folders = ENGINE_FOLDERS.filter((folder) => existsSync(folder));
  return {
    executable: realpathSync(process.execPath),
    libraries: [...new Set([...libraries, ...folders])].map((name) => ({
      host: realpathSync(name),
      guest: name,
    })),
    libraryPath: [...new Set(libraries.map(dirname))].join(":"),
  };
}

/** As the loader named them, which is how it will look for them again. */
function sharedObjects(): readonly string[] {
  const diagnostics = process.report as { excludeNetwork?: boolean; getReport(): object };
  const { excludeNetwork } = diagnostics;
  // Without this, names of hosts would be looked up.
  diagnostics.excludeNetwork = true;
  const report = diagnostics.getReport() as { sharedObjects?: readonly string[] };
  if (excludeNetwork !== undefined) diagnostics.excludeNetwork = excludeNetwork;
  return report.sharedObjects ?? [];
}
