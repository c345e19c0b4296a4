import { z } from "zod";
import { CellarError } from "../../errors.js";
import { describeOwner, type Owner, ownerSchema } from "./owner.js";

export const TOMBSTONE_BYTES = 8192;

const tombstoneSchema = z.object({ deletedBy: ownerSchema });

/**
 * The last head of a notebook: nothing follows it but the tombstone of another deletion, when the
 * maker of this one is dead. The maker alone moves the folder away, so it moves no other one.
 */
export function tombstone(deletedBy: Owner): z.infer<typeof tombstoneSchema> {
  return { deletedBy };
}

/** The deleter; undefined for a head that is not a tombstone. */
export function deleterIn(head: unknown): Owner | undefined {
  return tombstoneSchema.safeParse(head).data?.deletedBy;
}

export function stillDeleting(folder: string, deleter: Owner): CellarError {
  return new CellarError(
    "CONFLICT",
    `the notebook in ${folder} is still being deleted by ${describeOwner(deleter)}`,
    {
      remedy:
        "try again later, end that process, or choose another name; " +
        "if you are sure that process is gone, move the folder away",
      details: { deleter },
    },
  );
}
