import { Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { escapeControls, GuestText } from "./terminal.js";

class Sink extends Writable {
  text = "";

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString("utf8");
    done();
  }
}

function shown(pieces: readonly string[], escapes = true): string {
  const sink = new Sink();
  const text = new GuestText(sink, escapes);
  for (const piece of pieces) text.write(piece);
  text.finish();
  return sink.text;
}

describe("escaping for a terminal", () => {
  it("shows what could write the clipboard, the title or the screen", () => {
    const hostile = "\u001b]52;c;cm0gLXJmIC8=\u0007\u001b[2J\u001b]0;title\u0007\u009b31m\r\nERROR";
    expect(escapeControls(hostile)).toBe(
      "\\x1b]52;c;cm0gLXJmIC8=\\x07\\x1b[2J\\x1b]0;title\\x07\\x9b31m\r\nERROR",
    );
  });

  it("lets text, line ends, tabs and colours pass", () => {
    const harmless =
      "été 日本\t1%\r2%\r\n\u001b[1;38;5;200mbold\u001b[0m\u001b[38:2::1:2:3mx\u001b[m";
    expect(escapeControls(harmless)).toBe(harmless);
  });

  it("knows colours from sequences that only begin like them", () => {
    expect(escapeControls("\u001b[31")).toBe("\\x1b[31");
    expect(escapeControls("\u001b[31;mm\u001b[6n")).toBe("\u001b[31;mm\\x1b[6n");
    expect(escapeControls("\u001b[?25l")).toBe("\\x1b[?25l");
    expect(escapeControls(`\u001b[${"1;".repeat(200)}m`)).toContain("\\x1b[");
  });

  it("leaves no control character of any kind", () => {
    const all = Array.from({ length: 0xa0 }, (_, code) => String.fromCharCode(code)).join("");
    const left = [...escapeControls(all)].filter((c) => (c < " " || c >= "\u007f") && c < "\u00a0");
    expect(left).toEqual(["\t", "\n", "\r"]);
  });
});

describe("the guest's text", () => {
  it("keeps a colour that comes in two pieces, and ends it with the cell", () => {
    expect(shown(["a\u001b", "[3", "1mred"])).toBe("a\u001b[31mred\u001b[0m");
  });

  it("does not let a sequence through by cutting it", () => {
    expect(shown(["\u001b", "]0;t\u0007"])).toBe("\\x1b]0;t\\x07");
    expect(shown(["\u001b[", "2J"])).toBe("\\x1b[2J");
    expect(shown(["x\u001b["])).toBe("x\\x1b[");
  });

  it("is unchanged where there is no terminal", () => {
    expect(shown(["\u001b]0;t\u0007\u009b31m"], false)).toBe("\u001b]0;t\u0007\u009b31m");
  });
});
