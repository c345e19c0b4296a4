import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, it } from "vitest";
import type { CodeExecution, ISandbox, REPLConfig } from "../../src/index.js";
import { createSandbox, isCellarError } from "../../src/index.js";

export const text = (run: CodeExecution): string | undefined => run.result?.["text/plain"];

/** A sandbox for one scenario. Where the machine has no walls, the code is run without them. */
export async function withSandbox(
  config: REPLConfig,
  scenario: (sandbox: ISandbox) => Promise<void>,
): Promise<void> {
  await using sandbox = await openSandbox(config);
  await scenario(sandbox);
}

export async function openSandbox(config: REPLConfig): Promise<ISandbox> {
  const usual: REPLConfig = { preload: "standard", poolSize: 1, timeout: 20_000, grace: 500 };
  try {
    return await createSandbox({ ...usual, ...config });
  } catch (error) {
    if (!isCellarError(error, "SANDBOX_UNAVAILABLE")) throw error;
    return createSandbox({ ...usual, minIsolation: "L0", ...config });
  }
}

/** The kinds of sandbox of which the specification speaks, each by the settings that give it. */
export const KINDS: readonly (readonly [string, REPLConfig])[] = [
  ["pyodide in a worker", { backend: "pyodide" }],
  ["pyodide on the main thread", { backend: "pyodide", useWorker: false, minIsolation: "L0" }],
  ["native", { backend: "native" }],
];

/** One scenario, for every kind of sandbox. */
export function scenario(
  name: string,
  body: (config: REPLConfig, kind: string) => Promise<void>,
): void {
  describe(`Scenario: ${name}`, () => {
    it.each(KINDS)("%s", (kind, config) => body(config, kind));
  });
}

/** A folder that is gone after the tests of a file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "cellar-spec-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));
  return folder;
}
