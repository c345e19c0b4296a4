import { z } from "zod";
import { normalPath } from "../backends/files/file-path.js";
import type { FileListing, WorkspaceFile } from "../backends/files/workspace-file.js";
import { CellarError } from "../errors.js";
import type { Notebook } from "../notebook/notebook.js";
import { uriOf } from "./addresses.js";
import { anySession, filePath, textLimit, textOffset } from "./arguments.js";
import type { OpenedFile } from "./service/notebook-service.js";
import { type Tool, type ToolAnswer, type ToolPart, textAnswer } from "./tool.js";
import { linkTo } from "./view/cell-answer.js";
import { figure, pageOf } from "./view/excerpt.js";
import { mimeOfFile, shownName, textOf } from "./view/file-kind.js";
import { answered, type FileView, fileViewSchema, pageSchema } from "./view/shapes.js";

const count = z.int().nonnegative();
const MOST_LISTED = 200;
const LARGEST_READ = 64 * 1024 * 1024;
const LARGEST_IMAGE = 3 * 1024 * 1024;
const LARGEST_BASE64 = 64 * 1024;
const LONGEST_CONTENT = 16 * 1024 * 1024;
const SHOWN_IMAGES: readonly string[] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

const listInput = z.strictObject({
  session: anySession,
  folder: filePath.optional().describe("Only entries below this folder. Default: everything."),
  offset: count.optional().describe("How many to skip. Default: 0."),
});
const listSchema = z.strictObject({
  ...answered,
  files: z.array(fileViewSchema),
  more: count.describe("Entries after these."),
  isCut: z.boolean().describe("Whether there are so many that not all were counted."),
});

export const listFiles: Tool<typeof listInput, typeof listSchema> = {
  name: "list_files",
  title: "List files",
  description:
    "Lists the files of the notebook's /workspace, where its code runs, with sizes. " +
    `Returns at most ${MOST_LISTED} at a time, and how many more there are. Fails if there is no such folder: leave it out to see all.`,
  input: listInput,
  output: listSchema,
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  run: async (service, { session: named, folder, offset = 0 }) => {
    const list = (notebook: Notebook) => notebook.files();
    const { session, isolation, result } = await service.useExisting(named, list);
    const all = below(folder, result);
    const shown = all.slice(offset, offset + MOST_LISTED);
    const files = shown.map((file) => viewOf(session, file));
    const more = Math.max(0, all.length - offset - shown.length);
    const { isCut } = result;
    const lines = files.map(({ path, bytes, kind }) =>
      [shownName(path), kind === "file" ? `${figure(bytes)} bytes` : kind].join(" · "),
    );
    if (more > 0) lines.push(`[${figure(more)} more: offset=${offset + shown.length}]`);
    if (isCut) lines.push("[there are too many to count; list them in a cell]");
    const noun = all.length === 1 ? "entry" : "entries";
    const heading = `${figure(all.length)} ${noun} · session ${session} · isolation ${isolation}`;
    return textAnswer([heading, ...lines].join("\n"), { session, isolation, files, more, isCut });
  },
};

/** Fails where the folder does not exist. */
function below(folder: string | undefined, { files, isCut }: FileListing): WorkspaceFile[] {
  if (folder === undefined) return [...files];
  const name = normalPath(folder.replace(/\/+$/, ""));
  const found = files.filter(({ path }) => path.startsWith(`${name}/`));
  const isThere = files.some(({ path, kind }) => path === name && kind === "folder");
  if (isThere || isCut) return found;
  throw new CellarError("NOT_FOUND", `there is no folder ${JSON.stringify(name)} in the workspace`);
}

function viewOf(session: string, { path, bytes, kind, modified }: WorkspaceFile): FileView {
  const uri = kind === "file" ? uriOf({ kind: "file", session, path }) : undefined;
  const at = modified.toISOString();
  return { path, bytes, kind, modified: at, ...(uri !== undefined && { uri }) };
}

const readInput = z.strictObject({
  session: anySession,
  path: filePath,
  offset: textOffset,
  limit: textLimit,
  encoding: z
    .enum(["text", "base64"])
    .optional()
    .describe(
      `base64 returns bytes, at most ${figure(LARGEST_BASE64)} of them; offset and limit then count bytes. Default: text.`,
    ),
});
const readSchema = z.strictObject({
  ...answered,
  path: z.string(),
  bytes: count,
  mime: z.string(),
  encoding: z.enum(["text", "base64", "none"]).describe("none: it is not text, read the uri."),
  page: pageSchema.optional(),
  uri: z.string(),
});

