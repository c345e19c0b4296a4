import { describe, expect, it } from "vitest";
import { Secrets } from "../source/plain-value.js";
import { type CallResult, outputOf, resultSchema } from "./result.js";

const NONE = new Secrets([]);
const text = (value: string) => ({ type: "text", text: value });

function output(result: unknown, secrets = NONE) {
  return outputOf(resultSchema.parse(result) as CallResult, secrets);
}

describe("the result of an MCP tool", () => {
  it.each([
    [[text("one"), text("two")], "one\ntwo"],
    [[text(' {"a": [1, null]} ')], { a: [1, null] }],
    [
      [text("[1,"), text("2]")],
      [1, 2],
    ],
    [[text("{not json}")], "{not json}"],
    [[text("12")], "12"],
    [[], null],
  ])("of %j is %j", (content, value) => {
    expect(output({ content })).toEqual({ value });
  });

  it("is the structured content, if there is some", () => {
    const result = { content: [text("in words")], structuredContent: { rows: [1, 2] } };
    expect(output(result)).toEqual({ value: { rows: [1, 2] } });
  });

  it("shows images, sounds and pages beside the value", () => {
    const content = [
      { type: "image", data: "aGk=", mimeType: "image/png" },
      { type: "audio", data: "aGk=", mimeType: "audio/wav" },
      { type: "image", data: "PHN2Zy8+", mimeType: "image/svg+xml" },
      { type: "resource", resource: { uri: "ui://page", mimeType: "text/html", text: "<p>" } },
      { type: "resource", resource: { uri: "a://b", mimeType: "image/gif", blob: "aGk=" } },
      { type: "resource", resource: { uri: "a://c", mimeType: "application/pdf", blob: "aGk=" } },
      { type: "resource_link", uri: "a://d", name: "d", size: 5 },
    ];
    expect(output({ content })).toEqual({
      value: [
        { uri: "ui://page", mimeType: "text/html", text: "<p>" },
        { uri: "a://b", mimeType: "image/gif" },
        { uri: "a://c", mimeType: "application/pdf", blob: "aGk=" },
        { uri: "a://d", name: "d" },
      ],
      displays: [
        { mime: "image/png", data: "aGk=" },
        { mime: "audio/wav", data: "aGk=" },
        { mime: "image/svg+xml", data: "<svg/>" },
        { mime: "text/html", data: "<p>" },
        { mime: "image/gif", data: "aGk=" },
      ],
    });
  });

  it.each([
    { content: "text" },
    { content: [{ type: "text" }] },
    { content: [{ type: "hologram" }] },
    { content: [{ type: "image", data: "<script>", mimeType: "image/png" }] },
    { content: [{ type: "image", data: "aGk=", mimeType: "text/html" }] },
    { isError: "yes" },
  ])("cannot be %j", (result) => {
    expect(resultSchema.safeParse(result).success).toBe(false);
  });

  it("has a limit on what is shown", () => {
    const content = Array.from({ length: 65 }, () => ({
      type: "image",
      data: "aGk=",
      mimeType: "image/png",
    }));
    expect(() => output({ content })).toThrow(expect.objectContaining({ code: "BAD_RESULT" }));
  });

  it("that is an error has the tool's text, in bounds", () => {
    const failed = (content: unknown[]) => () => output({ isError: true, content });
    expect(failed([text("no such issue")])).toThrow("no such issue");
    expect(failed([])).toThrow(/without a text/);
    expect(failed([text("x".repeat(10_000))])).toThrow(
      expect.objectContaining({ code: "FAILED", message: "x".repeat(4_000) }),
    );
  });

  it("hides secrets in values, names and errors", () => {
    const secrets = new Secrets(["s3cr3t/key"]);
    const content = [text(JSON.stringify({ "s3cr3t/key": ["a s3cr3t/key b", "s3cr3t%2Fkey"] }))];
    expect(output({ content }, secrets).value).toEqual({
      "[hidden]": ["a [hidden] b", "[hidden]"],
    });
    expect(() => output({ content: [text("bad s3cr3t/key")], isError: true }, secrets)).toThrow(
      "bad [hidden]",
    );
  });

  it("may have any names of members", () => {
    const { value } = output({ content: [text('{"__proto__": {"polluted": 1}}')] });
    expect(JSON.stringify(value)).toBe('{"__proto__":{"polluted":1}}');
    expect({}).not.toHaveProperty("polluted");
  });
});
