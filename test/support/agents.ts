import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach } from "vitest";
import { AgentRepl, type AgentReplOptions } from "../../src/agent/agent-repl.js";
import { shutdown } from "../../src/backends/shared.js";
import { openNativeRuntime } from "./native-runtime.js";

export interface Agents {
  readonly spillDir: string;
  start(options?: AgentReplOptions): Promise<AgentRepl>;
}

/** Real agents behind walls, closed after each test; where there are no walls the tests are skipped. */
export async function agents(): Promise<Agents> {
  const { runtime, unavailable } = await openNativeRuntime();
  const spillDir = mkdtempSync(join(tmpdir(), "cellar-spill-test-"));
  const open: AgentRepl[] = [];
  beforeEach((context) => {
    if (unavailable !== undefined) context.skip(unavailable);
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((repl) => repl.close()));
  });
  afterAll(async () => {
    await runtime[Symbol.asyncDispose]();
    await shutdown();
    rmSync(spillDir, { recursive: true, force: true, maxRetries: 10 });
  });
  return {
    spillDir,
    async start(options = {}) {
      const config = { backend: "native", preload: "none", ...options.config } as const;
      const repl = await AgentRepl.open({ spillDir, ...options, config });
      open.push(repl);
      return repl;
    },
  };
}
