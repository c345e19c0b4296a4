import { createInterface } from "node:readline";
import { loadPyodide } from "pyodide";

const python = await loadPyodide();
python.runPython("1");
process.stdout.write("ready\n");
for await (const line of createInterface({ input: process.stdin })) {
  const started = performance.now();
  python.runPython(JSON.parse(line));
  process.stdout.write(`${performance.now() - started}\n`);
}
