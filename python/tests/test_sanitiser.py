"""Plain characters take the place of typographic ones in code, and nowhere else."""
import ast
import glob
import os
import random
import sys
import unicodedata
import unittest

from cell_case import CellCase

from cellar_runner.cells import typography
from cellar_runner.policy.admission import LISTED, Admission, sanitise

PYTHON = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ALL = "".join((*typography.ALL, *typography.POWERS, *typography.QUOTES))


def cleaned(source):
    return sanitise(source)[0]


def scanned(source):
    """What the scan does to a source even if it is valid as it stands."""
    return typography.Cleaning(source).run()


class CharacterTest(unittest.TestCase):
    def test_no_character_is_there_twice(self):
        self.assertEqual(len(ALL), len(set(ALL)))

    def test_each_character_of_the_table(self):
        for character, plain in typography.ALL.items():
            name = unicodedata.name(character)
            with self.subTest(name=name):
                source = "x = (a {} b)\ny = 1 {} 2".format(character, character)
                text, replaced = sanitise(source)
                self.assertEqual(text, source.replace(character, plain))
                places = [(one["character"], one["name"], one["with"]) for one in replaced]
                self.assertEqual(places, [(character, name, plain)] * 2)

    def test_each_character_in_strings_and_comments(self):
        for character in ALL:
            for literal in ("'{}'", '"a{}b"', "b'''{}'''", 'r"""\n{}\n"""', "f'{}'", "# {}"):
                source = "x = = " + literal.format(character) + "\n"
                with self.subTest(source=source):
                    self.assertEqual(sanitise(source), (source, []))

    def test_powers(self):
        cases = {"y = x² ²": "y = x**2 **2", "y = 10⁻³": "y = 10**-3", "y = x¹²": "y = x**12"}
        for source, text in cases.items():
            self.assertEqual(cleaned(source), text)

    def test_the_usual_cells(self):
        cases = {
            "theta = 47°": "theta = 47",
            "cos(47°) × 2": "cos(47) * 2",
            "x = 5 × 3 ÷ 2 − 1 – 2 — 3": "x = 5 * 3 / 2 - 1 - 2 - 3",
            "if a ≤ b and c ≠ d：pass": "if a <= b and c != d:pass",
            "def f(x) → int: …": "def f(x) -> int: ...",
            "\ufeffx\u00a0=\u20091\u200b": "x = 1",
            "print(“hi”)": 'print("hi")',
            "print(‘hi’)": "print('hi')",
            "print(„hi“)": 'print("hi")',
            "print(r“a\\b” + f“{x}”)": 'print(r"a\\b" + f"{x}")',
        }
        for source, text in cases.items():
            with self.subTest(source=source):
                self.assertEqual(cleaned(source), text)

    def test_places_are_those_of_the_source_given(self):
        _text, replaced = sanitise("s = '×'  # ×\n\nx = 1 × y²³")
        places = [(one["line"], one["column"], one["with"]) for one in replaced]
        self.assertEqual(places, [(3, 7, "*"), (3, 10, "2"), (3, 11, "3")])


class TrapTest(unittest.TestCase):
    def test_what_stands_between_curly_quotes_stays(self):
        cases = {
            "print(“5 × 3”)": 'print("5 × 3")',
            "print(‘it’s fine’)": "print('it’s fine')",
            "print(“it's 5°”)": 'print("it\'s 5°")',
            "print(“say \"no\" now”)": 'print("say \\"no\\" now")',
            "“““two ×\nlines”””\nx = 2 × 3": '"""two ×\nlines"""\nx = 2 * 3',
        }
        for source, text in cases.items():
            with self.subTest(source=source):
                self.assertEqual(cleaned(source), text)
                ast.parse(text)

    def test_quotes_of_two_kinds(self):
        self.assertEqual(cleaned('print("hi”) × 2'), 'print("hi") * 2')
        self.assertEqual(cleaned("print('hi’) × 2"), "print('hi') * 2")
        self.assertEqual(cleaned("s = 'it’s' × 2"), "s = 'it’s' * 2")
        self.assertEqual(cleaned('s = "it’s" × 2'), 's = "it’s" * 2')

    def test_numbers_never_grow_together(self):
        self.assertEqual(cleaned("x = 47°30"), "x = 47 30")

    def test_strings_of_every_form(self):
        for literal in (
            "'\\'×'",
            '"\\\\" "×"',
            "'a\\\n×'",
            "'''it's ×'''",
            '"""a "quoted" ×"""',
            "rb'\\×'",
            "u'×' '×'",
            "f'{x} × {y!r:×>10}'",
            "f'{{×}}'",
            'f"""{x}\n×"""',
            "f'{d[\"×\"]}'",
        ):
            source = "y = {} × 2".format(literal)
            with self.subTest(source=source):
                self.assertEqual(cleaned(source), "y = {} * 2".format(literal))

    def test_quotes_inside_fields(self):
        if sys.version_info < (3, 12):
            self.skipTest("fields may hold the quotes around them from Python 3.12 on")
        source = 'y = f"{d["×"]} × {f"{"×"}"}" × 2'
        self.assertEqual(cleaned(source), source[:-3] + "* 2")

    def test_a_string_left_open_is_left_alone(self):
        self.assertEqual(cleaned("x = '''a × b"), "x = '''a × b")
        self.assertEqual(cleaned("x = “a × b\ny = 1 × 2"), 'x = "a × b\ny = 1 * 2')

    def test_other_alphabets_and_valid_code(self):
        for source in ("é = 变量 + π", "a·b = 1", "x = '×'", "Ωmega = 2"):
            self.assertEqual(sanitise(source), (source, []))

    def test_lines_for_the_shell(self):
        self.assertEqual(cleaned("!echo “a”\nx = 2 × 3"), "!echo “a”\nx = 2 * 3")
        self.assertEqual(cleaned("%%bash\necho “a”"), "%%bash\necho “a”")
        self.assertEqual(cleaned("%%time\nx = 2 × 3"), "%%time\nx = 2 * 3")

    def test_nothing_is_done_without_need(self):
        source = "x = = 1"
        self.assertIs(cleaned(source), source)
        source = "y = '×'"
        self.assertIs(cleaned(source), source)


