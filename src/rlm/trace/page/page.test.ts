import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Browser, chromiumPath } from "../../../../test/support/rlm/chromium.js";
import { askModel, steppingClock, toldRun } from "../../../../test/support/rlm/trace-runs.js";
import type { TraceEvent } from "../events.js";
import { Trace } from "../trace.js";
import { spendingByDepth, traceTree } from "../tree.js";
import { renderTracePage } from "./page.js";
import { escapeHtml, spellDollars, spellTime } from "./text.js";

const HOSTILE = [
  "",
  "</pre></div></details></main><script>document.title = 'owned'</script>",
  "<img src=x onerror=\"document.title = 'owned'\">",
  '"><style>body { display: none }</style><a href="javascript:alert(1)">',
  "'--><svg onload=alert(1)>",
  "<meta http-equiv=refresh content='0;url=http://127.0.0.1:9/'>",
].join("\n");

describe("traceTree", () => {
  it("puts parts under what they are part of and sums what they cost", async () => {
    const [run, ...others] = traceTree(await toldRun({ turns: 2, calls: 4 }));
    expect(others).toEqual([]);
    expect(run?.children).toHaveLength(2);
    const [turn] = run?.children ?? [];
    expect(turn?.children.map(({ events }) => events[0]?.type)).toEqual([
      "model.request",
      "code.started",
    ]);
    expect(turn?.children[1]?.children).toHaveLength(4);
    expect(turn?.spent).toMatchObject({ calls: 5, inputTokens: 5_000, unpriced: 2 });
    expect(turn?.spent.cost).toBeCloseTo(0.012);
    expect(run?.spent).toMatchObject({ calls: 10, inputTokens: 10_000, outputTokens: 500 });
    expect(turn?.from).toBeGreaterThan(run?.from ?? Number.NaN);
    expect(turn?.to).toBeLessThan(run?.to ?? Number.NaN);
  });

  it("sums by depth", async () => {
    const depths = spendingByDepth(await toldRun({ turns: 3, calls: 2 }));
    expect(depths.map(([depth, { calls }]) => [depth, calls])).toEqual([
      [0, 3],
      [1, 6],
    ]);
  });

  it("keeps a loop and an unknown parent out of the tree", () => {
    const at = { run: "r", depth: 0, at: 1, type: "turn.started", turn: 1 } as const;
    const events: TraceEvent[] = [
      { ...at, span: "a", parent: "b" },
      { ...at, span: "b", parent: "a" },
      { ...at, span: "c", parent: "nowhere" },
      { ...at, span: "d", parent: "d" },
    ];
    const roots = traceTree(events);
    expect(roots.map(({ events: [first] }) => first?.span)).toEqual(["a", "c", "d"]);
    expect(renderTracePage(events).match(/<details/g)).toHaveLength(4);
  });
});

