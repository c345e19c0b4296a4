import { type Command, Option } from "commander";
import { addPlaceOptions, type JsonPlaceOptions } from "../options/notebook-place.js";
import { addSandboxOptions, collect, parseCount } from "../options/sandbox-options.js";
import type { ChangeOptions, PutOptions } from "./changes.js";
import type { GetOptions, RemoveOptions } from "./files.js";
import { FORMATS } from "./formats.js";
import type { ExportOptions } from "./records.js";
import type { RunOptions } from "./run.js";

const JSON_TEXT = "print one JSON object and nothing else on stdout";

const EXAMPLES = `
A notebook keeps its cells, their outputs and its variables on disk.

Examples:
  cellar notebook run sales -c "import csv; total = 0"
  cellar notebook run sales -c "total += 5; total"     the variables are still there
  cellar notebook undo sales                           takes back the last cell
  cellar notebook fork sales what-if                   continues from there, independently
  cellar notebook export sales --to sales.ipynb        or sales.html
  cellar notebook put sales june.csv                   a file for its cells; get copies one out

Exit codes of run: the argument of sys.exit, else 0 ok, 1 uncaught exception, 2 wrong usage,
124 time limit, 125 Cellar failed, 130 cancelled, 134 crashed, 137 out of memory.`;

type Finish = (code: number) => void;

/** Loaded when needed: reading a notebook should not wait for what starts Python. */
const running = () => import("./run.js");
const changing = () => import("./changes.js");
const reading = () => import("./records.js");
const copying = () => import("./files.js");

export function registerNotebook(program: Command, finish: Finish): void {
  const notebook = program
    .command("notebook")
    .description("cells, outputs and variables that persist")
    .addHelpText("after", EXAMPLES);
  registerWithPython(notebook, finish);
  registerWithoutPython(notebook, finish);
}

function on(notebook: Command, name: string, description: string): Command {
  return notebook
    .command(name)
    .description(description)
    .argument("<session>", "the name of the notebook");
}

function registerWithPython(notebook: Command, finish: Finish): void {
  opening(on(notebook, "run", "run files or code as cells of a notebook, created if needed"))
    .argument("[files...]", "Python files, - for stdin; each becomes a cell")
    .option("-c, --code <code>", "run this code (repeatable)", collect)
    .option("-q, --quiet", "do not print the value of the last expression")
    .option("--replay", "first rerun the cells whose variables were lost")
    .option("--images <folder>", "save images there that the terminal cannot show")
    .action(async (session: string, files: string[], options: RunOptions) =>
      finish(await (await running()).runInNotebook(session, files, options)),
    );
  opening(on(notebook, "undo", "go back to the variables before the last cells"))
    .argument("[cells]", "how many (default: 1)", parseCount(1))
    .action(async (session: string, cells: number | undefined, options: ChangeOptions) =>
      finish(await (await changing()).undoCells(session, cells ?? 1, options)),
    );
  opening(on(notebook, "fork", "create a second notebook that continues from the first"))
    .argument("<name>", "the name of the new one")
    .action(async (session: string, name: string, options: ChangeOptions) =>
      finish(await (await changing()).forkNotebook(session, name, options)),
    );
  opening(on(notebook, "put", "copy files into a notebook, created if needed"))
    .argument("<files...>", "files of this machine")
    .option("--as <path>", "the path below /workspace; a folder if it ends in /")
    .action(async (session: string, files: string[], options: PutOptions) =>
      finish(await (await changing()).putFiles(session, files, options)),
    );
}

function registerWithoutPython(notebook: Command, finish: Finish): void {
  addPlaceOptions(notebook.command("list"), "whose notebooks (default: those of all users)")
    .description("list the notebooks of all users or of one")
    .option("--json", JSON_TEXT)
    .action(async (options: JsonPlaceOptions) => finish(await (await reading()).listAll(options)));
  addPlaceOptions(on(notebook, "show", "print the cells with their outputs, or one of them"))
    .argument("[cell]", "its number, or its id", cellKey)
    .option("--json", JSON_TEXT)
    .action(async (session: string, cell: number | string | undefined, options: JsonPlaceOptions) =>
      finish(await (await reading()).showNotebook(session, cell, options)),
    );
  addPlaceOptions(on(notebook, "export", "write it as a Jupyter notebook or as an HTML page"))
    .requiredOption("--to <file>", "FILE.ipynb, FILE.html, or - for stdout")
    .addOption(new Option("--format <name>", "if the file name does not say").choices(FORMATS))
    .option("--force", "replace an existing file")
    .action(async (session: string, options: ExportOptions) =>
      finish(await (await reading()).exportNotebook(session, options)),
    );
  addPlaceOptions(notebook.command("import"))
    .description("create a notebook from a Jupyter notebook")
    .argument("<file>", "FILE.ipynb")
    .argument("<session>", "the name of the new notebook")
    .option("--json", JSON_TEXT)
    .action(async (file: string, session: string, options: JsonPlaceOptions) =>
      finish(await (await reading()).importFile(file, session, options)),
    );
  addPlaceOptions(on(notebook, "get", "copy files out of a notebook"))
    .argument("<paths...>", "paths below /workspace")
    .option("--to <place>", "a folder, a FILE for one, or - for stdout (default: this folder)")
    .option("--force", "replace existing files")
    .option("--json", JSON_TEXT)
    .action(async (session: string, paths: string[], options: GetOptions) =>
      finish(await (await copying()).getFiles(session, paths, options)),
    );
  addPlaceOptions(on(notebook, "files", "list the files of a notebook with their sizes"))
    .option("--json", JSON_TEXT)
    .action(async (session: string, options: JsonPlaceOptions) =>
      finish(await (await copying()).listFiles(session, options)),
    );
  addPlaceOptions(on(notebook, "remove", "delete a notebook with its variables and files"))
    .option("--yes", "do not ask")
    .option("--json", JSON_TEXT)
    .action(async (session: string, options: RemoveOptions) =>
      finish(await (await copying()).removeBook(session, options)),
    );
}

function opening(command: Command): Command {
  addPlaceOptions(command)
    .option("--takeover", "take over the notebook from the process that has it open")
    .option("--json", JSON_TEXT);
  return addSandboxOptions(command, "none", { backends: "hidden" });
}

function cellKey(text: string): number | string {
  return /^\d{1,9}$/.test(text) ? Number(text) : text;
}
