import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Checks } from "./checks.mjs";
import { weight } from "./journey.mjs";
import { Machine, ownFolder } from "./machine.mjs";
import { installTarball, isWithoutRegistry, packTarball } from "./package.mjs";
import { environmentOf, findPerson, pathOf } from "./person.mjs";
import { endProcess, Processes, startedWith } from "./processes.mjs";
import { Visit } from "./visit.mjs";

/** Not /tmp, which differs between machines. */
const GROUND = "/var/tmp";
/** Small, and rarely installed already. */
const PACKAGES = ["tabulate", "toolz", "cowsay", "six"];
const INDEX_MS = 15_000;
const NEEDED = ["setpriv", "unshare", "nsenter", "sh"];

/** Packs the package and tries it on one machine after the other. */
export class Trial {
  #root;
  #options;
  #folder;
  #processes = new Processes();
  #checks = new Checks((line) => console.log(line));
  #measures = {};

  constructor(root, options) {
    this.#root = root;
    this.#options = options;
    process.umask(0o022);
    this.#folder = mkdtempSync(join(existsSync(GROUND) ? GROUND : tmpdir(), "cellar-trial-"));
    chmodSync(this.#folder, 0o755);
  }

  async run(machines) {
    const person = findPerson(this.#options.uid);
    const path = await pathOf(person, this.#processes);
    console.log(`as ${person.name} (uid ${person.uid}), in ${this.#folder}`);
    const tarball = await packTarball(this.#root, this.#folder, this.#processes);
    const shared = {
      person,
      path,
      tarball,
      index: this.#options.short
        ? { reason: "the short form does not use one" }
        : await packageIndex(),
      cache: ownFolder(person, join(this.#folder, "npm-cache")),
    };
    const missing = await this.#missing(shared);
    for (const plan of machines) {
      const obstacle = missing ?? shared.unreachable;
      if (obstacle !== undefined) this.#checks.skip(plan.name, plan.what, obstacle);
      else await this.#visit(plan, shared);
    }
    return { results: this.#checks.results, measures: this.#measures };
  }

  /** Ends all processes and removes the folder. */
  end() {
    this.#processes.endAll();
    for (const { pid } of startedWith(this.#folder)) endProcess(pid);
    if (this.#options.keep) console.log(`kept: ${this.#folder}`);
    else rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }

  async #visit(plan, shared) {
    const { person, path, cache, index, tarball } = shared;
    const folder = join(this.#folder, plan.folder ?? plan.name);
    mkdirSync(folder);
    const home = ownFolder(person, join(folder, "home"));
    const project = shared.installed ?? ownFolder(person, join(folder, "project"));
    const runtime = (await this.#runtime(plan, person)) ?? { path: [] };
    if (runtime.reason !== undefined)
      return this.#checks.skip(plan.name, plan.what, runtime.reason);
    const wholePath = [...runtime.path, ...path];
    const env = environmentOf(person, { home, path: wholePath.join(":"), cache });
    const place = { folder, home, project, env, runtime };
    const machine = new Machine(plan.name, place, { person, processes: this.#processes });
    const visit = new Visit(machine, { checks: this.#checks, index, isShort: this.#options.short });
    try {
      if (!(await this.#mount(plan, machine, { path: wholePath, home, runtime }))) return;
      if (!(await this.#install(visit, tarball, shared))) return;
      await plan.steps(visit);
      await this.#lookForProcesses(visit);
    } finally {
      await machine.close();
    }
  }

  async #runtime({ name, find }, person) {
    if (find === undefined) return undefined;
    const folder = join(this.#folder, "runtimes", name.replaceAll("/", "-"));
    mkdirSync(folder, { recursive: true });
    return await find({ folder, person, processes: this.#processes });
  }

  async #mount({ name, what, mounts, otherwise }, machine, { path, home, runtime }) {
    const opened = runtime.opened ?? [];
    if (mounts === undefined && opened.length === 0) return true;
    const problem = await machine.mount({ ...mounts?.({ path, home }), opened });
    if (problem === undefined) return true;
    if (otherwise === undefined) return this.#checks.skip(name, what, problem);
    otherwise({ home });
    return true;
  }

  /** From an empty folder; only once in the short form, because npm is slow. */
  async #install(visit, tarball, shared) {
    const { machine } = visit;
    if (shared.installed !== undefined) return true;
    let result;
    const isInstalled = await visit.task("npm install", async () => {
      result = await installTarball(machine, tarball);
      if (result.code === 0 && !/npm (warn|error)/i.test(result.stderr)) return undefined;
      const said = result.stderr.trim();
      if (isWithoutRegistry(result)) {
        shared.unreachable = `npm cannot reach a registry: ${said.split("\n")[0]}`;
        return { skip: shared.unreachable };
      }
      return { expected: "exit code 0 and no warning", got: `${result.code}\n${said}` };
    });
    if (!isInstalled && result.code !== 0) return false;
    if (this.#options.short) shared.installed = machine.project;
    if (machine.name === "plain") await this.#measure(visit, result.ms);
    return true;
  }

  async #measure(visit, install) {
    const words = ["npx", "cellar", "exec", "-c", "6 * 7"];
    const first = await visit.program("the second command gives the first result", words, {
      stdout: /^42\n$/,
    });
    this.#measures = { commands: 2, install, cell: first?.ms };
    this.#measures.weightMb = await weight(visit);
  }

  async #lookForProcesses(visit) {
    await visit.task("no process is left", async () => {
      const left = startedWith(dirname(visit.machine.home));
      for (const { pid } of left) endProcess(pid);
      if (left.length > 0)
        return { expected: "none", got: left.map(({ words }) => words).join("\n") };
    });
  }

  /** Why only root can do this here. */
  async #missing({ path, person }) {
    const needed = person.drop.length > 0 ? NEEDED : NEEDED.slice(1);
    const where = (process.env.PATH ?? "").split(":");
    const absent = needed.filter((name) => !where.some((one) => existsSync(join(one, name))));
    if (absent.length > 0) return `not on this machine: ${absent.join(", ")}`;
    const unreachable = ["node", "npm"].filter(
      (name) => !path.some((one) => existsSync(join(one, name))),
    );
    if (unreachable.length === 0) return undefined;
    return `uid ${person.uid} cannot reach ${unreachable.join(" and ")}; run it as an ordinary user`;
  }
}

async function packageIndex() {
  const names = PACKAGES;
  const isProxied = Object.keys(process.env).some((name) => /^https?_proxy$/i.test(name));
  if (isProxied) return { names };
  const index = process.env.PIP_INDEX_URL ?? "https://pypi.org/simple";
  try {
    const answer = await fetch(`${index.replace(/\/$/, "")}/${names[0]}/`, {
      signal: AbortSignal.timeout(INDEX_MS),
    });
    return answer.ok ? { names } : { names, reason: `the package index answers ${answer.status}` };
  } catch (error) {
    return {
      names,
      reason: `no package index can be reached: ${error.cause?.code ?? error.message}`,
    };
  }
}
