import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { askModel, runCode, steppingClock, tellRun } from "../../../test/support/rlm/trace-runs.js";
import type { TraceBody, TraceEvent } from "./events.js";
import { readTrace, Trace } from "./trace.js";

const START: TraceBody = { type: "run.started", version: 1, query: "Why?", model: "m" };

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cellar-trace-"));
  file = join(folder, "run.jsonl");
});

afterEach(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));

async function writeRun(run: string): Promise<readonly TraceEvent[]> {
  await using trace = await Trace.open({ file, run });
  tellRun(trace, { turns: 2, calls: 2 });
  return trace.events;
}

describe("Trace", () => {
  it("gives events their place and time", async () => {
    await using trace = await Trace.open({ run: "r", clock: steppingClock(5) });
    trace.root.emit(START);
    const sub = trace.root.child().child({ deeper: true });
    const told = sub.emit({ type: "sub.started", kind: "rlm", prompt: "count" });
    expect(told).toEqual({
      run: "r",
      span: "3",
      parent: "2",
      depth: 1,
      at: 10,
      type: "sub.started",
      kind: "rlm",
      prompt: "count",
    });
    expect(trace.events.map(({ span, parent }) => [span, parent])).toEqual([
      ["1", null],
      ["3", "2"],
    ]);
  });

  it("tells listeners at once, and lives on when one of them fails", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const heard: string[] = [];
    await using trace = await Trace.open({
      onEvent: () => {
        throw new Error("I am broken");
      },
    });
    trace.listen(async () => {
      throw new Error("so am I");
    });
    const end = trace.listen(({ type }) => heard.push(type));
    trace.root.emit(START);
    expect(heard).toEqual(["run.started"]);
    end();
    trace.root.emit({ type: "turn.started", turn: 1 });
    await new Promise(setImmediate);
    expect(heard).toEqual(["run.started"]);
    expect(trace.events).toHaveLength(2);
    expect(warn).toHaveBeenCalledTimes(1);
    warn.mockRestore();
  });

  it("keeps the last events and counts the others", async () => {
    await using trace = await Trace.open({ keep: 100 });
    for (let turn = 0; turn < 1_000; turn += 1) trace.root.emit({ type: "turn.started", turn });
    const { events, omitted } = trace;
    expect(events.length).toBeLessThanOrEqual(100);
    expect(events.length).toBeGreaterThanOrEqual(90);
    expect(events.length + omitted).toBe(1_000);
    expect(events.at(-1)).toMatchObject({ turn: 999 });
  });

  it("keeps no more text than it may, and cuts a text that is too long", async () => {
    await using trace = await Trace.open();
    const text = "y".repeat(1_000_100);
    for (let turn = 0; turn < 100; turn += 1) askModel(trace.root, text);
    expect(trace.omitted).toBeGreaterThan(0);
    const reply = trace.events.at(-1);
    expect(reply?.type === "model.reply" && reply.text.slice(-30)).toMatch(
      /y… \[100 more characters\]$/,
    );
  });

  it("shows no secret, and no field that an event has not", async () => {
    await using trace = await Trace.open({ file, secrets: ["sk-very-secret-1", "ok", ""] });
    runCode(trace.root, "key = 'sk-very-secret-1'", "sk-very-secret-1 sk-very-secret-1 is ok");
    const headers = { authorization: "Bearer abc" };
    trace.root.emit({ type: "turn.started", turn: 1, headers } as TraceBody);
    const text = readFileSync(file, "utf8");
    expect(text).not.toContain("very-secret");
    expect(text).not.toContain("Bearer");
    expect(text).toContain("[hidden] [hidden] is ok");
    expect((await readTrace(file)).events).toEqual(trace.events);
  });

  it("refuses what is no event", async () => {
    await using trace = await Trace.open();
    const cell: TraceBody = { type: "code.output", observation: "", status: "ok", ms: -1 };
    expect(() => trace.root.emit(cell)).toThrow(/invalid trace event/);
  });
});

