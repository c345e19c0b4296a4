import { isUtf8 } from "node:buffer";
import { extname } from "node:path/posix";

const BY_ENDING: Readonly<Record<string, string>> = {
  ".csv": "text/csv",
  ".gif": "image/gif",
  ".html": "text/html",
  ".ipynb": "application/x-ipynb+json",
  ".jpeg": "image/jpeg",
  ".jpg": "image/jpeg",
  ".json": "application/json",
  ".jsonl": "application/jsonl",
  ".log": "text/plain",
  ".md": "text/markdown",
  ".parquet": "application/vnd.apache.parquet",
  ".pdf": "application/pdf",
  ".png": "image/png",
  ".py": "text/x-python",
  ".svg": "image/svg+xml",
  ".toml": "application/toml",
  ".tsv": "text/tab-separated-values",
  ".txt": "text/plain",
  ".webp": "image/webp",
  ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  ".xml": "application/xml",
  ".yaml": "application/yaml",
  ".yml": "application/yaml",
  ".zip": "application/zip",
};

const BINARY = "application/octet-stream";

export function mimeOfPath(path: string): string {
  return BY_ENDING[extname(path).toLowerCase()] ?? BINARY;
}

/** Undefined for binary content. */
export function textOf(bytes: Buffer): string | undefined {
  return isUtf8(bytes) && !bytes.includes(0) ? bytes.toString("utf8") : undefined;
}

/** Quotes names that could start another line. */
export function shownName(path: string): string {
  return /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u.test(path) ? JSON.stringify(path) : path;
}

export function mimeOfFile(path: string, isText: boolean): string {
  const named = mimeOfPath(path);
  return named === BINARY && isText ? "text/plain" : named;
}
