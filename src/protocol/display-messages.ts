import { z } from "zod";
import {
  count,
  displayId,
  displayRole,
  json,
  mimeBundleSchema,
  notification,
  shortText,
} from "./schema-parts.js";

/** What a cell shows beside text. */
export const displayMessages = {
  display: notification(
    "head",
    "inside",
    z.strictObject({
      step: count,
      seq: count,
      data: mimeBundleSchema,
      attachments: z.array(z.strictObject({ mime: shortText, bytes: count })).max(16),
      metadata: z.record(shortText, json),
      display_id: displayId.optional(),
      role: displayRole.optional(),
    }),
  ),
  /** What the cell showed before goes: at once, or when it shows something else. */
  clear_output: notification(
    "head",
    "inside",
    z.strictObject({ step: count, seq: count, wait: z.boolean() }),
  ),
} as const;
