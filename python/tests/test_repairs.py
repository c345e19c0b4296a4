"""Pasted text is repaired only where it is not Python."""
import unittest

from cell_case import CellCase

from cellar_runner.cells import repairs


class RepairTest(CellCase):
    def test_indented_code(self):
        self.assertEqual(self.value("    a = 1\n    if a:\n        a += 1\n    a"), "2")
        self.assertEqual(self.value("# note\n    b = 3\n    b"), "3")

    def test_fences(self):
        for code in ("```python\n7\n```", "```\n7\n```", "\n~~~py\n7\n~~~\n", "```python\n7"):
            with self.subTest(code=code):
                self.assertEqual(self.value(code), "7")

    def test_prompts(self):
        loop = ">>> for i in range(3):\n...     x += i\n"
        self.assertEqual(self.value(">>> x = 2\n" + loop + ">>> x"), "5")
        self.assertEqual(self.value(">>> 1 + 1\n2\n>>> 'b'\n'b'"), "'b'")
        self.assertEqual(self.value("In [3]: y = 4"), None)
        self.assertEqual(self.value("In [3]: y = 4\nIn [4]: y + 1\nOut[4]: 5"), "5")

    def test_valid_code_keeps_its_prompts(self):
        self.assertEqual(self.value("'''\n>>> 1\n'''"), repr("\n>>> 1\n"))

    def test_typography_outside_strings(self):
        self.assertEqual(self.value("“it's” + ‘x’"), '"it\'sx"')
        self.assertEqual(self.value("5 – 2"), "3")
        self.assertEqual(self.value("x\u00a0=\u00a01\nx"), "1")
        self.assertEqual(self.value("y = '“–’' ; 3 − 1"), "2")
        self.assertEqual(self.value("y"), "'“–’'")

    def test_valid_text_is_not_touched(self):
        self.assertEqual(self.value("'“quoted” – text'"), "'“quoted” – text'")

    def test_an_error_that_no_repair_mends_is_the_original_one(self):
        error = self.error("    x = “a\n    y = = 2", "IndentationError")
        self.assertIn("unexpected indent", error["message"])

    def test_huge_text_is_not_searched_for_repairs(self):
        text = " x" * repairs.REPAIR_LIMIT
        self.assertEqual(repairs.candidates(text), [text])


if __name__ == "__main__":
    unittest.main()
