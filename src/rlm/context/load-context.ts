import { realpath, stat } from "node:fs/promises";
import { basename, isAbsolute, relative, resolve, sep } from "node:path";
import { checkNames, checkSignal, requireList, requireOptions } from "../../config/kinds.js";
import { CellarError, counted, isCellarError } from "../../errors.js";
import { bytesOf, lookAt, piecesOf, problemOf, type TextFile } from "./file.js";
import { type FolderTexts, textsOfFolder } from "./folder.js";
import { MOST_BYTES, TextFolder, tooMuch } from "./temp-files.js";
import { type DownloadOptions, type DownloadProgress, textOfAddress } from "./web.js";

/** Larger documents become one text instead of a dict, so that they are in memory only once. */
const MOST_DICT_BYTES = 32 * 1024 ** 2;
const STDIN = "-";
const WEB = /^https?:\/\//i;
const OTHER_SCHEME = /^[a-z][a-z\d+.-]+:\/\//i;

export interface LoadContextOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called with lines for people: what was left out, and why. */
  readonly onNote?: ((note: string) => void) | undefined;
  readonly onProgress?: ((progress: DownloadProgress) => void) | undefined;
  /** Read for `-`. Default: stdin of this process. */
  readonly stdin?: AsyncIterable<Uint8Array> | undefined;
  readonly fetch?: DownloadOptions["fetch"];
}

/** Disposing removes its temporary files. */
export interface LoadedContext extends AsyncDisposable {
  /** For `rlm({ context })` or `initialize()`. */
  readonly context: unknown;
  /** One line, for the model. */
  readonly description: string;
  readonly documents: number;
  readonly bytes: number;
}

/** Loads files, folders, web addresses and `-` (stdin). A single text stays a text; several become documents. */
export async function loadContext(
  sources: string | readonly string[],
  options: LoadContextOptions = {},
): Promise<LoadedContext> {
  const all = typeof sources === "string" ? [sources] : requireList("sources", sources);
  checkNames("loadContext", requireOptions("the options of a context", options), {
    signal: true,
    onNote: true,
    onProgress: true,
    stdin: true,
    fetch: true,
  });
  checkSignal(options.signal);
  if (all.length === 0 || all.some((source) => typeof source !== "string" || source === "")) {
    throw invalid("there is no context to load", "Name a file, a folder or a web address.");
  }
  const temporary = new TextFolder(options.signal);
  try {
    options.signal?.throwIfAborted();
    const loaded = await new Loader(temporary, options).load(all);
    return { ...loaded, [Symbol.asyncDispose]: () => temporary[Symbol.asyncDispose]() };
  } catch (error) {
    await temporary[Symbol.asyncDispose]();
    if (options.signal?.aborted !== true) throw isCellarError(error) ? error : unread(error);
    throw new CellarError("ABORTED", "loading the context was cancelled", { cause: error });
  }
}

type Loaded = Omit<LoadedContext, keyof AsyncDisposable>;

class Loader {
  readonly #temporary: TextFolder;
  readonly #options: LoadContextOptions;

  constructor(temporary: TextFolder, options: LoadContextOptions) {
    this.#temporary = temporary;
    this.#options = options;
  }

  async load(sources: readonly string[]): Promise<Loaded> {
    if (sources.filter((source) => source === STDIN).length > 1) {
      throw invalid("stdin (-) can be named only once", "Name it once.");
    }
    // Finds a mistyped name before anything is fetched.
    const places = await Promise.all(sources.map(placeOf));
    const [only] = places;
    if (places.length === 1 && only !== undefined && only.kind !== "folder") {
      const text = await this.#one(only);
      return { ...described([text]), context: { file: text.path } };
    }
    const texts = new Map<string, TextFile>();
    const paths = new Set<string>();
    for (const place of places) {
      for (const text of await this.#texts(place)) {
        if (!paths.has(text.path)) texts.set(freeName(text.name, texts), text);
        paths.add(text.path);
      }
    }
    if (texts.size === 0) {
      throw invalid("the context has no text", "Name files of text, or their folder.");
    }
    return await this.#documents(texts);
  }

