import { closeSync, fstatSync, read } from "node:fs";
import { Worker } from "node:worker_threads";
import { closeGlobals } from "./doors.js";
import { BlockingLink } from "./link.js";
import { HEAD_DESCRIPTOR, MEMORY_DESCRIPTOR, type ProcessPlan } from "./plan.js";
import { type Port, Room, type RunnerSession } from "./room.js";
import { Signals } from "./signals.js";

type Leave = (code: number) => never;

/** Runs Python in this thread, which waits for the host; another one hears its interrupts. */
async function main(plan: ProcessPlan): Promise<void> {
  const leave: Leave = process.exit;
  const signals = new Signals();
  const opening = Room.open(plan, {
    snapshot: plan.memory === "read" ? readMemory(plan.memoryOffset) : undefined,
    isModel: plan.memory === "write",
  });
  const ear = new Worker(new URL("./ear.js", import.meta.url), {
    workerData: { ...plan.probe, memory: signals.memory, environment: Object.keys(process.env) },
    env: {},
  });
  const tried = new Promise((resolve) => ear.once("message", resolve));
  ear.on("error", (error) => {
    console.error(error.message);
    leave(1);
  });
  const room = await opening;
  if (plan.memory === "write") new BlockingLink(MEMORY_DESCRIPTOR).write(room.remember());
  if (plan.memory !== "none") closeSync(MEMORY_DESCRIPTOR);
  await room.install(plan.packages);
  await tried;
  const link = new BlockingLink(HEAD_DESCRIPTOR);
  const session = room.serve(portTo(link, signals, leave), signals.cells);
  closeGlobals();
  serve(session, link, leave);
}

/** Aside, while the engine compiles. */
async function readMemory(offset: number): Promise<Uint8Array> {
  const data = new Uint8Array(fstatSync(MEMORY_DESCRIPTOR).size - offset);
  for (let have = 0; have < data.length; ) {
    const got = await readPart(data, have, offset + have);
    if (got === 0) throw new Error("the memory to start from is cut off");
    have += got;
  }
  return data;
}

function readPart(data: Uint8Array, at: number, position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    read(MEMORY_DESCRIPTOR, data, at, data.length - at, position, (error, got) =>
      error === null ? resolve(got) : reject(error),
    );
  });
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
  let handle = (frame: Uint8Array) => {
    session.greet(frame);
    handle = (next) => session.take(next);
  };
  for (;;) {
    const frame = link.read();
    if (frame === undefined) leave(0);
    try {
      handle(frame);
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
