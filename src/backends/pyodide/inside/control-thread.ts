import { Socket } from "node:net";
import { workerData } from "node:worker_threads";
import { framesIn } from "./blocking-link.js";
import { CONTROL_DESCRIPTOR } from "./plan.js";
import { Signals } from "./signals.js";

const TICK_MS = 100;
const REPEAT_MS = 20;

/** The thread that hears the host while the other one runs Python. */
function hear(signals: Signals): void {
  const control = new Socket({ fd: CONTROL_DESCRIPTOR, readable: true, writable: true });
  let repeating: NodeJS.Timeout | undefined;
  const receive = framesIn((frame) => {
    const step = interruptedStep(frame);
    if (step === undefined) return;
    signals.interrupt(step);
    repeating ??= setInterval(() => {
      if (signals.repeatUnseen()) return;
      clearInterval(repeating);
      repeating = undefined;
    }, REPEAT_MS);
  });
  control.on("data", receive);
  // The other thread may wait in a system call, from which an orderly exit would not wake it.
  const end = () => process.kill(process.pid, "SIGKILL");
  control.on("error", end);
  control.on("close", end);
  setInterval(() => signals.tick(), TICK_MS);
}

function interruptedStep(frame: Uint8Array): number | undefined {
  const { method, params } = JSON.parse(Buffer.from(frame).toString("utf8")) as {
    method?: string;
    params?: { step?: number };
  };
  return method === "interrupt" ? params?.step : undefined;
}

hear(new Signals(workerData as SharedArrayBuffer));
