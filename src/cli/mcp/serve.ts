import { serveClient } from "../../server/mcp/serving.js";
import { StdoutGuard } from "../../server/mcp/stdout-guard.js";
import { NotebookService } from "../../tools/service/notebook-service.js";
import { EXIT } from "../exit-codes.js";
import { inOurWords, notebookConfig } from "../notebook/opening.js";
import { type PlaceOptions, placeOf } from "../options/notebook-place.js";
import type { SandboxOptions } from "../options/sandbox-config.js";
import { complain, invalidInput } from "../terminal/report-error.js";
import { isTerminal } from "../terminal/terminal.js";

export interface McpOptions extends PlaceOptions, SandboxOptions {
  readonly check?: true;
  readonly json?: true;
}

/** Characters of a complaint about what a client sent. */
const LONGEST_COMPLAINT = 300;

/** Serves the client on stdin and stdout until it disconnects or a signal arrives. */
export async function serveNotebooks(options: McpOptions): Promise<number> {
  const config = notebookConfig(options);
  if (options.json === true)
    throw invalidInput("--json belongs to --check", "Write cellar mcp --check --json.");
  if (isTerminal(process.stdin)) {
    complain("waiting for an agent on stdin", "cellar mcp --check tries it; Ctrl-C ends it");
  }
  await using guard = new StdoutGuard();
  const ending = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    // The next one does not wait for the notebooks.
    process.removeAllListeners(signal);
    process.once(signal, () => ending.abort());
  }
  await using service = await NotebookService.open({ ...placeOf(options), config }).catch(
    inOurWords,
  );
  await serveClient({
    service: service,
    stdin: process.stdin,
    stdout: guard.out,
    signal: ending.signal,
    onError: ({ message }) => complain(message.slice(0, LONGEST_COMPLAINT)),
  });
  return EXIT.ok;
}
