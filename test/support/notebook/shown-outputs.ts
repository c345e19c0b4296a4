import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { expect } from "vitest";
import type { CodeExecution } from "../../../src/backends/backend.js";
import { cellOutputSchema } from "../../../src/notebook/cell.js";
import { outputsOf } from "../../../src/notebook/outputs/outputs.js";
import { DiskBlobs } from "../../../src/notebook/store/disk-blobs.js";
import type { BlobRef } from "../../../src/notebook/store/store.js";

/** Makes outputs of executions, with a store on the disk for their bytes. */
export class Showing implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "cellar-outputs-"));
  readonly #blobs = new DiskBlobs(this.#folder);

  /** What is made is as its schema says, and as JSON keeps it. */
  async outputs(execution: CodeExecution, index = 0) {
    const made = await outputsOf(execution, { index, blobs: this.#blobs });
    for (const output of made.outputs) {
      expect(cellOutputSchema.parse(JSON.parse(JSON.stringify(output)))).toEqual(output);
    }
    return made;
  }

  read(blob: BlobRef): Promise<Buffer> {
    return buffer(this.#blobs.get(blob));
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

/** Two rows of three pixels, as far as the header goes. */
export const PNG = Buffer.from(
  "89504e470d0a1a0a0000000d4948445200000003000000020802000000120a0000",
  "hex",
);
