import { createServer } from "node:http";
import { Parser } from "htmlparser2";
import { WebFetcher } from "../../dist/web/web-fetcher.js";
import { median } from "../statistics.mjs";
import { interleave, time } from "../stopwatch.mjs";

const BYTES = 1_000_000;
const PAUSE_MS = 20;
const TEXT = "All work and no play makes a page long. ".repeat(BYTES / 40);
const PARAGRAPH = `<h2>Part</h2><p>Some <a href="/x">words</a> with <b>weight</b>, and a list:</p><ul><li>one</li><li>two</li></ul>`;
const PAGE = `<!doctype html><html><head><title>Long</title></head><body><main>${PARAGRAPH.repeat(BYTES / PARAGRAPH.length)}</main></body></html>`;

/** A text of one megabyte through all checks, against fetch alone. */
export const webFetchText = compared("web_fetch_vs_fetch", {
  target: { at_most: 1.5 },
  path: "/text",
  read: async (response) => (await response.text()).length,
  name: "1 MB of text/plain",
  floor: "fetch of the same",
});

/** A page of one megabyte as Markdown, against fetch and one pass of the parser. */
export const webFetchPage = compared("web_fetch_html_vs_parse", {
  target: { at_most: 2.5 },
  path: "/page",
  read: async (response) => {
    let seen = 0;
    const parser = new Parser({
      onopentag: () => {
        seen += 1;
      },
      ontext: (text) => {
        seen += text.length;
      },
    });
    parser.end(await response.text());
    return seen;
  },
  name: "1 MB of HTML as Markdown",
  floor: "fetch of the same and one pass of the parser",
});

function compared(key, { target, path, read, name, floor }) {
  return {
    key,
    target,
    async run({ count, use }) {
      const server = use(await Site.open());
      const url = `http://127.0.0.1:${server.port}${path}`;
      const fetcher = new WebFetcher({ allow: [`127.0.0.1:${server.port}`], cacheSeconds: 0 });
      const samples = await interleave(
        {
          cellar: () =>
            time(async () => void (await fetcher.fetch(url, { maxCharacters: 10_000 }))),
          bare: () => time(async () => void (await read(await fetch(url)))),
        },
        { rounds: count(40, 3), warmups: count(10, 1), pause: PAUSE_MS },
      );
      return {
        ratio: median(samples.cellar) / median(samples.bare),
        rows: [
          { name: `Cellar, web_fetch of ${name}`, samples: samples.cellar },
          { name: floor, samples: samples.bare },
        ],
      };
    },
  };
}

class Site {
  static async open() {
    const site = new Site();
    site.server = createServer((request, response) => {
      const isPage = request.url === "/page";
      response.setHeader("content-type", isPage ? "text/html; charset=utf-8" : "text/plain");
      response.end(isPage ? PAGE : TEXT);
    });
    await new Promise((resolve) => site.server.listen(0, "127.0.0.1", resolve));
    site.port = site.server.address().port;
    return site;
  }

  [Symbol.dispose]() {
    this.server.closeAllConnections();
    this.server.close();
  }
}
