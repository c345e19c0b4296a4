// A notebook keeps cells and variables on disk: close it, open it again, and undo a cell.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Notebook, shutdown } from "cellar";

const dir = await mkdtemp(join(tmpdir(), "cellar-example-"));
const options = { user: "ann", session: "budget", dir };
try {
  const first = await Notebook.open(options);
  await first.run("totals = {'jan': 20, 'feb': 22}");
  await first.close();

  const again = await Notebook.open(options); // could be tomorrow, in another process
  const sum = await again.run("sum(totals.values())");
  console.log(sum.number, sum.state, sum.outputs[0]?.text);
  await again.run("totals.clear()");
  await again.undo();
  const back = await again.run("totals");
  console.log(back.outputs[0]?.text);
  await again.close();
} finally {
  await shutdown();
  await rm(dir, { recursive: true, force: true });
}
