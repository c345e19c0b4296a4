import { describe, expect, it } from "vitest";
import { isForegone } from "./foregone.js";

describe("an answer that was written before its cell ran", () => {
  it.each([
    'print(grep("x"))\nFINAL("there are 12")',
    "FINAL('it\\'s (12)')",
    'FINAL("""many\nlines""")',
    "FINAL(42)",
    "FINAL({'a': [1, 2.5, None], 'b': True})",
    "SUBMIT(number=12, name='x')",
    'answer["content"] = "12"; answer["ready"] = True',
    'answer = {"content": "12", "ready": True}',
    "if True:\n    FINAL(r'x')",
  ])("%j", (code) => expect(isForegone(code)).toBe(true));

  it.each([
    "FINAL(n)",
    "FINAL(f'{n} lines')",
    "FINAL('n is ' + str(n))",
    "FINAL([n, 1])",
    "SUBMIT(number=n)",
    "FINAL_VAR('n')",
    'answer["content"] = n; answer["ready"] = True',
    'answer["content"] = "12"\nif x: FINAL(y)',
    "print('FINAL')",
    "x.FINAL('a')",
    "FINAL(",
    "FINAL()",
    "x = 1",
    "",
  ])("not %j", (code) => expect(isForegone(code)).toBe(false));
});
