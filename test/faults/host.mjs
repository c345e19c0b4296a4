import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { Notebook, shutdown } from "../../dist/index.js";

/** A process that holds a notebook and does what it is told, to be killed or stopped. */

/** Everything said before a kill can be heard, as it is written at once. */
function say(message) {
  const bytes = Buffer.from(`${JSON.stringify(message)}\n`);
  for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at);
}

/** One deed at a time, each answered when it is done. */
async function serve(notebook) {
  const deeds = {
    run: ({ code }) => notebook.run(code),
    delete: ({ code }) => notebook.delete(Number(code)),
    close: () => notebook.close(),
  };
  for await (const line of createInterface(process.stdin)) {
    const { deed, ...order } = JSON.parse(line);
    try {
      say({ at: "answer", value: (await deeds[deed](order)) ?? null });
    } catch ({ code, message }) {
      say({ at: "answer", error: { code, message } });
    }
  }
}

try {
  const notebook = await Notebook.open(JSON.parse(process.argv[2]));
  const { restored, refused, warnings } = notebook.state;
  say({ at: "open", restored, refused, warnings });
  await serve(notebook);
  await notebook.close();
} catch (error) {
  say({ at: "failed", code: error.code ?? null, message: error.stack });
}
await shutdown();
