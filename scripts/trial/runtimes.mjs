import { existsSync, readdirSync, symlinkSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { asPerson } from "./person.mjs";

const NODES = [20, 22, 24];
const PYTHONS = ["3.8", "3.13"];
const FETCH_MS = 300_000;
const PROBE = `import json, platform, sys
print(json.dumps([platform.python_version(), sys.executable, sys.base_prefix]))`;

/** Another Node: this one if it matches, else the binary from npm. */
export function nodeRuntimes() {
  return NODES.map((major) => ({
    name: `node${major}`,
    what: `Node ${major}`,
    find: (trial) => findNode(major, trial),
  }));
}

async function findNode(major, { folder, processes }) {
  if (process.versions.node.startsWith(`${major}.`)) return { path: [] };
  const name = `node-${process.platform}-${process.arch}`;
  const words = ["npm", "install", "--silent", "--no-save", "--prefix", folder, `${name}@${major}`];
  const { code, stdout, stderr } = await processes.run(words, {
    cwd: folder,
    env: process.env,
    limit: FETCH_MS,
  });
  const bin = join(folder, "node_modules", name, "bin");
  if (code === 0 && existsSync(join(bin, "node"))) return { path: [bin] };
  return {
    reason: `npm has no ${name}@${major}: ${`${stdout}${stderr}`.trim().split("\n")[0] ?? ""}`,
  };
}

/** Another Python: on the PATH, among pyenv's versions, or given by the caller. */
export function pythonRuntimes(chosen) {
  const known = PYTHONS.map((version) => ({
    name: `python${version}`,
    what: `Python ${version}`,
    version,
  }));
  const given = chosen.map((path) => ({ name: `python:${path}`, what: path, path }));
  return [...known, ...given].map(({ name, what, version, path }) => ({
    name,
    what,
    find: (trial) =>
      findPython({ version, candidates: path === undefined ? placesOf(version) : [path] }, trial),
  }));
}

/** If the ordinary user cannot reach it, the folder in the way must be covered by an open one. */
async function findPython({ version, candidates }, { folder, person, processes }) {
  const env = { PATH: process.env.PATH ?? "", HOME: homedir() };
  for (const candidate of candidates) {
    const words = [candidate, "-I", "-c", PROBE];
    const { code, stdout } = await processes.run(words, { env, cwd: "/", limit: 30_000 });
    const [found, executable, prefix] = code === 0 ? JSON.parse(stdout) : [];
    const isWanted =
      found !== undefined && (version === undefined || found.startsWith(`${version}.`));
    if (!isWanted) continue;
    const look = 'for one in "$@"; do test -x "$one" || { echo "$one"; break; }; done';
    const asked = asPerson(person, ["sh", "-c", look, "sh", ...ancestorsOf(executable)], "/");
    const cover = (await processes.run(asked, { env, limit: 20_000 })).stdout.trim();
    symlinkSync(executable, join(folder, "python3"));
    return { path: [folder], python: found, opened: cover === "" ? [] : [{ cover, prefix }] };
  }
  return { reason: `no Python ${version ?? candidates[0]} on the PATH or among pyenv's versions` };
}

/** The parent folders of a file, outermost first, and the file. */
function ancestorsOf(path) {
  const parts = path.split("/").slice(1);
  return parts.map((_, index) => `/${parts.slice(0, index + 1).join("/")}`);
}

function placesOf(version) {
  const name = `python${version}`;
  const pyenv = join(process.env.PYENV_ROOT ?? join(homedir(), ".pyenv"), "versions");
  const versions = existsSync(pyenv) ? readdirSync(pyenv) : [];
  return [
    ...versions
      .filter((one) => one.startsWith(`${version}.`))
      .map((one) => join(pyenv, one, "bin", name)),
    ...(process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, name)),
  ].filter((path) => existsSync(path));
}
