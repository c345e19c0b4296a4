import { findInterpreter } from "../../backends/host/find-interpreter.js";
import { hostEnvironment } from "../../config/environment.js";
import { resolveSettings, type Settings } from "../../config.js";
import { CellarError, isCellarError } from "../../errors.js";
import type { Interpreter } from "../../isolation/interpreter.js";
import { pythonOf } from "../../isolation/python-candidates.js";
import { needingPython } from "../../isolation/python-needed.js";
import { EXIT } from "../exit-codes.js";
import { complain, invalidInput, writeJson } from "../terminal/report-error.js";
import { Interruption } from "../terminal/signals.js";
import { lockEnvironment } from "./lock.js";
import {
  lockFileOf,
  replaced,
  type Target,
  TOOLS,
  targetAnew,
  targetOf,
} from "./own-environment.js";
import {
  type InstalledPackage,
  installPackages,
  listPackages,
  makeEnvironment,
} from "./python-packages.js";

export interface InstallOptions {
  readonly json?: true;
  readonly python?: string;
  readonly recreate?: true;
  readonly timeout?: number;
}

interface Outcome {
  readonly interpreter: Interpreter;
  readonly created: boolean;
  readonly before: readonly InstalledPackage[];
  readonly after: readonly InstalledPackage[] | undefined;
}

const LIMIT_MS = 1_800_000;

