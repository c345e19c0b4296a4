import { existsSync, lstatSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import { z } from "zod";
import { CellarError, describeError } from "../errors.js";
import type { Binding } from "./bwrap.js";
import {
  type EarlyAnswer,
  MOST_ADDED,
  type QuestionOptions,
  questionInterpreter,
} from "./interpreter-question.js";
import type { InterpreterCandidate } from "./python-candidates.js";
import {
  type Guarded,
  type HiddenFolder,
  isWithin,
  siteFolders,
  TOO_WIDE,
  UNUSABLE_GUESTS,
} from "./site-folders.js";

export { type InterpreterCandidate, interpreterCandidates } from "./python-candidates.js";

export interface Interpreter {
  /** As the host starts it. */
  executable: string;
  /** As it is started inside the wall, where `roots` are bound. */
  guestExecutable: string;
  version: string;
  prefix: string;
  basePrefix: string;
  /** Folders, seldom single files, that the wall must show besides `/usr`. */
  roots: readonly Binding[];
  /** Where packages are installed, on the host. */
  site: string;
  reason: string;
  /** What `.pth` files name outside these, to be shown where no mount is in the way. */
  folders: readonly Binding[];
  /** What the search path names and no session sees. */
  hidden: readonly HiddenFolder[];
}

export interface ResolveOptions {
  /** What must stay out of sight, whatever a `.pth` file names. */
  guarded?: Guarded | undefined;
  signal?: AbortSignal | undefined;
  environment?: QuestionOptions["environment"];
  /** An answer that was asked for in advance, for the one time that it is new. */
  early?: EarlyAnswer | undefined;
}

const OLDEST = [3, 8] as const;
const VENV_GUEST = "/opt/venv";
/** Package stores whose interpreters need their neighbours too. */
const STORES = ["/nix/store", "/home/linuxbrew/.linuxbrew"];

const Path = z.string().max(4096).refine(isAbsolute);
const Answer = z.object({
  executable: Path,
  version: z.tuple([z.int(), z.int(), z.int()]),
  prefixes: z.tuple([Path, Path]),
  base_prefixes: z.tuple([Path, Path]),
  library: Path,
  site: Path,
  /** Folders and files where modules are looked for, those of `.pth` files among them. */
  added: z.array(Path).max(MOST_ADDED).default([]),
});
type Answer = z.infer<typeof Answer>;

/** The first candidate that answers and is new enough, with what the wall must show of it. */
export async function resolveInterpreter(
  candidates: readonly InterpreterCandidate[],
  options: ResolveOptions = {},
): Promise<Interpreter> {
  const refusals: string[] = [];
  let named: string | undefined;
  for (const candidate of candidates) {
    options.signal?.throwIfAborted();
    try {
      const answer = await ask(candidate.path, options);
      return describe(answer, candidate.reason, options.guarded ?? {});
    } catch (error) {
      options.signal?.throwIfAborted();
      if (candidate.isConfigured === true) named = candidate.path;
      if (candidate.environment !== undefined)
        throw brokenEnvironment(candidate.environment, named, error);
      refusals.push(`${candidate.path} (${candidate.reason}): ${describeError(error)}`);
    }
  }
  throw unsuitable(
    refusals.length === 0
      ? "No Python was found"
      : `No suitable Python was found:\n${refusals.map((line) => `  ${line}`).join("\n")}`,
    {
      refusals,
      looked: candidates.map(({ path }) => path),
      ...(named !== undefined && { named }),
    },
  );
}

/** Another Python would run without a word, and without the packages. */
function brokenEnvironment(
  { folder, remedy }: NonNullable<InterpreterCandidate["environment"]>,
  named: string | undefined,
  error: unknown,
): CellarError {
  const message = `The Python environment ${folder} cannot be used: ${describeError(error)}`;
  return new CellarError("PYTHON_UNSUITABLE", message, {
    remedy,
    details: { environment: folder, ...(named !== undefined && { named }) },
    cause: error,
  });
}

async function ask(path: string, options: ResolveOptions): Promise<Answer> {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) {
    const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    throw unsuitable(isLink ? `its Python, ${readlinkSync(path)}, is gone` : "it does not exist");
  }
  const stdout = await (options.early?.take(path) ?? questionInterpreter(path, options)).catch(
    (error: unknown) => {
      throw unsuitable(`it could not be run: ${runFailure(error)}`);
    },
  );
  const answer = Answer.safeParse(parseJson(stdout));
  if (!answer.success) {
    throw unsuitable("it did not answer like Python 3");
  }
  return answer.data;
}

