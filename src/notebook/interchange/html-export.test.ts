import { describe, expect, it } from "vitest";
import { cellWith, everyKind, PNG } from "../../../test/support/notebook/notebook-content.js";
import { htmlOf } from "./html-export.js";
import { proseCode } from "./prose.js";

const resource = async () => Promise.reject(new Error("nothing is stored"));
const pageOf = (...cells: ReturnType<typeof cellWith>[]) => htmlOf({ cells, resource });
const textsIn = (page: string) => [...page.matchAll(/<pre class="([^"]*)">([\s\S]*?)<\/pre>/g)];

describe("the page of a notebook", () => {
  it("shows code with its lines and the outputs in order", async () => {
    const page = await htmlOf(everyKind());
    expect(page).toContain("<title>A &lt;b&gt;title&lt;/b&gt;</title>");
    expect(page).toContain(
      "<span>print(&#39;one&#39;)\n</span><span>print(&#39;two&#39;)\n</span>",
    );
    const kinds = textsIn(page).map(([, kind = ""]) => kind.replace("output ", ""));
    const first = ["code", "stdout", "stderr", "result"];
    expect(kinds).toEqual([
      ...first,
      ...["code", "code", "display", "code", "error"],
      ...["code", "json", "markdown", "latex", "code"],
    ]);
    expect(page).toContain("<th>a<small>int64</small></th><th>b<small>object</small></th>");
    expect(page).toContain("<tr><th>1</th><td>2</td><td></td></tr>");
    expect(page).toContain(`src="data:image/png;base64,${PNG.toString("base64")}"`);
    expect(page).toContain("hint: check the divisor");
    expect(page).toContain('class="cell error undone" id="cell-3"');
    expect(page).toContain("[ ] <span>IDLE</span>");
  });

  it("loads nothing and runs nothing", async () => {
    const page = await htmlOf(everyKind());
    expect(page).toContain(
      `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">`,
    );
    expect(page).not.toMatch(/<script|<link|<object|<embed|\son\w+=|@import|url\(/i);
    const addresses = [...page.matchAll(/\s(?:src|href)="([^"]{0,16})/g)].map(([, start]) => start);
    expect(addresses.every((start) => start?.startsWith("data:image/"))).toBe(true);
  });

  it("keeps hostile markup inside a frame without rights", async () => {
    const html = `</iframe><script>alert(1)</script>"><img src=x onerror='alert(2)'>`;
    const page = await pageOf(cellWith(0, "x", [{ type: "HTML", html, text: "", isResult: true }]));
    const frame = /<iframe class="output" sandbox="" style="[^"]*" srcdoc="([^"]*)"><\/iframe>/;
    const inside = frame.exec(page)?.[1] ?? "";
    expect(inside).toContain("&lt;script&gt;alert(1)");
    expect(inside).toContain("content=&quot;default-src &#39;none&#39;;");
    expect(page.replace(frame, "")).not.toMatch(/script>|onerror|alert/);
  });

  it("shows hostile text, names and types as text", async () => {
    const evil = `"><script>alert(1)</script><!--\u001b[31m\u0000&'`;
    const page = await pageOf(
      {
        ...cellWith(0, evil, [
          { type: "TEXT", stream: "stdout", text: evil },
          { type: "ERROR", name: evil, message: evil, traceback: "", hint: evil },
          { type: "SVG", svg: `<svg onload="alert(1)">`, text: evil, isResult: false },
          {
            type: "IMAGE",
            mime: `image/png" onerror="alert(1)`,
            uri: "notebook://cell/0/image/0",
            text: evil,
            isResult: false,
            metadata: {},
          },
          {
            type: "DATAFRAME",
            columns: [evil, { toString: "x" }],
            dtypes: [evil],
            shape: [1, 2],
            rows: [[evil, [evil]]],
            index: [evil],
            html: evil,
            text: evil,
            isResult: false,
          },
          { type: "JSON", json: { [evil]: evil }, text: evil, isResult: false },
          { type: "MARKDOWN", markdown: evil, text: evil, isResult: false },
          { type: "LATEX", latex: evil, text: evil, isResult: false },
        ]),
        executedAt: evil,
        notes: [evil],
      },
      cellWith(1, proseCode({ kind: "markdown", text: evil })),
    );
    expect(page).not.toMatch(/<script|<!--|<svg|onerror="/);
    for (const control of ["\u001b", "\u0000"]) expect(page).not.toContain(control);
    expect(page).toContain("data:image/svg+xml;base64,");
    expect(page.match(/&lt;script&gt;/g)?.length).toBeGreaterThan(12);
  });
});
