/** One line per machine, then measurements, skips and counts. */
export function summaryLines({ results, measures, names }) {
  const width = Math.max(...names.map((name) => name.length), "machine".length);
  const row = (name, cells) =>
    `${name.padEnd(width)}  ${cells.map((cell) => String(cell).padStart(9)).join("")}`;
  const lines = [row("machine", ["passed", "failed", "skipped", "s"])];
  for (const name of names) {
    const own = results.filter(({ machine }) => machine === name);
    const count = (status) => own.filter((one) => one.status === status).length;
    const seconds = own.reduce((sum, { ms }) => sum + ms, 0) / 1000;
    lines.push(row(name, [count("passed"), count("failed"), count("skipped"), seconds.toFixed(0)]));
  }
  lines.push("", ...measureLines(measures));
  for (const { machine, step, reason } of results.filter(({ status }) => status === "skipped")) {
    lines.push(`skipped: ${machine} · ${step}: ${reason}`);
  }
  for (const { machine, step } of results.filter(({ status }) => status === "failed")) {
    lines.push(`failed: ${machine} · ${step}`);
  }
  return [...lines, countLine(results)];
}

function measureLines({ install, cell, weightMb }) {
  if (install === undefined) return [];
  const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;
  const both =
    cell === undefined ? "" : `, npx cellar exec ${seconds(cell)}: ${seconds(install + cell)}`;
  return [
    `empty folder to the first result: 2 commands, npm install ${seconds(install)}${both}`,
    ...(weightMb === undefined ? [] : [`installed size: ${weightMb} MB`]),
  ];
}

function countLine(results) {
  const count = (status) => results.filter((one) => one.status === status).length;
  return `${count("passed")} passed, ${count("failed")} failed, ${count("skipped")} skipped`;
}
