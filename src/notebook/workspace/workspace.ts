import type { BigIntStats } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import type { FileContent } from "../../backends/files/file-content.js";
import { parseFilePath, type RawName, shownPath } from "../../backends/files/file-path.js";
import {
  type FileListing,
  fileFault,
  fileNotFound,
  fileTooLarge,
  type ReadOptions,
  type WorkspaceFile,
  type WorkspaceLimit,
  workspaceLimit,
} from "../../backends/files/workspace-file.js";
import { sessionDirOwner } from "../../backends/host/session-dir.js";
import { checkNames, requireOptions } from "../../config/kinds.js";
import type { FileChanges } from "../cell.js";
import { DirHandle, descend, type Owner } from "./dir-handle.js";
import { Quota } from "./quota.js";
import { Removal } from "./removal.js";
import { changesBetween, type Scan, takeScan, type Usage, walk } from "./scan.js";
import { Upload } from "./upload.js";
import { type CopyReport, WorkspaceCopy } from "./workspace-copy.js";

export interface CopyOptions {
  /** A factor for the target's limit. Default: 1. */
  readonly leeway?: number | undefined;
  /** Whether it is synced to disk. Default: no. */
  readonly isDurable?: boolean | undefined;
}

const MAX_LISTED = 10_000;
/** The range of a Date. */
const LONGEST_TIME_MS = 8.64e15;

/**
 * The host's hand in the /workspace of a session. What runs in there is hostile and may change
 * anything at any moment, so every name is looked up in a folder that is held open.
 */
export class Workspace {
  readonly path: string;
  readonly quota: Quota;
  readonly limit: WorkspaceLimit;
  readonly #owner: Owner | undefined;
  readonly #upload: Upload;

  constructor(path: string, limits: { workspaceMb: number }) {
    this.path = path;
    this.limit = workspaceLimit(limits);
    this.#owner = sessionDirOwner();
    this.#upload = new Upload(path, this.#owner, this.limit);
    this.quota = new Quota((signal) => this.usage(signal), this.limit);
  }

  async files(): Promise<FileListing> {
    const found: { path: RawName; stats: BigIntStats }[] = [];
    let isCut = false;
    const { isWhole } = await this.#in((root) =>
      walk(root, (entry) => {
        if (found.length < MAX_LISTED) found.push(entry);
        else isCut = true;
      }),
    );
    const files = found.sort(byPath).map(({ path, stats }) => listed(path, stats));
    return { files, isCut: isCut || !isWhole };
  }

  /** Creates or replaces a file, with the folders it needs. Durable when it returns. */
  async put(path: string, content: FileContent): Promise<void> {
    const names = parseFilePath(path);
    const put = (root: DirHandle) => this.#upload.put(root, names, content, () => this.usage());
    await this.#in(put, path);
  }

  async get(path: string, options: ReadOptions = {}): Promise<Buffer> {
    const given = requireOptions("the options of a read", options);
    const { maxBytes = this.limit.bytes } = checkNames("getFile", given, { maxBytes: true });
    const names = parseFilePath(path);
    return this.#in(async (root) => {
      using folder = descend(root, names.slice(0, -1));
      await using file = await folder.file(names.at(-1) ?? "");
      const { size } = await file.stat();
      if (size > maxBytes) throw fileTooLarge(path, size, maxBytes);
      return await contentOf(file, size);
    }, path);
  }

  async remove(path: string): Promise<void> {
    const names = parseFilePath(path);
    await this.#in(async (root) => {
      using folder = descend(root, names.slice(0, -1));
      const name = names.at(-1) ?? "";
      if (folder.stat(name) === undefined) throw fileNotFound(path);
      await new Removal(root).remove(folder, name);
    }, path);
  }

  async clear(): Promise<void> {
    await this.#in((root) => new Removal(root).clear());
  }

  async usage(signal?: AbortSignal): Promise<Usage> {
    return this.#in((root) => walk(root, () => {}, signal));
  }

  async scan(): Promise<Scan> {
    return this.#in((root) => takeScan(root));
  }

  async changesSince(before: Scan): Promise<{ changes: FileChanges; scan: Scan }> {
    const scan = await this.scan();
    return { changes: changesBetween(before, scan), scan };
  }

  /** The other workspace must be empty. */
  async copyTo(
    other: Workspace,
    { leeway = 1, isDurable = false }: CopyOptions = {},
  ): Promise<CopyReport> {
    const { bytes, files } = other.limit;
    const options = { owner: other.#owner, maxBytes: leeway * bytes, maxFiles: leeway * files };
    return this.#in((from) =>
      other.#in((to) => new WorkspaceCopy(to, { ...options, isDurable }).copy(from)),
    );
  }

  async #in<T>(work: (root: DirHandle) => Promise<T>, path = "/workspace"): Promise<T> {
    try {
      using root = DirHandle.open(this.path);
      return await work(root);
    } catch (error) {
      throw fileFault(error, path);
    }
  }
}

async function contentOf(file: FileHandle, size: number): Promise<Buffer> {
  const content = Buffer.alloc(size);
  let length = 0;
  while (length < size) {
    const { bytesRead } = await file.read(content, length, size - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return content.subarray(0, length);
}

function byPath(one: { path: RawName }, other: { path: RawName }): number {
  return one.path < other.path ? -1 : 1;
}

function listed(path: RawName, stats: BigIntStats): WorkspaceFile {
  return {
    path: shownPath(path),
    bytes: Number(stats.size),
    modified: dateOf(stats.mtimeMs),
    kind: kindOf(stats),
  };
}

/** A session can set file times outside the range of a Date. */
function dateOf(milliseconds: bigint): Date {
  const time = Number(milliseconds);
  return new Date(Math.min(Math.max(time, -LONGEST_TIME_MS), LONGEST_TIME_MS));
}

function kindOf(stats: BigIntStats): WorkspaceFile["kind"] {
  if (stats.isFile()) return "file";
  if (stats.isDirectory()) return "folder";
  return stats.isSymbolicLink() ? "link" : "other";
}
