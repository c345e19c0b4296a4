import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import type { NativeRuntime } from "../backends/native/runtime.js";
import { openWalls } from "../backends/native/walls.case.test.js";
import { TOOLS } from "./catalogue.js";
import { Desk, type DeskOptions } from "./desk.js";
import { callTool } from "./dispatch.js";
import type { CellView } from "./shapes.js";
import type { ToolAnswer, ToolCall } from "./tool.js";

const SETTINGS = { preload: "none", timeout: 20_000, grace: 300, poolSize: 1 } as const;

/** Desks of a test file: over one folder, closed after each test. */
export class DeskGround {
  readonly #open: Desk[] = [];
  #runtime: NativeRuntime | undefined;
  #dir = "";

  constructor() {
    let absence: string | undefined;
    beforeAll(async () => {
      const walls = await openWalls();
      absence = walls.unavailable;
      this.#runtime = walls.runtime;
      this.#dir = mkdtempSync(join(tmpdir(), "cellar-desks-"));
    });
    beforeEach((context) => {
      if (absence !== undefined) context.skip(absence);
    });
    afterEach(async () => {
      await Promise.all(this.#open.splice(0).map((desk) => desk.close()));
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

  async open({ config, ...more }: Partial<DeskOptions> = {}): Promise<Desk> {
    const { dir, runtime } = this;
    const options = { dir, user: "ann", runtime, config: { ...SETTINGS, ...config }, ...more };
    const desk = await Desk.open(options);
    this.#open.push(desk);
    return desk;
  }
}

/** Calls a tool and holds the answer against its schema. */
export async function call(
  desk: Desk,
  name: string,
  input: object = {},
  how: ToolCall = {},
): Promise<ToolAnswer> {
  const answer = await callTool(desk, name, input, how);
  const tool = TOOLS.find((one) => one.name === name);
  if (answer.refusal === undefined) tool?.output.parse(answer.structured);
  JSON.stringify(answer);
  return answer;
}

export async function execute(
  desk: Desk,
  session: string,
  code: string,
  how: ToolCall = {},
): Promise<ToolAnswer & { readonly cell: CellView; readonly text: string }> {
  const answer = await call(desk, "execute_cell", { session, code }, how);
  const { cell } = answer.structured as { cell: CellView };
  return { ...answer, cell, text: textOf(answer) };
}

export function textOf({ parts }: ToolAnswer): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}
