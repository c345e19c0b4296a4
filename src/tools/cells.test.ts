import { describe, expect, it } from "vitest";
import {
  call,
  execute,
  ServiceFixture,
  textOf,
} from "../../test/support/notebook/service-fixture.js";
import type { CellView } from "./view/shapes.js";

const fixture = new ServiceFixture();

/** A PNG of one dot. */
const DOT =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const SHOW_DOT = `
class Dot:
    def _repr_png_(self):
        import base64
        return base64.b64decode("${DOT}")
    def __repr__(self):
        return "a dot"
Dot()
`;

describe("execute_cell", () => {
  it("keeps variables from call to call, in a session that it names itself", async () => {
    const service = await fixture.open();
    const first = await call(service, "execute_cell", { code: "x = 20\nprint('hello')" });
    const { session, isolation } = first.structured as { session: string; isolation: string };
    expect(isolation).toBe(service.isolation.level);
    expect(textOf(first)).toContain(`session ${session}`);
    expect(textOf(first)).toContain(`isolation ${isolation}`);
    const second = await execute(service, session, "x + 22");
    expect(second.cell).toMatchObject({ number: 2, state: "COMPLETED", executionCount: 2 });
    expect(second.cell.outputs).toMatchObject([{ stream: "result", text: "42", omitted: 0 }]);
    expect(second.isError).toBe(false);
  });

  it("gives the traceback and the hints of a failed cell as a result", async () => {
    const service = await fixture.open();
    await execute(service, "wrong", "kept = 1");
    const failed = await execute(service, "wrong", "print('before')\nvalue = kept / 0");
    expect(failed.isError).toBe(true);
    expect(failed.refusal).toBeUndefined();
    expect(failed.cell.error).toMatchObject({ type: "ZeroDivisionError" });
    expect(failed.text).toContain("before");
    expect(failed.text).toContain("value = kept / 0");
    expect((await execute(service, "wrong", "kept")).cell.outputs[0]?.text).toBe("1");
  });

  it("shows an image as one, and serves its bytes", async () => {
    const service = await fixture.open();
    const { cell, parts, text } = await execute(service, "pictures", SHOW_DOT);
    expect(parts.map(({ type }) => type)).toEqual(["text", "image"]);
    expect(parts[1]).toMatchObject({ mime: "image/png", data: DOT });
    expect(cell.outputs).toMatchObject([{ type: "IMAGE", width: 1, height: 1, text: "a dot" }]);
    const uri = cell.outputs[0]?.uri ?? "";
    expect(text).toContain(uri);
    const { mime, bytes } = await service.readResource(uri);
    expect([mime, bytes?.toString("base64")]).toEqual(["image/png", DOT]);
  });

  it("gives HTML and SVG as links, with their plain words beside", async () => {
    const service = await fixture.open();
    const code = `
class Page:
    def _repr_html_(self):
        return "<b>bold</b>"
    def __repr__(self):
        return "a page"
Page()
`;
    const { cell, parts, text } = await execute(service, "pages", code);
    expect(text).toContain("a page");
    expect(text).not.toContain("<b>");
    const uri = cell.outputs[0]?.uri;
    expect(parts[1]).toMatchObject({ type: "resource", uri, mime: "text/html", size: 11 });
    expect(await service.readResource(uri ?? "")).toMatchObject({ text: "<b>bold</b>" });
    expect(await service.readResource(`${uri}/text`)).toMatchObject({ text: "a page" });
  });

  it("tells of files that changed, and links them", async () => {
    const service = await fixture.open();
    const { cell, parts, text } = await execute(
      service,
      "writing",
      "open('a b.csv', 'w').write('x,y\\n1,2\\n')\nNone",
    );
    expect(cell.files).toEqual({ created: ["a b.csv"], changed: [], deleted: [] });
    expect(text).toContain("files: created a b.csv");
    const [, link] = parts;
    expect(link).toMatchObject({ type: "resource", name: "a b.csv", mime: "text/csv", size: 8 });
    const uri = link?.type === "resource" ? link.uri : "";
    expect(await service.readResource(uri)).toMatchObject({ mime: "text/csv", text: "x,y\n1,2\n" });
  });

  it("streams what is printed while the cell runs, of new and of repeated cells", async () => {
    const service = await fixture.open();
    const heard: string[] = [];
    const onText = (text: string) => heard.push(text);
    await execute(service, "loud", "for i in range(3): print(i)", { onText });
    expect(heard.join("")).toBe("0\n1\n2\n");
    await call(service, "rerun_cell", { session: "loud", cell: 1 }, { onText });
    expect(heard.join("")).toBe("0\n1\n2\n0\n1\n2\n");
    await execute(service, "loud", "print('nobody listens')");
    await execute(service, "loud", "1", { onText });
    await service.use("loud", (notebook) => notebook.run("print('not a call of a tool')"));
    expect(heard.join("")).toBe("0\n1\n2\n0\n1\n2\n");
  });

  it("interrupts the cell when the call is cancelled, and keeps the state", async () => {
    const service = await fixture.open();
    await execute(service, "endless", "before = 1");
    const stopping = new AbortController();
    const stopped = await execute(
      service,
      "endless",
      "during = 2\nprint('going', flush=True)\nwhile True: pass",
      { signal: stopping.signal, onText: () => stopping.abort() },
    );
    expect(stopped.cell.state).toBe("CANCELLED");
    expect(stopped.isError).toBe(true);
    expect(stopped.text).toContain("the variables are kept");
    expect((await execute(service, "endless", "before, during")).text).toContain("(1, 2)");
  });

  it("refuses a call that was cancelled before, and adds no cell", async () => {
    const service = await fixture.open();
    const signal = AbortSignal.abort();
    await expect(
      call(service, "execute_cell", { session: "never", code: "1" }, { signal }),
    ).rejects.toMatchObject({ code: "ABORTED" });
    expect((await service.list()).map(({ session }) => session)).not.toContain("never");
  });

  it("adds no cell for a call that was cancelled while another one ran", async () => {
    const service = await fixture.open();
    const [first, second] = [new AbortController(), new AbortController()];
    let waiting: Promise<unknown> = Promise.resolve();
    const running = execute(service, "queue", "print(1, flush=True)\nwhile True: pass", {
      signal: first.signal,
      onText: () => {
        const input = { session: "queue", code: "2" };
        waiting = call(service, "execute_cell", input, { signal: second.signal });
        waiting.catch(() => {});
        second.abort();
        first.abort();
      },
    });
    expect((await running).cell.state).toBe("CANCELLED");
    await expect(waiting).rejects.toMatchObject({ code: "ABORTED" });
    expect((await service.content("queue")).cells).toHaveLength(1);
  });

  it("runs two sessions at once, each with its own variables", async () => {
    const service = await fixture.open();
    const meet = (mine: string, other: string) =>
      service.use(mine, async () => execute(service, mine, `name = "${mine}"\nname + "${other}"`));
    const [one, other] = await Promise.all([meet("left", "!"), meet("right", "?")]);
    expect([one.text, other.text]).toEqual([
      expect.stringContaining("left!"),
      expect.stringContaining("right?"),
    ]);
    expect((await execute(service, "left", "name")).text).toContain("left");
  });

  it("does not let a session that is busy hold up another", async () => {
    const service = await fixture.open();
    const stopping = new AbortController();
    let begun = () => {};
    const running = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const endless = execute(service, "busy", "print('on', flush=True)\nwhile True: pass", {
      signal: stopping.signal,
      onText: () => begun(),
    });
    await running;
    expect((await execute(service, "free", "1 + 1")).text).toContain("2");
    stopping.abort();
    expect((await endless).cell.state).toBe("CANCELLED");
  });

  it("runs calls on one session in their order, each hearing its own output", async () => {
    const service = await fixture.open();
    const heard = new Map<number, string>();
    const calls = [0, 1, 2, 3].map((n) =>
      execute(
        service,
        "crowd",
        `print("of ${n}", flush=True)\nruns = [*globals().get("runs", []), ${n}]`,
        {
          onText: (text) => heard.set(n, (heard.get(n) ?? "") + text),
        },
      ),
    );
    const cells = (await Promise.all(calls)).map(({ cell }) => cell);
    expect([...heard.values()]).toEqual(["of 0\n", "of 1\n", "of 2\n", "of 3\n"]);
    expect(cells.map(({ number }) => number)).toEqual([1, 2, 3, 4]);
    expect((await execute(service, "crowd", "runs")).text).toContain("[0, 1, 2, 3]");
  });

  it("shows a table of pandas as one", async (context) => {
    const service = await fixture.open();
    const code = "import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': ['x', 'y']})";
    const { cell, text } = await execute(service, "tables", code);
    if (cell.error?.type === "ModuleNotFoundError") context.skip("pandas is not installed");
    expect(cell.outputs).toMatchObject([
      { type: "DATAFRAME", mime: "text/html", table: { columns: ["a", "b"], shape: [2, 2] } },
    ]);
    expect(text).toContain("table of 2 rows, 2 columns");
    expect((await service.readResource(cell.outputs[0]?.uri ?? "")).text).toContain("<table");
  });

  it("shows a plot of matplotlib as an image", async (context) => {
    const service = await fixture.open({ config: { timeout: 120_000 } });
    const code = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()";
    const { cell, parts, text } = await execute(service, "plots", code);
    if (cell.error?.type === "ModuleNotFoundError") context.skip("matplotlib is not installed");
    expect(parts[1]).toMatchObject({ type: "image", mime: "image/png" });
    // Caches that it writes are none of the model's business.
    expect(text).not.toContain(".cache");
    expect(parts.filter(({ type }) => type === "resource")).toEqual([]);
  });
});

