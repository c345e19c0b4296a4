import { describe, expect, it } from "vitest";
import { answered, DOT, image, text } from "../../../test/support/notebook/tool-adapters.js";
import type { ToolPart } from "../tool.js";
import { shownContent } from "./shown-content.js";

const link = (uri: string): ToolPart => ({
  type: "resource",
  uri,
  name: "table.csv",
  mime: "text/csv",
  size: 12_345,
});

describe("the content that a model is shown", () => {
  it("names resources once, and images apart", () => {
    const told = link("notebook://session/a/cell/x/output/0");
    const parts = [text(`all of it: ${told.type === "resource" && told.uri}`), told, image()];
    const shown = shownContent(answered([...parts, link("notebook://session/a/files/table.csv")]));
    expect(shown.images).toEqual([{ mime: "image/png", data: DOT }]);
    expect(shown.text.split("\n")).toEqual([
      "all of it: notebook://session/a/cell/x/output/0",
      "[table.csv · text/csv · 12,345 bytes · notebook://session/a/files/table.csv]",
    ]);
  });

  it("tells of images that cannot be sent, and sends the others", () => {
    const large = "A".repeat(6_000_000);
    const parts = [image("AAAA", "image/bmp"), image(large), image(large), image()];
    const shown = shownContent(answered([text("four"), ...parts]));
    expect(shown.images.map(({ data }) => data.length)).toEqual([large.length, DOT.length]);
    expect(shown.text.match(/an image is left out here: image\/(bmp|png)/g)).toHaveLength(2);
    const none = shownContent(answered([text("one"), image()]), { images: false });
    expect(none).toEqual({
      text: "one\n[an image is left out here: image/png; show_cell or read_file shows it]",
      images: [],
    });
  });
});