describe("a trace in a file", () => {
  it("comes back as it was told", async () => {
    const events = await writeRun("one");
    expect(await readTrace(file)).toEqual({ events, torn: [] });
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it("reads the field `how` of earlier versions", async () => {
    const place = { v: 1, run: "r", span: "s", parent: null, depth: 0, at: 1 };
    const usage = { calls: 0, inputTokens: 0, outputTokens: 0, isEstimate: false, cost: null };
    const event = { ...place, type: "run.ended", how: "answered", answer: "x", usage };
    const file = join(folder, "earlier.jsonl");
    writeFileSync(file, `${JSON.stringify(event)}\n`);
    expect((await readTrace(file)).events).toMatchObject([{ status: "answered" }]);
  });

  it("keeps texts with all kinds of line ends on one line", async () => {
    const text = "a\u2028b\u2029c\r\nd\re\u0085f\n";
    {
      await using trace = await Trace.open({ file });
      askModel(trace.root, text);
    }
    const { events } = await readTrace(file);
    expect(events).toHaveLength(2);
    expect(events[1]).toMatchObject({ text });
  });

  it("has a line as soon as it is told, whatever becomes of this process", async () => {
    await using trace = await Trace.open({ file });
    for (let turn = 1; turn <= 20; turn += 1) {
      const event = trace.root.emit({ type: "turn.started", turn });
      const lines = readFileSync(file, "utf8").split("\n");
      expect(lines).toHaveLength(turn + 1);
      expect(JSON.parse(lines.at(-2) ?? "")).toEqual(event);
    }
  });

  it("is read up to where its writer died, at each byte of the last line", async () => {
    const events = await writeRun("one");
    const whole = readFileSync(file);
    const last = whole.lastIndexOf("\n", whole.length - 2) + 1;
    for (let end = last + 1; end < whole.length - 1; end += 7) {
      writeFileSync(file, whole.subarray(0, end));
      const { events: read, torn } = await readTrace(file);
      expect(read).toEqual(events.slice(0, -1));
      expect(torn).toEqual([events.length]);
    }
  });

  it("takes another run after a torn line", async () => {
    const first = await writeRun("one");
    const whole = readFileSync(file);
    writeFileSync(file, whole.subarray(0, whole.length - 20));
    const second = await writeRun("two");
    const { events, torn } = await readTrace(file);
    expect(events).toEqual([...first.slice(0, -1), ...second]);
    expect(torn).toEqual([first.length]);
  });

  it("names the line that is wrong", async () => {
    const events = await writeRun("one");
    const line = events.length + 1;
    appendFileSync(file, '{"type":"turn.started","turn":"one"}\n');
    await expect(readTrace(file)).rejects.toMatchObject({
      code: "DAMAGED",
      message: expect.stringContaining(`run.jsonl:${line} is not a line of a trace`),
      details: { line },
    });
    writeFileSync(
      file,
      `${JSON.stringify(events[0])}\n{"run":"one","sp\n${JSON.stringify(events[1])}\n`,
    );
    await expect(readTrace(file)).rejects.toMatchObject({ code: "DAMAGED", details: { line: 2 } });
  });

  it("takes no other file for a trace whose only line is torn", async () => {
    writeFileSync(file, "hello");
    await expect(readTrace(file)).rejects.toMatchObject({ code: "DAMAGED", details: { line: 1 } });
    writeFileSync(file, '{"run":"on');
    expect(await readTrace(file)).toEqual({ events: [], torn: [1] });
  });

  it("tells of a file that is not there, and of one that cannot be written", async () => {
    await expect(readTrace(file)).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(Trace.open({ file: join(file, "x") })).rejects.toMatchObject({ code: "IO_ERROR" });
  });

  it("tells at the end that the disk was full, and lets the run go on", async (context) => {
    if (!existsSync("/dev/full")) context.skip("this system has no /dev/full");
    const trace = await Trace.open({ file: "/dev/full" });
    trace.root.emit(START);
    trace.root.emit({ type: "turn.started", turn: 1 });
    expect(trace.events).toHaveLength(2);
    await expect(trace.close()).rejects.toMatchObject({
      code: "IO_ERROR",
      message: expect.stringContaining("/dev/full is not complete"),
    });
  });
});
