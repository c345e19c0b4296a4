import type { Readable, Writable } from "node:stream";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { onAbort } from "../../concurrency/abort.js";
import type { NotebookService } from "../../tools/service/notebook-service.js";
import { makeServer } from "./server.js";
import { StdioTransport } from "./stdio-transport.js";
import { Subscriptions } from "./subscriptions.js";

export interface ServingOptions {
  readonly service: NotebookService;
  readonly stdin: Readable;
  readonly stdout: Writable;
  /** Ends the connection. */
  readonly signal: AbortSignal;
  /** Hears what a client did wrong, and what went wrong with it. */
  readonly onError: (error: Error) => void;
}

/** Serves one client until it goes away or the signal says so. What it had running is cancelled then. */
export async function serveClient(options: ServingOptions): Promise<void> {
  const { service, stdin, stdout, signal, onError } = options;
  const subscriptions = new Subscriptions();
  const wire = new StdioTransport({ stdin, stdout, observe: subscriptions.observe });
  const handle = serveStdio(
    () => makeServer({ service, subscriptions, room: () => wire.whenWritable() }),
    {
      transport: wire,
      onerror: onError,
    },
  );
  using _ = onAbort(signal, () => void handle.close());
  await wire.ended;
}
