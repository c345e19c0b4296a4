import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { succeed } from "../program.mjs";
import { median } from "../statistics.mjs";
import { interleave, time } from "../stopwatch.mjs";
import { Unavailable } from "../unavailable.mjs";

const CELLAR = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const CODE = "import pandas";
const PAUSE_MS = 200;

/** A whole command through a running daemon, against Python alone. */
export const daemonExec = {
  key: "daemon_exec_vs_python",
  target: { at_least: 3 },
  async run({ count, use }) {
    const daemon = use(await Household.open());
    const python = await daemon.python();
    const samples = await interleave(
      {
        cellar: () => time(() => daemon.cellar("exec", "-c", CODE)),
        python: () => time(() => succeed(python, ["-c", CODE])),
        node: () => time(() => succeed(process.execPath, ["-e", "0"])),
      },
      { rounds: count(20, 3), warmups: 2, pause: PAUSE_MS },
    );
    return {
      ratio: median(samples.python) / median(samples.cellar),
      rows: [
        { name: `cellar exec -c "${CODE}" through the daemon`, samples: samples.cellar },
        { name: `python -c "${CODE}", the same interpreter`, samples: samples.python },
        { name: "node -e 0: the minimum for a Node command", samples: samples.node },
      ],
    };
  },
};

/** A home folder with its own daemon. */
class Household {
  #home = mkdtempSync(join(tmpdir(), "cb-"));

  static async open() {
    const household = new Household();
    await household.cellar("daemon", "start");
    return household;
  }

  cellar(...args) {
    return succeed(process.execPath, [CELLAR, ...args], { ...process.env, HOME: this.#home });
  }

  /** The interpreter of its sessions, if it has pandas. */
  async python() {
    const { status } = JSON.parse(await this.cellar("daemon", "status", "--json"));
    if (status.warmth.state !== "ready") throw new Unavailable(status.warmth.reason);
    const executable = status.warmth.python.replace(/^[^,]*, /, "");
    await succeed(executable, ["-c", CODE]).catch(() => {
      throw new Unavailable(`${executable} has no pandas`);
    });
    return executable;
  }

  async [Symbol.asyncDispose]() {
    await this.cellar("daemon", "stop");
    rmSync(this.#home, { recursive: true, force: true });
  }
}
