/**
 * Runs in its own mount namespace: makes the mounts of a machine, reports that in one line, and keeps the
 * namespace alive for others to enter until its stdin closes.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";

function mount(...args) {
  const { status, stderr, error } = spawnSync("mount", args, { encoding: "utf8", timeout: 20_000 });
  if (status === 0) return;
  throw new Error(`mount ${args.join(" ")}: ${error?.message ?? stderr.trim()}`);
}

/** A folder without some of its files, so that a program is really missing. */
function hide(files, scratch) {
  mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", scratch);
  for (const [folder, hidden] of grouped(files)) {
    const [upper, work] = ["upper", "work"].map((name) => join(scratch, name, folder));
    mkdirSync(upper, { recursive: true, mode: 0o755 });
    mkdirSync(work, { recursive: true });
    mount(
      "-t",
      "overlay",
      "-o",
      `lowerdir=${folder},upperdir=${upper},workdir=${work}`,
      "overlay",
      folder,
    );
    for (const file of hidden) rmSync(file);
  }
}

function grouped(files) {
  const folders = new Map();
  for (const file of files)
    folders.set(dirname(file), [...(folders.get(dirname(file)) ?? []), file]);
  return folders;
}

function makeReadOnly(folder) {
  mount("--bind", folder, folder);
  try {
    mount("-o", "remount,bind,ro", folder);
  } catch {
    // In a user namespace the existing flags must be repeated.
    mount("-o", "remount,bind,ro,nosuid,nodev", folder);
  }
}

/** A folder at its own path, although a parent was covered. */
function open({ cover, prefix }, index, scratch) {
  const kept = join(scratch, `open-${index}`);
  mkdirSync(kept);
  mount("--bind", prefix, kept);
  mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", cover);
  mkdirSync(prefix, { recursive: true });
  mount("--bind", kept, prefix);
}

function prepare({ opened = [], noexec = [], hidden = [], readOnly = [], scratch }) {
  if (hidden.length > 0) hide(hidden, scratch);
  opened.forEach((one, index) => {
    open(one, index, scratch);
  });
  for (const folder of readOnly) makeReadOnly(folder);
  for (const folder of noexec) {
    mount("-t", "tmpfs", "-o", "noexec,nosuid,nodev,mode=1777,size=512m", "tmpfs", folder);
  }
}

try {
  prepare(JSON.parse(process.argv[2]));
  console.log("ready");
  process.stdin.resume();
} catch (error) {
  console.log(error.message.split("\n")[0]);
  process.exitCode = 1;
}
