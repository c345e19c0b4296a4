import type { ISandbox, REPLConfig } from "./backend.js";

export async function createSandbox(config: REPLConfig = {}): Promise<ISandbox> {
  const { openSandbox } = await import("./select.js");
  return await openSandbox(config);
}
