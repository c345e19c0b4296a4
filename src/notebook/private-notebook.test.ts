import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { EgressHosts } from "../../test/support/egress-hosts.js";
import { openNativeRuntime } from "../../test/support/native-runtime.js";
import { shutdown } from "../backends/shared.js";
import { Notebook } from "./notebook.js";

const dir = mkdtempSync(join(tmpdir(), "cellar-private-"));
let unavailable: string | undefined;

beforeAll(async () => {
  const walls = await openNativeRuntime();
  ({ unavailable } = walls);
  await walls.runtime[Symbol.asyncDispose]();
});
beforeEach((context) => {
  if (unavailable !== undefined) context.skip(unavailable);
});
afterAll(async () => {
  await shutdown();
  rmSync(dir, { recursive: true, force: true, maxRetries: 10 });
});

describe("a notebook with private data", () => {
  it("reaches nothing any more, and nothing after it was closed and opened again", async () => {
    await using place = new EgressHosts();
    const port = await place.server((_, response) => response.end("out"));
    const network = { allow: [`127.0.0.1:${port}`] };
    const options = { user: "ann", session: "private", dir, preload: "none", network } as const;
    const fetch = `import urllib.request\nurllib.request.urlopen("http://127.0.0.1:${port}/").read()`;
    const cut = { type: "ERROR", message: expect.stringContaining("Network cut by the sandbox") };
    {
      await using notebook = await Notebook.open(options);
      expect((await notebook.run(fetch)).outputs).toMatchObject([{ text: "b'out'" }]);
      await notebook.markPrivate("patients.csv holds names");
      const after = await notebook.run(fetch);
      expect(after.outputs).toMatchObject([cut]);
      expect(after.notes?.join()).toContain("the network is cut");
    }
    await using notebook = await Notebook.open(options);
    expect((await notebook.run(fetch)).outputs).toMatchObject([cut]);
    expect(notebook.network?.cut).toBe("patients.csv holds names");
  });

  it("is told that nothing is enforced where there is no wall for it", async () => {
    const weak = { preload: "none", pids: "host", minIsolation: "L1" } as const;
    const options = { user: "ann", session: "weak", dir, ...weak } as const;
    {
      await using notebook = await Notebook.open(options);
      await notebook.run("x = 41");
      await notebook.markPrivate("it is");
    }
    await using notebook = await Notebook.open(options);
    const cell = await notebook.run("(x + 1, __private_data__)");
    expect(cell.outputs).toMatchObject([{ text: "(42, True)" }]);
    expect(cell.notes?.join()).toContain("nothing is enforced");
  });
});
