import { daemonAddress } from "../../backends/daemon/address.js";
import type { StartupReport } from "../../backends/daemon/launch.js";
import { hostEnvironment } from "../../config/environment.js";
import { CellarError, describeError } from "../../errors.js";
import { Daemon } from "./daemon.js";
import { isTaken } from "./socket-claim.js";

process.exitCode = await main(process.argv.includes("--keep"));

async function main(kept: boolean): Promise<number> {
  const environment = hostEnvironment();
  let daemon: Daemon;
  try {
    daemon = await Daemon.open({
      hostEnvironment: environment,
      address: daemonAddress(environment.home),
      kept,
    });
  } catch (error) {
    report(isTaken(error) ? { listening: true } : { error: describe(error) });
    return isTaken(error) ? 0 : 1;
  }
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    process.on(signal, () => void daemon.stop());
  }
  report({ listening: true });
  await daemon.ended;
  process.exit(0);
}

/** The process that starts the daemon reads only one line. */
function report(text: StartupReport): void {
  process.stdout.on("error", () => {});
  process.stdout.write(`${JSON.stringify(text)}\n`);
}

function describe(error: unknown): NonNullable<StartupReport["error"]> {
  if (!(error instanceof CellarError))
    return { code: "START_FAILED", message: describeError(error) };
  const { code, message, remedy } = error;
  return { code, message, ...(remedy !== undefined && { remedy }) };
}
