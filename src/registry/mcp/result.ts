import { z } from "zod";
import { plainValue, type Secrets } from "../source/plain-value.js";
import { type ToolDisplay, ToolError, type ToolOutput } from "../tool.js";

const MOST_PARTS = 10_000;
const MOST_DISPLAYS = 64;
const LONGEST_ERROR = 4_000;
const MEDIA = /^(?:image|audio)\/[\w.+-]+$/;
const NOT_BASE64 = /[^A-Za-z0-9+/=\s]/;
/** Resources in these forms are shown, beside being values. */
const SHOWN_TEXTS = ["text/html", "text/markdown", "image/svg+xml"];

const word = z.string().optional();
const media = {
  data: z.string().refine((data) => !NOT_BASE64.test(data)),
  mimeType: z.string().regex(MEDIA),
};
const resource = z.object({ uri: z.string(), mimeType: word, text: word, blob: word });
const partSchema = z.union([
  z.object({ type: z.literal("text"), text: z.string() }),
  z.object({ type: z.enum(["image", "audio"]), ...media }),
  z.object({ type: z.literal("resource"), resource }),
  z.object({ type: z.literal("resource_link"), uri: z.string(), name: z.string(), mimeType: word }),
]);
type Part = z.infer<typeof partSchema>;

export const resultSchema = z.object({
  content: z.array(partSchema).max(MOST_PARTS).default([]),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
});
export type CallResult = z.infer<typeof resultSchema>;

/** What Python gets of a result; throws if the tool reported an error. */
export function outputOf(result: CallResult, secrets: Secrets): ToolOutput {
  const { content, structuredContent, isError } = result;
  if (isError === true) throw reported(content, secrets);
  const displays = content.flatMap((part) => displayOf(part) ?? []);
  if (displays.length > MOST_DISPLAYS) {
    throw new ToolError(
      "BAD_RESULT",
      `the result has ${displays.length} images, sounds and pages, more than ${MOST_DISPLAYS}`,
    );
  }
  const value = plainValue(structuredContent ?? contentValue(content), secrets);
  const shown = displays.map(({ mime, data }) => ({ mime, data: secrets.hide(data) }));
  return shown.length === 0 ? { value } : { value, displays: shown };
}

function reported(content: readonly Part[], secrets: Secrets): ToolError {
  const text = content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  const shown = secrets.hide(text).trim().slice(0, LONGEST_ERROR);
  return new ToolError(
    "FAILED",
    shown === "" ? "the tool reported an error without a text" : shown,
  );
}

/** Texts are joined; with resources or links among them there is a list. */
function contentValue(content: readonly Part[]): unknown {
  const items = content.filter(({ type }) => type !== "image" && type !== "audio");
  const texts = items.flatMap((part) => (part.type === "text" ? [part.text] : []));
  if (items.length === 0) return null;
  if (texts.length === items.length) return parsedText(texts.join("\n"));
  const values = items.map(itemOf);
  return values.length === 1 ? values[0] : values;
}

function itemOf(part: Part): unknown {
  switch (part.type) {
    case "text":
      return part.text;
    case "resource": {
      const { blob, ...rest } = part.resource;
      // An image is shown; as a value its bytes would only be long.
      return displayOf(part) === undefined && blob !== undefined ? { ...rest, blob } : rest;
    }
    case "resource_link":
      return { uri: part.uri, name: part.name, ...(part.mimeType && { mimeType: part.mimeType }) };
    default:
      return null;
  }
}

function displayOf(part: Part): ToolDisplay | undefined {
  if (part.type === "image" || part.type === "audio") return mediaOf(part.mimeType, part.data);
  if (part.type !== "resource") return undefined;
  const { mimeType: mime = "", text, blob } = part.resource;
  if (text !== undefined) return SHOWN_TEXTS.includes(mime) ? { mime, data: text } : undefined;
  const isMedia = blob !== undefined && MEDIA.test(mime) && !NOT_BASE64.test(blob);
  return isMedia ? mediaOf(mime, blob) : undefined;
}

/** Servers send all media as base64; an SVG is a text everywhere else, also where secrets are looked for. */
function mediaOf(mime: string, data: string): ToolDisplay {
  const isText = mime === "image/svg+xml";
  return { mime, data: isText ? Buffer.from(data, "base64").toString("utf8") : data };
}

/** Most servers write their values as JSON into a text. */
function parsedText(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
