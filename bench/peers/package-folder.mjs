import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { userFolders } from "../../dist/config/environment.js";
import { Unavailable } from "../unavailable.mjs";

const INSTALL_TIMEOUT_MS = 180_000;
const TAG =
  "import sys, sysconfig; print(sys.implementation.cache_tag + '-' + sysconfig.get_platform())";
const PIP = [
  ...["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"],
  ...["--retries", "1", "--timeout", "15", "--only-binary", ":all:"],
];

/**
 * A folder for PYTHONPATH with a package from the index and its dependencies, kept for later runs.
 * The environment of the sandboxes is not changed.
 */
export async function packageFolder(python, name, version) {
  try {
    const { stdout } = await promisify(execFile)(python, ["-I", "-c", TAG]);
    const parent = join(userFolders().cache, "bench");
    const folder = join(parent, `${name}-${version}-${stdout.trim()}`);
    if (!existsSync(folder)) await install(python, `${name}==${version}`, { parent, folder });
    return folder;
  } catch (error) {
    throw new Unavailable(
      `the Python package ${name} ${version} cannot be had: ${reasonOf(error)}`,
    );
  }
}

/** Atomic: other processes may install it at the same time. */
async function install(python, wanted, { parent, folder }) {
  mkdirSync(parent, { recursive: true });
  const fresh = mkdtempSync(join(parent, "new-"));
  try {
    await promisify(execFile)(python, [...PIP, "--target", fresh, wanted], {
      timeout: INSTALL_TIMEOUT_MS,
    });
    renameSync(fresh, folder);
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
}

/** pip's last line, which states the outcome. */
function reasonOf({ killed, stderr, message }) {
  if (killed) return `pip was not done after ${INSTALL_TIMEOUT_MS / 1000} s`;
  return (stderr || message).trim().split("\n").at(-1);
}
