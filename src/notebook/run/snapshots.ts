import { once } from "node:events";
import { PassThrough } from "node:stream";
import { unlessAborted } from "../../concurrency/abort.js";
import { keepingAlive } from "../../concurrency/keep-alive.js";
import type { Settings } from "../../config.js";
import { CellarError, describeError, isCellarError } from "../../errors.js";
import type { StateManifest } from "../../protocol/messages.js";
import { withSnapshot, withUnsaved } from "../document/changes.js";
import type { SnapshotRecord } from "../document/head.js";
import type { Journal } from "../document/journal.js";
import { newestInEffect } from "../document/timeline.js";
import type { Seal } from "../store/seal.js";
import type { BlobRef, NotebookId } from "../store/store.js";
import type { LiveSession } from "./live-session.js";

/** Cells in quick succession share one snapshot. */
const REST_MS = 30;
const LONGEST_REST_MS = 1_000;
const OUTDATED_MS = 1_000;
const LONGEST_INLINE = 4 * 1024;
const MEBIBYTE = 1024 * 1024;

export interface SnapshotPlan {
  readonly id: NotebookId;
  readonly journal: Journal;
  readonly seal: Seal;
  readonly settings: Pick<Settings, "stateMaxSizeMb" | "keepSnapshots">;
  readonly session: () => LiveSession | undefined;
}

export interface SnapshotFailure {
  readonly sequence: number;
  readonly error: CellarError;
}

/** Saves the variables in the background; cells never wait for it. */
export class Snapshots {
  readonly #plan: SnapshotPlan;
  #isStopped = false;
  #taking: { readonly sequence: number; readonly end: AbortController } | undefined;
  #working: Promise<void> | undefined;
  #isWanted = false;
  #isUrgent = false;
  #touched = 0;
  #wake: () => void = () => {};
  #failure: SnapshotFailure | undefined;
  #manifest: { readonly sequence: number; readonly manifest: StateManifest } | undefined;

  constructor(plan: SnapshotPlan) {
    this.#plan = plan;
  }

  get failure(): SnapshotFailure | undefined {
    return this.#failure;
  }

  manifestOf(sequence: number): StateManifest | undefined {
    return this.#manifest?.sequence === sequence ? this.#manifest.manifest : undefined;
  }

