import { callTool } from "../../../src/tools/dispatch.js";
import {
  NotebookService,
  type NotebookServiceOptions,
} from "../../../src/tools/service/notebook-service.js";
import type { ToolAnswer, ToolCall } from "../../../src/tools/tool.js";
import { TOOLS } from "../../../src/tools/tool-list.js";
import type { CellView } from "../../../src/tools/view/shapes.js";
import { NativeFixture } from "./native-fixture.js";

const SETTINGS = { preload: "none", timeout: 20_000, grace: 300, poolSize: 1 } as const;

/** Desks of a test file: over one folder, closed after each test. */
export class ServiceFixture extends NativeFixture<NotebookService> {
  constructor() {
    super("desks");
  }

  async open({ config, ...more }: Partial<NotebookServiceOptions> = {}): Promise<NotebookService> {
    const { dir, runtime } = this;
    const options = { dir, user: "ann", runtime, config: { ...SETTINGS, ...config }, ...more };
    return this.keep(await NotebookService.open(options));
  }
}

/** Calls a tool and holds the answer against its schema. */
export async function call(
  service: NotebookService,
  name: string,
  input: object = {},
  how: ToolCall = {},
): Promise<ToolAnswer> {
  const answer = await callTool(service, name, input, how);
  const tool = TOOLS.find((one) => one.name === name);
  if (answer.refusal === undefined) tool?.output.parse(answer.structured);
  JSON.stringify(answer);
  return answer;
}

export async function execute(
  service: NotebookService,
  session: string,
  code: string,
  how: ToolCall = {},
): Promise<ToolAnswer & { readonly cell: CellView; readonly text: string }> {
  const answer = await call(service, "execute_cell", { session, code }, how);
  const { cell } = answer.structured as { cell: CellView };
  return { ...answer, cell, text: textOf(answer) };
}

export function textOf({ parts }: ToolAnswer): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}
