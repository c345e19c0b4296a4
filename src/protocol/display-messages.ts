import { z } from "zod";
import {
  count,
  displayId,
  displayRole,
  headToHost,
  json,
  mimeBundleSchema,
  shortText,
} from "./schema-parts.js";

/** What a cell shows beside text. */
export const displayMessages = {
  display: headToHost.notification({
    step: count,
    seq: count,
    data: mimeBundleSchema,
    attachments: z.array(z.strictObject({ mime: shortText, bytes: count })).max(16),
    metadata: z.record(shortText, json),
    display_id: displayId.optional(),
    role: displayRole.optional(),
  }),
  /** What the cell showed before goes: at once, or when it shows something else. */
  clear_output: headToHost.notification({ step: count, seq: count, wait: z.boolean() }),
} as const;