  want(): void {
    if (this.#isStopped) return;
    this.#isWanted = true;
    this.#touched = performance.now();
    this.#working ??= keepingAlive(this.#work());
  }

  /** Resolves when the present state is saved or cannot be; gives up after `patienceMs`. */
  async settle(patienceMs?: number): Promise<void> {
    this.#isUrgent = true;
    const patience =
      patienceMs === undefined ? undefined : setTimeout(() => void this.stop(), patienceMs);
    const looking = setInterval(() => this.#leaveOutdated(), OUTDATED_MS).unref();
    try {
      if (!this.#isCurrent()) this.want();
      this.#wake();
      while (this.#working !== undefined) await this.#working;
    } finally {
      clearInterval(looking);
      clearTimeout(patience);
      this.#isUrgent = false;
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#taking?.end.abort();
    this.#isWanted = false;
    this.#wake();
    await this.#working;
  }

  /** A caller that waits for the newest state does not wait for an older snapshot. */
  #leaveOutdated(): void {
    const present = this.#plan.session()?.present;
    if (this.#taking !== undefined && this.#taking.sequence !== present) this.#taking.end.abort();
  }

  #isCurrent(): boolean {
    const present = this.#plan.session()?.present ?? 0;
    const { snapshots, executions } = this.#plan.journal.document;
    const kept = newestInEffect(snapshots, executions)?.sequence ?? 0;
    const isHopeless = this.#failure?.sequence === present && isLasting(this.#failure.error);
    return present === 0 || present === kept || isHopeless;
  }

  async #work(): Promise<void> {
    while (this.#isWanted) {
      await this.#rest();
      this.#isWanted = false;
      const session = this.#plan.session();
      if (session === undefined || this.#isStopped || this.#isCurrent()) continue;
      const sequence = session.present;
      const end = new AbortController();
      this.#taking = { sequence, end };
      try {
        await this.#plan.journal.blobCollector.upload(() => this.#take(session, end.signal));
        this.#failure = undefined;
      } catch (error) {
        if (!end.signal.aborted) this.#failure = { sequence, error: failureOf(error) };
      }
      this.#taking = undefined;
    }
    this.#working = undefined;
  }

  async #rest(): Promise<void> {
    const began = performance.now();
    for (;;) {
      const now = performance.now();
      const left = Math.min(this.#touched + REST_MS, began + LONGEST_REST_MS) - now;
      if (left <= 0 || this.#isUrgent || this.#isStopped) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  async #take(session: LiveSession, signal: AbortSignal): Promise<void> {
    const { id, journal, seal, settings } = this.#plan;
    const maxBytes = settings.stateMaxSizeMb * MEBIBYTE;
    const { blobs } = journal.blobCollector;
    let upload: Upload | undefined;
    const open = () => {
      upload?.stop(new CellarError("ABORTED", "the state is written again from its beginning"));
      upload = new Upload(blobs);
      return upload.write;
    };
    let taken: Awaited<ReturnType<LiveSession["capture"]>>;
    let blob: BlobRef;
    try {
      const capture = session.capture(open, { maxBytes, signal });
      taken = await unlessAborted(capture, signal, unwanted);
      blob = await finished(upload);
    } catch (error) {
      // Report a full disk, not the aborted writer.
      const cause = await upload?.stop(error);
      throw isCellarError(cause, "IO_ERROR") ? cause : error;
    }
    const { sequence, manifest } = taken;
    if (sequence === undefined || sequence === 0) return;
    const kept = await keepManifest(manifest, blobs);
    const record: SnapshotRecord = {
      sequence,
      at: new Date().toISOString(),
      blob,
      seal: seal.sign({ ...id, seq: sequence, sha256: blob.sha256 }),
      manifest: kept,
    };
    await journal.commit((now) =>
      withSnapshot(withUnsaved(now, session.unsaved), record, settings.keepSnapshots),
    );
    this.#manifest = { sequence, manifest };
  }
}

class Upload {
  readonly #stream = new PassThrough();
  readonly #stored: Promise<BlobRef>;

  constructor(blobs: { put(source: PassThrough): Promise<BlobRef> }) {
    this.#stream.on("error", () => {});
    this.#stored = blobs.put(this.#stream);
    this.#stored.catch(() => {});
  }

  readonly write = async (piece: Uint8Array): Promise<void> => {
    if (!this.#stream.write(piece)) await Promise.race([once(this.#stream, "drain"), this.#stored]);
  };

  finish(): Promise<BlobRef> {
    this.#stream.end();
    return this.#stored;
  }

  /** Resolves to the store's error, if any. */
  stop(reason: unknown): Promise<unknown> {
    this.#stream.destroy(reason instanceof Error ? reason : new Error(describeError(reason)));
    return this.#stored.then(
      () => undefined,
      (error: unknown) => error,
    );
  }
}

function finished(upload: Upload | undefined): Promise<BlobRef> {
  if (upload === undefined) throw new CellarError("PROTOCOL_ERROR", "no state was written");
  return upload.finish();
}

function unwanted(): CellarError {
  return new CellarError("ABORTED", "the snapshot was cancelled");
}

async function keepManifest(
  manifest: StateManifest,
  blobs: { put(source: Uint8Array): Promise<BlobRef> },
): Promise<SnapshotRecord["manifest"]> {
  const text = JSON.stringify(manifest);
  return text.length > LONGEST_INLINE ? await blobs.put(Buffer.from(text)) : manifest;
}

/** Fails again as long as the variables are the same. */
function isLasting(error: CellarError): boolean {
  return error.code === "TOO_LARGE" || error.code === "STATE_REFUSED";
}

function failureOf(error: unknown): CellarError {
  if (error instanceof CellarError) return error;
  return new CellarError("IO_ERROR", describeError(error), { cause: error });
}
