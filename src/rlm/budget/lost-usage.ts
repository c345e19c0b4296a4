import { z } from "zod";
import { isCellarError } from "../../errors.js";

export const lostUsageSchema = z.object({
  inputTokens: z.int().nonnegative(),
  outputTokens: z.int().nonnegative(),
});

export type LostUsage = z.infer<typeof lostUsageSchema>;

/** What a request cost that failed, where its model tells it. */
export function lostUsageOf(error: unknown): LostUsage | undefined {
  return isCellarError(error) ? lostUsageSchema.safeParse(error.details.usage).data : undefined;
}
