import { closeSync, writeSync } from "node:fs";
import { BlockingLink } from "./blocking-link.js";
import { closeGlobals } from "./import-guard.js";
import { type Port, PyodideInterpreter, type RunnerSession } from "./interpreter.js";
import { HEAD_DESCRIPTOR, MEMORY_DESCRIPTOR, type ProcessPlan, REPORT_DESCRIPTOR } from "./plan.js";
import { tryWalls } from "./probe.js";
import { Signals } from "./signals.js";

type Leave = (code: number) => never;

/** By default as much is set aside for a thread's code as for the whole of Python's. */
const EAR_CODE_MB = 16;

/** Runs Python in this thread, which waits for the host; another one hears its interrupts. */
async function main(plan: ProcessPlan): Promise<void> {
  const leave: Leave = process.exit;
  const signals = new Signals();
  provideClock();
  const [interpreter] = await Promise.all([
    PyodideInterpreter.open(plan, {
      stored:
        plan.memory === "read"
          ? { descriptor: MEMORY_DESCRIPTOR, offset: plan.memoryOffset }
          : undefined,
      isModel: plan.memory === "write",
    }),
    report(plan),
  ]);
  if (plan.memory === "write") new BlockingLink(MEMORY_DESCRIPTOR).write(interpreter.packMemory());
  if (plan.memory !== "none") closeSync(MEMORY_DESCRIPTOR);
  await interpreter.install(plan.packages);
  const link = new BlockingLink(HEAD_DESCRIPTOR);
  const session = interpreter.serve(portTo(link, signals, leave), signals.cells);
  const boot = link.read();
  if (boot === undefined) leave(0);
  session.greet(boot);
  if (plan.memory === "read") interpreter.writeRunner(plan.runner);
  await startEar(signals, leave);
  closeGlobals();
  serve(session, link, leave);
}

async function report({ probe }: ProcessPlan): Promise<void> {
  writeSync(REPORT_DESCRIPTOR, `${JSON.stringify(await tryWalls(probe))}\n`);
}

/** After the greeting, which need not wait for it; what the host says meanwhile is read then. */
async function startEar(signals: Signals, leave: Leave): Promise<void> {
  const { Worker } = await import("node:worker_threads");
  const controlThread = new Worker(new URL("./control-thread.js", import.meta.url), {
    workerData: signals.memory,
    env: {},
    resourceLimits: { codeRangeSizeMb: EAR_CODE_MB },
  });
  controlThread.on("error", () => leave(1));
}

/** All that Pyodide needs of Node's, which takes some milliseconds to load. */
function provideClock(): void {
  const { hrtime } = process;
  const now = () => {
    const [seconds, nanoseconds] = hrtime();
    return seconds * 1e3 + nanoseconds / 1e6;
  };
  Object.defineProperty(globalThis, "performance", { value: { now }, configurable: true });
}

function portTo(link: BlockingLink, signals: Signals, leave: Leave): Port {
  return {
    read: () => link.read(),
    write: (data) => {
      try {
        link.write(data);
      } catch {
        // The host is gone.
        leave(1);
      }
    },
    wait: (milliseconds) => signals.wait(milliseconds),
    wantedStep: () => signals.wantedStep(),
    see: () => signals.see(),
    setPartialLine: (isThere) => signals.setPartialLine(isThere),
    remind: () => signals.remind(),
  };
}

function serve(session: RunnerSession, link: BlockingLink, leave: Leave): void {
  for (;;) {
    const frame = link.read();
    if (frame === undefined) leave(0);
    try {
      session.take(frame);
    } catch (error) {
      leave(exitCode(error));
    }
  }
}

/** What ends Python is thrown through everything else. */
function exitCode(error: unknown): number {
  const isExit = typeof error === "object" && error !== null && "status" in error;
  return isExit ? Number(error.status) & 0xff : 1;
}

await main(JSON.parse(process.argv[2] ?? "{}") as ProcessPlan);
