import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

interface Report {
  working(text: string): { onText(said: string): void; end(): void };
}

/** Set-up is plain Node without types. */
const place = new URL("../scripts/setup/report.mjs", import.meta.url).href;

describe("set-up", () => {
  let lines: string[] = [];
  beforeEach(() => {
    lines = [];
    vi.useFakeTimers();
    vi.spyOn(console, "log").mockImplementation((line: string) => void lines.push(line));
  });
  afterEach(() => {
    vi.restoreAllMocks();
    vi.useRealTimers();
  });

  const open = async (quiet: boolean): Promise<Report> =>
    (await import(/* @vite-ignore */ place)).createReport({ quiet, live: false });

  it("says now and then that long work goes on, and with what", async () => {
    const working = (await open(false)).working("installing 14 Python packages");
    working.onText("Collecting numpy\n  \u0007Downloading numpy.whl\n\n");
    vi.advanceTimersByTime(41_000);
    working.end();
    vi.advanceTimersByTime(60_000);
    expect(lines).toEqual([
      "  installing 14 Python packages",
      "  still at work after 20 s: Downloading numpy.whl",
      "  still at work after 40 s: Downloading numpy.whl",
    ]);
  });

  it("says nothing of it when it is to be quiet", async () => {
    (await open(true)).working("installing").end();
    vi.advanceTimersByTime(60_000);
    expect(lines).toEqual([]);
  });
});
