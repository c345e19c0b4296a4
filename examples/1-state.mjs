// Variables survive from cell to cell, even if a cell crashes the whole process.
import { createSandbox, shutdown } from "cellar";

// After each cell, however quick; by default quick cells in a row share a checkpoint.
const sandbox = await createSandbox({ checkpoints: "always" });
await sandbox.execute("numbers = iter(range(100))\nfirst = next(numbers)");

const crash = await sandbox.execute("first = 'lost'\nimport ctypes; ctypes.string_at(0)");
console.log(crash.status, "survived:", crash.state.survived);

// Even the half-read iterator continues where it was.
const after = await sandbox.execute("first, next(numbers)");
console.log(after.status, after.result?.["text/plain"]);

const wrong = await sandbox.execute("first / 0");
console.log(wrong.status, wrong.error?.type, wrong.error?.message);
await shutdown();
