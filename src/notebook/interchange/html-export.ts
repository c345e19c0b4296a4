import { readAsset } from "../../config/environment.js";
import type { Cell, CellOutput } from "../cell.js";
import {
  bytesOf,
  errorText,
  type NotebookContent,
  type OutputOf,
  wholeJson,
  wholeText,
} from "./notebook-content.js";
import { printable } from "./plain-text.js";
import { proseOf } from "./prose.js";

/** Nothing on the page may load, run or send anything. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/** Types that a page may name in an image's address. */
const IMAGE_TYPE = /^image\/(png|jpeg|gif|webp|bmp)$/;

const MAX_FRAME_LINES = 40;
const MIN_FRAME_LINES = 3;

/** The notebook as one page that needs nothing beside itself. */
export async function htmlOf(content: NotebookContent): Promise<string> {
  const title = markup(content.title ?? "Notebook");
  const sections: string[] = [];
  for (const cell of content.cells) sections.push(await sectionOf(cell, content));
  const python = content.python === undefined ? "" : `, Python ${markup(content.python)}`;
  const count = content.cells.length;
  return [
    "<!doctype html>",
    '<html lang="en">',
    "<head>",
    '<meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${POLICY}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="referrer" content="no-referrer">',
    '<meta name="color-scheme" content="light dark">',
    `<title>${title}</title>`,
    `<style>${readAsset("page.css", import.meta.url)}</style>`,
    "</head>",
    "<body>",
    `<header><h1>${title}</h1><p>${count} ${count === 1 ? "cell" : "cells"}${python}</p></header>`,
    "<main>",
    ...sections,
    "</main>",
    "</body>",
    "</html>",
    "",
  ].join("\n");
}

async function sectionOf(cell: Cell, content: NotebookContent): Promise<string> {
  const outputs: string[] = [];
  for (const output of cell.outputs) outputs.push(await outputOf(output, content));
  const notes = (cell.notes ?? []).map((note) => `<p class="note">${markup(note)}</p>`);
  const prose = proseOf(cell.code);
  const source =
    prose === undefined ? codeOf(cell.code) : `<pre class="prose">${markup(prose.text)}</pre>`;
  const undone = cell.isUndone === true ? " undone" : "";
  return [
    `<section class="cell ${cell.state.toLowerCase()}${undone}" id="cell-${cell.index}">`,
    prose === undefined ? headingOf(cell) : "",
    source,
    ...outputs,
    ...notes,
    "</section>",
  ]
    .filter((line) => line !== "")
    .join("\n");
}

function headingOf(cell: Cell): string {
  const count = cell.number ?? " ";
  const facts = [
    cell.state,
    ...(cell.isUndone === true ? ["undone"] : []),
    ...(cell.duration === null ? [] : [spanOf(cell.duration)]),
    ...(cell.executedAt === null ? [] : [cell.executedAt]),
  ];
  return `<h2>[${count}] <span>${markup(facts.join(" · "))}</span></h2>`;
}

function spanOf(milliseconds: number): string {
  return milliseconds < 1000
    ? `${Math.round(milliseconds)} ms`
    : `${(milliseconds / 1000).toFixed(1)} s`;
}

function codeOf(code: string): string {
  const lines = printable(code.replace(/\n+$/, "")).split("\n");
  const numbered = lines.map((line) => `<span>${markup(line)}\n</span>`);
  return `<pre class="code"><code>${numbered.join("")}</code></pre>`;
}

async function outputOf(output: CellOutput, content: NotebookContent): Promise<string> {
  const place = "uri" in output ? output : {};
  const whole = (text: string) => wholeText(text, place, content);
  switch (output.type) {
    case "TEXT":
      return textOf(await whole(output.text), output.stream);
    case "ERROR":
      return errorOf(output);
    case "HTML":
      return frameOf(await whole(output.html));
    case "IMAGE":
      return await imageOf(output, content);
    case "SVG":
      return pictureOf("image/svg+xml", Buffer.from(await whole(output.svg)), output.text);
    case "DATAFRAME":
      return tableOf(output);
    case "JSON":
      return textOf(String(JSON.stringify(await wholeJson(output, content), null, 2)), "json");
    case "MARKDOWN":
      return textOf(await whole(output.markdown), "markdown");
    case "LATEX":
      return textOf(await whole(output.latex), "latex");
  }
}

function textOf(text: string, kind: string): string {
  return `<pre class="output ${kind}">${markup(text.replace(/\n$/, ""))}</pre>`;
}

function errorOf(output: OutputOf<"ERROR">): string {
  const { hint } = output;
  const advice = hint === undefined ? "" : `\n<p class="note">hint: ${markup(hint)}</p>`;
  return `${textOf(errorText(output), "error")}${advice}`;
}

/** Markup of a cell is hostile: it gets a frame without scripts, forms, or an origin. */
function frameOf(html: string): string {
  const document = [
    `<!doctype html><meta charset="utf-8">`,
    `<meta http-equiv="Content-Security-Policy" content="${POLICY}">`,
    "<style>:root{color-scheme:light dark}body{font:14px system-ui,sans-serif;margin:4px}</style>",
    html,
  ].join("");
  const breaks = html.match(/<(?:tr|br|p|li|div|h\d)\b|\n/gi)?.length ?? 0;
  const lines = Math.min(Math.max(breaks, MIN_FRAME_LINES), MAX_FRAME_LINES);
  const height = `height:${lines * 2}em`;
  return `<iframe class="output" sandbox="" style="${height}" srcdoc="${markup(document)}"></iframe>`;
}

async function imageOf(output: OutputOf<"IMAGE">, content: NotebookContent): Promise<string> {
  if (!IMAGE_TYPE.test(output.mime)) return textOf(output.text || output.mime, "display");
  const { mime, uri, text, width, height } = output;
  return pictureOf(mime, await bytesOf(uri, content), text, { width, height });
}

function pictureOf(
  mime: string,
  bytes: Buffer,
  text: string,
  { width, height }: { width?: number | undefined; height?: number | undefined } = {},
): string {
  const size = width !== undefined && height !== undefined ? ` width="${width}"` : "";
  const source = `data:${mime};base64,${bytes.toString("base64")}`;
  return `<img class="output" alt="${markup(text)}"${size} src="${source}">`;
}

function tableOf({ columns, dtypes, shape, rows, index }: OutputOf<"DATAFRAME">): string {
  const corner = index === undefined ? "" : "<th></th>";
  const heads = columns.map((name, at) => {
    const type = dtypes[at] === undefined ? "" : `<small>${markup(dtypes[at])}</small>`;
    return `<th>${markup(labelOf(name))}${type}</th>`;
  });
  const body = rows.map((row, at) => {
    const label = index === undefined ? "" : `<th>${markup(labelOf(index[at]))}</th>`;
    return `<tr>${label}${row.map((value) => `<td>${markup(labelOf(value))}</td>`).join("")}</tr>`;
  });
  return [
    '<div class="output table"><table>',
    `<thead><tr>${corner}${heads.join("")}</tr></thead>`,
    `<tbody>${body.join("\n")}</tbody>`,
    `</table><p>${shape[0]} rows × ${shape[1]} columns</p></div>`,
  ].join("\n");
}

function labelOf(value: unknown): string {
  if (typeof value === "string") return value;
  return value === null || value === undefined ? "" : JSON.stringify(value);
}

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
  ['"', "&quot;"],
  ["'", "&#39;"],
]);

function markup(text: string): string {
  return printable(text).replace(/[&<>"']/g, (found) => ENTITIES.get(found) ?? "");
}
