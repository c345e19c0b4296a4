import {
  type NotebookTools,
  openTools,
  type ToolsOptions,
} from "../../../src/tools/adapters/notebook-tools.js";
import type { ToolAnswer, ToolPart } from "../../../src/tools/tool.js";
import type { ServiceFixture } from "./service-fixture.js";

/** A PNG of one dot. */
export const DOT =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Code that shows the dot. */
export const SHOW_DOT = `
import base64
class Dot:
    def _repr_png_(self):
        return base64.b64decode("${DOT}")
    def __repr__(self):
        return "a dot"
display(Dot())
`;

/** Tools over the notebooks of a test; the caller closes them. */
export function toolsOn(
  { dir, runtime }: ServiceFixture,
  options: Partial<ToolsOptions> = {},
): Promise<NotebookTools> {
  const settings = { preload: "none", timeout: 20_000, grace: 300, poolSize: 1 } as const;
  return openTools({ dir, runtime, user: "ann", ...settings, ...options });
}

export function answered(parts: readonly ToolPart[], isError = false): ToolAnswer {
  return { parts, structured: {}, isError };
}

export const image = (data = DOT, mime = "image/png"): ToolPart => ({ type: "image", mime, data });
export const text = (words: string): ToolPart => ({ type: "text", text: words });