describe("long outputs", () => {
  it("come back small, with a handle to all 5 MB", async () => {
    const service = await fixture.open();
    const ran = await execute(
      service,
      "long",
      "print('START' + 'x' * 4_999_980 + 'THE END')\nopen('note.txt', 'w').close()",
    );
    const size = JSON.stringify(ran.parts).length + JSON.stringify(ran.structured).length;
    expect(size).toBeLessThan(40_000);
    const [output] = ran.cell.outputs;
    expect(output).toMatchObject({ length: 4_999_993, stream: "stdout" });
    expect(ran.cell.notes).toEqual([]);
    expect(ran.text).toContain("START");
    expect(ran.text).toContain("THE END");
    expect(ran.text).toContain(`[${output?.omitted.toLocaleString("en-US")} characters left out`);
    const shownText = output?.text.replace(/\n\[[^\]]*\]\n/, "") ?? "";
    expect(shownText.length + (output?.omitted ?? 0)).toBe(4_999_993);
    const whole = await service.readResource(output?.uri ?? "");
    expect(whole.text).toBe(`START${"x".repeat(4_999_980)}THE END\n`);
    expect(ran.parts).toContainEqual({
      type: "resource",
      uri: output?.uri,
      name: "cell 1, output 0",
      mime: "text/plain",
      size: 4_999_993,
    });
  });

  it("can be read on piece by piece, without a gap", async () => {
    const service = await fixture.open({ outputCap: 500 });
    const code = "print(''.join(chr(97 + i % 26) for i in range(1500)) + '😀' * 300)";
    const { cell } = await execute(service, "pieces", code);
    expect(cell.outputs[0]?.omitted).toBeGreaterThan(1_000);
    let read = "";
    for (let offset: number | null = 0, tries = 0; offset !== null && tries < 100; tries++) {
      const input = { session: "pieces", cell: 1, output: 0, offset, limit: 333 };
      const answer = await call(service, "show_cell", input);
      const { page } = answer.structured as { page: { text: string; next: number | null } };
      expect(page.text.isWellFormed?.() ?? true).toBe(true);
      expect(textOf(answer)).toContain(page.text);
      read += page.text;
      offset = page.next;
    }
    const letters = Array.from({ length: 1500 }, (_, i) => String.fromCharCode(97 + (i % 26)));
    expect(read).toBe(`${letters.join("")}${"😀".repeat(300)}\n`);
  });

  it("share what there is room for, and many are not all listed", async () => {
    const service = await fixture.open({ outputCap: 1_000 });
    const code = `
import sys
for i in range(60):
    print('o' * 200, i)
    print('e' * 200, i, file=sys.stderr)
`;
    const { cell, text } = await execute(service, "many", code);
    expect(cell.outputs).toHaveLength(40);
    expect(cell.moreOutputs).toBe(80);
    expect(text).toContain("80 outputs between are not listed");
    expect(text.length).toBeLessThan(20_000);
    const middle = await call(service, "show_cell", { session: "many", cell: 1, output: 60 });
    expect(textOf(middle)).toContain(`${"o".repeat(200)} 30`);
  });

  it("bounds a long traceback too, and keeps it", async () => {
    const service = await fixture.open({ outputCap: 500 });
    const { cell, text } = await execute(service, "deep", "raise ValueError('z' * 100_000)");
    expect(text.length).toBeLessThan(6_000);
    expect(cell.error?.message.length).toBeLessThan(2_200);
    const piece = await call(service, "show_cell", {
      session: "deep",
      cell: 1,
      output: 0,
      limit: 9,
    });
    expect(textOf(piece)).toContain("next: offset=9");
  });
});

