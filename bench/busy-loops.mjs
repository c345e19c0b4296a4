import { spawn } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";

/** They end by themselves too, should nobody end them. */
const LONGEST_MS = 20_000;
const LOOP = `const end = Date.now() + ${LONGEST_MS}; process.stdout.write("busy"); while (Date.now() < end);`;

/** One process per processor that does nothing but keep it busy. */
export class BusyLoops {
  #children = Array.from({ length: availableParallelism() }, () =>
    spawn(process.execPath, ["-e", LOOP], { stdio: ["ignore", "pipe", "inherit"] }),
  );

  /** Does the work beside them. */
  static async beside(work) {
    const loops = new BusyLoops();
    try {
      await Promise.all(loops.#children.map(({ stdout }) => once(stdout, "data")));
      const done = await work();
      if (loops.#children.some(hasEnded)) throw new Error("a busy loop ended before the work");
      return done;
    } finally {
      await Promise.all(loops.#children.map(end));
    }
  }
}

function hasEnded({ exitCode, signalCode }) {
  return exitCode !== null || signalCode !== null;
}

async function end(child) {
  if (hasEnded(child)) return;
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
}
