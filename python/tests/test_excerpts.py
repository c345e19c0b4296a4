"""Tables as data: the first rows of a frame, bounded, cheap, and safe from what frames hold."""
import json
import unittest

from cell_case import CellCase

from cellar_runner.output import displays
from cellar_runner.values import excerpts

try:
    import pandas
except ImportError:
    pandas = None
try:
    import polars
except ImportError:
    polars = None


class TableCase(CellCase):
    def table(self, code):
        """The table of the last expression of a cell."""
        outcome = self.run_cell(code)
        self.assertEqual(outcome["status"], "ok", outcome["error"])
        text = outcome["result"].get(excerpts.TABLE_TYPE)
        return None if text is None else json.loads(text)


@unittest.skipIf(pandas is None, "pandas is not installed")
class PandasTest(TableCase):
    def test_a_frame(self):
        table = self.table(
            "import pandas as pd\n"
            "pd.DataFrame({'a': [1, 2], 'b': ['x', None], 'c': [0.5, float('nan')],\n"
            "              'd': pd.to_datetime(['2020-01-02', None])}, index=['p', 'q'])"
        )
        self.assertEqual(table["columns"], ["a", "b", "c", "d"])
        self.assertEqual(table["dtypes"][0], "int64")
        self.assertEqual(table["dtypes"][3][:10], "datetime64")
        self.assertEqual(table["shape"], [2, 4])
        self.assertEqual(
            table["rows"], [[1, "x", 0.5, "2020-01-02T00:00:00"], [2, None, None, None]]
        )
        self.assertEqual(table["index"], ["p", "q"])
        self.assertFalse(table["truncated"])
        self.assertNotIn("index_names", table)

    def test_text_and_html_stay_beside_it(self):
        result = self.run_cell("import pandas as pd\npd.DataFrame({'a': [1]})")["result"]
        self.assertEqual(sorted(result), [excerpts.TABLE_TYPE, "text/html", "text/plain"])
        self.value("display(pd.DataFrame({'a': [1]}))")
        self.assertIn(excerpts.TABLE_TYPE, self.shown[0])

    def test_a_series_is_one_column(self):
        table = self.table("import pandas as pd\npd.Series([1.5, 2.5], name='s')")
        self.assertEqual(table["columns"], ["s"])
        self.assertEqual(table["rows"], [[1.5], [2.5]])
        self.assertEqual(table["shape"], [2, 1])
        self.assertEqual(table["index"], [0, 1])

    def test_groups_keep_the_names_of_their_index(self):
        table = self.table(
            "import pandas as pd\n"
            "f = pd.DataFrame({'k': ['a', 'b'], 'l': [1, 2], 'v': [1, 2]})\n"
            "f.groupby(['k', 'l']).agg(['sum'])"
        )
        self.assertEqual(table["index"], [["a", 1], ["b", 2]])
        self.assertEqual(table["index_names"], ["k", "l"])
        self.assertEqual(table["columns"], [["v", "sum"]])

    def test_large_frames_are_cut(self):
        long = self.table("import pandas as pd\npd.DataFrame({'a': range(100_000)})")
        self.assertEqual(len(long["rows"]), excerpts.ROW_LIMIT)
        self.assertEqual(len(long["index"]), excerpts.ROW_LIMIT)
        self.assertEqual(long["shape"], [100_000, 1])
        self.assertTrue(long["truncated"])
        wide = self.table("pd.DataFrame({i: [1] for i in range(1000)})")
        self.assertEqual(len(wide["columns"]), excerpts.COLUMN_LIMIT)
        self.assertEqual(len(wide["dtypes"]), excerpts.COLUMN_LIMIT)
        self.assertEqual(len(wide["rows"][0]), excerpts.COLUMN_LIMIT)
        self.assertTrue(wide["truncated"])
        fat = self.table("pd.DataFrame({i: ['\\u1234' * 9999] * 50 for i in range(200)})")
        self.assertLess(len(json.dumps(fat)), excerpts.CHARACTER_LIMIT + 10_000)
        self.assertTrue(fat["truncated"])
        self.assertEqual(len(fat["rows"]), len(fat["index"]))

    def test_odd_cells_are_plain(self):
        table = self.table(
            "import pandas as pd, numpy as np, decimal, datetime\n"
            "class Bad:\n    def __repr__(self): raise ValueError('no')\n"
            "    __str__ = object.__repr__\n"
            "cells = [Bad(), 2**70, float('inf'), {'k': 1}, [1, [2]], '\\ud800', b'x',\n"
            "         np.int8(3), np.float32('nan'), decimal.Decimal('1.10'), pd.NA, True,\n"
            "         pd.Timedelta('1D'), list(range(1000)), range(3), datetime.time(1, 2)]\n"
            "pd.DataFrame({'o': pd.Series(cells, dtype=object)})"
        )
        cells = [row[0] for row in table["rows"]]
        self.assertIn("its __repr__ raised", cells[0])
        self.assertEqual(cells[1:4], [str(2**70), "inf", "{'k': 1}"])
        self.assertEqual(cells[4:9], [[1, "[2]"], "\\ud800", "b'x'", 3, None])
        self.assertEqual(cells[9:13], ["1.10", None, True, "1 days 00:00:00"])
        self.assertLess(len(cells[13]), excerpts.CELL_LIMIT + 100)
        self.assertEqual(cells[14:], ["range(0, 3)", "01:02:00"])

    def test_empty_frames(self):
        table = self.table("import pandas as pd\npd.DataFrame()")
        self.assertEqual((table["shape"], table["rows"]), ([0, 0], []))
        self.assertFalse(table["truncated"])

    def test_a_frame_that_fails_has_no_table(self):
        result = self.run_cell(
            "import pandas as pd\n"
            "class Frame(pd.DataFrame):\n"
            "    iloc = property(lambda self: 1 / 0)\n"
            "    def __repr__(self): return 'f'\n"
            "    def _repr_html_(self): return None\n"
            "Frame()"
        )["result"]
        self.assertEqual(result, {"text/plain": "f"})

    def test_other_values_have_no_table(self):
        for code in ("import numpy as np\nnp.ones((2, 2))", "object()", "[[1]]"):
            self.assertIsNone(self.table(code))


