import { describe, expect, it } from "vitest";
import { textOfHtml } from "./html-text.js";

describe("textOfHtml", () => {
  it("gives what a reader sees, with headings and lists", () => {
    const html = `<!doctype html><html><head><title>A  page</title>
      <style>p { color: red }</style><script>if (1 < 2) alert("</p>")</script></head>
      <body><!-- no > one --><h2>First</h2><p>One <b>bold</b>, a<i>b</i>c
      and a <a href='x>y' title="a > b">link</a>.</p><ul><li><p>x</p></li><li>y</li></ul>
      <table><tr><th>k</th><td>v</td></tr></table>line<br>next</body></html>`;
    expect(textOfHtml(html)).toBe(
      "A page\n\n## First\n\nOne bold, abc and a link.\n\n- x\n\n- y\n\nk\tv\n\nline\nnext\n",
    );
  });

  it("keeps lines of code as they are, and reads entities once", () => {
    expect(textOfHtml("<pre>a\n  b &lt;c&gt;</pre>d")).toBe("a\n  b <c>\n\nd\n");
    expect(textOfHtml("&amp;lt; &#228;&#xE4;&auml; &nope; &#0;&#xD800; 1 &lt 2")).toBe(
      "&lt; äää &nope; \ufffd\ufffd 1 < 2\n",
    );
    expect(textOfHtml("&constructor; &nbsp;")).toBe("&constructor;\n");
  });

  it.each([
    ["", ""],
    ["a < b <3", "a < b <3\n"],
    ["a<!-- open", "a\n"],
    ["a<script>open", "a\n"],
    ["a<p title='open", "a\n"],
    ["a<SCRIPT>x</scripty></Script >b", "ab\n"],
    ["a</script>b", "ab\n"],
    ["a <b>< c</b> << d <3 </> e", "a < c << d <3 e\n"],
  ])("copes with %j", (html, text) => {
    expect(textOfHtml(html)).toBe(text);
  });

  it("is done soon with a page that is made to take long", () => {
    const long = 100_000;
    for (const piece of ["<", "<!--", "<a b='", "&", " ", "<script>", "<p>", "<pre> ", "</"]) {
      expect(textOfHtml(`${piece.repeat(long)}x`).length).toBeLessThanOrEqual(8 * long);
    }
  });
});
