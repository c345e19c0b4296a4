import { buffer } from "node:stream/consumers";
import { CellarError } from "../../errors.js";
import type { Cell } from "../cell.js";
import { resourceOf } from "../outputs/resources.js";
import type { BlobStore } from "../store/store.js";
import { cellAt } from "./cell-finding.js";

export interface ResourceContent {
  readonly mime: string;
  readonly bytes: Buffer;
}

/** The bytes that an output refers to by URI. */
export async function readResource(
  cells: readonly Cell[],
  uri: string,
  blobs: Pick<BlobStore, "get">,
): Promise<ResourceContent> {
  const { resources } = cellAt(cells, resourceOf(uri).cell);
  const found = resources.find((one) => one.uri === uri);
  if (found === undefined) {
    throw new CellarError("NOT_FOUND", `there is nothing at ${uri}`, {
      remedy: "See the resources of the cell.",
    });
  }
  return { mime: found.mime, bytes: await buffer(blobs.get(found.blob)) };
}
