import { z } from "zod";
import {
  change,
  changed,
  count,
  hostToHead,
  hostToInit,
  oneAttachment,
  orReason,
  shortText,
  writerToHost,
} from "./schema-parts.js";

const name = z.string().min(1).max(512);

/** What became of one variable in a snapshot. */
export const keptVariableSchema = z.strictObject({
  name,
  type: shortText,
  kept: z.boolean(),
  /** Bytes in the snapshot, before compression. */
  size: count.optional(),
  reason: shortText.optional(),
  /** What to do about a loss, in words that a model can act on. */
  advice: shortText.optional(),
});

export const stateManifestSchema = z.strictObject({
  format: count,
  python: shortText,
  /** How it is written, such as `cloudpickle+lz4`. */
  codec: shortText,
  /** Versions of the libraries that its values need. */
  libraries: z.record(shortText, shortText),
  variables: z.array(keptVariableSchema).max(10_000),
  /** Variables beyond those listed. */
  omitted: count,
});

/** What a writer has written in all, for the host to compare with what has arrived. */
export const writtenStateSchema = z.strictObject({ bytes: count, crc32: count });

export const restoreReportSchema = z.strictObject({
  restored: z.array(name).max(10_000),
  lost: z
    .array(z.strictObject({ name, reason: shortText, advice: shortText.optional() }))
    .max(10_000),
  /** What may differ from before, such as versions of libraries. */
  warnings: z.array(shortText).max(64),
});

/** How much of the namespace is written, and how. */
const scope = {
  max_bytes: count,
  /** Whether names that begin with an underscore are kept too. */
  private: z.boolean(),
  /** Whether a variable that cannot be kept fails the whole. */
  strict: z.boolean(),
};

export const stateMessages = {
  /** Has a parked copy write its state on a link of its own, which names `writer` as generation. */
  capture: hostToInit.request(
    { branch: count, checkpoint: count, writer: count, ...scope },
    orReason({}),
  ),
  /** Opens such a link and passes it to the head, which is asked next. */
  lend_writer: hostToInit.request({ branch: count, writer: count }, { done: z.boolean() }),
  /** Passes the file `state` of the session's folder to the head, which is asked next. */
  lend_state: hostToInit.request({ branch: count }, orReason({})),
  /** Writes the head's own state: on the link that was lent, or to a file where there is no wall. */
  write_state: hostToHead.request(
    { file: shortText.optional(), writer: count, ...scope },
    {
      /** Whether a copy does it while the head continues. */
      forked: z.boolean(),
      manifest: stateManifestSchema.optional(),
      written: writtenStateSchema.optional(),
    },
  ),
  state_part: writerToHost.request({ attachments: oneAttachment }),
  /** Ends a writer that takes too long. */
  end_writer: hostToInit.notification({ writer: count }),
  state_end: writerToHost.request(
    orReason({ manifest: stateManifestSchema, written: writtenStateSchema }),
  ),
  restore: hostToHead.request(
    { ...change, file: shortText.optional() },
    { ...changed, report: restoreReportSchema },
  ),
} as const;

export type WrittenState = z.infer<typeof writtenStateSchema>;
export type StateManifest = z.infer<typeof stateManifestSchema>;
export type RestoreReport = z.infer<typeof restoreReportSchema>;
