import { createHash } from "node:crypto";
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { Notebook, shutdown } from "../../dist/index.js";
import { DiskStore } from "../../dist/session/store/disk-store.js";

/** A process that holds a notebook, to be killed. It works by itself, or does what it is told. */

const MOST_CELLS = 12;
/** How late a store saves that answers before. */
const LATE_MS = 40;

/** Numbers below an end that look random, and are the same for the same seed. */
function seeded(seed) {
  let count = 0;
  const next = () => createHash("sha256").update(`${seed}:${count++}`).digest().readUInt32LE();
  return (end) => next() % end;
}

/** Everything said before a kill can be heard, as it is written at once. */
function say(message) {
  const bytes = Buffer.from(`${JSON.stringify(message)}\n`);
  for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at);
}

/** Two processes give the same text for the same cell. */
function ordered(value) {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
  return Object.fromEntries(entries.sort().map(([key, inner]) => [key, ordered(inner)]));
}

function seen({ number, isUndone = false, ...cell }) {
  const record = createHash("sha256")
    .update(JSON.stringify(ordered(cell)))
    .digest("hex");
  const { id, code, state, executionCount, outputs } = cell;
  const mark = outputs[0]?.text?.split("\n")[0] ?? null;
  return { id, number, code, state, executionCount, isUndone, mark, record };
}

function account(notebook) {
  const { snapshot, restored, ranAfter, refused, warnings } = notebook.state;
  const kept = snapshot?.sequence ?? null;
  return { cells: notebook.cells.map(seen), kept, restored, ranAfter, refused, warnings };
}

/** Answers before it has saved: what a careless store would do. */
function hasty(store) {
  let saving = Promise.resolve();
  const heads = {
    revision: (id) => store.heads.revision(id),
    get: async (id) => {
      await saving;
      return store.heads.get(id);
    },
    cas: async (id, head, expected) => {
      saving = saving.then(() => sleep(LATE_MS)).then(() => store.heads.cas(id, head, expected));
      saving.catch(() => process.exit(3));
      return expected + 1;
    },
  };
  return { heads, blobs: (id, generation) => store.blobs(id, generation) };
}

/** Each cell mixes its own token into what all before it have left, and shows it. */
function chainCode(token, isLong) {
  const more = isLong ? "\nprint('.' * 6000)" : "";
  return `import hashlib\nh = hashlib.sha256((globals().get('h', '') + '${token}').encode()).hexdigest()[:16]\nprint(h)${more}`;
}

async function work(notebook, seed) {
  const chance = seeded(seed);
  let count = 0;
  let streak = 0;
  const act = async (op, deed) => {
    say({ at: "begin", ...op });
    await deed();
    say({ at: "done", ...account(notebook) });
  };
  const pick = (cells) => cells[chance(cells.length)];
  const { ranAfter } = notebook.state;
  if (ranAfter.length > 0) {
    const targets = ranAfter.map((number) => notebook.show(number).id);
    await act({ op: "replay", targets }, () => notebook.replay());
  }
  for (;;) {
    const all = notebook.cells;
    const token = `t${seed}x${count++}`;
    const code = chainCode(token, chance(5) === 0);
    const dice = chance(100);
    const ran = all.filter(({ state }) => state !== "IDLE");
    const isFull = all.length >= MOST_CELLS;
    if (isFull || (dice < 12 && all.length > 1)) {
      const { id } = pick(all);
      await act({ op: "delete", targets: [id] }, () => notebook.delete(id));
      streak = 0;
    } else if (dice < 22) {
      await act({ op: "add", targets: [], code }, () => notebook.add(code));
    } else if (dice < 34 && ran.length > 0) {
      const { id } = pick(ran);
      await act({ op: "rerun", targets: [id] }, () => notebook.rerun(id));
      streak += 1;
    } else if (dice < 42 && streak > 1) {
      await act({ op: "undo", targets: [] }, () => notebook.undo());
      streak = 0;
    } else if (dice < 55) {
      await sleep(60 + chance(60));
    } else {
      await act({ op: "run", targets: [], code }, () => notebook.run(code));
      streak += 1;
    }
  }
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

const { seed, isHasty, ...options } = JSON.parse(process.argv[2]);
const store = new DiskStore(options.dir);
try {
  const notebook = await Notebook.open({ ...options, store: isHasty ? hasty(store) : store });
  say({ at: "open", ...account(notebook) });
  await (seed === undefined ? serve(notebook) : work(notebook, seed));
  await notebook.close();
} catch (error) {
  say({ at: "failed", code: error.code ?? null, message: error.stack });
}
await shutdown();
