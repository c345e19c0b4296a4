import { parseFilePath, shownPath } from "../backends/files/file-path.js";
import { CellarError } from "../errors.js";
import { checkName } from "../notebook/store/names.js";

/** What a `notebook://` URI of the tools names. Cells are named by their ids, for numbers and places move. */
export type Address =
  | { readonly kind: "notebook"; readonly session: string }
  | { readonly kind: "ipynb"; readonly session: string }
  | { readonly kind: "cell"; readonly session: string; readonly cell: string }
  | {
      readonly kind: "output";
      readonly session: string;
      readonly cell: string;
      readonly output: number;
      /** The plain text of a richer output. */
      readonly isText: boolean;
    }
  | { readonly kind: "file"; readonly session: string; readonly path: string };

const LONGEST_URI = 12_000;
const PREFIX = "notebook://session/";
const CELL = /^cell\/([0-9A-Za-z-]{1,64})(?:\/output\/(0|[1-9]\d{0,6})(\/text)?)?$/;
const PLAIN = /[A-Za-z0-9._~-]/;
const PART = /\?offset=(0|[1-9]\d{0,11})&length=([1-9]\d{0,11})$/;

/** Characters of a text, bytes of anything else. */
export interface Part {
  readonly offset: number;
  readonly length: number;
}

/** URI templates for clients. */
export const URI_TEMPLATES = {
  notebook: `${PREFIX}{session}`,
  ipynb: `${PREFIX}{session}/notebook.ipynb`,
  cell: `${PREFIX}{session}/cell/{cell}`,
  output: `${PREFIX}{session}/cell/{cell}/output/{output}`,
  file: `${PREFIX}{session}/files/{+path}`,
} as const;

export function uriOf(address: Address): string {
  const base = `${PREFIX}${address.session}`;
  switch (address.kind) {
    case "notebook":
      return base;
    case "ipynb":
      return `${base}/notebook.ipynb`;
    case "cell":
      return `${base}/cell/${address.cell}`;
    case "output": {
      const { cell, output, isText } = address;
      return `${base}/cell/${cell}/output/${output}${isText ? "/text" : ""}`;
    }
    case "file":
      return `${base}/files/${parseFilePath(address.path).map(escaped).join("/")}`;
  }
}

export function partOf(uri: string): { readonly whole: string; readonly part: Part | undefined } {
  const [query, offset, length] = PART.exec(uri) ?? [];
  if (query === undefined) return { whole: uri, part: undefined };
  return {
    whole: uri.slice(0, -query.length),
    part: { offset: Number(offset), length: Number(length) },
  };
}

/** Also takes the index of a cell instead of its id. */
export function addressOf(uri: string): Address {
  const found = typeof uri === "string" && uri.length <= LONGEST_URI ? parse(uri) : undefined;
  if (found !== undefined) return found;
  const shown = JSON.stringify(String(uri).slice(0, 200));
  throw new CellarError("NOT_FOUND", `${shown} names nothing in a notebook`, {
    remedy: `Give a URI as a tool has returned it, such as ${PREFIX}sales/files/table.csv.`,
  });
}

function parse(uri: string): Address | undefined {
  if (!uri.startsWith(PREFIX)) return undefined;
  const rest = uri.slice(PREFIX.length);
  const slash = rest.indexOf("/");
  const session = sessionOf(slash < 0 ? rest : rest.slice(0, slash));
  if (session === undefined) return undefined;
  if (slash < 0) return { kind: "notebook", session };
  const what = rest.slice(slash + 1);
  if (what === "notebook.ipynb") return { kind: "ipynb", session };
  if (what.startsWith("files/")) {
    const path = pathOf(what.slice("files/".length));
    return path === undefined ? undefined : { kind: "file", session, path };
  }
  const [, cell, output, text] = CELL.exec(what) ?? [];
  if (cell === undefined) return undefined;
  if (output === undefined) return { kind: "cell", session, cell };
  return { kind: "output", session, cell, output: Number(output), isText: text !== undefined };
}

function sessionOf(name: string): string | undefined {
  try {
    // Some clients write "@" as %40.
    return checkName("session", name.replaceAll("%40", "@"));
  } catch {
    return undefined;
  }
}

/** Names need not be UTF-8. */
function escaped(raw: string): string {
  return Array.from(raw, (byte) =>
    PLAIN.test(byte) ? byte : `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`,
  ).join("");
}

function pathOf(text: string): string | undefined {
  const names = text.split("/").map(unescaped);
  // `uriOf` never writes an escaped slash.
  if (names.some((name) => name === undefined || name.includes("/"))) return undefined;
  try {
    const path = names.map((name) => shownPath(name ?? "")).join("/");
    parseFilePath(path);
    return path;
  } catch {
    return undefined;
  }
}

function unescaped(text: string): string | undefined {
  if (/%(?![0-9A-Fa-f]{2})/.test(text)) return undefined;
  return Buffer.from(text)
    .toString("latin1")
    .replace(/%([0-9A-Fa-f]{2})/g, (_, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    );
}
