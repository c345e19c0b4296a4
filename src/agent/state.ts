import type { Finding, Variable } from "../protocol/messages.js";
import { wholeCharacters } from "./observation/tokens.js";

const SHOWN_VARIABLES = 20;
const SHOWN_FINDINGS = 10;
const SHOWN_TEXT = 80;
const SHOWN_FINDING = 500;

export interface AgentState {
  readonly turn: number;
  readonly variables: readonly Variable[];
  readonly findings: readonly Finding[];
  /** The map of calls; undefined while there are few. */
  readonly tree: string | undefined;
  /** What has failed since the last state. */
  readonly notice?: string | undefined;
}

/** What a model needs to know about its session, in few tokens. */
export function describeState({ turn, variables, findings, tree, notice }: AgentState): string {
  const context = variables.find(({ name }) => name === "context");
  const own = variables.filter(({ name }) => name !== "context");
  return [
    `## Session after turn ${turn}`,
    ...(context === undefined ? [] : [`Context: ${described(context)}`]),
    ...section(
      "Variables",
      own.map((one) => `${cut(one.name)} (${cut(shortType(one))}) = ${cut(one.text)}`),
      SHOWN_VARIABLES,
    ),
    ...section(
      "Findings",
      findings.map(({ text, source }) =>
        cut(source === null ? text : `${text} [${source}]`, SHOWN_FINDING),
      ),
      SHOWN_FINDINGS,
    ),
    ...(notice === undefined ? [] : [`[${cut(notice, SHOWN_FINDING)}]`]),
    ...(tree === undefined ? [] : ["", tree]),
  ].join("\n");
}

function described(context: Variable): string {
  const { size } = context;
  const type = cut(shortType(context));
  return size === undefined ? type : `${type}, ${size.toLocaleString("en-US")} long`;
}

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

/** On one line, so that no text can imitate a line of this block. */
function cut(text: string, most = SHOWN_TEXT): string {
  const line = text.replace(/[\s\p{Cc}\p{Zl}\p{Zp}]+/gu, " ").trim();
  return line.length <= most ? line : `${wholeCharacters(line.slice(0, most - 1))}…`;
}
