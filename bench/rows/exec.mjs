import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { open, openRuntime } from "../cellar.mjs";
import { succeed } from "../program.mjs";
import { median } from "../statistics.mjs";
import { interleave, time } from "../stopwatch.mjs";

const CELLAR = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const PYTHON = "python3";
const CODE = "1";
const PAUSE_MS = 100;

/** A whole command without a daemon, against the python3 that a shell would start. */
export const exec = {
  key: "exec_vs_python",
  target: { at_most: 3 },
  async run({ count, use }) {
    const { env } = use(new EmptyHome());
    const cellar = (...args) => succeed(process.execPath, [CELLAR, "exec", ...args], env);
    const own = await ownPython();
    const samples = await interleave(
      {
        cellar: () => time(() => cellar("-c", CODE)),
        python: () => time(() => succeed(PYTHON, ["-c", CODE])),
        own: () => time(() => succeed(own, ["-c", CODE])),
      },
      { rounds: count(30, 3), warmups: 2, pause: PAUSE_MS },
    );
    return {
      ratio: median(samples.cellar) / median(samples.python),
      rows: [
        { name: `cellar exec -c ${CODE}, no daemon`, samples: samples.cellar },
        { name: `${PYTHON} -c ${CODE}, as on the PATH`, samples: samples.python },
        { name: `python -c ${CODE}, the interpreter of the session itself`, samples: samples.own },
      ],
    };
  },
};

async function ownPython() {
  const runtime = openRuntime();
  try {
    return (await open(runtime, { preload: "none", poolSize: 0 })).info.python.executable;
  } finally {
    await runtime[Symbol.asyncDispose]();
  }
}

/** A home folder in which no daemon listens. */
class EmptyHome {
  #home = mkdtempSync(join(tmpdir(), "cb-"));

  get env() {
    return { ...process.env, HOME: this.#home };
  }

  [Symbol.dispose]() {
    rmSync(this.#home, { recursive: true, force: true });
  }
}
