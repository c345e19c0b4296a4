import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ISandbox } from "./backend.js";
import type { ConformanceOptions } from "./conformance.case.test.js";

const BYTES = Buffer.from(Array.from({ length: 300_000 }, (_, at) => at % 256));

/** What every backend must do with files and with large values. */
export function describeFiles(options: ConformanceOptions): void {
  describe(`${options.name}: files`, () => {
    let sandbox: ISandbox;
    let folder: string;

    const check = (name: string, body: () => Promise<void>) =>
      it(name, async (context) => {
        const reason = options.unavailable() ?? options.skip?.[name];
        if (reason !== undefined) context.skip(reason);
        await body();
      });
    const shown = async (code: string) => {
      const { result, error } = await sandbox.execute(code);
      return error?.traceback ?? result?.["text/plain"];
    };
    const paths = async () => (await sandbox.listFiles()).files.map(({ path }) => path);

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), "cellar-test-"));
      if (options.unavailable() !== undefined) return;
      sandbox = await options.create({ limits: { workspaceMb: 4 } });
    });
    afterAll(async () => {
      await sandbox?.destroy();
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
    });

    check(
      "go in as text, bytes, a stream or a file of the host, and come out the same",
      async () => {
        const path = join(folder, "host.bin");
        writeFileSync(path, BYTES);
        const stream = async function* () {
          yield "é";
          yield BYTES;
        };
        await sandbox.putFile("a/b/text.txt", "caf\u00e9\n");
        await sandbox.putFile("/workspace/bytes.bin", BYTES);
        await sandbox.putFile("stream", stream());
        await sandbox.putFile("host.bin", { file: path });
        await sandbox.putFile("empty", "");
        expect(await shown("open('a/b/text.txt', encoding='utf-8').read()")).toBe("'caf\u00e9\\n'");
        expect(
          await shown(
            "open('host.bin', 'rb').read() == bytes(range(256)) * 1171 + bytes(range(224))",
          ),
        ).toBe("True");
        expect((await sandbox.getFile("a/b/text.txt")).toString()).toBe("caf\u00e9\n");
        expect((await sandbox.getFile("bytes.bin")).equals(BYTES)).toBe(true);
        expect(await sandbox.getFile("stream")).toHaveLength(2 + BYTES.length);
        expect(await sandbox.getFile("/workspace/empty")).toHaveLength(0);
      },
    );

    check("that cells made come out, and are replaced as a whole", async () => {
      await sandbox.execute("open('made', 'wb').write(b'x' * 2_500_000)");
      expect((await sandbox.getFile("made")).equals(Buffer.alloc(2_500_000, "x"))).toBe(true);
      await sandbox.putFile("made", "new");
      expect(await shown("open('made').read()")).toBe("'new'");
    });

    check("are listed with their kinds, sizes and times", async () => {
      await sandbox.execute("import os\nos.makedirs('list/inner')\nos.symlink('/etc', 'list/way')");
      await sandbox.putFile("list/inner/n", "12345");
      const { files, isCut } = await sandbox.listFiles();
      expect(isCut).toBe(false);
      const found = files.filter(({ path }) => path.startsWith("list"));
      expect(found.map(({ path, kind }) => `${path} ${kind}`)).toEqual([
        "list folder",
        "list/inner folder",
        "list/inner/n file",
        "list/way link",
      ]);
      expect(found[2]?.bytes).toBe(5);
      expect(Math.abs(Date.now() - (found[2]?.modified.getTime() ?? 0))).toBeLessThan(3_600_000);
    });

    check("are not reached by other names, through links, or where they are no files", async () => {
      await sandbox.execute(
        "import os\nos.symlink('/tmp', 'out')\nos.symlink('/etc/hosts', 'link')",
      );
      const refused = [
        ...["../x", "/etc/hosts", "a/../../x", "", "a\0b", "./a"].map((path) => [
          path,
          "INVALID_INPUT",
        ]),
        ["link", "INVALID_INPUT"],
        ["out/x", "INVALID_INPUT"],
        ["list", "INVALID_INPUT"],
        ["no/such", "NOT_FOUND"],
      ] as const;
      for (const [path, code] of refused) {
        await expect(sandbox.getFile(path), path).rejects.toMatchObject({ code, remedy: /./ });
      }
      await expect(sandbox.putFile("out/planted", "x")).rejects.toMatchObject({
        code: "INVALID_INPUT",
      });
      await expect(sandbox.putFile("list", "x")).rejects.toMatchObject({ code: "INVALID_INPUT" });
      await sandbox.putFile("link", "its own");
      expect(
        await shown("os.path.exists('/tmp/planted'), os.path.islink('link'), open('link').read()"),
      ).toBe("(False, False, 'its own')");
    });

    check(
      "are refused where the workspace may hold no more, and leave nothing behind",
      async () => {
        const before = await paths();
        const large = expect(sandbox.putFile("large", Buffer.alloc(5_000_000)));
        await large.rejects.toMatchObject({ code: "TOO_LARGE", remedy: /workspaceMb/ });
        const read = expect(sandbox.getFile("bytes.bin", { maxBytes: 1000 }));
        await read.rejects.toMatchObject({ code: "TOO_LARGE", message: /300000/ });
        await expect(sandbox.putFile("x", { file: join(folder, "none") })).rejects.toMatchObject({
          code: "INVALID_INPUT",
        });
        await expect(sandbox.putFile("x", 7 as unknown as string)).rejects.toMatchObject({
          code: "INVALID_INPUT",
        });
        expect(await paths()).toEqual(before);
      },
    );

    check("stop on the way when that is wanted", async () => {
      const before = await paths();
      const controller = new AbortController();
      const endless = async function* () {
        for (;;) {
          yield "x";
          controller.abort();
          await new Promise((resolve) => setImmediate(resolve));
        }
      };
      const { signal } = controller;
      await expect(sandbox.putFile("x", endless(), { signal })).rejects.toMatchObject({
        code: "ABORTED",
      });
      await expect(sandbox.getFile("made", { signal })).rejects.toMatchObject({ code: "ABORTED" });
      expect(await paths()).toEqual(before);
    });

    check("and values may be larger than a message", async () => {
      await sandbox.setVariable("text", "caf\u00e9".repeat(5_000_000));
      expect(await shown("len(text), text[-4:]")).toBe("(20000000, 'caf\u00e9')");
      const long = "x".repeat(1_000_000);
      await sandbox.setVariable(
        "rows",
        Array.from({ length: 18 }, (_, at) => ({ at, long })),
      );
      expect(await shown("len(rows), rows[-1]['at'], len(rows[-1]['long'])")).toBe(
        "(18, 17, 1000000)",
      );
      await sandbox.setVariable("record", { file: "/etc/hosts" });
      expect(await shown("record")).toBe("{'file': '/etc/hosts'}");
      expect(await shown("del text, rows")).toBeUndefined();
    });
  });
}
