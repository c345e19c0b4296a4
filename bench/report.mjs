import { round, summarise } from "./statistics.mjs";

/** All results of a run, as `--json` prints them. */
export class Report {
  ratios = {};
  targets = {};
  rows = [];
  skipped = {};
  machine;

  constructor(benchmarks, machine) {
    this.machine = machine;
    for (const { key, target, isReported = target !== undefined } of benchmarks) {
      if (isReported) this.ratios[key] = null;
      if (target !== undefined) this.targets[key] = target;
    }
  }

  add({ key }, { ratio, rows }) {
    if (key in this.ratios) this.ratios[key] = round(ratio);
    for (const { name, unit = "ms", samples, cpu, note } of rows) {
      const row = { benchmark: key, name, unit, ...summarise(samples), ...processorTimes(cpu) };
      this.rows.push(note === undefined ? row : { ...row, note });
    }
  }

  skip({ key }, reason) {
    this.skipped[key] = reason;
  }

  /** Of a key with a target; null if there is no figure. */
  isMet(key) {
    const ratio = this.ratios[key];
    const { at_least: least, at_most: most } = this.targets[key];
    if (ratio === null) return null;
    return least === undefined ? ratio <= most : ratio >= least;
  }

  toText() {
    return [
      ...this.#machineLines(),
      "",
      line("", "median", "p95", "p99", "cpu host", "cpu session", "n"),
      ...this.rows.flatMap(rowLines),
      "",
      ...Object.keys(this.ratios).map((key) => this.#ratioLine(key)),
      ...this.#skippedLines(),
    ].join("\n");
  }

  #machineLines() {
    const { processors, model, kernel, node, python, isolation, processor_time: by } = this.machine;
    return [
      `${processors} x ${model}, kernel ${kernel}, Node ${node}, Python ${python ?? "-"}`,
      `isolation ${isolation ?? "-"}; load ${this.machine.load_before.toFixed(1)} before`,
      ...(by === undefined ? [] : [`processor time of sessions by ${by}`]),
    ];
  }

  #ratioLine(key) {
    const figure = `${key.padEnd(38)}${String(this.ratios[key] ?? "-").padStart(9)}`;
    if (this.targets[key] === undefined) return `${figure}  no target`;
    const { at_least: least, at_most: most } = this.targets[key];
    const wanted = least === undefined ? `at most ${most}` : `at least ${least}`;
    const met = this.isMet(key);
    const verdict = met === null ? "not measured" : met ? "met" : "missed";
    return `${figure}  ${wanted}: ${verdict}`;
  }

  #skippedLines() {
    const entries = Object.entries(this.skipped);
    return entries.length === 0 ? [] : ["", ...entries.map(([key, why]) => `${key}: ${why}`)];
  }
}

const NAME_WIDTH = 60;
const CELL_WIDTHS = [15, 15, 24, 12, 13, 8];
/** For other units more is better, or all samples are equal. */
const UNITS_WITH_A_WORST = new Set(["ms", "MB"]);

function line(name, ...cells) {
  const padded = cells.map((cell, place) => String(cell).padStart(CELL_WIDTHS[place]));
  return name.padEnd(NAME_WIDTH) + padded.join("");
}

function rowLines(row) {
  const { name, unit, median, p95, n, note } = row;
  const times = [row.cpu_host_ms, row.cpu_session_ms].map(processorTime);
  const [half, most] = [median, p95].map((value) => `${figure(value)} ${unit}`);
  const shown = line(name, half, most, tail(row), ...times, n);
  return note === undefined ? [shown] : [shown, `    ${note}`];
}

/** The 99th percentile, or the worst of too few samples. */
function tail({ unit, p99, max, n }) {
  if (p99 !== null) return `${figure(p99)} ${unit}`;
  return n > 1 && UNITS_WITH_A_WORST.has(unit) ? `worst of ${n}: ${figure(max)} ${unit}` : "-";
}

/** Per operation; null where it was not measured. */
function processorTimes(cpu) {
  const [host, session] = [cpu?.host, cpu?.session].map((ms) =>
    ms === undefined ? null : round(ms),
  );
  return { cpu_host_ms: host, cpu_session_ms: session };
}

function processorTime(ms) {
  return ms === null ? "-" : `${figure(ms)} ms`;
}

function figure(value) {
  return value >= 100 ? value.toFixed(0) : value.toFixed(2);
}
