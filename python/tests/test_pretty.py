"""The text of values as IPython writes it, and its bounds."""
import collections
import os
import subprocess
import sys
import types
import unittest
from importlib.machinery import PathFinder

from cellar_runner.values import pretty

ALIKE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ipython_alike.py")


class Lines:
    def __init__(self, count):
        self.count = count

    def __repr__(self):
        return "\n".join("line {}".format(number) * self.count for number in range(self.count))


class Plain:
    pass


def _cyclic():
    cyclic = [1, {}]
    cyclic[1]["self"] = cyclic
    return cyclic


class AlikeTest(unittest.TestCase):
    def test_values_read_as_in_ipython(self):
        # Interpreters put a module of that name into this process.
        if PathFinder.find_spec("IPython") is None:
            self.skipTest("needs IPython, to compare with")
        run = subprocess.run([sys.executable, ALIKE], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(run.returncode, 0, run.stdout.decode("utf-8", "replace")[-4000:])


class TextTest(unittest.TestCase):
    def test_as_stored(self):
        squares = "{0,\n 1,\n 4,\n 9,\n 16,\n 25,\n 36,\n 49,\n 64,\n 81,\n 100,\n 121,\n 144,\n 169,\n 196,\n 225,\n 256,\n 289,\n 324,\n 361,\n 400}"
        expected = {
            "int": int,
            "[int, str]": [int, str],
            "{1, 2, 10}": {10, 1, 2},
            "<function len(obj, /)>": len,
            "Counter({'a': 2, 'b': 1})": collections.Counter("aab"),
            "[1, {'self': [...]}]": _cyclic(),
            squares: {number**2 for number in range(21)},
            "{'key': [line 0line 0\n  line 1line 1]}": {"key": [Lines(2)]},
        }
        for text, value in expected.items():
            self.assertEqual(pretty.text_of(value), text)

    def test_what_was_asked_for(self):
        from decimal import Decimal

        asked = types.SimpleNamespace(
            type_printers={Plain: lambda value, p, cycle: p.text("plain")},
            deferred_printers={("decimal", "Decimal"): lambda value, p, cycle: p.text("decimal")},
            singleton_printers={},
        )
        values = [Plain(), Decimal(1), 2, "x", 1.5]
        self.assertEqual(pretty.text_of(values, asked=asked), "[plain, decimal, 2, 'x', 1.5]")
        asked.type_printers[int] = lambda value, p, cycle: p.text("int")
        self.assertEqual(pretty.text_of(values, asked=asked), "[plain, decimal, int, 'x', 1.5]")
        asked.singleton_printers[id(None)] = lambda value, p, cycle: p.text("nothing")
        self.assertEqual(pretty.text_of((None, 1), asked=asked), "(nothing, int)")

    def test_precision(self):
        self.addCleanup(pretty.set_precision, "")
        self.assertEqual(pretty.set_precision("3"), "%.3f")
        self.assertEqual(pretty.text_of([3.14159, {1: 2.0}]), "[3.142, {1: 2.000}]")
        self.assertEqual(pretty.text_of(2.5), "2.500")
        self.assertEqual(pretty.set_precision("%.1e"), "%.1e")
        self.assertEqual(pretty.text_of((2.5, 1)), "(2.5e+00, 1)")
        for wrong in ("abc", "-1", "%d %d"):
            self.assertRaises(ValueError, pretty.set_precision, wrong)
        self.assertEqual(pretty.set_precision(""), "%r")
        self.assertEqual(pretty.text_of(2.5), "2.5")


class BoundsTest(unittest.TestCase):
    def test_long_containers(self):
        text = pretty.text_of(list(range(10**6)))
        self.assertEqual(text.split("\n")[-2:], [" 999,", " ...]"])
        for value in (dict.fromkeys(range(10**5)), set(range(10**5)), collections.deque(range(10**5))):
            self.assertLess(len(pretty.text_of(value)), 60_000)

    def test_wide_and_deep_containers(self):
        row = list(range(900))
        wide = [row] * 900
        text = pretty.text_of([wide] * 900)
        self.assertLess(len(text), 51_000)
        self.assertIn("left out", text)
        bomb = []
        for _ in range(30):
            bomb = [bomb] * 30
        self.assertLess(len(pretty.text_of(bomb)), 51_000)

    def test_long_texts_inside(self):
        text = pretty.text_of(["x" * 10**7, b"y" * 10**6, Plain])
        self.assertLess(len(text), 51_000)
        self.assertLess(len(pretty.text_of("x" * 10**7)), 51_000)

    def test_a_method_that_writes_without_end(self):
        class Endless:
            def _repr_pretty_(self, p, cycle):
                while True:
                    try:
                        p.text("more ")
                    except Exception:
                        pass

        self.assertLess(len(pretty.text_of(Endless())), 51_000)

    def test_huge_ints(self):
        self.assertEqual(pretty.text_of([1 << 2_000_000]), "[<int of 2,000,001 bits>]")


if __name__ == "__main__":
    unittest.main()
