import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import type { NativeRuntime } from "../backends/native/runtime.js";
import { openWalls } from "../backends/native/walls.case.test.js";
import { Notebook } from "./notebook.js";
import type { NotebookOptions } from "./options.js";

export const SETTINGS = { preload: "none", timeout: 20_000, grace: 300 } as const;

/** Notebooks of a test file: in a folder of their own, closed after each test. */
export class NotebookGround {
  readonly #open: Notebook[] = [];
  #runtime: NativeRuntime | undefined;
  #dir = "";
  #count = 0;

  constructor() {
    let absence: string | undefined;
    beforeAll(async () => {
      const walls = await openWalls();
      absence = walls.unavailable;
      this.#runtime = walls.runtime;
      this.#dir = mkdtempSync(join(tmpdir(), "cellar-notebooks-"));
    });
    beforeEach((context) => {
      if (absence !== undefined) context.skip(absence);
    });
    afterEach(async () => {
      await Promise.all(this.#open.splice(0).map((notebook) => notebook.close()));
    });
    afterAll(async () => {
      await this.#runtime?.[Symbol.asyncDispose]();
      if (this.#dir !== "") rmSync(this.#dir, { recursive: true, force: true });
    });
  }

  get dir(): string {
    return this.#dir;
  }

  get runtime(): NativeRuntime {
    if (this.#runtime === undefined) throw new Error("there are no walls");
    return this.#runtime;
  }

  options(more: Partial<NotebookOptions> = {}): NotebookOptions {
    const { dir, runtime } = this;
    return { user: "u1", session: `s${++this.#count}`, dir, runtime, ...SETTINGS, ...more };
  }

  async open(more: Partial<NotebookOptions> = {}): Promise<Notebook> {
    return this.keep(await Notebook.open(this.options(more)));
  }

  /** Closed when the test ends. */
  keep(notebook: Notebook): Notebook {
    this.#open.push(notebook);
    return notebook;
  }
}

/** What a cell printed and gave, as one text. */
export function shown({ outputs }: Notebook["cells"][number]): string {
  return outputs
    .map((output) => {
      switch (output.type) {
        case "ERROR":
          return `${output.name}: ${output.message}`;
        default:
          return output.text;
      }
    })
    .join("");
}

/** Waits, within bounds, until something has come true. */
export async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 1_000; tries += 1) {
    if (await isTrue()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("it never came true");
}
