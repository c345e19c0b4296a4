import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Display, imageOf, imageProtocol, inlineImage, saveImage } from "./images.js";

const PNG = Uint8Array.from([
  0x89,
  0x50,
  0x4e,
  0x47,
  0x0d,
  0x0a,
  0x1a,
  0x0a,
  ...new Array(9000).fill(7),
]);

function display(binary: Record<string, Uint8Array>, data: Record<string, string> = {}): Display {
  return { type: "display", data, binary, metadata: {} };
}

describe("images of a display", () => {
  it("are taken for what their bytes are", () => {
    expect(imageOf(display({ "image/png": PNG }))).toEqual({ extension: "png", bytes: PNG });
    expect(imageOf(display({ "image/png": Uint8Array.from([1, 2, 3]) }))).toBeUndefined();
    expect(imageOf(display({ "image/jpeg": PNG }))).toBeUndefined();
    expect(imageOf(display({}, { "image/svg+xml": "<svg/>" }))?.extension).toBe("svg");
  });

  it("go to kitty in parts that join to the file, and silence its answers", () => {
    const text = inlineImage("kitty", { extension: "png", bytes: PNG }) ?? "";
    const parts = text.trimEnd().split("\u001b\\").filter(Boolean);
    const bodies = parts.map((part) => part.slice(part.indexOf(";") + 1));
    expect(parts.length).toBeGreaterThan(1);
    expect(parts[0]).toMatch(/_Ga=T,f=100,q=2,m=1;/);
    expect(parts.at(-1)).toMatch(/_Gm=0;/);
    expect(bodies.every(({ length }) => length <= 4096)).toBe(true);
    expect(Uint8Array.from(Buffer.from(bodies.join(""), "base64"))).toEqual(PNG);
    expect(inlineImage("kitty", { extension: "jpg", bytes: PNG })).toBeUndefined();
  });

  it("go to iTerm2 as one inline file", () => {
    const text = inlineImage("iterm", { extension: "png", bytes: PNG }) ?? "";
    expect(text.startsWith("\u001b]1337;File=inline=1;")).toBe(true);
    const body = text.slice(text.indexOf(":") + 1, text.indexOf("\u0007"));
    expect(Uint8Array.from(Buffer.from(body, "base64"))).toEqual(PNG);
    expect(inlineImage("iterm", { extension: "svg", bytes: PNG })).toBeUndefined();
  });

  it("go inline only to terminals that can", () => {
    const terminal = Object.assign(Object.create(process.stdout), { isTTY: true });
    const piped = Object.assign(Object.create(process.stdout), { isTTY: false });
    expect(imageProtocol(terminal, { TERM: "xterm-kitty" })).toBe("kitty");
    expect(imageProtocol(terminal, { TERM: "xterm-ghostty" })).toBe("kitty");
    expect(imageProtocol(terminal, { TERM: "xterm", TERM_PROGRAM: "WezTerm" })).toBe("iterm");
    expect(imageProtocol(terminal, { TERM: "xterm", LC_TERMINAL: "iTerm2" })).toBe("iterm");
    expect(imageProtocol(terminal, { TERM: "xterm-256color" })).toBeUndefined();
    expect(
      imageProtocol(terminal, { TERM: "tmux-256color", KITTY_WINDOW_ID: "1" }),
    ).toBeUndefined();
    expect(imageProtocol(piped, { TERM: "xterm-kitty" })).toBeUndefined();
  });

  it("are saved beside each other, never over a file", () => {
    const folder = mkdtempSync(join(tmpdir(), "cellar-test-"));
    try {
      const first = saveImage(folder, { extension: "png", bytes: PNG });
      const second = saveImage(folder, { extension: "png", bytes: Uint8Array.from([1]) });
      expect(first).not.toBe(second);
      expect(Uint8Array.from(readFileSync(first))).toEqual(PNG);
      expect(readdirSync(folder)).toHaveLength(2);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