@unittest.skipIf(polars is None, "polars is not installed")
class PolarsTest(TableCase):
    def test_a_frame(self):
        table = self.table(
            "import polars as pl\n"
            "pl.DataFrame({'a': [1, None], 'b': [[1, 2], []], 'c': ['x', 'y']})"
        )
        self.assertEqual(table["columns"], ["a", "b", "c"])
        self.assertEqual(table["dtypes"], ["Int64", "List(Int64)", "String"])
        self.assertEqual(table["rows"], [[1, [1, 2], "x"], [None, [], "y"]])
        self.assertEqual(table["shape"], [2, 3])
        self.assertNotIn("index", table)

    def test_a_series_and_a_long_frame(self):
        series = self.table("import polars as pl\npl.Series('s', [1, 2])")
        self.assertEqual((series["columns"], series["rows"]), (["s"], [[1], [2]]))
        long = self.table("pl.DataFrame({'a': range(10_000)})")
        self.assertEqual(len(long["rows"]), excerpts.ROW_LIMIT)
        self.assertTrue(long["truncated"])


class MetadataTest(CellCase):
    def setUp(self):
        super().setUp()
        self.described = []
        self.interpreter.displays._send = self._describe

    def _describe(self, data, metadata, _about=None):
        self.described.append((data, metadata))

    def test_metadata_of_an_object_is_sent(self):
        self.value(
            "class P:\n"
            "    def _repr_png_(self): return b'png', {'width': 5}\n"
            "    def __repr__(self): return 'p'\n"
            "class M:\n"
            "    def _repr_mimebundle_(self, **k):\n"
            "        return {'text/html': '<b>', 'text/plain': 'm'}, {'text/html': {'isolated': True}}\n"
            "display(P(), metadata={'mine': 1})\n"
            "display(M())\n"
            "P()"
        )
        self.assertEqual(
            [meta for _, meta in self.described],
            [
                {"image/png": {"width": 5}, "mine": 1},
                {"text/html": {"isolated": True}},
                {"image/png": {"width": 5}},
            ],
        )

    def test_metadata_is_bounded(self):
        self.value(
            "class M:\n"
            "    def _repr_mimebundle_(self, **k):\n"
            "        return {'text/plain': 'm'}, {1: 'x' * 10**6}\n"
            "display(M())"
        )
        self.assertEqual(self.described, [({"text/plain": "m"}, {})])
        self.assertLessEqual(len(json.dumps(self.described)), 2 * displays.METADATA_LIMIT)


if __name__ == "__main__":
    unittest.main()
