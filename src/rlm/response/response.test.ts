import { describe, expect, it } from "vitest";
import { readResponse } from "./response.js";

describe("a response", () => {
  it("with code does not finish, for nobody has seen what the code gives", () => {
    const response = "```repl\nprint(len(context))\n```\nREPL output: 12\nFINAL(12)";
    expect(readResponse(response)).toMatchObject({
      kind: "code",
      blocks: [{ code: "print(len(context))", language: "repl", line: 1, isClosed: true }],
      early: { via: "FINAL", text: "12" },
    });
  });

  it("leaves FINAL within code to Python", () => {
    const response = "```repl\nFINAL(answer)\n```";
    expect(readResponse(response)).toMatchObject({
      kind: "code",
      blocks: [{ code: "FINAL(answer)" }],
      early: undefined,
    });
  });

  it("without code finishes by its words", () => {
    expect(readResponse("It is clear.\nFINAL_VAR(result)")).toEqual({
      kind: "finish",
      finish: { via: "FINAL_VAR", name: "result" },
    });
  });

  it("finishes beside fences that are no code", () => {
    expect(readResponse("```json\n{}\n```\nFINAL(12)")).toMatchObject({ kind: "finish" });
    expect(readResponse("```repl\n```\nFINAL(12)")).toMatchObject({ kind: "finish" });
  });

  it("says what was not run", () => {
    const response = "```bash\nls\n```\n```json\n{}\n```\n```bash\nls\n```";
    expect(readResponse(response)).toEqual({ kind: "prose", ignored: ["bash", "json"] });
  });

  it("is prose otherwise", () => {
    expect(readResponse("Let me think.")).toEqual({ kind: "prose", ignored: [] });
  });
});

describe("thoughts before a response", () => {
  it("ask for nothing", () => {
    const response = "<think>\n```repl\nwrong()\n```\nFINAL(1)\n</think>\n```repl\nright()\n```";
    expect(readResponse(response)).toMatchObject({
      kind: "code",
      blocks: [{ code: "right()", language: "repl", line: 7, isClosed: true }],
      early: undefined,
    });
  });

  it("that were cut off ask for nothing either", () => {
    expect(readResponse("<think>\nFINAL(1)")).toEqual({ kind: "prose", ignored: [] });
  });

  it("are only those at its beginning", () => {
    expect(readResponse('FINAL(the tag "<think>" is old)')).toMatchObject({ kind: "finish" });
  });
});
