import { z } from "zod";
import { CellarError } from "../../errors.js";
import { stateManifestSchema } from "../../protocol/state-messages.js";
import { blobRefSchema } from "../cell.js";
import { type Owner, ownerSchema } from "../store/owner.js";

const moment = z.string().max(64);
const sequence = z.int().nonnegative();

/** A saved cell: its record as JSON, here or in a blob. */
export const cellEntrySchema = z.strictObject({
  id: z.string().min(1).max(64),
  isUndone: z.literal(true).optional(),
  record: z.union([z.string(), blobRefSchema]),
});

/** The seal ties a snapshot to this notebook and this point of its timeline. */
export const snapshotSchema = z.strictObject({
  sequence,
  at: moment,
  blob: blobRefSchema,
  seal: z.string().max(128),
  manifest: z.union([stateManifestSchema, blobRefSchema]),
});

const dirName = z.string().regex(/^[\w-]{1,100}$/);

/** As it is saved; earlier versions called the folder of a session a room. */
const savedHeadSchema = z.strictObject({
  kind: z.literal("notebook"),
  /** Since 2: generations of content, shared session folders and runs that were not saved. */
  version: z.union([z.literal(1), z.literal(2)]),
  owner: ownerSchema.nullable(),
  /** Grows with each opening, so that a former owner notices that it lost the notebook. */
  epoch: z.int().nonnegative(),
  createdAt: moment,
  room: dirName,
  roomSharedWith: ownerSchema.optional(),
  leftRooms: z.array(dirName).optional(),
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
  /** Whether the oldest runs were dropped from the list. */
  isShortened: z.boolean(),
  cells: z.array(cellEntrySchema),
  /** The newest first. */
  snapshots: z.array(snapshotSchema),
  /** Snapshots that were refused on restore, kept for inspection. */
  aside: z.array(z.strictObject({ snapshot: snapshotSchema, reason: z.string() })),
  private: z.strictObject({ reason: z.string(), at: moment }).nullable(),
});

export type CellEntry = z.infer<typeof cellEntrySchema>;
export type SnapshotRecord = z.infer<typeof snapshotSchema>;

type SavedHead = z.infer<typeof savedHeadSchema>;

export interface NotebookHead extends Omit<SavedHead, "room" | "roomSharedWith" | "leftRooms"> {
  /** The name of the folder that holds the workspace. */
  readonly sessionDir: string;
  /** A former owner that may still write there: the folder is copied before it is used. */
  readonly sessionDirSharedWith?: Owner | undefined;
  /** Folders left to former owners, until they are removed. */
  readonly formerDirs?: readonly string[] | undefined;
}

export function ownerIn(head: unknown): Owner | undefined {
  return z.object({ owner: ownerSchema }).safeParse(head).data?.owner;
}

export function parseHead(value: unknown, name: string): NotebookHead {
  const parsed = savedHeadSchema.safeParse(value);
  if (parsed.success) {
    const { room, roomSharedWith, leftRooms, ...head } = parsed.data;
    return {
      ...head,
      sessionDir: room,
      sessionDirSharedWith: roomSharedWith,
      formerDirs: leftRooms,
    };
  }
  const [issue] = parsed.error.issues;
  throw new CellarError(
    "DAMAGED",
    `the notebook ${name} cannot be read: ${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}`,
    { remedy: "Nothing was changed. Open it with the version of Cellar that wrote it." },
  );
}

export function savedHead(head: NotebookHead): SavedHead {
  const { sessionDir, sessionDirSharedWith, formerDirs, ...rest } = head;
  return {
    ...rest,
    room: sessionDir,
    roomSharedWith: sessionDirSharedWith,
    leftRooms: formerDirs && [...formerDirs],
  };
}