  async #texts(place: Place): Promise<readonly TextFile[]> {
    if (place.kind !== "folder") return [await this.#one(place)];
    const { signal, onNote } = this.#options;
    const found = await textsOfFolder(place.path, { name: place.name, signal });
    const texts: TextFile[] = [];
    let [binary, damaged] = [0, 0];
    for (const text of found.files) {
      const plain = await this.#temporary.plain(text).catch((error: unknown) => {
        if (!isCellarError(error, "INVALID_INPUT")) throw error;
        damaged += 1;
        return null;
      });
      if (plain === undefined) binary += 1;
      else if (plain !== null) texts.push(plain);
    }
    const note = noteOf(place.name, texts.length, found, { binary, damaged });
    if (note !== undefined) onNote?.(note);
    return texts;
  }

  async #one(place: Place): Promise<TextFile> {
    const text = await this.#raw(place);
    const plain = text.kind === "binary" ? undefined : await this.#temporary.plain(text);
    if (plain !== undefined) return plain;
    throw invalid(`${text.name} is not text`, "Convert it to text, and give that file.");
  }

  async #raw(place: Place): Promise<TextFile> {
    const { signal, fetch, onProgress, stdin = process.stdin } = this.#options;
    const temporary = this.#temporary;
    switch (place.kind) {
      case "address":
        return await textOfAddress(place.url, { temporary, signal, fetch, onProgress });
      case "stdin": {
        const { path } = await temporary.put("stdin", stdin);
        return await this.#file("stdin", path, "stdin");
      }
      default:
        return await this.#file(place.name, place.path, place.path);
    }
  }

  async #file(name: string, path: string, shown: string): Promise<TextFile> {
    const found = await lookAt(path);
    if ("problem" in found) throw unreadable(shown, found.problem);
    return { name, path, ...found };
  }

  async #documents(texts: ReadonlyMap<string, TextFile>): Promise<Loaded> {
    const about = described([...texts.values()]);
    if (about.bytes > MOST_BYTES) throw tooMuch("the context", MOST_BYTES);
    if (about.bytes > MOST_DICT_BYTES) {
      const { path } = await this.#temporary.put("the context", joined(texts));
      const how = "one text, each document under a line ===== FILE n/m: name =====";
      return { ...about, context: { file: path }, description: `${about.description}: ${how}` };
    }
    const context = new Map<string, string>();
    const decoder = new TextDecoder();
    const odd: string[] = [];
    for (const [name, { path }] of texts) {
      this.#options.signal?.throwIfAborted();
      const bytes = await bytesOf(path).catch((error: unknown) => {
        throw unreadable(name, problemOf(error));
      });
      const text = decoder.decode(bytes);
      if (text.includes("\ufffd")) odd.push(name);
      context.set(name, text);
    }
    if (odd.length > 0) {
      const which = oneLine(odd.slice(0, 3).join(", "));
      this.#options.onNote?.(
        `not valid UTF-8, with characters replaced: ${which}${odd.length > 3 ? ", …" : ""}`,
      );
    }
    return {
      ...about,
      context,
      description: `${about.description}: a dict of texts by their names`,
    };
  }
}

type Place =
  | { readonly kind: "stdin" }
  | { readonly kind: "address"; readonly url: URL }
  | { readonly kind: "folder" | "file"; readonly name: string; readonly path: string };

async function placeOf(source: string): Promise<Place> {
  if (source === STDIN) return { kind: "stdin" };
  if (WEB.test(source)) {
    if (URL.canParse(source)) return { kind: "address", url: new URL(source) };
    throw invalid("invalid address of the context", "Give one like https://example.com/.");
  }
  if (OTHER_SCHEME.test(source)) {
    const scheme = source.slice(0, source.indexOf(":"));
    throw invalid(`${scheme}: cannot be fetched`, "Give one with http:// or https://.");
  }
  try {
    const isFolder = (await stat(source)).isDirectory();
    const [name, path] = [nameOf(source, isFolder), await realpath(source)];
    return { kind: isFolder ? "folder" : "file", name, path };
  } catch (error) {
    throw unreadable(source, problemOf(error));
  }
}

/** Relative to the current folder if it is inside; otherwise without the folders above. */
function nameOf(source: string, isFolder: boolean): string {
  const path = resolve(source);
  const seen = relative(process.cwd(), path);
  const isHere = !isAbsolute(seen) && seen !== ".." && !seen.startsWith(`..${sep}`);
  if (isHere && (isFolder || seen !== "")) return seen.split(sep).join("/");
  return basename(path);
}

function freeName(name: string, taken: ReadonlyMap<string, unknown>): string {
  let free = name;
  for (let number = 2; taken.has(free); number += 1) free = `${name} (${number})`;
  return free;
}

/** A list of the names, then all documents. */
async function* joined(texts: ReadonlyMap<string, TextFile>): AsyncGenerator<Uint8Array> {
  const total = texts.size;
  const names = [...texts.keys()].map((name, index) => `${index + 1}/${total}: ${oneLine(name)}`);
  const lead = `This text has ${total} documents. Each follows a line "===== FILE n/${total}: name =====".`;
  yield Buffer.from([lead, ...names, ""].join("\n"));
  for (const [index, { path }] of [...texts.values()].entries()) {
    yield Buffer.from(`\n===== FILE ${names[index]} =====\n`);
    yield* piecesOf(path);
  }
  yield Buffer.from("\n");
}

function oneLine(name: string): string {
  return name.replace(/\p{Cc}/gu, " ");
}

function described(
  texts: readonly TextFile[],
): Pick<Loaded, "description" | "documents" | "bytes"> {
  const bytes = texts.reduce((sum, text) => sum + text.bytes, 0);
  const size = `${bytes.toLocaleString("en-US")} bytes`;
  const documents = texts.length;
  const what = documents === 1 ? (texts[0]?.name ?? "") : `${documents} documents`;
  return { description: `${what}, ${size}`, documents, bytes };
}

function noteOf(
  name: string,
  taken: number,
  { leftOut }: FolderTexts,
  more: { readonly binary: number; readonly damaged: number },
): string | undefined {
  const parts = [...leftOut].map(([reason, { count, names }]) => {
    const rest = count > names.length ? ", …" : "";
    return `${count} ${reason} (${oneLine(names.join(", "))}${rest})`;
  });
  if (more.binary > 0) parts.push(`${more.binary} compressed but not text`);
  if (more.damaged > 0) parts.push(`${more.damaged} that could not be decompressed`);
  if (parts.length === 0) return undefined;
  const files = counted(taken, "file");
  return `${name === "" ? "." : name}: took ${files}; left out ${parts.join("; ")}`;
}

function unreadable(source: string, why: string): CellarError {
  return invalid(`${source} cannot be read: ${why}`, "Give a file, a folder or a web address.");
}

function unread(error: unknown): CellarError {
  return new CellarError("IO_ERROR", `the context cannot be read: ${problemOf(error)}`, {
    remedy: "Check that its files exist and do not change while they are read.",
    cause: error,
  });
}

function invalid(message: string, remedy: string): CellarError {
  return new CellarError("INVALID_INPUT", message, { remedy });
}
