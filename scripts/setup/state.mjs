import { createHash } from "node:crypto";
import {
  closeSync,
  existsSync,
  lchownSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const DAY = 24 * 60 * 60 * 1000;
const LOCK_LIFETIME = 30 * 60 * 1000;

export function hashOf(...parts) {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part).update("\0");
  return hash.digest("hex");
}

/** What earlier runs did, stored where a fresh install deletes it. */
export function openState(root) {
  const path = join(root, "node_modules", ".cellar-setup.json");
  let written = "";
  let values = {};
  try {
    written = readFileSync(path, "utf8");
    values = JSON.parse(written);
  } catch {
    // Missing or unreadable: every step checks again.
  }
  values.attempts ??= {};
  return {
    values,
    save() {
      const text = `${JSON.stringify(values, null, 2)}\n`;
      if (text === written || !existsSync(dirname(path))) return;
      writeFileSync(path, text);
      giveToOwner(root, path);
      written = text;
    },
  };
}

/** Whether an attempt failed too recently to try again. */
export function triedLately(attempt, key, retry) {
  return !retry && attempt?.key === key && Date.now() - attempt.at < DAY;
}

/** Root must not leave files in another user's checkout that the owner cannot change. */
export function giveToOwner(root, path) {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(root);
  if (uid !== 0 && existsSync(path)) chownTree(path, uid, gid);
}

/** One setup at a time per checkout: a second one waits for the first. */
export async function lockCheckout(root, report) {
  const path = join(root, ".cellar-setup.lock");
  for (let told = false; ; told = true) {
    try {
      const file = openSync(path, "wx");
      writeFileSync(file, String(process.pid));
      closeSync(file);
      giveToOwner(root, path);
      return () => rmSync(path, { force: true });
    } catch (error) {
      if (error.code !== "EEXIST") return () => {};
    }
    if (isStale(path)) {
      rmSync(path, { force: true });
      continue;
    }
    if (!told) report.progress("waiting for another setup of this checkout");
    await sleep(200);
  }
}

function isStale(path) {
  try {
    if (Date.now() - statSync(path).mtimeMs > LOCK_LIFETIME) return true;
    const pid = Number(readFileSync(path, "utf8"));
    if (!Number.isInteger(pid) || pid <= 0) return false;
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error.code === "ESRCH";
  }
}

function chownTree(path, uid, gid) {
  lchownSync(path, uid, gid);
  if (!lstatSync(path).isDirectory()) return;
  for (const name of readdirSync(path)) chownTree(join(path, name), uid, gid);
}
