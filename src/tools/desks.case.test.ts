import { WalledGround } from "../notebook/walled-ground.case.test.js";
import { TOOLS } from "./catalogue.js";
import { Desk, type DeskOptions } from "./desk.js";
import { callTool } from "./dispatch.js";
import type { CellView } from "./shapes.js";
import type { ToolAnswer, ToolCall } from "./tool.js";

const SETTINGS = { preload: "none", timeout: 20_000, grace: 300, poolSize: 1 } as const;

/** Desks of a test file: over one folder, closed after each test. */
export class DeskGround extends WalledGround<Desk> {
  constructor() {
    super("desks");
  }

  async open({ config, ...more }: Partial<DeskOptions> = {}): Promise<Desk> {
    const { dir, runtime } = this;
    const options = { dir, user: "ann", runtime, config: { ...SETTINGS, ...config }, ...more };
    return this.keep(await Desk.open(options));
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
