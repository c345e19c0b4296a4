import { resolveSettings } from "../../config.js";
import { meets } from "../../isolation/levels.js";
import { EXIT } from "../exit-codes.js";
import { writeJson } from "../terminal/report-error.js";
import { escapeControls, isTerminal, painterFor, withProgress } from "../terminal/terminal.js";
import { diagnose } from "./diagnosis.js";
import type { Diagnosis, HealthCheck } from "./health-check.js";

export interface DoctorOptions {
  readonly json?: true;
  readonly python?: string;
}

const MARKS = { ok: "✓", warn: "!", fail: "✗", info: "·" } as const;
const COLOURS = { ok: "green", warn: "yellow", fail: "red", info: "dim" } as const;

export async function doctor({ json, python }: DoctorOptions): Promise<number> {
  const settings = resolveSettings(python === undefined ? {} : { python });
  const diagnosis = await withProgress("trying the sandbox…", diagnose(settings));
  if (json === true) writeJson(diagnosis);
  else print(diagnosis);
  return diagnosis.ok ? EXIT.ok : EXIT.failed;
}

function print(diagnosis: Diagnosis): void {
  const width = Math.max(...diagnosis.checks.map(({ name }) => name.length));
  const lines = diagnosis.checks.flatMap((check) => rows(check, width));
  process.stdout.write(`${[...lines, "", verdict(diagnosis)].join("\n")}\n`);
}

function rows({ name, status, detail, fix }: HealthCheck, width: number): string[] {
  const paint = painterFor(process.stdout);
  const shown = (text: string) => (isTerminal(process.stdout) ? escapeControls(text) : text);
  const indent = " ".repeat(width + 4);
  const [first = "", ...more] = shown(detail).split("\n");
  return [
    `${paint(COLOURS[status], MARKS[status])} ${name.padEnd(width)}  ${first}`,
    ...more.map((line) => `${indent}${line}`),
    ...(fix === undefined
      ? []
      : [`${indent}fix: ${shown(fix).trimEnd().replaceAll("\n", `\n${indent}`)}`]),
  ];
}

function verdict({ ok, level, claims, minimum, works }: Diagnosis): string {
  const paint = painterFor(process.stdout);
  if (level === null) {
    return paint("red", "No session can be started here.");
  }
  const text = `Isolation ${level}: ${claims}`;
  if (!meets(level, minimum)) {
    return `${paint("red", text)}\nBelow the minimum ${minimum}: Cellar refuses to run code.`;
  }
  if (!ok) return `${paint("red", text)}\nNo cell could be run: see the lines with ✗.`;
  const broken = [
    ...(works.agents ? [] : ["Agents cannot be run here"]),
    ...(works.notebooks ? [] : ["Notebooks cannot be kept here"]),
  ].map((line) => `\n${paint("yellow", `${line}: see the lines above.`)}`);
  return `${paint("green", text)}${broken.join("")}`;
}
