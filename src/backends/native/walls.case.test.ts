import { surroundings } from "../../config.js";
import { locateBwrap } from "../../isolation/layout.js";
import { NativeRuntime } from "./runtime.js";

/** One runtime for a test file, or the reason why this machine has none. */
export async function openWalls(): Promise<{
  runtime: NativeRuntime;
  unavailable: string | undefined;
}> {
  const runtime = new NativeRuntime();
  if (process.platform !== "linux") return { runtime, unavailable: "the walls need Linux" };
  if (locateBwrap(surroundings().path) === undefined) {
    return { runtime, unavailable: "bubblewrap is not installed" };
  }
  try {
    const sandbox = await runtime.createSandbox({ preload: "none", poolSize: 1 });
    await sandbox.destroy();
    return { runtime, unavailable: undefined };
  } catch (error) {
    return { runtime, unavailable: `no sandbox on this machine: ${String(error)}` };
  }
}