class PropertyTest(unittest.TestCase):
    def test_valid_code_means_the_same_after_the_scan(self):
        files = glob.glob(os.path.join(PYTHON, "*", "*.py"))
        self.assertTrue(files)
        for path in files:
            with open(path, encoding="utf-8") as file:
                source = file.read()
            with self.subTest(file=os.path.basename(path)):
                self.assertEqual(sanitise(source), (source, []))
                self.assertEqual(scanned(source), source)

    def test_made_up_code(self):
        chance = random.Random(7)
        quotes = ["'", '"', "'''", '"""']
        for _ in range(2000):
            parts = []
            for _ in range(chance.randrange(1, 5)):
                quote = chance.choice(quotes)
                inside = "".join(chance.choice(ALL + "ab {}\\#") for _ in range(chance.randrange(6)))
                inside = inside.replace("\\", "\\\\")
                prefix = chance.choice(["", "r", "f", "u", "fr"])
                if "f" in prefix:
                    inside = inside.replace("{", "").replace("}", "") + "{x}"
                comment = "  # " + chance.choice(ALL) + "'"
                parts.append("x = " + prefix + quote + inside + quote + comment)
            source = "\n".join(parts)
            with self.subTest(source=source):
                ast.parse(source)
                self.assertEqual(sanitise(source), (source, []))
                self.assertEqual(scanned(source), source)
                self.assertEqual(cleaned(source + "\ny = 1 × 2"), source + "\ny = 1 * 2")

    def test_twice_is_once(self):
        chance = random.Random(8)
        for _ in range(3000):
            source = "".join(chance.choice(ALL + "ab12 +=()\n'\"#f{}") for _ in range(20))
            once = cleaned(source)
            with self.subTest(source=source):
                self.assertEqual(cleaned(once), once)

    def test_long_sources(self):
        for piece in ("x = 1 × 2\n", "“", "‘a", "f'{", "'''", "²", "“a” ", "\\"):
            source = piece * (400_000 // len(piece)) + "×"
            with self.subTest(piece=piece):
                text, replaced = sanitise(source)
                self.assertEqual(len(replaced), sum(map(source.count, ALL)) - sum(map(text.count, ALL)))


class CellTest(CellCase):
    def setUp(self):
        super().setUp()
        self.interpreter.admission = Admission("ast")

    def test_the_outcome_tells_what_was_replaced(self):
        outcome = self.run_cell("x = 5 × 3\nx")
        self.assertEqual(outcome["result"]["text/plain"], "15")
        replaced = {"character": "×", "name": "MULTIPLICATION SIGN", "line": 1, "column": 7, "with": "*"}
        self.assertEqual(outcome["replaced"], {"total": 1, "characters": [replaced]})
        self.assertNotIn("replaced", self.run_cell("x = '×'"))

    def test_also_when_the_cell_fails(self):
        outcome = self.run_cell("1 ÷ 0")
        self.assertEqual(outcome["error"]["type"], "ZeroDivisionError")
        self.assertEqual(outcome["replaced"]["characters"][0]["with"], "/")

    def test_the_list_is_bounded(self):
        outcome = self.run_cell("x = 1" + " × 1" * 200)
        self.assertEqual(len(outcome["replaced"]["characters"]), LISTED)
        self.assertEqual(outcome["replaced"]["total"], 200)

    def test_the_policy_sees_what_runs(self):
        self.error("eval(“1”)", "PolicyViolation")


if __name__ == "__main__":
    unittest.main()
