import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DiskStore } from "../store/disk-store.js";
import { parseHead, savedHead } from "./head.js";
import { NotebookView } from "./view.js";

const OWNER = {
  pid: 4242,
  startTime: "1",
  bootId: "b",
  pidSpace: "pid:[1]",
  host: "earlier",
  incarnation: "f2a1c0de-0000-4000-8000-000000000001",
  since: "2026-01-01T00:00:00.000Z",
};

/** As a version wrote it that called the folder of a session a room. */
const SAVED = {
  kind: "notebook",
  version: 2,
  owner: null,
  epoch: 3,
  createdAt: "2026-01-01T00:00:00.000Z",
  room: "0123456789abcdef0123456789abcdef",
  roomSharedWith: OWNER,
  leftRooms: ["fedcba9876543210fedcba9876543210"],
  executionCount: 1,
  executions: [{ sequence: 1, cell: "one" }],
  isShortened: false,
  cells: [
    {
      id: "one",
      record: JSON.stringify({
        id: "one",
        code: "1 + 1",
        state: "COMPLETED",
        outputs: [{ type: "TEXT", stream: "result", text: "2" }],
        executionCount: 1,
        createdAt: "2026-01-01T00:00:00.000Z",
        executedAt: "2026-01-01T00:00:01.000Z",
        executionTime: 4.5,
        resources: [],
      }),
    },
  ],
  snapshots: [],
  aside: [],
  private: null,
} as const;

describe("a saved notebook", () => {
  let dir = "";
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "cellar-head-"));
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  it("of an earlier version is read, and saved under the same names", () => {
    const head = parseHead(SAVED, "ann/old");
    expect(head).toMatchObject({
      sessionDir: SAVED.room,
      sessionDirSharedWith: OWNER,
      formerDirs: SAVED.leftRooms,
    });
    expect(savedHead(head)).toEqual(SAVED);
  });

  it("of version 1, which shared no session folders, is read", () => {
    const { roomSharedWith: _, leftRooms: __, ...first } = SAVED;
    const head = parseHead({ ...first, version: 1 }, "ann/old");
    expect(head).toMatchObject({ version: 1, sessionDir: SAVED.room });
    expect(JSON.parse(JSON.stringify(savedHead(head)))).toEqual({ ...first, version: 1 });
  });

  it("shows its cells", async () => {
    const store = new DiskStore(dir);
    await store.heads.cas({ user: "ann", session: "old" }, SAVED, 0);
    const view = await NotebookView.read(store, { user: "ann", session: "old" });
    expect(view.sessionDir).toBe(SAVED.room);
    expect(view.cells).toMatchObject([
      { number: 1, code: "1 + 1", state: "COMPLETED", duration: 4.5 },
    ]);
  });
});
