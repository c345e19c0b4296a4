import { describe, expect, it } from "vitest";
import { markdownOfHtml } from "./page-markdown.js";

const base = new URL("https://example.org/dir/page?x=1");

async function markdown(html: string): Promise<string> {
  return (await markdownOfHtml(html, { base, maxCharacters: 1_000_000 })).text;
}

describe("HTML as Markdown", () => {
  it.each([
    ["<h1>One</h1><h3>Three <b>bold</b></h3><p>text", "# One\n\n### Three bold\n\ntext"],
    ["<p>a</p><p>b</p><div>c</div>d", "a\n\nb\n\nc\n\nd"],
    ["a<br>b<br><br>c", "a\nb\n\nc"],
    ["a <b> b </b> c<i>d</i>", "a **b** c*d*"],
    ["<b><b>a</b></b><b></b><i> </i>b", "**a** b"],
    ["use <code>x &lt; 1</code>.", "use `x < 1`."],
    ["a<hr>b", "a\n\n---\n\nb"],
    ["<ul><li>a<li>b<ul><li>c</ul></ul>d", "- a\n- b\n  - c\n\nd"],
    ["<ol><li>a</li><li>b<ul><li>c</li></ul></li><li>d</li></ol>", "1. a\n2. b\n   - c\n3. d"],
    ["<ul><li><p>a</p><p>b</p></li></ul>", "- a\n\n  b"],
    ["<dl><dt>term<dd>meaning</dl>", "term\n: meaning"],
    ["x<blockquote><p>a</p><p>b</p></blockquote>y", "x\n\n> a\n>\n> b\n\ny"],
    ["<pre>  a\n\n    b\n</pre>", "```\n  a\n\n    b\n```"],
    [
      '<pre><code class="hljs language-js">f(<span>1</span>)<br>g()</code></pre>',
      "```js\nf(1)\ng()\n```",
    ],
    ["<pre>```</pre>", "````\n```\n````"],
    ["&lt;p&gt; &amp;amp; &copy; &#8364; &#x1F600; a&nbsp;b", "<p> &amp; © € 😀 a b"],
    ["co&shy;op\u00aderate \0a\x07b", "cooperate a b"],
    ["<p>1 < 2 & 3</p>", "1 < 2 & 3"],
  ])("writes %j as %j", async (html, expected) => {
    expect(await markdown(html)).toBe(expected);
  });

  it.each([
    ['<a href="https://a.org/b?c#d">t</a>', "[t](https://a.org/b?c#d)"],
    ["<a href='/root'>t</a>", "[t](https://example.org/root)"],
    ["<a href=next>t</a>", "[t](https://example.org/dir/next)"],
    ["<a href='../up'>t</a>", "[t](https://example.org/up)"],
    ["<a href='a/../b'>t</a>", "[t](https://example.org/dir/b)"],
    ["<a href='?q=2'>t</a>", "[t](https://example.org/dir/page?q=2)"],
    ["<a href='//cdn.org/x'>t</a>", "[t](https://cdn.org/x)"],
    ["<a href='mailto:a@b.c'>t</a>", "[t](mailto:a@b.c)"],
    ["<a href='/a b(c)'>t</a>", "[t](https://example.org/a%20b%28c%29)"],
    ["<a href='/?a=1&amp;b=2'>t</a>", "[t](https://example.org/?a=1&b=2)"],
    ["<a href='#part'>t</a>", "t"],
    ["<a href='/x'></a>t", "t"],
    ["<a name=x>t</a>", "t"],
    ["<a href=/1>a<a href=/2>b</a>", "[a](https://example.org/1)[b](https://example.org/2)"],
    [
      "<a href=/c><div><h2>Card</h2><p>More</p></div></a>",
      "## [Card](https://example.org/c)\n\nMore",
    ],
    ["<base href='https://other.org/x/'><a href=y>t</a>", "[t](https://other.org/x/y)"],
    ["<img src=/i.png alt='An  [image]'>", "![An image](https://example.org/i.png)"],
    ["<img src=data:image/png;base64,AAAA alt=dot>", "![dot]"],
    ["a<img src=/i.png>b", "ab"],
    ["<h2>Title<a class=headerlink href=#t>¶</a></h2>", "## Title"],
  ])("keeps the links of %s", async (html, expected) => {
    expect(await markdown(html)).toBe(expected);
  });

  it.each([
    ["<table><tr><th>A<th>B<tr><td>1<td>2</table>", "| A | B |\n| --- | --- |\n| 1 | 2 |"],
    [
      "<table><thead><tr><th>A</th><th>B</th></tr></thead><tbody><tr><td>a|b</td><td><p>x</p><p>y</p></td></tr></tbody></table>",
      "| A | B |\n| --- | --- |\n| a\\|b | x y |",
    ],
    [
      "<table><tr><td>a<td><td>c</tr><tr><td colspan=2>wide<td>z</table>",
      "| a | | c |\n| --- | --- | --- |\n| wide | | z |",
    ],
    [
      "<table><tr><td>1<td><ul><li>a<li>b</ul><pre>x\ny</pre></table>",
      "| 1 | a b `x y` |\n| --- | --- |",
    ],
    ["<table role=presentation><tr><td>left<td>right</table>", "left\nright"],
    [
      "<table><tr><td><table><tr><td>in<td>ner</table></table>after",
      "|\n\n| in | ner |\n| --- | --- |\n\nafter",
    ],
  ])("keeps the tables of %s", async (html, expected) => {
    expect(await markdown(html)).toBe(expected);
  });

  it("leaves out what is not text of the page", async () => {
    const html = `<html><head><style>p{}</style><script>"<p>no</p>"</script></head><body>
      <nav>no</nav><header>yes1</header><aside>no</aside><div hidden>no</div>
      <div aria-hidden=true>no</div><svg><title>no</title><text>no</text></svg>
      <noscript>no</noscript><template><p>no</p></template><iframe>no</iframe>
      <div class="cookie-banner"><p>no</p></div><ul id="main-menu"><li>no</li></ul>
      <div role="navigation">no</div><button>no</button><select><option>no</select>
      <form action=/s><label>no</label><input value=no><textarea>no</textarea></form>
      <p>yes2</p><!-- no --><footer>no</footer></body></html>`;
    expect(await markdown(html)).toBe("yes1\n\nyes2");
  });

  it("keeps a form or a container with such a name if the page is in it", async () => {
    const text = "<h1>Page</h1><p>a</p>";
    for (const [open, close] of [
      ["<form id=aspnet>", "</form>"],
      ["<div class='has-sidebar nav'>", "</div>"],
    ]) {
      expect(await markdown(`${open}<nav>no</nav>${text}${close}`)).toBe("# Page\n\na");
    }
  });

  it("chooses the main part", async () => {
    const long = "words ".repeat(50).trim();
    const around = (inner: string) => `<p>Site</p><div>Ad</div>${inner}<p>Legal</p>`;
    expect(await markdown(around(`<main><p>${long}</p></main>`))).toBe(long);
    expect(await markdown(around(`<div role=main><p>${long}</p><div>x</div></div>`))).toBe(
      `${long}\n\nx`,
    );
    expect(await markdown(around(`<article>${long}</article><article>b</article>`))).toBe(
      `${long}\n\nb`,
    );
    // One with nothing in it is not the main part, whatever it is called.
    expect(await markdown(around(`<main></main><p>${long}</p>`))).toBe(
      `Site\n\nAd\n\n${long}\n\nLegal`,
    );
  });

  it("finds the title, once", async () => {
    const page = (html: string) => markdownOfHtml(html, { base, maxCharacters: 1000 });
    const svg = "<svg><title>no</title></svg>";
    const html = `${svg}<title> A &amp;\n B </title><title>no</title>x`;
    expect(await page(html)).toEqual({ title: "A & B", text: "x", isTruncated: false });
    expect((await page(`<title>${"t".repeat(5000)}</title>`)).title).toHaveLength(500);
    expect((await page("x")).title).toBeUndefined();
  });

  it("gives the same whatever the length of the page, since it is read in pieces", async () => {
    const html = `<p>some <b>bold</b> text &amp; <a href="/link">more</a></p>`;
    const one = await markdown(html);
    const count = 20_000;
    expect(html.length * count).toBeGreaterThan(1_000_000);
    const text = await markdownOfHtml(html.repeat(count), { base, maxCharacters: 10_000_000 });
    expect(text.text).toBe(Array(count).fill(one).join("\n\n"));
  });

  it("stops when it is told to", async () => {
    const html = "<p>x</p>".repeat(200_000);
    const abort = new AbortController();
    const reading = markdownOfHtml(html, { base, maxCharacters: 1e7, signal: abort.signal });
    abort.abort();
    await expect(reading).rejects.toThrow();
  });
});
