import { createHash } from "node:crypto";
import { readAsset } from "../../../config/environment.js";
import { requireList, requireOptions } from "../../../config/kinds.js";
import { addFields } from "../../add-fields.js";
import type { TraceEvent } from "../events.js";
import { type Spending, spendingByDepth, type TraceNode, traceTree } from "../tree.js";
import { openNode, type Scale, spellCost, spellTokens } from "./node.js";
import { escapeHtml, gistOf, spellNumber, spellTime } from "./text.js";

/** Browsers flatten deeper nesting anyway. */
const DEEPEST_NESTING = 100;
/** Runs and turns start opened. */
const OPEN_LEVELS = 2;
const TEXT_OF_A_PAGE = 40_000_000;
const LONGEST_BLOCK = 200_000;
const SHORTEST_BLOCK = 2_000;

/** A self-contained page: the tree of calls, when they ran, and what they cost. */
export function renderTracePage(events: readonly TraceEvent[]): string {
  for (const event of requireList("events", events)) requireOptions("an event", event);
  const runs = runsIn(events);
  const longest = Math.floor(TEXT_OF_A_PAGE / Math.max(events.length, 1));
  const block = Math.max(SHORTEST_BLOCK, Math.min(LONGEST_BLOCK, longest));
  const sections = runs.map((run) => renderRun(run, block));
  const script = readAsset("script.js", import.meta.url);
  const title = gistOf(questionIn(events) ?? "", 60);
  return [
    "<!doctype html>",
    '<html lang="en">',
    "<head>",
    '<meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${policy(script)}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="referrer" content="no-referrer">',
    `<title>${title === "" ? "Trace" : `Trace: ${escapeHtml(title)}`}</title>`,
    `<style>${readAsset("style.css", import.meta.url)}</style>`,
    "</head>",
    "<body>",
    "<header><b>Trace</b>",
    '<span id="found" role="status"></span>',
    '<input id="search" type="search" placeholder="Search" aria-label="Search" autocomplete="off">',
    '<button id="open-all" type="button">Open all</button>',
    '<button id="close-all" type="button">Close all</button>',
    "</header>",
    `<main>${sections.length === 0 ? "<p>This trace is empty.</p>" : sections.join("\n")}</main>`,
    `<script>${script}</script>`,
    "</body>",
    "</html>",
    "",
  ].join("\n");
}

function policy(script: string): string {
  const hash = createHash("sha256").update(script).digest("base64");
  return [
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    `script-src 'sha256-${hash}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
}

function renderRun(events: readonly TraceEvent[], longest: number): string {
  const roots = traceTree(events);
  const from = roots.reduce((least, node) => Math.min(least, node.from), Number.POSITIVE_INFINITY);
  const to = roots.reduce((most, node) => Math.max(most, node.to), 0);
  const whole = roots.map(({ spent }) => spent).reduce((one, other) => addFields(one, other));
  const facts = [
    endingIn(events),
    spellTime(to - from),
    spellNumber(whole.calls, "model call"),
    ...(whole.calls === 0 ? [] : [`${spellTokens(whole)} tokens`, costOf(whole)]),
  ];
  return [
    "<section>",
    `<h1>${escapeHtml(gistOf(questionIn(events) ?? "A run without its beginning", 300))}</h1>`,
    `<p class="facts">${facts.map((fact) => `<span>${fact}</span>`).join("")}</p>`,
    renderDepths(events),
    renderNodes(roots, { from, to, longest }),
    "</section>",
  ].join("\n");
}

function runsIn(events: readonly TraceEvent[]): readonly (readonly TraceEvent[])[] {
  const runs = new Map<string, TraceEvent[]>();
  for (const event of events) {
    const run = runs.get(event.run);
    if (run === undefined) runs.set(event.run, [event]);
    else run.push(event);
  }
  return [...runs.values()];
}

function questionIn(events: readonly TraceEvent[]): string | undefined {
  const start = events.find(({ type }) => type === "run.started");
  return start?.type === "run.started" ? start.query : undefined;
}

function endingIn(events: readonly TraceEvent[]): string {
  const end = events.findLast(({ type, parent }) => type === "run.ended" && parent === null);
  if (end?.type !== "run.ended") return '<b class="badge bad">not ended</b>';
  const tone = end.status === "answered" ? "good" : "bad";
  return `<b class="badge ${tone}">${escapeHtml(end.status)}</b>`;
}

function costOf(whole: Spending): string {
  const unknown = whole.unpriced === 0 ? "" : ` (${whole.unpriced} without a known price)`;
  return `${spellCost(whole)}${unknown}`;
}

function renderDepths(events: readonly TraceEvent[]): string {
  const depths = spendingByDepth(events);
  if (depths.length < 2) return "";
  const rows = depths.map(([depth, spent]) => {
    const cells = [String(depth), String(spent.calls), spellTokens(spent), spellCost(spent)];
    return `<tr>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`;
  });
  const heads = ["depth", "calls", "tokens", "cost"].map((head) => `<th>${head}</th>`);
  return `<table><tr>${heads.join("")}</tr>${rows.join("")}</table>`;
}

/** Without recursion: a trace may be nested deeper than the stack. */
function renderNodes(roots: readonly TraceNode[], scale: Scale): string {
  const html: string[] = [];
  const left: (string | { readonly node: TraceNode; readonly level: number })[] = [];
  const postpone = (nodes: readonly TraceNode[], level: number) => {
    for (const node of nodes.toReversed()) left.push({ node, level });
  };
  postpone(roots, 0);
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (typeof next === "string") {
      html.push(next);
      continue;
    }
    const { node, level } = next;
    html.push(openNode(node, level < OPEN_LEVELS, scale));
    if (level < DEEPEST_NESTING && node.children.length > 0) {
      html.push('<div class="parts">');
      left.push("</div></details>\n");
      postpone(node.children, level + 1);
    } else {
      html.push("</details>\n");
      postpone(node.children, level);
    }
  }
  return html.join("");
}
