import { spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { asPerson } from "./person.mjs";

const HOLDER = fileURLToPath(new URL("mount-holder.mjs", import.meta.url));
const MOUNTING_MS = 30_000;

/** A place to try the package: a folder, an environment and, if needed, other mounts. */
export class Machine {
  #person;
  #processes;
  #holder;
  #enter = [];

  constructor(name, { folder, home, project, env, runtime }, { person, processes }) {
    this.name = name;
    this.folder = folder;
    this.home = home;
    this.project = project;
    this.env = env;
    this.runtime = runtime;
    this.#person = person;
    this.#processes = processes;
  }

  /** Gives the machine its own mounts; returns the reason if that is not possible here. */
  async mount(mounts) {
    const scratch = join(this.folder, "mounts");
    mkdirSync(scratch, { recursive: true });
    const asRoot = this.#person.drop.length > 0;
    const kind = asRoot ? ["--propagation", "private"] : ["--user", "--map-root-user"];
    const spec = JSON.stringify({ ...mounts, scratch });
    const words = ["--mount", ...kind, "--", process.execPath, HOLDER, spec];
    const holder = spawn("unshare", words, {
      env: { PATH: process.env.PATH ?? "" },
      stdio: ["pipe", "pipe", "pipe"],
      detached: true,
    });
    this.#holder = { holder, forget: this.#processes.watch(holder.pid) };
    const told = await firstWords(holder);
    if (told !== "ready") {
      await this.close();
      return `cannot create mounts here: ${told}`;
    }
    const namespace = (kind) =>
      `--${kind === "mnt" ? "mount" : kind}=/proc/${holder.pid}/ns/${kind}`;
    // The ordinary user is root in the namespace only for the mounts.
    const { uid, gid } = this.#person;
    const back = ["unshare", "--user", `--map-user=${uid}`, `--map-group=${gid}`, "--"];
    this.#enter = asRoot
      ? ["nsenter", namespace("mnt"), "--"]
      : ["nsenter", namespace("user"), namespace("mnt"), "--preserve-credentials", "--", ...back];
    return undefined;
  }

  /** The command line that runs a command here as the ordinary user. */
  words(command, cwd = this.project) {
    return [...this.#enter, ...asPerson(this.#person, command, cwd)];
  }

  run(command, { env = {}, cwd, ...options } = {}) {
    const merged = { ...this.env, ...env };
    for (const [name, value] of Object.entries(merged))
      if (value === undefined) delete merged[name];
    return this.#processes.run(this.words(command, cwd), { ...options, env: merged });
  }

  cellar(args, options) {
    return this.run([join(this.project, "node_modules", ".bin", "cellar"), ...args], options);
  }

  /** A folder that belongs to the ordinary user. */
  makeFolder(path) {
    return ownFolder(this.#person, path);
  }

  watch(pid) {
    return this.#processes.watch(pid);
  }

  async close() {
    const { holder, forget } = this.#holder ?? {};
    if (holder === undefined) return;
    this.#holder = undefined;
    if (holder.exitCode === null && holder.pid !== undefined) {
      const ended = once(holder, "exit");
      holder.stdin.end();
      await ended;
    }
    forget();
  }
}

export function ownFolder(person, path) {
  mkdirSync(path, { recursive: true });
  if (person.drop.length > 0) chownSync(path, person.uid, person.gid);
  return path;
}

async function firstWords(child) {
  let told = "";
  child.stdin.on("error", () => {});
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      told += text;
    });
  }
  const isOver = new Promise((resolve) => {
    child.stdout.on("data", () => resolve());
    child.on("close", () => resolve());
    child.on("error", (error) => {
      told += error.message;
      resolve();
    });
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), MOUNTING_MS);
  await isOver;
  clearTimeout(timer);
  return told.trim().split("\n")[0] || "unshare printed nothing";
}
