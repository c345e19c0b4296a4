import { createReadStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onAbort } from "../../../concurrency/abort.js";
import { deferred } from "../../../concurrency/deferred.js";
import { CellarError, isCellarError } from "../../../errors.js";
import { temporaryTrouble } from "../../../isolation/temporary-trouble.js";
import type { StateManifest } from "../../../protocol/messages.js";
import type { Peer } from "../../../protocol/peer.js";
import type { SandboxInfo } from "../../backend.js";
import type { Captured, CaptureOptions, OpenSink } from "../../stateful-sandbox.js";
import type { Branch } from "../branch.js";
import { readExchange } from "./exchange-file.js";
import { IncomingState } from "./incoming-state.js";

/** A checkpoint is parked within milliseconds; a loaded machine may take longer. */
const PARKING_MS = 5_000;
/** A writer that is silent for longer hangs in user code. */
const SILENCE_MS = 60_000;
/** For a slow writer too. */
const LONGEST_MS = 30 * 60_000;
const MAX_ATTEMPTS = 3;

/** Runs work when no cell does. */
type Enqueue = <T>(work: () => Promise<T>) => Promise<T>;

/** Brings the state of a branch out of its session while cells go on. */
export class StateCapture {
  readonly #branch: Branch;
  readonly #options: CaptureOptions;
  readonly #open: OpenSink;
  readonly #enqueue: Enqueue;

  constructor(branch: Branch, options: CaptureOptions, open: OpenSink, enqueue: Enqueue) {
    this.#branch = branch;
    this.#options = options;
    this.#open = open;
    this.#enqueue = enqueue;
  }

  async run({ mode }: SandboxInfo): Promise<Captured> {
    this.#options.signal?.throwIfAborted();
    switch (mode) {
      case "zygote":
        return (await this.#fromCheckpoint()) ?? (await this.#fromHead());
      case "plain":
        return this.#enqueue(() => this.#throughFile());
      case "worker":
      case "direct":
        throw new CellarError("UNSUPPORTED", "the state of a Pyodide session cannot be captured", {
          remedy: 'Use backend: "native".',
        });
    }
  }

  get #scope() {
    const { maxBytes: max_bytes, private: isPrivate = true, strict = false } = this.#options;
    return { max_bytes, private: isPrivate, strict };
  }

