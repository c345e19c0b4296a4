import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ISandbox } from "./backend.js";
import type { ConformanceOptions } from "./conformance.case.test.js";

/** So often, that none of these texts fits into one message as a small one does. */
const MANY = 300_000;

/** Texts, and the same in Python. */
const TEXTS: Readonly<Record<string, { readonly text: string; readonly python: string }>> = {
  "an empty text": { text: "", python: "''" },
  "a short text": { text: "caf\u00e9\r\n\0", python: "'caf\\xe9\\r\\n\\0'" },
  "a short text with half a pair": { text: "a\ud800b", python: "'a\\ud800b'" },
  "a long text of ASCII": { text: "ab\r\n\0\t".repeat(MANY), python: `'ab\\r\\n\\0\\t' * ${MANY}` },
  "a long text of wide characters": {
    text: "\u65e5\u00e9\r\n".repeat(MANY),
    python: `'\\u65e5\\xe9\\r\\n' * ${MANY}`,
  },
  "a long text with characters of four bytes": {
    text: `${"x".repeat(3)}${"a\u{1f600}".repeat(MANY)}`,
    python: `'xxx' + 'a\\U0001f600' * ${MANY}`,
  },
  "a long text with halves of pairs": {
    text: "a\udc00\ud800b\u{1f600}\ud83d".repeat(MANY),
    python: `'a\\udc00\\ud800b\\U0001f600\\ud83d' * ${MANY}`,
  },
};

/** What every backend must do with what it is to work on. */
export function describeContexts(options: ConformanceOptions): void {
  describe(`${options.name}: contexts`, () => {
    let sandbox: ISandbox;
    let folder: string;

    const check = (name: string, body: () => Promise<void>) =>
      it(name, async (context) => {
        const reason = options.unavailable() ?? options.skip?.[name];
        if (reason !== undefined) context.skip(reason);
        await body();
      });

    const holds = async (condition: string) => {
      const run = await sandbox.execute(condition);
      expect([run.error, run.result?.["text/plain"]]).toEqual([null, "True"]);
    };

    const place = (name: string, content: string | Uint8Array): { file: string } => {
      const file = join(folder, name);
      writeFileSync(file, content);
      return { file };
    };

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), "cellar-contexts-"));
      if (options.unavailable() !== undefined) return;
      sandbox = await options.create();
    });

    afterAll(async () => {
      await sandbox?.destroy();
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
    });

    for (const [name, { text, python }] of Object.entries(TEXTS)) {
      check(`takes ${name}`, async () => {
        await sandbox.initialize(text);
        await holds(`type(context) is str and context == ${python}`);
      });
    }

    check("takes values, small and large", async () => {
      await sandbox.initialize({ file: 1, list: [1.5, null, true, 2n ** 70n, new Set(["a"])] });
      await holds("context == {'file': 1, 'list': [1.5, None, True, 2**70, {'a'}]}");
      await sandbox.initialize({ file: "with", more: "than a file" });
      await holds("context == {'file': 'with', 'more': 'than a file'}");
      const numbers = Array.from({ length: MANY }, (_, index) => index);
      await sandbox.initialize({ $: "odd", numbers, deep: [[[{ a: [] }]]] });
      await holds(
        `context == {'$': 'odd', 'numbers': list(range(${MANY})), 'deep': [[[{'a': []}]]]}`,
      );
      await sandbox.initialize();
      await holds("context is None");
    });

    check("takes a list of documents", async () => {
      const documents = Object.values(TEXTS).map(({ text }, index) => ({ title: index, text }));
      await sandbox.initialize(documents);
      const texts = Object.values(TEXTS).map(({ python }) => python);
      await holds(`[each['text'] for each in context] == [${texts.join(", ")}]`);
      await holds(`[each['title'] for each in context] == list(range(${texts.length}))`);
    });

    check("takes a file, small and large", async () => {
      for (const repeat of [2, MANY]) {
        await sandbox.initialize(place("text", `\ufeff${"a\r\n\0\u00e9\u{1f600}".repeat(repeat)}`));
        await holds(
          `type(context) is str and context == '\\ufeff' + 'a\\r\\n\\0\\xe9\\U0001f600' * ${repeat}`,
        );
      }
      await sandbox.initialize(place("empty", ""));
      await holds("context == ''");
    });

    check("keeps what is not UTF-8 in a file so that it can be had back", async () => {
      for (const repeat of [1, MANY]) {
        const content = Buffer.concat([
          Buffer.alloc(4 * repeat, "text"),
          Buffer.from([0xff, 0xed]),
        ]);
        await sandbox.initialize(place("bytes", content));
        await holds(
          `context.encode('utf-8', 'surrogateescape') == b'text' * ${repeat} + b'\\xff\\xed'`,
        );
      }
    });

    check("refuses a file that is none, and keeps the context it had", async () => {
      await sandbox.initialize("kept");
      const missing = { file: join(folder, "missing") };
      for (const given of [missing, { file: folder }, { file: join(folder, "text", "in it") }]) {
        const refusal = expect.objectContaining({
          code: "INVALID_INPUT",
          remedy: expect.any(String),
        });
        await expect(sandbox.initialize(given)).rejects.toEqual(refusal);
      }
      await holds("context == 'kept'");
    });

    check("lets a cell replace the context, and gives it anew", async () => {
      const long = "z".repeat(4 * MANY);
      await sandbox.initialize(long);
      await sandbox.execute("context = 'mine'");
      await holds("context == 'mine'");
      await sandbox.initialize(long);
      await holds(`context == 'z' * ${4 * MANY}`);
    });
  });
}
