import { execFile } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from "node:fs";
import { freemem, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { open, openRuntime, run, warm } from "../cellar.mjs";
import { median } from "../statistics.mjs";
import { interleave, time } from "../stopwatch.mjs";
import { Unavailable } from "../unavailable.mjs";

const BYTES = 500_000_000;
/** Twice for a peer that holds bytes and text, plus some for a session. */
const NEEDED_BYTES = 3 * BYTES;
const BLOCK = Buffer.from(
  "All that a context holds is text, and here it is a line of it.\n".repeat(16384),
);
/** Recently freed memory is faster to get: all contenders must find the same amount. */
const PAUSE_MS = 500;
const READERS = {
  decoded: "open(path, 'rb').read().decode()",
  text: "open(path, encoding='utf-8').read()",
};

/** A large file as the context of a new sandbox, against reading it in Python. */
export const context = {
  key: "context_500mb_vs_read",
  target: { at_most: 1.5 },
  async run({ count, observe, use }) {
    const file = use(new LargeFile());
    const shared = [];
    let python;
    const contenders = {
      cellar: async () => {
        const runtime = openRuntime();
        try {
          const zygote = await warm(runtime, {});
          observe(zygote);
          python = zygote.interpreter.executable;
          const first = await open(runtime, {});
          const taken = await time(() => load(first, file.path));
          const second = await open(runtime, {});
          shared.push(await time(() => load(second, file.path)));
          return taken;
        } finally {
          await runtime[Symbol.asyncDispose]();
        }
      },
    };
    await contenders.cellar();
    shared.length = 0;
    for (const [name, reader] of Object.entries(READERS)) {
      contenders[name] = () => readInPython(python, reader, file.path);
    }
    const samples = await interleave(contenders, {
      rounds: count(9, 2),
      warmups: 1,
      pause: PAUSE_MS,
    });
    const peer = Math.min(median(samples.decoded), median(samples.text));
    return {
      ratio: median(samples.cellar) / peer,
      rows: [
        { name: "Cellar, initialize({ file }) + len(context), 500 MB", samples: samples.cellar },
        { name: "Cellar, the same file in a second sandbox", samples: shared.slice(1) },
        { name: "Python, open(encoding='utf-8').read()", samples: samples.text },
        { name: "Python, open('rb').read().decode()", samples: samples.decoded },
      ],
    };
  },
};

async function load(sandbox, file) {
  await sandbox.initialize({ file });
  const { result } = await run(sandbox, "len(context)");
  if (result["text/plain"] !== String(BYTES)) throw new Error(`the context has ${result}`);
}

/** Measured inside, so the interpreter's start is not counted. */
async function readInPython(python, reader, path) {
  const code = [
    "import sys, time",
    "path = sys.argv[1]",
    "began = time.perf_counter()",
    `size = len(${reader})`,
    "print(size, (time.perf_counter() - began) * 1000)",
  ].join("\n");
  const { stdout } = await promisify(execFile)(python, ["-I", "-S", "-c", code, path]);
  const [size, taken] = stdout.split(" ").map(Number);
  if (size !== BYTES) throw new Error(`the peer read ${size}`);
  return taken;
}

class LargeFile {
  #folder;
  path;

  constructor() {
    const { bavail, bsize } = statfsSync(tmpdir());
    if (freemem() < NEEDED_BYTES || bavail * bsize < 2 * BYTES) {
      throw new Unavailable("not enough memory or disk for a file of 500 MB");
    }
    this.#folder = mkdtempSync(join(tmpdir(), "cellar-bench-"));
    this.path = join(this.#folder, "context.txt");
    const file = openSync(this.path, "w");
    for (let left = BYTES; left > 0; left -= BLOCK.length) {
      writeSync(file, BLOCK, 0, Math.min(left, BLOCK.length));
    }
    closeSync(file);
  }

  [Symbol.dispose]() {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
