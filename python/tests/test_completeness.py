"""Whether what is being typed can be run."""
import unittest
import warnings

from cellar_runner.cells import completeness

COMPLETE = [
    "", "x = 1", "print('a:')", "x = {'a': 1}", "x: int = 3", "s = 'it\\'s'", 's = """one\ntwo"""', "f(\n  1,\n)",
    "x = 1 + \\\n  2", "# only a comment (", "s = '#('  # (", "def f():\n    return 1\n",
    "if x:\n    a\nelse:\n    b\n   ", "def f():\n    return 1\nf()", "format(3)", "ifx = 1", "with_ = 1",
    "!ls -l (", "%timeit x", "f?", "%%time\nx = (\n", "await f()", "# ends in \\", "if x:\n    !ls -l (\n",
    ">>> x = 1", "ls", "for x in y: pass\n", "'\\d'",
]
INVALID = [
    "s = 'never closed", "x = (1]", "r'\\'", "x = )", "a b", "if x:\n\n", "try:\n    a\n\n", "@cached\n",
    "def f():\nreturn", "x = 1 + \\\n\n", "\0",
]
# With what their next line begins.
INCOMPLETE = [
    ("def f():", "    "), ("def f():\n    return 1", ""), ("if x: y = 1", ""), ("for x in y:  # why", "    "),
    ("@cached", ""), ("@cached\ndef f(): pass", ""), ("async def f():", "    "), ("class A: pass", ""),
    ("try:\n    a\nexcept E:", "    "), ("x = (1,", ""), ("x = [\n\n  1,", "  "), ("x = {'a': [1, (2", ""),
    ('s = """one', ""), ("s = '''it's\n\n", ""), ("x = 1 + \\", ""), ("x = 1 + \\\n", ""),
    ("s = 'continued \\", ""), ("x = 1\nif x:", "    "), ("while True: pass", ""), ("%%time\nx = 1", ""),
    ("!ls \\", ""), ("if a:\n    if b:", "        "), ("if a:\n    b = 1", "    "), ("for x in y:\n    !ls", "    "),
    ("for x in y:\n    !ls -l (\n    f(", "    "), ("if a:\n    s = ':'", "    "), ("x = [\n\n", ""),
    ("async with a:\n    await b", "    "),
]


class CompletenessTest(unittest.TestCase):
    def check(self, text):
        return completeness.check(text, 0, lambda name: name == "ls")

    def test_complete(self):
        for text in COMPLETE:
            with self.subTest(text):
                self.assertEqual(self.check(text), {"status": "complete"})

    def test_invalid(self):
        for text in INVALID:
            with self.subTest(text):
                self.assertEqual(self.check(text), {"status": "invalid"})

    def test_incomplete(self):
        for text, indent in INCOMPLETE:
            with self.subTest(text):
                self.assertEqual(self.check(text), {"status": "incomplete", "indent": indent})

    def test_after_a_blank_line_only_what_is_open_waits(self):
        waiting = [text for text, _ in INCOMPLETE if self.check(text + "\n")["status"] == "incomplete"]
        opened = ["x = (1,", "x = [\n\n  1,", "x = {'a': [1, (2", 's = """one', "s = '''it's\n\n", "x = 1 + \\"]
        self.assertEqual([text for text in waiting if text in opened], opened)
        for text in set(waiting) - set(opened):
            self.assertRegex(text, r"\\$|\($|\[\n\n$", text)

    def test_nothing_is_told_of_doubtful_texts(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.check("'\\d'")
            self.check("f('\\d'")
        self.assertEqual(caught, [])

    def test_a_long_text_and_a_deep_one(self):
        self.assertEqual(self.check("x = [\n" + "  1,\n" * 100_000 + "]"), {"status": "complete"})
        self.assertEqual(self.check("(" * 5000 + ")" * 5000), {"status": "invalid"})


if __name__ == "__main__":
    unittest.main()
