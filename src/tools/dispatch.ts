import type { z } from "zod";
import { CellarError, describeError, isCellarError } from "../errors.js";
import type { NotebookService } from "./service/notebook-service.js";
import type { Refusal, Tool, ToolAnswer, ToolCall } from "./tool.js";
import { TOOLS } from "./tool-list.js";
import { cut } from "./view/cell-view.js";

const LONGEST_PROBLEM = 2_000;
const MOST_PROBLEMS = 10;

/** Answers a model's call. Throws only `ABORTED`, for the caller's own signal. */
export async function callTool(
  service: NotebookService,
  name: string,
  input: unknown,
  call: ToolCall = {},
): Promise<ToolAnswer> {
  const { isolation } = service;
  const tool = TOOLS.find((one) => one.name === name);
  if (tool === undefined) return refused(unknownTool(name, TOOLS), isolation);
  const parsed = tool.input.safeParse(input ?? {});
  if (!parsed.success) return refused(unfit(tool, parsed.error), isolation);
  throwIfAborted(call.signal);
  try {
    return await tool.run(service, parsed.data, call);
  } catch (error) {
    throwIfAborted(call.signal);
    return refused(refusalOf(error), isolation);
  }
}

export function refused(refusal: Refusal, { level }: NotebookService["isolation"]): ToolAnswer {
  const { code, message, remedy } = refusal;
  const told = remedy === undefined ? message : `${message}\n${remedy}`;
  return {
    parts: [{ type: "text", text: `Not done (${code}, isolation ${level}): ${told}` }],
    structured: {
      isolation: level,
      error: { code, message, ...(remedy !== undefined && { remedy }) },
    },
    isError: true,
    refusal,
  };
}

export function unknownTool(name: string, known: readonly Pick<Tool, "name">[]): Refusal {
  return {
    code: "NOT_FOUND",
    message: `there is no tool ${JSON.stringify(String(name).slice(0, 100))}`,
    remedy: `Use one of: ${known.map((tool) => tool.name).join(", ")}.`,
  };
}

export function argumentsOf({ input }: Pick<Tool, "input">): string {
  return Object.keys(input.shape).join(", ") || "nothing";
}

export function unfit(tool: Pick<Tool, "name" | "input">, { issues }: z.ZodError): Refusal {
  const problems = issues.slice(0, MOST_PROBLEMS).map((issue) => {
    const place = issue.path.map(String).join(".");
    return place === "" ? issue.message : `${place}: ${issue.message}`;
  });
  return {
    code: "INVALID_INPUT",
    message: cut(`invalid arguments for ${tool.name}: ${problems.join("; ")}`, LONGEST_PROBLEM),
    remedy: `It takes: ${argumentsOf(tool)}.`,
  };
}

export function refusalOf(error: unknown): Refusal {
  if (!isCellarError(error)) {
    const message = cut(`Cellar failed: ${describeError(error)}`, LONGEST_PROBLEM);
    return { code: "IO_ERROR", message, remedy: "Try again, or continue in another session." };
  }
  const remedy = remedyOf(error);
  return {
    code: error.code,
    message: cut(error.message, LONGEST_PROBLEM),
    ...(remedy !== undefined && { remedy: cut(remedy, LONGEST_PROBLEM) }),
  };
}

/** Replaces remedies that name calls of the library. */
function remedyOf({ code, message, remedy, details }: CellarError): string | undefined {
  switch (code) {
    case "LOCKED":
      if (details.owner === undefined) return remedy;
      return "Another program has this notebook open and must close it first. Meanwhile use another session; show_notebook, show_cell and export_ipynb still work.";
    case "NOT_FOUND":
      if (message.startsWith("there is no notebook")) {
        return "list_notebooks shows which there are. execute_cell and create_notebook create one.";
      }
      if (message.endsWith("in the workspace")) return "list_files shows what there is.";
      return remedy;
    case "INVALID_INPUT":
      return message.endsWith("is not a file")
        ? "Name a regular file; list_files shows the kind of each."
        : remedy;
    case "LIMIT_REACHED":
      return details.maxCells === undefined
        ? remedy
        : "Delete some with delete_cell, or continue in another session.";
    case "CHECKPOINT_GONE":
      return stepsThatWork(details.usable);
    case "TOO_LARGE":
      return `Work on large data with Python in a cell, or in parts.${remedy === undefined ? "" : ` ${remedy}`}`;
    case "CONFLICT":
      return details.owner === undefined
        ? remedy
        : "Another program has taken the notebook over. Everything answered so far is saved. Call again to open it when it is free, or use another session.";
    default:
      return remedy;
  }
}

function stepsThatWork(usable: unknown): string {
  const steps = Array.isArray(usable) ? usable.map(String) : [];
  return steps.length === 0
    ? "Nothing can be undone now. Set the variables in a new cell."
    : `These counts work now: ${steps.join(", ")}.`;
}

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted !== true) return;
  throw new CellarError("ABORTED", "the call was cancelled", { cause: signal.reason });
}