  /** From the copy that is parked anyway: the head does not even notice. */
  async #fromCheckpoint(): Promise<Captured | undefined> {
    const { session, number, line } = this.#branch;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const { id, cell } = line.present;
      if (id === 0 || !(await line.untilParked(id, PARKING_MS))) return undefined;
      const { writer, manifest, giveUp } = this.#expect();
      const order = { branch: number, checkpoint: id, writer, ...this.#scope };
      const answer = await session.askInit("capture", order);
      if (answer.done) return { manifest: await manifest, cell, blocked: false };
      // The copy may have made a writer all the same, which must not write into what comes next.
      giveUp();
      // A cell has ended since, and took the oldest checkpoint's place.
      if (line.present.id === id) return undefined;
    }
    return undefined;
  }

  /** From a copy made for this; where threads run, by the head itself. */
  async #fromHead(): Promise<Captured> {
    const { session, number, line } = this.#branch;
    const begun = await this.#enqueue(async () => {
      const { writer, manifest, giveUp } = this.#expect();
      const { done } = await session.askInit("lend_writer", { branch: number, writer });
      if (!done) {
        giveUp();
        throw new CellarError(
          "SESSION_LOST",
          "the session could not start a process to write its state",
        );
      }
      const { cell } = line.present;
      const order = { writer, ...this.#scope };
      try {
        const { forked } = await this.#branch.question("write_state", order, SILENCE_MS);
        return { manifest, cell, blocked: !forked };
      } catch (error) {
        giveUp();
        throw error;
      }
    });
    return { ...begun, manifest: await begun.manifest };
  }

  async #throughFile(): Promise<Captured> {
    const { exchange } = this.#branch.session;
    if (exchange !== undefined) return this.#through({}, () => readExchange(exchange));
    const folder = await mkdtemp(join(tmpdir(), `cellar-${process.pid}-`)).catch(
      (error: unknown) => {
        throw temporaryTrouble("the variables", tmpdir(), error);
      },
    );
    try {
      const file = join(folder, "state");
      return await this.#through({ file }, () => createReadStream(file));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  async #through(place: { file?: string }, open: () => AsyncIterable<Buffer>): Promise<Captured> {
    const { cell } = this.#branch.line.present;
    const order = { ...place, writer: 0, ...this.#scope };
    const { manifest, written } = await this.#branch
      .question("write_state", order, SILENCE_MS)
      .catch((error: unknown) => {
        throw isCellarError(error, "REMOTE_ERROR") ? refusalOf(error.message) : error;
      });
    if (manifest === undefined || written === undefined) {
      throw new CellarError("PROTOCOL_ERROR", "the answer to write_state has no manifest");
    }
    const state = this.#begin();
    for await (const piece of open()) await state.take(piece);
    state.verify(written);
    return { manifest, cell, blocked: true };
  }

  #begin(): IncomingState {
    return new IncomingState(this.#open(), this.#options.maxBytes);
  }

  /** The number of a writer, and what it will have told at its end. */
  #expect(): { writer: number; manifest: Promise<StateManifest>; giveUp: () => void } {
    const { session } = this.#branch;
    const { signal } = this.#options;
    const state = this.#begin();
    let link: Peer | undefined;
    const { promise: manifest, resolve, reject } = deferred<StateManifest>();
    const writer = session.expectWriter({
      arrived: (peer) => {
        link = peer;
        this.#hear(peer, state, resolve, reject);
      },
      failed: reject,
    });
    const listening = onAbort(signal, reject);
    const end = () => {
      listening[Symbol.dispose]();
      state.end();
      session.endWriter(writer);
    };
    manifest.then(end, () => {
      end();
      link?.close();
    });
    const giveUp = () => {
      session.forgetWriter(writer);
      reject(
        new CellarError("SESSION_LOST", "the session could not fork a copy to write its state"),
      );
    };
    return { writer, manifest, giveUp };
  }

  /** Takes what a writer brings. One that hangs, or is not wanted any more, loses its link. */
  #hear(
    peer: Peer,
    state: IncomingState,
    resolve: (manifest: StateManifest) => void,
    reject: (error: unknown) => void,
  ): void {
    const leave = () => {
      peer.close();
      return {};
    };
    const silence = setTimeout(leave, SILENCE_MS);
    const whole = setTimeout(leave, LONGEST_MS);
    let isTaking = false;
    peer.serve("state_part", async (_, pieces) => {
      // One that does not wait for its answers would fill the memory of the host.
      if (isTaking) return leave();
      isTaking = true;
      try {
        for (const piece of pieces) await state.take(piece);
      } catch (error) {
        reject(error);
        throw error;
      }
      isTaking = false;
      silence.refresh();
      return {};
    });
    peer.serve("state_end", async (end) => {
      // Nor may its end overtake a piece.
      if (isTaking) return leave();
      if (!end.done) reject(refusalOf(end.reason));
      else {
        try {
          state.verify(end.written);
          resolve(end.manifest);
        } catch (error) {
          reject(error);
        }
      }
      return {};
    });
    peer.closed.then((reason) => {
      clearTimeout(silence);
      clearTimeout(whole);
      reject(unfinished(reason));
    });
  }
}

/** From what Python said: the name of an exception and its message. */
function refusalOf(reason: string): CellarError {
  const [, kind = "", message = reason] = /^(\w+): ([\s\S]*)$/.exec(reason) ?? [];
  const code = kind === "TooLarge" ? "TOO_LARGE" : "STATE_REFUSED";
  return new CellarError(code, message, { details: { kind } });
}

function unfinished(cause: CellarError): CellarError {
  const message = `the state was only partly written: ${cause.message}`;
  return new CellarError(cause.code, message, { cause });
}
