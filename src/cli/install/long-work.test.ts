import { Writable } from "node:stream";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LongWork } from "./long-work.js";

class Sheet extends Writable {
  text = "";
  isTTY: boolean;
  columns = 40;

  constructor(isTTY: boolean) {
    super();
    this.isTTY = isTTY;
  }

  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

describe("work that takes long", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("says now and then in a log that it goes on, and with what", () => {
    const stream = new Sheet(false);
    using work = new LongWork("installing pandas", { stream });
    vi.advanceTimersByTime(19_000);
    expect(stream.text).toBe("");
    work.tell("Collecting pandas\n  Downloading pandas.whl\n");
    vi.advanceTimersByTime(21_000);
    const line = (seconds: number) =>
      `cellar: installing pandas, ${seconds} s so far: Downloading pandas.whl\n`;
    expect(stream.text).toBe(line(20) + line(40));
  });

  it("has one live line on a terminal, which ends with it", () => {
    const stream = new Sheet(true);
    {
      using work = new LongWork("installing pandas", { stream });
      work.tell(`\u001b]0;title\u0007${"a".repeat(100)}`);
      vi.advanceTimersByTime(2_000);
    }
    expect(stream.text).not.toContain("\n");
    expect(stream.text).not.toContain("\u001b]");
    expect(stream.text).toMatch(/installing pandas, 2 s so far/);
    expect(stream.text.endsWith("\r\u001b[K")).toBe(true);
  });

  it("says nothing where nobody wants to hear it", () => {
    const stream = new Sheet(false);
    using _ = new LongWork("installing pandas", { stream, quiet: true });
    vi.advanceTimersByTime(100_000);
    expect(stream.text).toBe("");
  });
});
