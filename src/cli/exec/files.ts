import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { mkdir, open, readdir, realpath, rename, rm } from "node:fs/promises";
import { basename, resolve } from "node:path";
import type { ISandbox } from "../../backends/backend.js";
import { parseFilePath } from "../../backends/files/file-path.js";
import type { FileListing, WorkspaceFile } from "../../backends/files/workspace-file.js";
import { CellarError, describeError, isCellarError } from "../../errors.js";
import { DirHandle, descend } from "../../notebook/workspace/dir-handle.js";
import { complain, invalidInput } from "../terminal/report-error.js";
import { escapeControls } from "../terminal/terminal.js";
import type { ScriptCell } from "./cells.js";
import { sizeText, type Written } from "./host-files.js";

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
const MEBIBYTE = 1024 * 1024;

export interface FileOptions {
  readonly put?: readonly string[] | undefined;
  readonly out?: string | undefined;
  readonly force?: true | undefined;
  readonly workspaceMb: number;
}

export class ExecFiles {
  readonly #options: FileOptions;
  #before: FileListing = { files: [], isCut: false };

  private constructor(options: FileOptions) {
    this.#options = options;
  }

  /** Fails before anything runs, so that no result is lost. */
  static async plan(options: FileOptions): Promise<ExecFiles> {
    const names = (options.put ?? []).map((path) => basename(resolve(path)));
    const twice = names.find((name, at) => names.indexOf(name) !== at);
    if (twice !== undefined) throw invalidInput(`--put names two files ${JSON.stringify(twice)}`);
    if (options.out !== undefined) await makeFolder(options.out, options.force === true);
    return new ExecFiles(options);
  }

  async bring(sandbox: ISandbox, signal: AbortSignal): Promise<void> {
    for (const file of this.#options.put ?? []) {
      await sandbox.putFile(basename(resolve(file)), { file }, { signal });
    }
    if (this.#options.out !== undefined) this.#before = await sandbox.listFiles({ signal });
  }

  /** Undefined without --out. Links are not copied. */
  async take(
    sandbox: ISandbox,
    scripts: readonly ScriptCell[],
  ): Promise<readonly Written[] | undefined> {
    const { out, workspaceMb } = this.#options;
    if (out === undefined) return undefined;
    const after = await sandbox.listFiles();
    const known = new Map(this.#before.files.map((file) => [file.path, file]));
    const changed = after.files.filter((file) => isChanged(file, known.get(file.path)));
    const files = changed.filter(({ kind }) => kind === "file");
    // The folder itself may be a link; below it none is followed.
    using folder = DirHandle.open(await realpath(out));
    const written: Written[] = [];
    let left = workspaceMb * MEBIBYTE;
    let unread: unknown;
    for (const { path } of files) {
      // Sparse files take no space inside, but their full size here.
      const content = await sandbox.getFile(path, { maxBytes: left }).catch((error: unknown) => {
        if (isCellarError(error, "TOO_LARGE")) throw tooMuch(out, workspaceMb);
        // An unreadable file does not prevent copying the others.
        if (isCellarError(error, "IO_ERROR") || isCellarError(error, "INVALID_INPUT"))
          unread ??= error;
        else if (!isCellarError(error, "NOT_FOUND")) throw error;
      });
      // Background processes may remove files.
      if (content === undefined || isScript(path, content, scripts)) continue;
      left -= content.length;
      await write(folder, path, content);
      written.push({ path, bytes: content.length });
    }
    if (after.isCut) complain("there are more files in /workspace than were written");
    const others = changed.length - files.length - changed.filter(isFolder).length;
    if (others > 0) complain(`not written to ${out}: symbolic links and special files (${others})`);
    if (unread !== undefined) throw unread;
    return written;
  }

  tell(written: readonly Written[]): void {
    const { out = "" } = this.#options;
    const bytes = written.reduce((sum, file) => sum + file.bytes, 0);
    const count = written.length === 1 ? "1 file" : `${written.length} files`;
    const line =
      written.length === 0
        ? `wrote no files to ${out}: the cells left none in /workspace`
        : `wrote ${count} to ${out} (${sizeText(bytes)})`;
    process.stderr.write(`${escapeControls(line)}\n`);
  }
}

async function makeFolder(path: string, force: boolean): Promise<void> {
  let names: readonly string[];
  try {
    await mkdir(path, { recursive: true });
    names = await readdir(path);
  } catch (error) {
    throw new CellarError("IO_ERROR", `--out ${path} cannot be used: ${describeError(error)}`, {
      remedy: "Name a writable folder, or a new one.",
      cause: error,
    });
  }
  if (names.length === 0 || force) return;
  throw invalidInput(
    `the folder ${path} is not empty`,
    "Give --force to overwrite its files, or name another folder.",
  );
}

function isChanged(file: WorkspaceFile, before: WorkspaceFile | undefined): boolean {
  if (before === undefined || before.kind !== file.kind) return true;
  return before.bytes !== file.bytes || before.modified.getTime() !== file.modified.getTime();
}

function isScript(path: string, content: Buffer, scripts: readonly ScriptCell[]): boolean {
  const isSame = ({ code, argv }: ScriptCell) =>
    basename(argv[0] ?? "") === path && content.equals(Buffer.from(code));
  return scripts.some(isSame);
}

function isFolder({ kind }: WorkspaceFile): boolean {
  return kind === "folder";
}

/** The name comes from inside, so no link is followed. */
async function write(root: DirHandle, path: string, content: Uint8Array): Promise<void> {
  const names = parseFilePath(path);
  try {
    using folder = descend(root, names.slice(0, -1), (parent, name) =>
      parent.make(name, undefined),
    );
    const temporary = folder.at(`.cellar-${randomBytes(8).toString("hex")}`);
    try {
      await using file = await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o666);
      await file.writeFile(content);
      await rename(temporary, folder.at(names.at(-1) ?? ""));
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  } catch (error) {
    throw new CellarError(
      "IO_ERROR",
      `${JSON.stringify(path)} could not be written: ${describeError(error)}`,
      { remedy: "Name an empty folder that can be written.", cause: error },
    );
  }
}

function tooMuch(out: string, workspaceMb: number): CellarError {
  return new CellarError("TOO_LARGE", `the files for ${out} have more than ${workspaceMb} MB`, {
    remedy: "Leave less in /workspace, or raise limits.workspaceMb.",
  });
}
