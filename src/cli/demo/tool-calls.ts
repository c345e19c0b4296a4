import { z } from "zod";
import type { SandboxInfo } from "../../backends/backend.js";
import { createSandbox } from "../../backends/create-sandbox.js";
import { ToolRegistry } from "../../registry/registry.js";

const CALLS = 8;
/** Only calls that never meet wait for so long. */
const PATIENCE_MS = 5_000;
const CONFIG = { preload: "none", poolSize: 0, checkpoints: "off" } as const;

/** Calls a function of the host from one cell; it answers none of the calls until all of them are there. */
export async function callTools({ isolation }: SandboxInfo): Promise<string> {
  let arrived = 0;
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  await using registry = await ToolRegistry.open({
    tools: {
      square: {
        inputSchema: z.object({ n: z.int() }),
        isReadOnly: true,
        limits: { timeoutMs: PATIENCE_MS },
        execute: async ({ n }: { n: number }) => {
          arrived += 1;
          if (arrived === CALLS) open();
          await gate;
          return n * n;
        },
      },
    },
  });
  const config = { ...CONFIG, tools: registry, minIsolation: isolation.level };
  await using sandbox = await createSandbox(config);
  const calls = `tools.square.aio(n) for n in range(${CALLS})`;
  const code = `import asyncio; sum(await asyncio.gather(*(${calls})))`;
  const { status, result, error } = await sandbox.execute(code);
  if (status !== "ok") throw new Error(`${code} ended as ${status}: ${error?.message ?? ""}`);
  const sum = result?.["text/plain"];
  const wanted = Array.from({ length: CALLS }, (_, n) => n * n).reduce((a, b) => a + b);
  if (sum !== String(wanted)) throw new Error(`the calls gave ${sum ?? "nothing"}, not ${wanted}`);
  return `${calls}, gathered in one cell → the host had all ${CALLS} calls at once; their sum is ${sum}`;
}
