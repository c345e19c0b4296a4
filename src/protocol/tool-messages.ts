import { z } from "zod";
import { shortText } from "./schema-parts.js";

/** A function of the host's own, as cells are offered it. */
const toolSchema = z.strictObject({
  name: shortText.min(1),
  /** The text of `help()`. */
  doc: z.string().max(100_000),
  /** In the order of positional arguments. */
  parameters: z.array(z.strictObject({ name: shortText.min(1), required: z.boolean() })).max(256),
  /** Whether it takes other arguments too, by name. */
  open: z.boolean(),
});

export const toolsSchema = z.array(toolSchema).max(256);

export type ToolSpec = z.infer<typeof toolSchema>;
