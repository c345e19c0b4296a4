import { daemonAddress } from "../../backends/daemon/address.js";
import type { FirstWords } from "../../backends/daemon/launch.js";
import { hostEnvironment } from "../../config/environment.js";
import { CellarError, describeError } from "../../errors.js";
import { Daemon } from "./daemon.js";
import { isTaken } from "./socket-claim.js";

process.exitCode = await main(process.argv.includes("--keep"));

async function main(kept: boolean): Promise<number> {
  const around = hostEnvironment();
  let daemon: Daemon;
  try {
    daemon = await Daemon.open({
      hostEnvironment: around,
      address: daemonAddress(around.home),
      kept,
    });
  } catch (error) {
    say(isTaken(error) ? { listening: true } : { error: described(error) });
    return isTaken(error) ? 0 : 1;
  }
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    process.on(signal, () => void daemon.stop());
  }
  say({ listening: true });
  await daemon.ended;
  process.exit(0);
}

/** The starter reads one line and then goes away. */
function say(words: FirstWords): void {
  process.stdout.on("error", () => {});
  process.stdout.write(`${JSON.stringify(words)}\n`);
}

function described(error: unknown): NonNullable<FirstWords["error"]> {
  if (!(error instanceof CellarError))
    return { code: "START_FAILED", message: describeError(error) };
  const { code, message, remedy } = error;
  return { code, message, ...(remedy !== undefined && { remedy }) };
}