function describe(answer: Answer, reason: string, guarded: Guarded): Interpreter {
  const [major, minor] = answer.version;
  const version = answer.version.join(".");
  if (major !== OLDEST[0] || minor < OLDEST[1]) {
    throw unsuitable(`it is Python ${version}, and ${OLDEST.join(".")} or newer is needed`);
  }
  const [prefix] = answer.prefixes;
  const [basePrefix] = answer.base_prefixes;
  const isVenv = prefix !== basePrefix;
  if (isVenv && !existsSync(answer.site)) {
    throw unsuitable(`its Python is ${version} now, and its packages are for another version`);
  }
  // A venv is known by the place of its own link; any other interpreter by its real file.
  const executable = isVenv ? answer.executable : realpathSync(answer.executable);
  const moved = isVenv && isUnusable(prefix) ? { host: prefix, guest: VENV_GUEST } : undefined;
  const shown = [
    ...(moved === undefined ? answer.prefixes : []),
    ...answer.base_prefixes,
    answer.library,
  ];
  const roots = outermost(shown.flatMap((path) => [path, realpathSync(path)]).map(storeOf));
  for (const root of roots) {
    checkRoot(root);
  }
  const bindings = roots.map((root) => ({ host: root, guest: root }));
  const { folders, hidden } = siteFolders(answer.added, [...roots, ...answer.prefixes], guarded);
  return {
    executable,
    guestExecutable:
      moved === undefined ? executable : join(moved.guest, relative(moved.host, executable)),
    version,
    prefix,
    basePrefix,
    roots: [
      ...bindings,
      ...(moved === undefined ? [] : [moved]),
      ...linksOnTheWay(executable, [...roots, prefix]),
    ],
    folders,
    site: answer.site,
    reason,
    hidden,
  };
}

function checkRoot(root: string): void {
  if (TOO_WIDE.includes(root)) {
    throw unsuitable(`it lives in ${root}, too much of the machine to show to a sandbox`);
  }
  if (isUnusable(root)) {
    throw unsuitable(`it lives in ${root}, a place that every session covers with its own`);
  }
}

function isUnusable(root: string): boolean {
  return UNUSABLE_GUESTS.some((folder) => isWithin(root, folder));
}

/** Folders outside `/usr` with none inside another. */
function outermost(folders: readonly string[]): string[] {
  const outside = [...new Set(folders)].filter((folder) => !isWithin(folder, "/usr"));
  return outside.filter(
    (folder) => !outside.some((other) => other !== folder && isWithin(folder, other)),
  );
}

function storeOf(folder: string): string {
  return STORES.find((store) => isWithin(folder, store)) ?? folder;
}

/** A venv's link may pass through places that no root shows; there the real file is shown. */
function linksOnTheWay(executable: string, shown: readonly string[]): Binding[] {
  const bindings: Binding[] = [];
  const real = realpathSync(executable);
  let path = executable;
  while (lstatSync(path).isSymbolicLink()) {
    path = resolve(dirname(path), readlinkSync(path));
    if (![...shown, "/usr", "/bin"].some((folder) => isWithin(path, folder))) {
      bindings.push({ host: real, guest: path });
    }
  }
  return bindings;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What the program said last is more telling than the command line in the error's message. */
function runFailure(error: unknown): string {
  if (!(error instanceof Error)) {
    return String(error);
  }
  const said = "stderr" in error ? String(error.stderr).trim().split("\n").at(-1) : "";
  const code = "code" in error ? String(error.code) : error.name;
  return said === undefined || said === "" ? code : said;
}

function unsuitable(message: string, details?: Readonly<Record<string, unknown>>): CellarError {
  return new CellarError("PYTHON_UNSUITABLE", message, {
    remedy: `Install Python ${OLDEST.join(".")} or newer, or name one with the option \`python\` (a python binary or a venv folder).`,
    details,
  });
}
