import { NativeRuntime } from "../../src/backends/native/runtime.js";
import { isCellarError } from "../../src/errors.js";

/** One runtime for a test file, or the reason why this machine has none. */
export async function openNativeRuntime({ poolSize = 1 } = {}): Promise<{
  runtime: NativeRuntime;
  unavailable: string | undefined;
}> {
  const runtime = new NativeRuntime();
  try {
    const sandbox = await runtime.createSandbox({ preload: "none", poolSize });
    await sandbox.destroy();
    return { runtime, unavailable: undefined };
  } catch (error) {
    // An obstacle that has a name is the machine's. Any other one is a fault, and fails the tests.
    if (!isCellarError(error, "SANDBOX_UNAVAILABLE")) throw error;
    if (error.details.cause === "unknown") throw error;
    return { runtime, unavailable: error.message };
  }
}
