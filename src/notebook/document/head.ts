import { z } from "zod";
import { CellarError } from "../../errors.js";
import { stateManifestSchema } from "../../protocol/state-messages.js";
import { blobRefSchema } from "../cell.js";
import { type Owner, ownerSchema } from "../store/owner.js";

const moment = z.string().max(64);
const sequence = z.int().nonnegative();

/** A cell as it is kept: its record as JSON, here or in a blob. */
export const cellEntrySchema = z.strictObject({
  id: z.string().min(1).max(64),
  isUndone: z.literal(true).optional(),
  record: z.union([z.string(), blobRefSchema]),
});

/** State that can be restored. The seal ties it to this notebook and this point of its timeline. */
export const snapshotSchema = z.strictObject({
  sequence,
  at: moment,
  blob: blobRefSchema,
  seal: z.string().max(128),
  manifest: z.union([stateManifestSchema, blobRefSchema]),
});

const roomName = z.string().regex(/^[\w-]{1,100}$/);

export const notebookHeadSchema = z.strictObject({
  kind: z.literal("notebook"),
  /** Since 2: generations of content, shared rooms and runs that were not saved. */
  version: z.union([z.literal(1), z.literal(2)]),
  owner: ownerSchema.nullable(),
  /** Grows with each opening, so that a former owner can tell that it is not the owner any more. */
  epoch: z.int().nonnegative(),
  createdAt: moment,
  /** Names the folder below `rooms` that holds the workspace. */
  room: roomName,
  /** A former owner who may live and write there: the room is copied before it is used. */
  roomSharedWith: ownerSchema.optional(),
  /** Rooms that were left to former owners, until they are removed. */
  leftRooms: z.array(roomName).optional(),
  /** How many times a cell has run. */
  executionCount: sequence,
  executions: z.array(
    z.strictObject({
      sequence,
      cell: z.string().max(64),
      isLost: z.boolean().optional(),
      isUnsaved: z.boolean().optional(),
    }),
  ),
  /** Whether the oldest executions are not listed any more. */
  isShortened: z.boolean(),
  cells: z.array(cellEntrySchema),
  /** The newest first. */
  snapshots: z.array(snapshotSchema),
  /** Snapshots that were refused when they should have been restored; kept for a look at them. */
  aside: z.array(z.strictObject({ snapshot: snapshotSchema, reason: z.string() })),
  private: z.strictObject({ reason: z.string(), at: moment }).nullable(),
});

export type CellEntry = z.infer<typeof cellEntrySchema>;
export type SnapshotRecord = z.infer<typeof snapshotSchema>;
export type NotebookHead = z.infer<typeof notebookHeadSchema>;

/** Who holds it, as far as that can be read. */
export function ownerIn(head: unknown): Owner | undefined {
  return z.object({ owner: ownerSchema }).safeParse(head).data?.owner;
}

export function parseHead(value: unknown, name: string): NotebookHead {
  const parsed = notebookHeadSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new CellarError(
    "DAMAGED",
    `the notebook ${name} cannot be read: ${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}`,
    { remedy: "Nothing was changed. Open it with the version of Cellar that wrote it." },
  );
}
