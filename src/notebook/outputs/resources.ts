import { CellarError } from "../../errors.js";
import type { Resource } from "../cell.js";
import type { BlobStore } from "../store/store.js";
import type { OutputQuota } from "./output-quota.js";

export type ResourceKind = "image" | "text";

/** `notebook://cell/0/image/0`: the second 0 counts the images of the cell. */
export interface ResourceAddress {
  readonly cell: number;
  readonly kind: ResourceKind;
  readonly number: number;
}

const COUNT = "(0|[1-9]\\d{0,6})";
const ADDRESS = new RegExp(`^notebook://cell/${COUNT}/(image|text)/${COUNT}$`);

export function uriOf({ cell, kind, number }: ResourceAddress): string {
  return `notebook://cell/${cell}/${kind}/${number}`;
}

/** Takes only what `uriOf` writes. */
export function resourceOf(uri: string): ResourceAddress {
  const found = typeof uri === "string" && uri.length <= 100 ? ADDRESS.exec(uri) : null;
  if (found === null) {
    const shown = JSON.stringify(String(uri).slice(0, 100));
    throw new CellarError("INVALID_INPUT", `${shown} is not the address of a resource`, {
      remedy: "Give the uri of an output, such as notebook://cell/0/image/0.",
    });
  }
  const kind = found[2] === "image" ? "image" : "text";
  return { cell: Number(found[1]), kind, number: Number(found[3]) };
}

export interface ResourceTarget {
  readonly index: number;
  readonly blobs: Pick<BlobStore, "put">;
  /** Without one, everything fits. */
  readonly quota?: OutputQuota | undefined;
}

/** Stores the bytes of one cell's outputs and gives each its URI. */
export class ResourceWriter {
  readonly resources: Resource[] = [];
  readonly #target: ResourceTarget;
  readonly #counts: Record<ResourceKind, number> = { image: 0, text: 0 };

  constructor(target: ResourceTarget) {
    this.#target = target;
  }

  /** Undefined where it does not fit. */
  async put(kind: ResourceKind, mime: string, bytes: Uint8Array): Promise<string | undefined> {
    const { index, blobs, quota } = this.#target;
    if (quota?.take(bytes.length) === false) return undefined;
    const blob = await blobs.put(bytes);
    const uri = uriOf({ cell: index, kind, number: this.#counts[kind]++ });
    this.resources.push({ uri, mime, blob });
    return uri;
  }
}
