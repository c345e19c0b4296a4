import type { Finding, Variable } from "../protocol/messages.js";

const SHOWN_VARIABLES = 20;
const SHOWN_FINDINGS = 10;
const SHOWN_TEXT = 80;

export interface AgentState {
  readonly turn: number;
  readonly variables: readonly Variable[];
  readonly findings: readonly Finding[];
  /** What was looked at, from some calls on. */
  readonly tree: string | undefined;
}

/** What a model needs to know of its session, in few tokens. */
export function describeState({ turn, variables, findings, tree }: AgentState): string {
  const context = variables.find(({ name }) => name === "context");
  const own = variables.filter(({ name }) => name !== "context");
  return [
    `## Session after turn ${turn}`,
    ...(context === undefined ? [] : [`Context: ${described(context)}`]),
    ...section(
      "Variables",
      own.map((one) => `${one.name} (${shortType(one)}) = ${cut(one.text)}`),
      SHOWN_VARIABLES,
    ),
    ...section(
      "Findings",
      findings.map(({ text, source }) => (source === null ? text : `${text} [${source}]`)),
      SHOWN_FINDINGS,
    ),
    ...(tree === undefined ? [] : ["", tree]),
  ].join("\n");
}

function described(context: Variable): string {
  const { size } = context;
  const type = shortType(context);
  return size === undefined ? type : `${type}, ${size.toLocaleString("en-US")} long`;
}

/** Without the modules, which a model knows or does not need. */
function shortType({ type }: Variable): string {
  return type.split(".").at(-1) ?? type;
}

function section(title: string, lines: readonly string[], most: number): string[] {
  if (lines.length === 0) return [];
  const more = lines.length - most;
  return [
    `${title}:`,
    ...lines.slice(0, most).map((line) => `  ${line}`),
    ...(more > 0 ? [`  … and ${more} more`] : []),
  ];
}

function cut(text: string): string {
  const line = text.replace(/\s+/g, " ");
  return line.length <= SHOWN_TEXT ? line : `${line.slice(0, SHOWN_TEXT - 1)}…`;
}
