import { describe, expect, it } from "vitest";
import { screenOf } from "../../../../test/support/virtual-terminal.js";
import { EditBuffer } from "./edit-buffer.js";
import { type Key, nameOf } from "./keys.js";
import { LineEditor } from "./line-editor.js";
import { commonStart, listMatches } from "./match-list.js";
import { View } from "./view.js";

const key = (name: string): Key => ({ name, sequence: "" });
const type = (editor: LineEditor, text: string) => {
  for (const letter of text) editor.press({ name: letter, sequence: letter });
};

describe("the text that is typed", () => {
  it("is moved through by characters as people see them, and by lines", () => {
    const buffer = new EditBuffer();
    buffer.insert("e\u0301👩‍👩‍👧x\nab");
    // Two letters, the line end and the x.
    for (let steps = 0; steps < 4; steps++) buffer.moveTo(buffer.before);
    expect(buffer.text.slice(buffer.cursor)).toBe("x\nab");
    buffer.deleteLeft();
    expect(buffer.text).toBe("e\u0301x\nab");
    buffer.down();
    expect(buffer.lineBefore).toBe("ab");
    buffer.kill(buffer.wordStart, buffer.cursor);
    buffer.yank();
    expect(buffer.text).toBe("e\u0301x\nab");
  });

  it("loses an indentation at a time", () => {
    const buffer = new EditBuffer();
    buffer.insert("if x:\n        ");
    buffer.deleteLeft();
    expect(buffer.lineBefore).toBe("    ");
  });
});

describe("one input", () => {
  it("keeps what was being typed while it goes through the past", () => {
    const editor = new LineEditor(["a = 1", "b = 2"]);
    editor.press(key("up"));
    type(editor, "0");
    editor.press(key("up"));
    expect(editor.shown.text).toBe("a = 1");
    editor.press(key("down"));
    expect(editor.shown.text).toBe("b = 20");
    editor.press(key("down"));
    expect(editor.shown.text).toBe("");
  });

  it("is checked at its end, and gets a new line before it", () => {
    const editor = new LineEditor([]);
    type(editor, "f(");
    expect(editor.press(key("return"))).toEqual({ kind: "entered", text: "f(", check: "f(" });
    editor.addLine();
    type(editor, ")");
    expect(editor.shown.text).toBe("f(\n)");
    editor.press(key("up"));
    expect(editor.press(key("return"))).toEqual({ kind: "edited" });
    const text = "while True:\n    break";
    const past = new LineEditor([text]);
    past.press(key("up"));
    expect(past.press(key("return"))).toEqual({ kind: "entered", text, check: `${text}\n` });
  });

  it("names keys", () => {
    expect(nameOf({ name: "r", ctrl: true })).toBe("ctrl-r");
    expect(nameOf({ name: "f", meta: true })).toBe("alt-f");
  });
});

describe("the view", () => {
  const drawn = (text: string, columns: number, rows: number, cursor = text.length) => {
    let bytes = "";
    const write = (more: string) => {
      bytes += more.replaceAll("\n", "\r\n");
    };
    const view = new View({ write, columns, rows });
    const shown = { text, cursor, label: "> ", furtherLabel: ". " };
    view.draw({ ...shown, text: `${text}more\nlines`, cursor: 0 });
    view.draw(shown);
    return screenOf(bytes, columns);
  };

  it("wraps long lines, and takes away what was there before", () => {
    expect(drawn("abcdefgh\nij", 6, 20)).toEqual(["> abcd", "efgh", ". ij"]);
    expect(drawn("abcd", 6, 20)).toEqual(["> abcd", ""]);
  });

  it("shows the part around the cursor of what is higher than the screen", () => {
    const text = Array.from({ length: 50 }, (_, at) => `line ${at}`).join("\n");
    expect(drawn(text, 80, 6)).toEqual([". line 46", ". line 47", ". line 48", ". line 49"]);
    expect(drawn(text, 80, 6, 0)[0]).toBe("> line 0");
  });

  it("lists matches in columns, as many as help", () => {
    expect(commonStart(["bit_count", "bit_length"])).toBe("bit_");
    expect(listMatches(["aa", "b", "cc"], 12)).toBe("aa  b   cc");
    const many = Array.from({ length: 300 }, (_, at) => `name${at}`);
    expect(listMatches(many, 80)).toContain("… and 200 more");
  });
});
