"""What runs declared tools inside a sandbox: which values can leave it, and how files are imported."""

import datetime
import decimal
import os
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.join(ROOT, "src", "registry", "declarations", "assets", "call.py")


class DeclaredToolsTest(unittest.TestCase):
    def setUp(self):
        self.program = {"__name__": "call"}
        with open(PROGRAM, encoding="utf-8") as file:
            exec(compile(file.read(), PROGRAM, "exec"), self.program)
        self.finders, self.modules = list(sys.meta_path), dict(sys.modules)
        self.addCleanup(self.forget)

    def forget(self):
        sys.meta_path[:] = self.finders
        for name in set(sys.modules) - set(self.modules):
            if name.startswith("cellar_tools"):
                del sys.modules[name]

    def plain(self, value):
        return self.program["Plain"]().of(value)

    def refused(self, value):
        with self.assertRaises(self.program["Refused"]) as raised:
            self.plain(value)
        return raised.exception.code

    def test_plain_values(self):
        self.assertEqual(
            self.plain({1: (1, None, True), "day": datetime.date(2020, 1, 2), "z": 1j, "set": {3, 1}}),
            {"1": [1, None, True], "day": "2020-01-02", "z": {"re": 0.0, "im": 1.0}, "set": [1, 3]},
        )

    def test_values_of_libraries(self):
        try:
            import numpy
            import pandas
        except ImportError as error:
            self.skipTest("the library {} is not installed".format(error.name))
        given = [numpy.int64(3), numpy.bool_(True), numpy.float32(0.5), numpy.array([[1, 2]])]
        found = self.plain(given)
        self.assertEqual(found, [3, True, 0.5, [[1, 2]]])
        self.assertEqual([type(one) for one in found[:3]], [int, bool, float])
        frame = pandas.DataFrame({"a": [1, 2], "when": pandas.to_datetime(["2020-01-01", "2020-01-02"])})
        expected = [{"a": 1, "when": "2020-01-01T00:00:00"}, {"a": 2, "when": "2020-01-02T00:00:00"}]
        self.assertEqual(self.plain(frame), expected)

    def test_what_cannot_leave(self):
        endless = []
        endless.append(endless)
        self.assertEqual(self.refused(endless), "TOO_LARGE")
        self.assertEqual(self.refused([0] * 200_000), "TOO_LARGE")
        self.assertEqual(self.refused("x" * 7_000_000), "TOO_LARGE")
        self.assertEqual(self.refused({"x" * 7_000_000: 1, "y": "y"}), "TOO_LARGE")
        self.assertEqual(self.refused([object()]), "BAD_RESULT")
        self.assertEqual(self.refused(decimal.Decimal(1)), "BAD_RESULT")
        self.assertEqual(self.refused(print), "BAD_RESULT")

    def test_files_import_each_other_and_hide_nothing(self):
        texts = {
            "statistics": "from .numbers import three\nimport statistics\n\ndef mean():\n    return statistics.mean([1, three])\n",
            "numbers": "three = 3\n",
        }
        self.program["load"](texts, "statistics")
        order = {"module": "statistics", "function": "mean", "arguments": {}}
        self.assertEqual(self.program["call"](order), {"isPlain": True, "value": 2})
        import statistics

        self.assertFalse(hasattr(statistics, "three"))

    def test_errors_show_the_line_of_the_file(self):
        import traceback

        self.program["load"]({"shop": "def price():\n    raise ValueError('no')\n"}, "shop")
        told = ""
        try:
            self.program["call"]({"module": "shop", "function": "price", "arguments": {}})
        except ValueError:
            told = traceback.format_exc()
        self.assertIn('File "shop.py", line 2, in price\n    raise ValueError', told)


if __name__ == "__main__":
    unittest.main()
