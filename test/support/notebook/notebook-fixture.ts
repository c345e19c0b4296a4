import { Notebook } from "../../../src/notebook/notebook.js";
import type { NotebookOptions } from "../../../src/notebook/options.js";
import { NativeFixture } from "./native-fixture.js";

export const SETTINGS = { preload: "none", timeout: 20_000, grace: 300 } as const;

/** Notebooks of a test file: in a folder of their own, closed after each test. */
export class NotebookFixture extends NativeFixture<Notebook> {
  #count = 0;

  constructor() {
    super("notebooks");
  }

  options(more: Partial<NotebookOptions> = {}): NotebookOptions {
    const { dir, runtime } = this;
    return { user: "u1", session: `s${++this.#count}`, dir, runtime, ...SETTINGS, ...more };
  }

  async open(more: Partial<NotebookOptions> = {}): Promise<Notebook> {
    return this.keep(await Notebook.open(this.options(more)));
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
