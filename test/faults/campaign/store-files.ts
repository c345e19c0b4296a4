import { readdirSync } from "node:fs";
import { buffer } from "node:stream/consumers";
import { DiskStore } from "../../../src/notebook/store/disk-store.js";

/** Files of a notebook that nobody could read, or that nobody will clear away. */
export async function wrongFiles(dir: string, user: string, session: string): Promise<string[]> {
  const id = { user, session };
  const store = new DiskStore(dir);
  const found = await store.heads.get(id);
  if (found === undefined) return [];
  const wrong = [...(found.damaged ?? [])];
  for await (const ref of store.blobs(id).list()) {
    try {
      await buffer(store.blobs(id).get(ref));
    } catch (error) {
      wrong.push(String(error));
    }
  }
  const strangers = readdirSync(store.heads.folderOf(id)).filter(
    (name) => !/^(head-\d{12}\.json|blobs)$/.test(name),
  );
  return [...wrong, ...strangers];
}