/** PEP 508 names with extras and versions; no options, addresses, paths or markers. */
const REQUIREMENT =
  /^[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?(?:\[[A-Za-z0-9][\w.,\s-]*\])?(?:\s*(?:===?|~=|!=|<=?|>=?)\s*[\w.*+!-]+(?:\s*,\s*(?:===?|~=|!=|<=?|>=?)\s*[\w.*+!-]+)*)?$/;
const MOST_CHARACTERS = 200;

export async function install(names: readonly string[], options: InstallOptions): Promise<number> {
  for (const name of names) checkRequirement(name);
  const settings = resolveSettings(options.python === undefined ? {} : { python: options.python });
  if (names.length === 0 && options.recreate !== true) return await list(settings, options);
  using interruption = new Interruption();
  const { signal } = interruption;
  const target = options.recreate === true ? await targetAnew(settings) : await targetOf(settings);
  using _ = await lockFor(target, options, signal);
  // Who waited finds what the other one has made.
  const now =
    target.kind === "there" || options.recreate === true ? target : await targetOf(settings);
  const wanted = now.kind === "there" ? names : [...new Set([...now.inherited, ...names])];
  const outcome = await bring(now, wanted, { ...options, settings, signal });
  if (now.kind === "to-make" && now.from !== undefined && !options.recreate) {
    complain(
      `${now.from} of an earlier version is no longer used; its packages were installed again`,
    );
  }
  report(outcome, wanted, options);
  return EXIT.ok;
}

interface Work extends InstallOptions {
  readonly settings: Settings;
  readonly signal: AbortSignal;
}

async function bring(target: Target, names: readonly string[], work: Work): Promise<Outcome> {
  const { settings, signal, timeout: limit = LIMIT_MS, json = false } = work;
  const order = { names, limit, signal, quiet: json };
  if (target.kind === "there") {
    const { interpreter } = target;
    const python = interpreter.executable;
    const before = (await listPackages(python)) ?? [];
    await installPackages({ ...order, python }).catch(async (error: unknown) => {
      throw withChanges(error, changesIn(before, (await listPackages(python)) ?? before));
    });
    return { interpreter, created: false, before, after: await listPackages(python) };
  }
  const { base, folder } = target;
  return await replaced(folder, async () => {
    await makeEnvironment(base.executable, folder, { signal, quiet: json });
    const python = pythonOf(folder);
    const before = (await listPackages(python)) ?? [];
    if (names.length > 0) await installPackages({ ...order, python });
    const interpreter = await findInterpreter(settings, hostEnvironment());
    return { interpreter, created: true, before, after: await listPackages(python) };
  });
}

async function lockFor(
  target: Target,
  { json, timeout: limit = LIMIT_MS }: InstallOptions,
  signal: AbortSignal,
): Promise<Disposable> {
  const python = target.kind === "there" ? target.interpreter.executable : target.base.executable;
  const file = lockFileOf(target);
  const onWait = () => {
    if (json !== true) process.stderr.write("cellar: waiting for another cellar install\n");
  };
  return await lockEnvironment({ python, file, limit, signal, onWait });
}

async function list(settings: Settings, { json }: InstallOptions): Promise<number> {
  const found = findInterpreter(settings, hostEnvironment());
  const interpreter = await needingPython("cellar install needs", found);
  const { executable: python, prefix: environment, basePrefix, version } = interpreter;
  const isVenv = environment !== basePrefix;
  const listed = (await listPackages(python)) ?? [];
  const packages = listed
    .filter(({ name, isOwn }) => isVenv && isOwn && !TOOLS.includes(name))
    .map(({ name, version: one }) => ({ name, version: one }))
    .sort((one, other) => one.name.localeCompare(other.name));
  if (json === true) {
    writeJson({ python, environment: isVenv ? environment : null, packages });
    return EXIT.ok;
  }
  for (const one of packages) process.stdout.write(`${one.name} ${one.version ?? "?"}\n`);
  process.stdout.write(
    isVenv
      ? `Installed in ${environment} (Python ${version}). cellar install NAME adds to it.\n`
      : `Nothing is installed yet: sessions have the packages of ${python} (Python ${version}). ` +
          `cellar install NAME adds some, in ${hostEnvironment().environment}.\n`,
  );
  return EXIT.ok;
}

function report(outcome: Outcome, names: readonly string[], { json }: InstallOptions): void {
  const { interpreter, created, before, after = [] } = outcome;
  const { executable: python, prefix: environment } = interpreter;
  const installed = changesIn(before, after).flatMap(({ name, now, was }) =>
    now === undefined ? [] : [{ name, version: now, ...(was !== undefined && { previous: was }) }],
  );
  const isNew = new Set(installed.map(({ name }) => normal(name)));
  const present = names.map(projectName).flatMap((name) => {
    if (isNew.has(normal(name))) return [];
    const found = after.find((one) => normal(one.name) === normal(name));
    return [{ name: found?.name ?? name, version: found?.version ?? null }];
  });
  if (json === true) {
    writeJson({ python, environment, created, installed, present });
    return;
  }
  const lines = [
    ...installed.map(
      ({ name, version, previous }) =>
        `installed ${name} ${version}${previous === undefined ? "" : ` (was ${previous})`}`,
    ),
    ...present.map(({ name, version }) => `already there: ${name} ${version ?? ""}`.trimEnd()),
    installed.length === 0
      ? `Nothing new was installed in ${environment}${created ? ", made just now" : ""}.`
      : `Installed into ${environment}${created ? ", made just now" : ""}. ` +
        "New sessions see it; running ones stay as they are.",
  ];
  process.stdout.write(`${lines.join("\n")}\n`);
}

interface Change {
  readonly name: string;
  readonly now: string | undefined;
  readonly was: string | undefined;
}

function changesIn(
  before: readonly InstalledPackage[],
  after: readonly InstalledPackage[],
): Change[] {
  const was = new Map(before.map((one) => [normal(one.name), one.version ?? "?"]));
  const now = new Map(after.map((one) => [normal(one.name), one.version ?? "?"]));
  const all = [...after, ...before.filter(({ name }) => !now.has(normal(name)))];
  return all
    .map(({ name }) => ({ name, now: now.get(normal(name)), was: was.get(normal(name)) }))
    .filter((change) => change.now !== change.was);
}

/** A failure that left the environment otherwise than it was says so. */
function withChanges(error: unknown, changes: readonly Change[]): unknown {
  if (changes.length === 0 || !isCellarError(error)) return error;
  const told = changes.map(({ name, was, now }) => `${name} ${was ?? "none"} → ${now ?? "none"}`);
  const { code, message, remedy, details } = error;
  return new CellarError(code, `${message}\n  before that it changed ${told.join(", ")}`, {
    remedy,
    details: { ...details, changes },
    cause: error,
  });
}

export function checkRequirement(name: string): void {
  if (name.length <= MOST_CHARACTERS && REQUIREMENT.test(name)) return;
  throw invalidInput(
    `${JSON.stringify(name)} is not the name of a package`,
    'Give names with optional versions, like pandas or "numpy<3"; options and addresses are not taken.',
  );
}

function projectName(requirement: string): string {
  return /^[\w.-]+/.exec(requirement)?.[0] ?? requirement;
}

function normal(name: string): string {
  return name.toLowerCase().replace(/[-_.]+/g, "-");
}