export const readFile: Tool<typeof readInput, typeof readSchema> = {
  name: "read_file",
  title: "Read a file",
  description:
    "Reads a file of the notebook's /workspace. Text is returned in pieces: continue with the offset given. " +
    "An image is shown; other binary files are given as a resource link, or as base64 on demand. " +
    "For large data it is cheaper to look into the file with Python in a cell. " +
    "If there is no such file, list_files shows what there is.",
  input: readInput,
  output: readSchema,
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  run: async (service, input) => {
    const session = service.sessionToFind(input.session);
    const { outputCap } = service;
    return service.readFile(session, { path: input.path, maxBytes: LARGEST_READ }, (file) =>
      readAnswer(file, { ...input, session }, outputCap),
    );
  },
};

function readAnswer(
  { bytes, isolation }: OpenedFile,
  {
    session,
    path,
    offset = 0,
    limit,
    encoding = "text",
  }: z.output<typeof readInput> & { session: string },
  outputCap: number,
): ToolAnswer<z.input<typeof readSchema>> {
  const text = textOf(bytes);
  const mime = mimeOfFile(path, text !== undefined);
  const uri = uriOf({ kind: "file", session, path });
  const about = { session, isolation, path, bytes: bytes.length, mime, uri };
  const heading = `${shownName(path)} · ${figure(bytes.length)} bytes · session ${session} · isolation ${isolation}`;
  if (encoding === "base64") {
    const page = bytesPage(bytes, offset, Math.min(limit ?? LARGEST_BASE64, LARGEST_BASE64));
    const told = [heading, placeOf(page, "bytes"), page.text].join("\n");
    return textAnswer(told, { ...about, encoding, page });
  }
  if (text === undefined) {
    return textAnswer(
      `${heading}\n[not text: ${mime}]`,
      { ...about, encoding: "none" },
      binaryPart(about, bytes),
    );
  }
  const page = pageOf(text, offset, limit ?? outputCap);
  const place = page.next === null && page.offset === 0 ? [] : [placeOf(page, "characters")];
  return textAnswer([heading, ...place, page.text].join("\n"), { ...about, encoding, page });
}

type Page = z.infer<typeof pageSchema>;

function bytesPage(bytes: Buffer, offset: number, limit: number): Page {
  const start = Math.min(offset, bytes.length);
  const end = Math.min(start + limit, bytes.length);
  const next = end < bytes.length ? end : null;
  return { text: bytes.toString("base64", start, end), offset: start, length: bytes.length, next };
}

function placeOf({ offset, length, next }: Page, unit: string): string {
  const end = figure(next ?? length);
  const rest = next === null ? "the end" : `next: offset=${next}`;
  return `[${unit} ${figure(offset)} to ${end} of ${figure(length)}; ${rest}]`;
}

function binaryPart(
  { session, path, mime }: { session: string; path: string; mime: string },
  bytes: Buffer,
): ToolPart {
  if (SHOWN_IMAGES.includes(mime) && bytes.length <= LARGEST_IMAGE) {
    return { type: "image", mime, data: bytes.toString("base64") };
  }
  return linkTo(session, { path, bytes: bytes.length, kind: "file", modified: new Date(0) });
}

const writeInput = z.strictObject({
  session: anySession,
  path: filePath,
  content: z.string().max(LONGEST_CONTENT).describe("The whole new content of the file."),
  encoding: z.enum(["text", "base64"]).optional().describe("What content is. Default: text."),
});
const writtenSchema = z.strictObject({
  ...answered,
  path: z.string(),
  bytes: count,
  uri: z.string(),
});

export const writeFile: Tool<typeof writeInput, typeof writtenSchema> = {
  name: "write_file",
  title: "Write a file",
  description:
    "Writes a file into the notebook's /workspace, creating folders as needed; an existing file is replaced. " +
    "Code finds it under the same path. Returns its size. Fails if the workspace is full: delete files in a cell.",
  input: writeInput,
  output: writtenSchema,
  hints: { readOnly: false, destructive: true, idempotent: true, openWorld: false },
  run: async (service, { session: named, path, content, encoding = "text" }) => {
    const session = service.sessionToUse(named);
    const bytes = encoding === "text" ? Buffer.from(content) : decoded(content);
    const isolation = await service.use(session, async (notebook) => {
      await notebook.putFile(path, bytes);
      return notebook.info.isolation.level;
    });
    service.tell({ session, kind: "files" });
    const uri = uriOf({ kind: "file", session, path });
    const text = `${shownName(path)} has ${figure(bytes.length)} bytes now · session ${session} · isolation ${isolation}`;
    return textAnswer(text, { session, isolation, path, bytes: bytes.length, uri });
  },
};

function decoded(content: string): Buffer {
  if (content.length % 4 === 0 && BASE64.test(content)) return Buffer.from(content, "base64");
  throw new CellarError("INVALID_INPUT", "the content is not base64", {
    remedy: "Encode it as base64 with padding and without line ends, or leave encoding out.",
  });
}
