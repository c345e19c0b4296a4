import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DiskStore } from "./disk-store.js";
import { describeStores } from "./stores.case.test.js";

describeStores({
  name: "local disk",
  async open() {
    const dir = await mkdtemp(join(tmpdir(), "cellar-store-"));
    return {
      store: new DiskStore(dir),
      other: new DiskStore(dir),
      [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true, maxRetries: 10 }),
    };
  },
});
