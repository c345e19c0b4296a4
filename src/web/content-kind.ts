import { isUtf8 } from "node:buffer";

export type ContentKind = "page" | "text" | "json" | "pdf";

const PAGE_TYPE = /^text\/html$|^application\/xhtml\+xml$/;
const JSON_TYPE = /^(?:application|text)\/(?:[\w.-]+\+)?json$/;
const PDF_TYPE = /^application\/(?:x-)?pdf$/;
const TEXT_TYPE =
  /^text\/|^application\/(?:[\w.-]+\+)?(?:x-)?(?:xml|ndjson|jsonl|json-seq|yaml|toml|javascript|ecmascript|sql|sh)$/;
/** Types that do not say what it is: the first bytes decide. */
const OPEN_TYPE = /^$|^(?:application|binary)\/(?:x-)?(?:octet-stream|unknown|download)$/;
const PAGE_START = /^\s*(?:<!--[\s\S]{0,500}?-->\s*)?<(?:!doctype html|html|head|body)\b/i;
const SNIFFED_BYTES = 1024;

export function typeOf(contentType: string): string {
  return (contentType.split(";", 1)[0] ?? "").trim().toLowerCase().slice(0, 100);
}

/** Undefined for what no reader here reads. */
export function kindOf(type: string, body: Buffer): ContentKind | undefined {
  if (PAGE_TYPE.test(type)) return "page";
  if (JSON_TYPE.test(type)) return "json";
  if (PDF_TYPE.test(type)) return "pdf";
  if (TEXT_TYPE.test(type)) return "text";
  return OPEN_TYPE.test(type) ? sniffed(body) : undefined;
}

function sniffed(body: Buffer): ContentKind | undefined {
  const start = body.toString("latin1", 0, SNIFFED_BYTES);
  if (start.startsWith("%PDF-")) return "pdf";
  if (PAGE_START.test(start)) return "page";
  return !start.includes("\0") && isUtf8(body) ? "text" : undefined;
}
