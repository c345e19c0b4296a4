import { requireList, requireOptions } from "../../config/kinds.js";
import type { ToolAnswer, ToolPart } from "../tool.js";
import { figure } from "../view/excerpt.js";

const IMAGE_TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp"] as const;

/** Characters of base64 that the images of one answer may have; requests have a limit too. */
const IMAGE_SPACE = 10_000_000;

export interface ShownImage {
  readonly mime: (typeof IMAGE_TYPES)[number];
  /** Base64. */
  readonly data: string;
}

/** An answer in the two forms of content that models read. */
export interface ShownContent {
  readonly text: string;
  readonly images: readonly ShownImage[];
}

export interface ShownOptions {
  /** False where images cannot be sent along: the text then says that they are missing. */
  readonly images?: boolean | undefined;
}

export function shownContent(
  answer: ToolAnswer,
  { images: isWithImages = true }: ShownOptions = {},
): ShownContent {
  const parts = requireList("the parts of an answer", requireOptions("an answer", answer).parts);
  const lines = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const images: ShownImage[] = [];
  const told = lines.join("\n");
  let space = IMAGE_SPACE;
  for (const part of parts) {
    switch (part.type) {
      case "text":
        break;
      case "image": {
        const mime = IMAGE_TYPES.find((one) => one === part.mime);
        const isFitting = isWithImages && mime !== undefined && part.data.length <= space;
        if (isFitting) {
          space -= part.data.length;
          images.push({ mime, data: part.data });
        } else {
          lines.push(`[an image is left out here: ${part.mime}; show_cell or read_file shows it]`);
        }
        break;
      }
      case "resource":
        if (!told.includes(part.uri)) lines.push(linkLine(part));
    }
  }
  return { text: lines.join("\n"), images };
}

function linkLine({ name, mime, size, uri }: ToolPart & { type: "resource" }): string {
  return `[${name} · ${mime} · ${figure(size)} bytes · ${uri}]`;
}

export function dataUrl({ mime, data }: ShownImage): string {
  return `data:${mime};base64,${data}`;
}
