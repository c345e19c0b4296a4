import { CellarError, errorLine } from "../../errors.js";
import type { Cell, CellOutput } from "../cell.js";

export interface NotebookContent {
  readonly cells: readonly Cell[];
  /** The bytes behind a URI of an output, as `nb.resource` gives them. */
  readonly resource: (uri: string) => Promise<{ readonly bytes: Uint8Array }>;
  /** Version of the Python that ran the cells. */
  readonly python?: string | undefined;
  readonly title?: string | undefined;
}

export type OutputOf<T extends CellOutput["type"]> = Extract<CellOutput, { type: T }>;

/** A text of an output: the whole of it where the cell has only its start. */
export async function wholeText(
  text: string,
  { uri }: { readonly uri?: string | undefined },
  content: NotebookContent,
): Promise<string> {
  return uri === undefined ? text : (await bytesOf(uri, content)).toString("utf8");
}

export async function wholeJson(
  { json, uri }: OutputOf<"JSON">,
  content: NotebookContent,
): Promise<unknown> {
  if (uri === undefined) return json;
  try {
    return JSON.parse(await wholeText("", { uri }, content));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new CellarError("DAMAGED", `the content of ${uri} is not JSON`, { cause: error });
  }
}

export async function bytesOf(uri: string, content: NotebookContent): Promise<Buffer> {
  const { bytes } = await content.resource(uri);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export function errorText({ name, message, traceback }: OutputOf<"ERROR">): string {
  return traceback.trim() === "" ? errorLine(name, message) : traceback.trimEnd();
}
