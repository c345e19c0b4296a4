import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

/** Every scenario of the specification by its requirement. */
const SCENARIOS: Readonly<Record<string, readonly string[]>> = {
  "Sandbox Lifecycle": ["Initialize with context", "Cleanup on destroy"],
  "Code Execution": ["Execute returns result", "Stdout capture", "Stderr capture", "Error capture"],
  "Timeout Handling": ["Timeout exceeded", "Timeout configurable", "True interrupt with worker"],
  "Output Truncation": ["Output within limit", "Output exceeds limit"],
  "LLM Bridge Functions": ["llm_query function", "rlm_query function", "rlm_query default context"],
  "Utility Functions": ["chunk_text function", "search_context function"],
  "Variable Access": ["Get existing variable", "Get missing variable"],
  "Worker Isolation": [
    "Worker-based execution",
    "Fallback to direct mode",
    "Worker termination cleanup",
  ],
  "Execution Cancellation": ["Cancel with worker isolation", "Cancel without worker"],
  "Configurable CDN": ["Custom indexURL string", "IndexURL with fallbacks", "Default CDN"],
  "Stdout/Stderr Callbacks": ["Stdout callback", "Stderr callback"],
  "Backend Selection": [
    "Backend type enumeration",
    "Auto-select daemon when running",
    "Auto-select native when Python available",
    "Fallback to Pyodide",
    "Explicit backend selection",
  ],
  "Native Python Sandbox": [
    "JSON-RPC protocol",
    "Execute code",
    "Bridge callback handling",
    "Context injection",
    "Python availability check",
  ],
  "Daemon Client Sandbox": [
    "IPC connection",
    "Socket path",
    "Named pipe path",
    "Execute via daemon",
    "Daemon availability check",
  ],
  "Sandbox Factory": ["Create with config", "Config backend option", "Shared interface"],
};

it("every scenario has its test, under its requirement", () => {
  const sources = readdirSync(import.meta.dirname)
    .filter((name) => name.endsWith(".test.ts") && name !== "scenarios.test.ts")
    .map((name) => readFileSync(`${import.meta.dirname}/${name}`, "utf8"));
  const missing = Object.entries(SCENARIOS).flatMap(([requirement, scenarios]) =>
    scenarios.filter(
      (name) => !sources.some((source) => sectionOf(source, requirement).includes(name)),
    ),
  );
  expect(missing).toEqual([]);
});

/** The scenarios that a file tests under a requirement. */
function sectionOf(source: string, requirement: string): string[] {
  const [, section = ""] = source.split(`describe("Requirement: ${requirement}", () => {`);
  const [own = ""] = section.split(/^describe\(/m);
  return [...own.matchAll(/(?:scenario\("|it\("Scenario: )([^"]+)"/g)].map(([, name = ""]) => name);
}
