import { type Command, Option } from "commander";
import { collectCode } from "../exec/cell-sources.js";
import { addPlaceOptions } from "../options/notebook-place.js";
import { addSandboxOptions, parseCount } from "../options/sandbox-options.js";
import type { ChangeOptions, PutOptions } from "./changes.js";
import {
  type FilesOptions,
  type GetOptions,
  getFiles,
  listFiles,
  type RemoveOptions,
  removeBook,
} from "./files.js";
import {
  type ExportOptions,
  exportNotebook,
  FORMATS,
  importFile,
  listAll,
  type RecordOptions,
  showNotebook,
} from "./records.js";
import type { RunOptions } from "./run.js";

const EXAMPLES = `
A notebook keeps its cells, their outputs and its variables on the disk.

Examples:
  cellar notebook run sales -c "import csv; total = 0"
  cellar notebook run sales -c "total += 5; total"     the variables are still there
  cellar notebook undo sales                           takes the last cell back
  cellar notebook fork sales what-if                   goes on from there, apart from the first
  cellar notebook export sales --to sales.ipynb        or sales.html
  cellar notebook put sales june.csv                   a file for its cells; get brings one out

Exit codes of run: what sys.exit was called with, else 0 ok, 1 uncaught exception, 2 wrong usage,
124 time limit, 125 Cellar failed, 130 cancelled, 134 crashed, 137 out of memory.`;

type Finish = (code: number) => void;

/** Loaded when needed: reading a notebook takes no Python, and should not wait for what starts it. */
const running = () => import("./run.js");
const changing = () => import("./changes.js");

export function registerNotebook(program: Command, finish: Finish): void {
  const command = program
    .command("notebook")
    .description("cells, outputs and variables that stay")
    .addHelpText("after", EXAMPLES);
  registerRun(command, finish);
  registerRecords(command, finish);
  registerChanges(command, finish);
  registerFiles(command, finish);
}

function registerRun(command: Command, finish: Finish): void {
  const run = command
    .command("run")
    .description("run files or code as cells of a notebook, which is made if need be")
    .argument("<session>", "the name of the notebook")
    .argument("[files...]", "Python files, - for stdin; each becomes a cell")
    .option("-c, --code <code>", "run this code (repeatable)", collectCode)
    .option("--json", "print one JSON object and nothing else on stdout")
    .option("-q, --quiet", "do not print the value of the last expression")
    .option("--replay", "first run the cells again whose variables were lost")
    .option("--images <folder>", "save images there that the terminal cannot show");
  opening(run).action(async (session: string, files: string[], options: RunOptions) =>
    finish(await (await running()).runInNotebook(session, files, options)),
  );
}

function registerRecords(command: Command, finish: Finish): void {
  addPlaceOptions(command.command("list"), "whose notebooks (default: those of all users)")
    .description("tell which notebooks there are, of all users or of one")
    .option("--json", "print one JSON object")
    .action(async (options: RecordOptions) => finish(await listAll(options)));
  addPlaceOptions(command.command("show"))
    .description("print the cells with their outputs, or one of them")
    .argument("<session>", "the name of the notebook")
    .argument("[cell]", "its number, or its id", cellKey)
    .option("--json", "print one JSON object")
    .action(async (session: string, cell: number | string | undefined, options: RecordOptions) =>
      finish(await showNotebook(session, cell, options)),
    );
  addPlaceOptions(command.command("export"))
    .description("write it as a Jupyter notebook or as a page")
    .argument("<session>", "the name of the notebook")
    .requiredOption("--to <file>", "FILE.ipynb, FILE.html, or - for stdout")
    .addOption(
      new Option("--format <name>", "where the file's name does not tell").choices(FORMATS),
    )
    .option("--force", "replace a file that is there")
    .action(async (session: string, options: ExportOptions) =>
      finish(await exportNotebook(session, options)),
    );
  addPlaceOptions(command.command("import"))
    .description("make a notebook of a Jupyter notebook")
    .argument("<file>", "FILE.ipynb")
    .argument("<session>", "the name of the new notebook")
    .option("--json", "print one JSON object")
    .action(async (file: string, session: string, options: RecordOptions) =>
      finish(await importFile(file, session, options)),
    );
}

function registerChanges(command: Command, finish: Finish): void {
  const undo = command
    .command("undo")
    .description("go back to the variables before the last cells")
    .argument("<session>", "the name of the notebook")
    .argument("[cells]", "how many (default: 1)", parseCount(1))
    .option("--json", "print one JSON object");
  opening(undo).action(async (session: string, cells: number | undefined, options: ChangeOptions) =>
    finish(await (await changing()).undoCells(session, cells ?? 1, options)),
  );
  const fork = command
    .command("fork")
    .description("make a second notebook that goes on from the state of the first")
    .argument("<session>", "the name of the notebook")
    .argument("<name>", "the name of the new one")
    .option("--json", "print one JSON object");
  opening(fork).action(async (session: string, name: string, options: ChangeOptions) =>
    finish(await (await changing()).forkNotebook(session, name, options)),
  );
}

function registerFiles(command: Command, finish: Finish): void {
  const put = command
    .command("put")
    .description("copy files into a notebook, which is made if need be")
    .argument("<session>", "the name of the notebook")
    .argument("<files...>", "files of this machine")
    .option("--as <path>", "its path below /workspace; a folder for them where it ends in /")
    .option("--json", "print one JSON object");
  opening(put).action(async (session: string, files: string[], options: PutOptions) =>
    finish(await (await changing()).putFiles(session, files, options)),
  );
  addPlaceOptions(command.command("get"))
    .description("copy files out of a notebook")
    .argument("<session>", "the name of the notebook")
    .argument("<paths...>", "paths below /workspace")
    .option("--to <place>", "a folder, a FILE for one, or - for stdout (default: this folder)")
    .option("--force", "replace files that are there")
    .option("--json", "print one JSON object")
    .action(async (session: string, paths: string[], options: GetOptions) =>
      finish(await getFiles(session, paths, options)),
    );
  addPlaceOptions(command.command("files"))
    .description("tell which files a notebook has, with their sizes")
    .argument("<session>", "the name of the notebook")
    .option("--json", "print one JSON object")
    .action(async (session: string, options: FilesOptions) =>
      finish(await listFiles(session, options)),
    );
  addPlaceOptions(command.command("remove"))
    .description("delete a notebook with its variables and files")
    .argument("<session>", "the name of the notebook")
    .option("--yes", "do not ask")
    .option("--json", "print one JSON object")
    .action(async (session: string, options: RemoveOptions) =>
      finish(await removeBook(session, options)),
    );
}

/** For the commands that start Python. */
function opening(command: Command): Command {
  addPlaceOptions(command).option(
    "--takeover",
    "take the notebook from a process that has it open",
  );
  return addSandboxOptions(command, "none", { backends: "hidden" });
}

function cellKey(text: string): number | string {
  return /^\d{1,9}$/.test(text) ? Number(text) : text;
}