describe("renderTracePage", () => {
  it("escapes whatever a run says", async () => {
    const page = renderTracePage(await toldRun({ turns: 1, calls: 1, output: HOSTILE }));
    expect(page).toContain("&lt;img src=x onerror=&quot;document.title");
    expect(page).not.toMatch(/<(img|svg|a|meta http-equiv=refresh)\b/);
    expect(page.match(/<script/g)).toHaveLength(1);
  });

  it("is the same for the same events and names no other place", async () => {
    const events = await toldRun({ turns: 2, calls: 2 });
    expect(renderTracePage(events)).toBe(renderTracePage(events));
    expect(renderTracePage(events)).not.toMatch(/https?:|\bsrc=|@import|url\(/);
  });

  it("tells what never ended and what failed", async () => {
    await using trace = await Trace.open({ clock: steppingClock() });
    trace.root.emit({ type: "run.started", version: 1, query: "Why?", model: "m" });
    const call = trace.root.child();
    call.emit({ type: "model.request", call: "1", model: "m", promptTokens: 3 });
    const error = { code: "REMOTE_ERROR", message: "the server said 503" };
    call.emit({ type: "model.failed", call: "1", error, ms: 5 });
    trace.root.child().emit({ type: "code.started", code: "while True: pass" });
    const page = renderTracePage(trace.events);
    expect(page).toContain('<i class="badge bad">REMOTE_ERROR</i>');
    expect(page.match(/<i class="badge bad">not ended<\/i>/g)).toHaveLength(2);
    expect(page).toContain("the server said 503");
  });

  it("shows an empty trace, several runs and a chain of any length", async () => {
    expect(renderTracePage([])).toContain("This trace is empty");
    const events = await toldRun({ turns: 1, calls: 1 });
    const other = events.map((event) => ({ ...event, run: "r2" }));
    expect(renderTracePage([...events, ...other]).match(/<section>/g)).toHaveLength(2);
    const chain = Array.from({ length: 20_000 }, (_, index): TraceEvent => {
      const parent = index === 0 ? null : String(index - 1);
      const place = { run: "r", span: String(index), parent, depth: index, at: index };
      return { ...place, type: "turn.started", turn: index };
    });
    expect(renderTracePage(chain).match(/<details/g)).toHaveLength(20_000);
  });

  it("cuts texts where there are many and says how much is missing", async () => {
    await using trace = await Trace.open();
    askModel(trace.root, "x".repeat(300_000));
    expect(renderTracePage(trace.events)).toContain("100,000 more characters in the trace");
  });
});

describe("the words of a page", () => {
  it("makes visible what hides", () => {
    expect(escapeHtml("a\x1b[31m\r\n\0\x7f\x9b")).toBe("a␛[31m\n␀␡[U+009B]");
    expect(escapeHtml("safe\u202etxt.exe\ud800")).toBe("safe[U+202E]txt.exe\ufffd");
    expect(escapeHtml("tab\tstays")).toBe("tab\tstays");
  });

  it("spells amounts", () => {
    expect([0, 0.00001, 0.0123, 12.5].map(spellDollars)).toEqual([
      "$0",
      "<$0.0001",
      "$0.0123",
      "$12.50",
    ]);
    expect([1, 250, 1_500, 125_000].map(spellTime)).toEqual([
      "1.0 ms",
      "250 ms",
      "1.5 s",
      "2 min 05 s",
    ]);
  });
});

describe("the page in a browser", () => {
  const chromium = chromiumPath() ?? "";
  let folder: string;

  beforeEach((context) => {
    if (chromium === "") context.skip("no Chromium is installed here");
    folder = mkdtempSync(join(tmpdir(), "cellar-page-"));
  });

  afterEach(() => rmSync(folder ?? "", { recursive: true, force: true, maxRetries: 10 }));

  async function show(events: readonly TraceEvent[]): Promise<Browser> {
    const file = join(folder, "trace.html");
    writeFileSync(file, renderTracePage(events));
    return await Browser.open(chromium, pathToFileURL(file).href);
  }

  const search = (text: string) => `{
    const box = document.getElementById("search");
    box.value = ${JSON.stringify(text)};
    box.dispatchEvent(new Event("input"));
  }`;
  const isFound = (text: string) =>
    `document.getElementById("found").textContent === ${JSON.stringify(text)}`;
  const shown = `[...document.querySelectorAll("details.node")]
    .filter((node) => node.checkVisibility()).length`;

  it("runs its own script and nothing that a run said, and asks for nothing", async () => {
    await using browser = await show(await toldRun({ turns: 1, calls: 2, output: HOSTILE }));
    expect(await browser.evaluate("document.title")).toBe(
      "Trace: How many ducks swim in the pond?",
    );
    expect(await browser.evaluate("document.scripts.length")).toBe(1);
    expect(await browser.evaluate("document.querySelectorAll('img, svg, a').length")).toBe(0);
    const outputs = "[...document.querySelectorAll('pre')].map((pre) => pre.textContent)";
    expect(await browser.evaluate(outputs)).toContain(HOSTILE);
    await browser.evaluate(search("duck 1.1"));
    await browser.until(isFound("2 found"));
    expect(browser.requests).toHaveLength(1);
    expect(browser.complaints).toEqual([]);
  });

  it("refuses scripts that are not its own", async () => {
    await using browser = await show(await toldRun({ turns: 1, calls: 1 }));
    await browser.evaluate(`{
      const script = document.createElement("script");
      script.textContent = "document.title = 'owned'";
      document.body.append(script);
    }`);
    expect(await browser.evaluate("document.title")).not.toBe("owned");
  });

  it("finds its way in 5,000 events", async () => {
    const events = await toldRun({ turns: 25, calls: 50 });
    expect(events.length).toBeGreaterThan(5_000);
    await using browser = await show(events);
    const nodes = 1 + 25 * (1 + 1 + 1 + 2 * 50);
    expect(await browser.evaluate("document.querySelectorAll('details.node').length")).toBe(nodes);
    const before = await browser.evaluate(shown);
    await browser.evaluate(search("yes, duck 17.33"));
    await browser.until(isFound("2 found"));
    expect(await browser.evaluate(shown)).toBe(5);
    await browser.evaluate(
      `document.getElementById("search").dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }))`,
    );
    expect(await browser.evaluate(isFound("1 of 2"))).toBe(true);
    await browser.evaluate(search(""));
    await browser.until(isFound(""));
    expect(await browser.evaluate(shown)).toBe(before);
    await browser.evaluate("document.getElementById('open-all').click()");
    expect(await browser.evaluate(shown)).toBe(nodes);
    expect(browser.complaints).toEqual([]);
  });
});
