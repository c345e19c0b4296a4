"""Answers that were written before their author saw any output."""
import unittest

from cellar_runner.agent.literal_answer import is_literal

LITERAL = [
    'print(grep("x"))\nFINAL("there are 12")', "FINAL('it\\'s (12)')", 'FINAL("""many\nlines""")', "FINAL(42)",
    "FINAL(-4.5)", "FINAL('a' 'b' + 'c')", "FINAL(f'plain')", "FINAL({'a': [1, 2.5, None], 'b': True})",
    "SUBMIT(number=12, name='x')", 'answer["content"] = "12"; answer["ready"] = True',
    'answer = {"content": "12", "ready": True}', "if True:\n    FINAL(r'x')", "n = '17'\nFINAL_VAR('n')",
    'n = "17"  # n is it\nprint(n)\nFINAL(n)', "n = {'a': [17]}\nSUBMIT(count=n)",
    'text = """\nmany, text or not\n"""\nanswer["content"] = text; answer["ready"] = True',
    "n = 17\nanswer = {'content': n, 'ready': True}", "n = 17\nn\nprint(f'{n}')\nFINAL(n)",
    "!ls\nFINAL('x')", "n = 1\nprint(m.n, f(n=2))\nFINAL(n)",
]
COMPUTED = [
    "FINAL(n)", "FINAL(f'{n} lines')", "FINAL('n is ' + str(n))", "FINAL([n, 1])", "SUBMIT(number=n)",
    "SUBMIT(**found)", "FINAL(*found)", "FINAL_VAR('n')", 'answer["content"] = n; answer["ready"] = True',
    'answer["content"] = "12"\nif x: FINAL(y)', "print('FINAL')", "x.FINAL('a')", "n = len('17')\nFINAL(n)",
    "found = False\nif len(hits): found = True\nFINAL(found)",
    "found = 0\nfor line in lines:\n    found = 1\nFINAL(found)", "n = 0\nfor n in hits: pass\nFINAL_VAR('n')",
    "n = 0\nn += len(hits)\nFINAL(n)", "all = []\nall.append(hits)\nFINAL(all)", "all = {}\nfill(all)\nFINAL(all)",
    "all = {}\nprint(fill(all))\nFINAL(all)", "all = {}\nall['a'] = 1\nFINAL(all)",
    "if len(hits): n = 17\nFINAL(n)", "n = 1\nFINAL(m)", "n = 1\nFINAL_VAR(name_of(n))", "n = 1\nFINAL_VAR(n)",
    "n = '17'\nif x: FINAL(n)\nFINAL(y)", "n = 1\ndel n\nFINAL(n)", "n = 1\nimport n.m\nFINAL(n)",
    "n = 1\ndef n(): pass\nFINAL(n)", "n = 1\nwith a as n: pass\nFINAL(n)", "n = 1\nfrom a import b as n\nFINAL(n)",
    "n = 1\ndef f():\n    global n\nFINAL(n)", "answer['ready'] = True", "FINAL(", "FINAL()", "x = 1", "",
    "FINAL(" + "(" * 500 + "1" + ")" * 500 + ")",
]


class LiteralAnswerTest(unittest.TestCase):
    def test_written_before(self):
        for code in LITERAL:
            with self.subTest(code):
                self.assertTrue(is_literal([code]))

    def test_computed(self):
        for code in COMPUTED:
            with self.subTest(code[:80]):
                self.assertFalse(is_literal([code]))

    def test_names_of_earlier_cells_of_the_same_response(self):
        self.assertTrue(is_literal(["print(1)", "n = '17'", "FINAL(n)"]))
        self.assertFalse(is_literal(["n = '17'", "n = len(hits)", "FINAL(n)"]))
        self.assertFalse(is_literal(["print('n = 17')", "FINAL(n)"]))
        self.assertTrue(is_literal(["this is not Python", "n = '17'", "FINAL(n)"]))


if __name__ == "__main__":
    unittest.main()
