import { counted } from "../../errors.js";
import { type Cell, cellName } from "../../notebook/cell.js";
import type { Notebook } from "../../notebook/notebook.js";
import { type CellRun, STATE_OF } from "../../notebook/run/cell-result.js";
import { cellList, type NotebookState } from "../../notebook/state.js";
import type { StateManifest } from "../../protocol/messages.js";
import { readCells } from "../exec/cell-sources.js";
import { EXIT, exitCodeOf } from "../exit-codes.js";
import { openScreen, type Screen } from "../terminal/displays.js";
import { type Ending, showEnding } from "../terminal/execution-view.js";
import { complain, writeJson } from "../terminal/report-error.js";
import { Interruption } from "../terminal/signals.js";
import { withProgress } from "../terminal/terminal.js";
import { type OpenOptions, tellLosses, withNotebook } from "./opening.js";

/** More would bury what the cells printed. */
const MOST_UNKEPT = 20;

export interface RunOptions extends OpenOptions {
  readonly code?: readonly string[];
  readonly json?: true;
  readonly quiet?: true;
  readonly replay?: true;
  readonly images?: string;
}

export async function runInNotebook(
  session: string,
  files: readonly string[],
  options: RunOptions,
): Promise<number> {
  const isReplayOnly = options.replay === true && options.code === undefined && files.length === 0;
  const sources = isReplayOnly ? [] : await readCells(files, options.code);
  using interruption = new Interruption();
  const { signal } = interruption;
  return await withNotebook(session, { ...options, signal }, async (notebook) => {
    const saved = notebook.state.snapshot?.sequence ?? 0;
    const replayed = options.replay === true ? await replay(notebook, signal) : [];
    const isWhole = options.replay !== true || notebook.state.ranAfter.length === 0;
    const wanted = isWhole ? sources : [];
    const code =
      options.json === true
        ? await runForJson(notebook, wanted, { replayed, saved }, signal)
        : await runForPeople(notebook, wanted, options, signal);
    if (options.json !== true) await tellUnkept(notebook, saved);
    return isWhole ? code : EXIT.failed;
  });
}

async function replay(notebook: Notebook, signal: AbortSignal): Promise<readonly Cell[]> {
  tellLosses(notebook);
  const replayed = await notebook.replay({ signal });
  for (const cell of replayed) complain(`ran again, as ${cellName(cell)}: ${cell.state}`);
  const { ranAfter } = notebook.state;
  if (ranAfter.length > 0) {
    complain(
      `the effects of ${cellList(ranAfter)} are still missing, so nothing else was run`,
      "cellar notebook show says how they ended; run without --replay to continue",
    );
  }
  return replayed;
}

async function runForJson(
  notebook: Notebook,
  sources: readonly string[],
  { replayed, saved }: { readonly replayed: readonly Cell[]; readonly saved: number },
  signal: AbortSignal,
): Promise<number> {
  const cells: Cell[] = [];
  let code: number = EXIT.ok;
  for (const source of sources) {
    const cell = await notebook.run(source, { signal });
    cells.push(cell);
    code = exitCodeOf(endingOf(cell));
    if (code !== EXIT.ok) break;
  }
  const { info } = notebook;
  // Only then it is known what was saved.
  await notebook.close();
  const { state } = notebook;
  writeJson({ cells, replayed, unkept: unkeptIn(state, saved), state, info });
  return code;
}

type Unkept = Pick<KeptVariable, "name" | "reason" | "advice">;
type KeptVariable = StateManifest["variables"][number];

function unkeptIn({ snapshot }: NotebookState, saved: number): readonly Unkept[] {
  const isOfThese = snapshot !== null && snapshot.sequence > saved;
  const variables = isOfThese ? (snapshot.manifest?.variables ?? []) : [];
  return variables
    .filter(({ kept }) => !kept)
    .map(({ name, reason, advice }) => ({ name, reason, advice }));
}

/** Only when it is closed it is known what was saved. */
async function tellUnkept(notebook: Notebook, saved: number): Promise<void> {
  await withProgress("saving the variables…", notebook.close());
  const unkept = unkeptIn(notebook.state, saved);
  for (const { name, reason = "it cannot be saved", advice } of unkept.slice(0, MOST_UNKEPT)) {
    complain(`${name} cannot be kept: ${reason}`, advice);
  }
  const more = unkept.length - MOST_UNKEPT;
  if (more > 0) complain(`${more} more variables cannot be kept`, "--json names all of them");
}

async function runForPeople(
  notebook: Notebook,
  sources: readonly string[],
  options: RunOptions,
  signal: AbortSignal,
): Promise<number> {
  const screen = openScreen(options.images);
  let code: number = EXIT.ok;
  for (const source of sources) {
    const cell = await watch(notebook.start(source, { signal }), screen);
    const ending = endingOf(cell);
    if (options.quiet !== true) screen.stdout.write(resultOf(cell));
    showEnding({ ...ending, omitted: cell.omitted }, screen);
    for (const note of cell.notes ?? []) complain(inOurWords(note));
    code = exitCodeOf(ending);
    if (code !== EXIT.ok) break;
  }
  screen.displays.tellUnshown();
  return code;
}

async function watch(run: CellRun, { stdout, stderr, displays }: Screen): Promise<Cell> {
  for await (const event of run.events) {
    switch (event.type) {
      case "stdout":
        stdout.write(event.text);
        break;
      case "stderr":
        stderr.write(event.text);
        break;
      case "display":
        displays.show(event);
        break;
      case "omitted":
        complain(`not shown: ${counted(event.events, "piece")} of output; the notebook has them`);
        break;
      case "state":
      case "finished":
        break;
    }
  }
  return await run.done;
}

function resultOf({ outputs }: Cell): string {
  const results = outputs.filter((output) =>
    output.type === "TEXT" ? output.stream === "result" : "isResult" in output && output.isResult,
  );
  return results.map((output) => ("text" in output ? `${output.text}\n` : "")).join("");
}

const STATUSES = Object.entries(STATE_OF) as [Ending["status"], Cell["state"]][];

function endingOf({ state, exitCode: code, outputs }: Cell): Ending {
  const exitCode = code ?? null;
  const [status] = STATUSES.find(([, one]) => one === state) ?? ["ok"];
  const error = outputs.findLast((output) => output.type === "ERROR");
  if (error === undefined) {
    return { status, exitCode, error: { message: `the cell ended as ${state}`, traceback: "" } };
  }
  const { message, traceback, hint } = error;
  const told = hint === undefined ? {} : { hint: inOurWords(hint) };
  return { status, exitCode, error: { message, traceback, ...told } };
}

/** Replaces the library's calls by what to type at the command line. */
function inOurWords(text: string): string {
  return text
    .replaceAll("replay()", "--replay")
    .replaceAll("(removeFile)", "(or set CELLAR_LIMITS_WORKSPACE_MB to more, and delete some)");
}
