import { Writable } from "node:stream";

/** So long a reader that has stopped reading is waited for at the end. */
const FAREWELL_MS = 2_000;

/** Keeps stdout for the protocol, for good: what else this process prints there goes to stderr. */
export class StdoutGuard implements AsyncDisposable {
  /** The only way to stdout from now on. */
  readonly out: Writable;

  constructor() {
    const { stdout, stderr } = process;
    const write = stdout.write.bind(stdout);
    this.out = new Writable({
      decodeStrings: false,
      write: (chunk: string | Uint8Array, _encoding, done) => {
        write(chunk, (error) => done(error ?? null));
      },
    });
    stdout.write = stderr.write.bind(stderr) as typeof stdout.write;
    // A client that went away ends the connection, and that closes the notebooks first.
    stdout.removeAllListeners("error").on("error", (error) => this.out.destroy(error));
    stderr.removeAllListeners("error").on("error", () => {});
  }

  /** Lets out what was written. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.out.destroyed) return;
    const patience = setTimeout(() => this.out.destroy(), FAREWELL_MS);
    await new Promise<void>((resolve) => {
      this.out.once("close", resolve).end();
    });
    clearTimeout(patience);
  }
}
