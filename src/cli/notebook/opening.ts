import type { REPLConfig } from "../../backends/backend.js";
import { CellarError, isCellarError } from "../../errors.js";
import { TEMPORARY_FOLDER } from "../../isolation/temporary-trouble.js";
import { Notebook } from "../../notebook/notebook.js";
import { cellList } from "../../notebook/state.js";
import { type PlaceOptions, placeOf } from "../options/notebook-place.js";
import { type SandboxOptions, toConfig } from "../options/sandbox-config.js";
import { complain, invalidInput } from "../terminal/report-error.js";
import { withProgress } from "../terminal/terminal.js";

export interface OpenOptions extends PlaceOptions, SandboxOptions {
  readonly takeover?: true;
  readonly signal?: AbortSignal;
}

/** Opens a notebook and closes it after the work, telling what could not be saved. */
export async function withNotebook(
  session: string,
  options: OpenOptions & { readonly create?: boolean },
  work: (notebook: Notebook) => Promise<number>,
): Promise<number> {
  const config = notebookConfig(options);
  const opening = Notebook.open({
    ...config,
    ...placeOf(options),
    session,
    // A command runs a few cells and ends: what is made ahead would be of no use.
    preload: config.preload ?? "none",
    poolSize: 0,
    takeover: options.takeover,
    create: options.create,
    signal: options.signal,
  });
  const notebook = await withProgress("opening the notebook…", opening).catch(inWordsFor(session));
  const told = new Set(notebook.state.warnings);
  for (const warning of told) complain(warning);
  try {
    return await work(notebook).catch(inWordsFor(session));
  } finally {
    await withProgress("saving the variables…", notebook.close());
    for (const warning of notebook.state.warnings) if (!told.has(warning)) complain(warning);
  }
}

export function notebookConfig(options: SandboxOptions): Omit<REPLConfig, "backend"> {
  const { backend = "auto", ...config } = toConfig(options);
  if (backend === "auto" || backend === "native") return config;
  throw invalidInput(`notebooks do not run on ${backend}`, "Leave --backend out.");
}

export function tellLosses({ state }: Notebook): void {
  const { restored, ranAfter, lost } = state;
  if (ranAfter.length > 0) {
    const from =
      restored === null
        ? "the variables begin empty"
        : `restored from the snapshot after cell ${restored}`;
    complain(`${from}; ${cellList(ranAfter)} ran after it`, "--replay runs them again");
  }
  for (const { name, reason, advice } of lost) complain(`${name} was lost: ${reason}`, advice);
}

/** Remedies that speak of calls, as they are said at the command line. */
export function inOurWords(error: unknown, session = "NAME"): never {
  if (!isCellarError(error)) throw error;
  const remedy = remedyOf(error, session);
  if (remedy === undefined) throw error;
  const { code, message, details } = error;
  throw new CellarError(code, message, { remedy, details, cause: error });
}

function inWordsFor(session: string): (error: unknown) => never {
  return (error) => inOurWords(error, session);
}

function remedyOf({ code, details, remedy }: CellarError, session: string): string | undefined {
  switch (code) {
    case "IO_ERROR":
      return details.errno === undefined || details.cause === TEMPORARY_FOLDER
        ? undefined
        : elsewhere(details.errno, remedy);
    case "LOCKED":
      return "End that process, or take the notebook from it with --takeover.";
    case "NOT_FOUND":
      return "cellar notebook list shows the notebooks.";
    case "LIMIT_REACHED":
      return "Raise CELLAR_MAX_CELLS, or continue in another notebook.";
    case "CHECKPOINT_GONE":
      return usableSteps(details.usable, session);
    default:
      return undefined;
  }
}

/** What a person at the command line can do about the folder of the notebooks. */
function elsewhere(errno: unknown, remedy: string | undefined): string | undefined {
  const code = String(errno);
  if (["ENOSPC", "EDQUOT"].includes(code)) {
    return "Free some space there, or name a folder with more space with --dir FOLDER.";
  }
  const unwritable = ["EROFS", "EACCES", "EPERM", "ENOENT", "ENOTDIR", "ENOTSUP"];
  return unwritable.includes(code) ? "Name a writable folder with --dir FOLDER." : remedy;
}

function usableSteps(usable: unknown, session: string): string {
  const steps = Array.isArray(usable) ? usable.map(String) : [];
  return steps.length === 0
    ? "Nothing can be undone now. Set the variables in a new cell."
    : `Go back by ${steps.join(" or ")}: cellar notebook undo ${session} ${steps[0]}.`;
}
