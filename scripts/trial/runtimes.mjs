import { existsSync, readdirSync, symlinkSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { asPerson } from "./person.mjs";

const NODES = [20, 22, 24];
const PYTHONS = ["3.8", "3.13"];
const FETCH_MS = 300_000;
const PROBE = `import json, platform, sys
print(json.dumps([platform.python_version(), sys.executable, sys.base_prefix]))`;

/** Another Node: this one where it fits, else the binary that npm has. */
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

/** Another Python: on the PATH, among pyenv's versions, or as the caller says. */
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

/** Where it can be entered by the ordinary user: as it is, or bound to a folder of the machine. */
async function findPython({ version, candidates }, { folder, person, processes }) {
  for (const candidate of candidates) {
    const env = { PATH: process.env.PATH ?? "", HOME: homedir() };
    const probed = await processes.run([candidate, "-I", "-c", PROBE], {
      env,
      cwd: "/",
      limit: 30_000,
    });
    const [found, executable, prefix] = probed.code === 0 ? JSON.parse(probed.stdout) : [];
    if (found === undefined || (version !== undefined && !found.startsWith(`${version}.`)))
      continue;
    const test = asPerson(person, ["test", "-x", executable], "/");
    const isReachable = (await processes.run(test, { env, limit: 20_000 })).code === 0;
    const home = join(folder, "python");
    const path = isReachable ? executable : executable.replace(prefix, home);
    symlinkSync(path, join(folder, "python3"));
    return { path: [folder], python: found, binds: isReachable ? [] : [[prefix, home]] };
  }
  return { reason: `no Python ${version ?? candidates[0]} on the PATH or among pyenv's versions` };
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
