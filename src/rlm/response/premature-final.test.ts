import { describe, expect, it } from "vitest";
import { isForegone } from "./premature-final.js";

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
    "n = '17'\nFINAL_VAR('n')",
    'n = "17"  # n is it\nprint(n)\nFINAL(n)',
    "n = {'a': [17]}\nSUBMIT(count=n)",
    'text = """\nmany, text or not\n"""\nanswer["content"] = text; answer["ready"] = True',
    "n = 17\nanswer = {'content': n, 'ready': True}",
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
    "n = len('17')\nFINAL(n)",
    "found = False\nif len(hits): found = True\nFINAL(found)",
    "found = 0\nfor line in lines:\n    found = 1\nFINAL(found)",
    "n = 0\nfor n in hits: pass\nFINAL_VAR('n')",
    "n = 0\nn += len(hits)\nFINAL(n)",
    "all = []\nall.append(hits)\nFINAL(all)",
    "all = {}\nfill(all)\nFINAL(all)",
    "if len(hits): n = 17\nFINAL(n)",
    "n = 1\nFINAL(m)",
    "n = 1\nFINAL_VAR(name_of(n))",
    "n = '17'\nif x: FINAL(n)\nFINAL(y)",
    "FINAL(",
    "FINAL()",
    "x = 1",
    "",
  ])("not %j", (code) => expect(isForegone(code)).toBe(false));

  it("also in a block before it of the same response", () => {
    expect(isForegone("FINAL(n)", ["print(1)", "n = '17'"])).toBe(true);
    expect(isForegone("FINAL(n)", ["n = '17'", "n = len(hits)"])).toBe(false);
    expect(isForegone("FINAL(n)", ["print('n = 17')"])).toBe(false);
  });
});