describe("the other tools for cells", () => {
  it("runs a cell again in its place", async () => {
    const service = await fixture.open();
    await execute(service, "again", "n = 0");
    await execute(service, "again", "n += 1\nn");
    const answer = await call(service, "rerun_cell", { session: "again", cell: "2" });
    const { cell } = answer.structured as { cell: CellView };
    expect(cell).toMatchObject({ number: 3, outputs: [{ text: "2" }] });
    const byId = await call(service, "rerun_cell", { session: "again", cell: cell.id });
    expect(textOf(byId)).toContain("3");
  });

  it("keeps naming the same output when an earlier cell is deleted", async () => {
    const service = await fixture.open();
    await execute(service, "moving", "print('first')");
    const { cell } = await execute(service, "moving", SHOW_DOT);
    const deleted = await call(service, "delete_cell", { session: "moving", cell: 1 });
    expect(deleted.structured).toMatchObject({ session: "moving", cells: 1 });
    const { bytes } = await service.readResource(cell.outputs[0]?.uri ?? "");
    expect(bytes?.toString("base64")).toBe(DOT);
    const shown = await call(service, "show_cell", { session: "moving", cell: 2 });
    expect((shown.structured as { cell: CellView }).cell.id).toBe(cell.id);
    expect(shown.parts.map(({ type }) => type)).toEqual(["text", "text", "image"]);
  });

  it("shows a failed cell without being an error itself", async () => {
    const service = await fixture.open();
    await execute(service, "failed", "1 / 0");
    const shown = await call(service, "show_cell", { session: "failed", cell: 1 });
    expect(shown.isError).toBe(false);
    expect(textOf(shown)).toContain("ZeroDivisionError");
  });

  it("tells which cells there are where one is not", async () => {
    const service = await fixture.open();
    await execute(service, "few", "1");
    for (const name of ["show_cell", "rerun_cell", "delete_cell"]) {
      const answer = await call(service, name, { session: "few", cell: 7 });
      expect(answer.refusal?.code).toBe("NOT_FOUND");
      expect(textOf(answer)).toContain("there is 1.");
    }
  });
});
