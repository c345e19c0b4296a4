import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdtempSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { describeMissing, missingOwnFile } from "../../isolation/own-files.js";
import { remedyFor } from "../../isolation/remedies.js";
import {
  explained,
  nearest,
  shownBytes,
  statfsNear,
  writeFault,
} from "../../isolation/temporary-trouble.js";
import { fail, type HealthCheck, ok, warn } from "./health-check.js";

const MEGABYTE = 1024 * 1024;
const LEAST_FREE = 64 * MEGABYTE;
const LEAST_FILES = 1000;
const TRIAL = ".cellar-doctor-";

export function ownFilesCheck(packageRoot: string): HealthCheck {
  const missing = missingOwnFile(packageRoot);
  if (missing === undefined) return ok("own-files", packageRoot);
  return fail("own-files", describeMissing(packageRoot, missing), remedyFor("own-files"));
}

export function temporaryCheck(folder: string): HealthCheck {
  const fault = faultOf(folder);
  if (fault !== undefined) {
    const [reason, fix] = explained(fault, folder);
    return fail("temporary", `${folder}: ${reason}`, fix);
  }
  const noexec = flagsOf(folder).includes("noexec")
    ? ["mounted noexec: programs that an agent's cells write cannot be started"]
    : [];
  return spaceCheck("temporary", folder, folder, noexec, "Set TMPDIR to a folder with more space.");
}

export function notebooksCheck(folder: string): HealthCheck {
  const fault = faultOf(nearest(folder));
  if (fault !== undefined) {
    const [reason] = explained(fault, folder);
    const fix =
      "Name another folder with --dir FOLDER of cellar notebook and cellar mcp, or set CELLAR_HOME.";
    return fail("notebooks", `${folder} cannot be written: ${reason}`, fix);
  }
  const shown = existsSync(folder) ? folder : `${folder} (created when needed)`;
  const fix = "Free some space, or name another folder with --dir.";
  return spaceCheck("notebooks", folder, shown, [], fix);
}

function spaceCheck(
  name: string,
  folder: string,
  shown: string,
  notes: readonly string[],
  fix: string,
): HealthCheck {
  const shortages = shortagesOf(folder);
  const detail = [`${shown}: ${spaceOf(folder)}`, ...shortages, ...notes].join("; ");
  return shortages.length === 0 ? ok(name, detail) : warn(name, detail, fix);
}

/** Why a daemon could not listen there; undefined where it can. */
export function socketFault(folder: string): string | undefined {
  const fault = writeFault(folder);
  return fault === undefined
    ? undefined
    : `${folder} cannot be used: ${explained(fault, folder)[0]}`;
}

/** Creates a folder and a synced file in it, as sessions and notebooks do. */
function faultOf(folder: string): unknown {
  let trial: string | undefined;
  try {
    trial = mkdtempSync(join(folder, TRIAL));
    const file = openSync(join(trial, "file"), "wx", 0o600);
    try {
      writeSync(file, "x");
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    // Notebooks rely on hard links for exclusive creation.
    linkSync(join(trial, "file"), join(trial, "other"));
    return undefined;
  } catch (error) {
    return error;
  } finally {
    if (trial !== undefined) rmSync(trial, { recursive: true, force: true });
  }
}

function spaceOf(folder: string): string {
  const found = statfsNear(folder);
  return found === undefined
    ? "can be written"
    : `can be written, ${shownBytes(found.bavail * found.bsize)} free`;
}

function shortagesOf(folder: string): string[] {
  const found = statfsNear(folder);
  if (found === undefined) return [];
  const { bsize, blocks, bavail, files, ffree } = found;
  return [
    ...(bavail * bsize < LEAST_FREE
      ? [`${shownBytes(LEAST_FREE)} should be free (it has ${shownBytes(blocks * bsize)} in all)`]
      : []),
    ...(files > 0 && ffree < LEAST_FILES ? [`only ${ffree} more files fit (inodes)`] : []),
  ];
}

function flagsOf(folder: string): readonly string[] {
  try {
    const path = realpathSync(folder);
    const mounts = readFileSync("/proc/self/mountinfo", "utf8")
      .split("\n")
      .map((line) => line.split(" "))
      .map((fields) => ({ place: unescaped(fields[4] ?? ""), flags: fields[5] ?? "" }))
      .filter(({ place }) => place === "/" || path === place || path.startsWith(`${place}/`));
    const longest = Math.max(...mounts.map(({ place }) => place.length));
    // The last of several mounts at one path is on top.
    return mounts.findLast(({ place }) => place.length === longest)?.flags.split(",") ?? [];
  } catch {
    return [];
  }
}

/** The kernel writes blanks and similar characters in octal. */
function unescaped(text: string): string {
  return text.replace(/\\(\d{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}
