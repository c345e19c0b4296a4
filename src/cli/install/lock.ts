import { spawn } from "node:child_process";
import { onAbort } from "../../concurrency/abort.js";
import { CellarError } from "../../errors.js";

/** The kernel gives the lock back when its holder ends, however it ends. */
const HOLD = `
import sys
try:
    import fcntl
    file = open(sys.argv[1], "a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("waiting", flush=True)
        fcntl.flock(file, fcntl.LOCK_EX)
except (ImportError, OSError):
    pass
print("held", flush=True)
sys.stdin.read()
`;

export interface LockOrder {
  readonly python: string;
  readonly file: string;
  readonly limit: number;
  readonly signal: AbortSignal;
  readonly onWait: () => void;
}

/** One install at a time in an environment; where a file cannot be locked, none waits. */
export function lockEnvironment(order: LockOrder): Promise<Disposable> {
  const { python, file, limit, signal, onWait } = order;
  return new Promise((resolve, reject) => {
    // A group of its own, so that Ctrl-C at a terminal does not give the lock back too early.
    const holder = spawn(python, ["-I", "-c", HOLD, file], {
      stdio: ["pipe", "pipe", "ignore"],
      detached: true,
    });
    const release = () => void holder.kill("SIGKILL");
    const settle = (error?: CellarError) => {
      clearTimeout(timer);
      listening?.[Symbol.dispose]();
      if (error === undefined) return resolve({ [Symbol.dispose]: release });
      release();
      reject(error);
    };
    const timer = setTimeout(() => {
      const message = `another cellar install is still at work after ${Math.round(limit / 1000)} s`;
      const remedy = `Wait for it, or end it. It holds the lock ${file}.`;
      settle(new CellarError("INSTALL_FAILED", message, { remedy }));
    }, limit);
    let listening: Disposable | undefined;
    listening = onAbort(signal, () =>
      settle(new CellarError("ABORTED", "the install was cancelled")),
    );
    let said = "";
    holder.stdout.setEncoding("utf8").on("data", (text: string) => {
      if (!said.includes("waiting") && text.includes("waiting")) onWait();
      said += text;
      if (said.includes("held")) settle();
    });
    holder.stdin.on("error", () => {});
    holder.once("error", () => settle());
    holder.once("close", () => settle());
  });
}
