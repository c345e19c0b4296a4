import { realpathSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import type { Binding } from "./bwrap.js";

/** A folder of the search path that a session does not see, and why. */
export interface HiddenFolder {
  readonly path: string;
  readonly reason: string;
}

/** What is never shown for the sake of a package, nor anything that it lies in. */
export interface Guarded {
  /** The user's own folder. */
  readonly home?: string | undefined;
  /** Where Cellar and others keep what is nobody else's business. */
  readonly folders?: readonly string[] | undefined;
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
  for (const path of new Set(found.map((one) => posix.normalize(one).replace(/(.)\/$/, "$1")))) {
    if ([...shown, "/usr"].some((folder) => isWithin(path, folder))) continue;
    const reason = refusal(path, guarded) ?? refusal(real(path), guarded);
    if (reason === undefined) folders.push({ host: path, guest: path });
    else hidden.push({ path, reason });
  }
  const isCovered = ({ guest }: Binding) =>
    folders.some((other) => other.guest !== guest && isWithin(guest, other.guest));
  return { folders: folders.filter((one) => !isCovered(one)), hidden };
}

function refusal(path: string, { home, folders = [] }: Guarded): string | undefined {
  if (TOO_WIDE.includes(path) || isHome(path)) return "it is too much of the machine to show";
  if (UNUSABLE_GUESTS.some((folder) => isWithin(path, folder) || isWithin(folder, path))) {
    return "every session covers that place with its own";
  }
  if (SYSTEM.some((folder) => isWithin(path, folder) || isWithin(folder, path))) {
    return "it is a place of the system";
  }
  const own = home === undefined ? folders : [home, ...folders];
  const inside = own.find((folder) => isWithin(folder, path));
  if (inside !== undefined) return `${inside} lies in it`;
  const secrets = home === undefined ? [] : SECRETS.map((name) => join(home, name));
  const around = [...folders, ...secrets].find((folder) => isWithin(path, folder));
  return around === undefined ? undefined : `it lies in ${around}`;
}

/** Of whomever. */
function isHome(path: string): boolean {
  return dirname(path) === "/home" || dirname(path) === "/Users";
}

export function isWithin(path: string, folder: string): boolean {
  return path === folder || folder === "/" || path.startsWith(`${folder}/`);
}
