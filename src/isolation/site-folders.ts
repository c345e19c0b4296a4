import { realpathSync, statSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import type { Binding } from "./bwrap.js";

/** A folder of the search path that a session does not see, and why. */
export interface HiddenFolder {
  readonly path: string;
  readonly reason: string;
}

/** Never shown for the sake of a package, nor anything that contains it. */
export interface Guarded {
  /** The user's own folder. */
  readonly home?: string | undefined;
  /** Private folders of Cellar and others. */
  readonly folders?: readonly string[] | undefined;
  /** Whether sessions run as another user, without rights to these files. */
  readonly isRoot?: boolean | undefined;
}

/** Sessions cover these, or the wall puts something of its own there. */
export const UNUSABLE_GUESTS: readonly string[] = [
  ...["/tmp", "/var/tmp", "/workspace", "/proc", "/dev", "/sys", "/run", "/opt/cellar"],
];
/** Showing one of these whole would show far more than Python. */
export const TOO_WIDE: readonly string[] = [
  ...["/", "/home", "/root", "/etc", "/var", "/tmp", "/run", "/opt", "/srv", "/mnt"],
];
/** Neither these nor anything in them is a place for packages. */
const SYSTEM = ["/etc", "/boot", "/var/log", "/var/lib", "/var/run", "/var/spool", "/var/backups"];
const SECRETS = [".ssh", ".gnupg", ".aws", ".azure", ".config", ".docker", ".kube", ".netrc"];

/** What `.pth` files add to the search path outside `shown`: what to show of it, and what not. */
export function siteFolders(
  found: readonly string[],
  shown: readonly string[],
  guarded: Guarded,
  real: (path: string) => string = realpathSync,
): { readonly folders: readonly Binding[]; readonly hidden: readonly HiddenFolder[] } {
  const folders: Binding[] = [];
  const hidden: HiddenFolder[] = [];
  const kept = withLinks(guarded, real);
  for (const path of new Set(found.map((one) => posix.normalize(one).replace(/(.)\/$/, "$1")))) {
    if ([...shown, "/usr"].some((folder) => isWithin(path, folder))) continue;
    const reason =
      refusal(path, kept) ?? refusal(real(path), kept) ?? unreadable(path, shown, guarded);
    if (reason === undefined) folders.push({ host: path, guest: path });
    else hidden.push({ path, reason });
  }
  const isCovered = ({ guest }: Binding) =>
    folders.some((other) => other.guest !== guest && isWithin(guest, other.guest));
  return { folders: folders.filter((one) => !isCovered(one)), hidden };
}

/** What of an interpreter to bind beside these mounts, which come first where both want a place. */
export function shownRoots(
  { roots, folders }: { roots: readonly Binding[]; folders: readonly Binding[] },
  mounts: readonly Binding[],
): Binding[] {
  const isFree = ({ guest }: Binding) =>
    !mounts.some((mount) => isWithin(mount.guest, guest) || isWithin(guest, mount.guest));
  return [...roots, ...folders.filter(isFree)];
}

interface Kept {
  readonly homes: readonly string[];
  readonly folders: readonly string[];
}

/** What is guarded may be reached by links, so it is known by its real place too. */
function withLinks({ home, folders = [] }: Guarded, real: (path: string) => string): Kept {
  const both = (path: string) => {
    try {
      return [path, real(path)];
    } catch {
      // Not there yet.
      return [path];
    }
  };
  return { homes: home === undefined ? [] : both(home), folders: folders.flatMap(both) };
}

function refusal(path: string, { homes, folders }: Kept): string | undefined {
  if (TOO_WIDE.includes(path) || isHome(path)) return "it is too much of the machine to show";
  if (UNUSABLE_GUESTS.some((folder) => isWithin(path, folder) || isWithin(folder, path))) {
    return "every session covers that place with its own";
  }
  if (SYSTEM.some((folder) => isWithin(path, folder) || isWithin(folder, path))) {
    return "it is a place of the system";
  }
  const inside = [...homes, ...folders].find((folder) => isWithin(folder, path));
  if (inside !== undefined) return `${inside} lies in it`;
  const secrets = homes.flatMap((home) => SECRETS.map((name) => join(home, name)));
  const around = [...folders, ...secrets].find((folder) => isWithin(path, folder));
  return around === undefined ? undefined : `it lies in ${around}`;
}

/** Root's sandbox runs as another user, which must be able to reach the interpreter. */
function unreadable(path: string, shown: readonly string[], guarded: Guarded): string | undefined {
  if (guarded.isRoot !== true) return undefined;
  const ways = shown.filter((root) => isWithin(root, path)).map((root) => between(path, root));
  const shut = [path, ...ways.flat()].find((one) => (statSync(one).mode & 0o005) !== 0o005);
  return shut === undefined ? undefined : `not everybody may read ${shut}`;
}

/** The folders from one to another below it, both left out. */
function between(path: string, root: string): string[] {
  const parent = dirname(root);
  return root === path || parent === path ? [] : [...between(path, parent), parent];
}

/** Of whomever. */
function isHome(path: string): boolean {
  return dirname(path) === "/home" || dirname(path) === "/Users";
}

export function isWithin(path: string, folder: string): boolean {
  return path === folder || folder === "/" || path.startsWith(`${folder}/`);
}
