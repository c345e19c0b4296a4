"""Restricted cells pass through guards, keep their variables and still do ordinary work."""
import os
import pickle
import sys
import unittest
from unittest import mock

from cell_case import CellCase

from cellar_runner.policy import restricted
from cellar_runner.policy.admission import Admission


def is_there():
    try:
        restricted.library()
        return True
    except restricted.RestrictionUnavailable:
        return False


class AbsentTest(unittest.TestCase):
    def test_without_the_package(self):
        with mock.patch.dict("sys.modules", {"RestrictedPython": None}):
            with self.assertRaisesRegex(RuntimeError, "cellar install RestrictedPython"):
                Admission("restricted")

    def test_an_old_release_is_refused(self):
        if not is_there():
            self.skipTest("RestrictedPython is not installed for this Python")
        with mock.patch.object(restricted, "_version", return_value=(8, 2)):
            with self.assertRaisesRegex(restricted.RestrictionUnavailable, "RestrictedPython>=8.3"):
                Admission("restricted")


class RestrictedCase(CellCase):
    def setUp(self):
        if not is_there():
            self.skipTest("RestrictedPython is not installed for this Python")
        super().setUp()
        self.interpreter.builtins = {"peek": lambda n=500: "x" * n}
        self.interpreter.admission = Admission("restricted", sanitises=False)


class ModulesTest(RestrictedCase):
    def test_come_from_the_folder_of_work_neither_by_a_listed_name(self):
        with open("polars.py", "w") as file:
            file.write("import os\nfound = os.getcwd()\n")
        with mock.patch.object(sys, "path", [""] + sys.path), mock.patch.dict(sys.modules):
            sys.modules.pop("polars", None)
            self.run_cell("import polars")
            self.assertNotIn("found", vars(sys.modules.get("polars", object)))
            self.assertEqual(self.value("import statistics\nstatistics.mean([1, 3])"), "2")


class WorkTest(RestrictedCase):
    def test_variables_stay_between_cells(self):
        self.value("a = [1, 2]\ndef double(x):\n    return 2 * x")
        self.assertEqual(self.value("a.append(3)\ndouble(sum(a))"), "12")
        self.assertEqual(self.value("_ + 1"), "13")
        names = {name for name in self.interpreter.namespace if not name.startswith("__")}
        self.assertEqual(names, {"a", "double"})

    def test_prints_come_in_order_with_the_value_last(self):
        code = "def f():\n    print('in f')\nprint('one')\nf()\nprint('two', 3, sep='-')\n'value'"
        outcome = self.run_cell(code)
        self.assertEqual(outcome["status"], "ok", outcome)
        self.assertEqual(self.stdout.getvalue(), "one\nin f\ntwo-3\n")
        self.assertEqual(outcome["result"]["text/plain"], "'value'")

    def test_printed_is_what_this_cell_printed(self):
        self.value("print('old')")
        self.assertEqual(self.value("print('new')\nprinted"), repr("new\n"))

    def test_output_before_an_error_is_kept(self):
        self.error("print('before')\n1 / 0", "ZeroDivisionError")
        self.assertEqual(self.stdout.getvalue(), "before\n")

    def test_ordinary_work(self):
        cells = {
            "d = {}\nfor w in 'a b a'.split():\n    d[w] = d.get(w, 0) + 1\nd": "{'a': 2, 'b': 1}",
            "d = {'a': 1}\nd['a'] += 4\nd": "{'a': 5}",
            "x = 1\nx += 2\nx *= 5\nx": "15",
            "x: int = 3\nx": "3",
            "(a, b), *c = [(1, 2), 3, 4]\na, b, c": "(1, 2, [3, 4])",
            "[k + v for k, v in {'a': 'b'}.items()]": "['ab']",
            "f'{3.14159:.2f}' + '{:>4}|{x}'.format(1, x='y')": "'3.14   1|y'",
            "'{a[0]}'.format_map({'a': [7]})": "'7'",
            "def f(*a, **k): return a, k\nf(*[1], **{'b': 2})": "((1,), {'b': 2})",
            "type(3).__name__, getattr('x', 'upper')()": "('int', 'X')",
            "hasattr(3, 'real'), hasattr(3, '__class__')": "(True, False)",
            "from collections import Counter\nCounter('aab')['a']": "2",
            "import math, json\nmath.floor(2.5)": "2",
            "import io\nio.StringIO('x').read()": "'x'",
            "peek(3)": "'xxx'",
            "try:\n    {}['k']\nexcept KeyError as e:\n    r = e.args\nr": "('k',)",
            "sorted([3, 1], key=lambda v: -v)[0]": "3",
        }
        for code, value in cells.items():
            with self.subTest(code=code):
                self.assertEqual(self.value(code), value)

    def test_classes(self):
        self.value(
            "class Point:\n    def __init__(self, x):\n        self.x = x\n"
            "    def __repr__(self):\n        return f'<{self.x}>'\n"
            "class Child(Point):\n    def __init__(self):\n        super().__init__(2)\n        self.x += 1"
        )
        self.assertEqual(self.value("Child()"), "<3>")
        self.value("from dataclasses import dataclass\n@dataclass\nclass Row:\n    a: int\n    b: int = 2")
        self.assertEqual(self.value("Row(1)"), "Row(a=1, b=2)")

    def test_frames(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed for this Python")
        self.assertTrue(pandas.__version__)
        self.value("import pandas as pd\ndf = pd.DataFrame({'a': [1, 2, 3]})\ndf['b'] = df['a'] * 2")
        self.value("df.loc[df['a'] > 2, 'b'] = 0\ndf['b'] += 1")
        self.assertEqual(self.value("df['b'].tolist()"), "[3, 5, 1]")
        self.value("low = 2\ndef above():\n    limit = 1\n    return len(df.query('a > @limit'))")
        self.assertEqual(self.value("len(df.query('a >= @low')), above()"), "(2, 2)")
        self.assertEqual(self.value("df.query('@pd.Timestamp(2) > @pd.Timestamp(1) and a > 2').a.tolist()"), "[3]")
        self.assertEqual(self.value("int(pd.Series({'eval': 3}).eval)"), "3")
        self.assertEqual(self.value("pd.eval('df.a + df.b').tolist(), df.eval('a * 2').tolist()[0]"), "([4, 7, 4], 2)")


    def test_getters(self):
        self.value("from operator import attrgetter, itemgetter, methodcaller\nimport operator")
        self.assertEqual(self.value("attrgetter('real', 'imag')(3), attrgetter('real.imag')(3)"), "((3, 0), 0)")
        self.assertEqual(self.value("methodcaller('split', ',', maxsplit=1)('a,b,c')"), "['a', 'b,c']")
        self.assertEqual(self.value("sorted([3, 1], key=operator.attrgetter('real'))"), "[1, 3]")
        getter = self.interpreter.namespace["attrgetter"]("real")
        self.assertEqual(pickle.loads(pickle.dumps(getter))(5), 5)
        caller = self.interpreter.namespace["methodcaller"]("split", ",", maxsplit=1)
        self.assertEqual(pickle.loads(pickle.dumps(caller))("a,b,c"), ["a", "b,c"])

    def test_members_are_taken_as_ever(self):
        self.assertEqual(self.value("from collections import abc, Counter as C\nC('aa')['a']"), "2")
        self.assertEqual(self.value("from urllib.parse import quote\nquote('a b')"), "'a%20b'")
        self.assertIn("nothing", self.error("from math import nothing", "ImportError")["message"])


class GuardTest(RestrictedCase):
    def test_refused_before_anything_runs(self):
        cells = {
            "print('x')\nimport os": "import.os",
            "import numpy.f2py": "import.numpy",
            "import antigravity": "import.antigravity",
            "x.__class__": "restricted",
            "x._private = 1": "restricted",
            "x.y._z += 1": "restricted",
            "(lambda: 0).gi_frame": "restricted",
            "exec('1')": "restricted",
            "def f(_getattr_=1, /): pass": "restricted",
            "_getattr_ = 1": "restricted",
            "async def f(): pass": "restricted",
            "await f()": "restricted",
            "!ls": "restricted",
            "class A(metaclass=type): pass": "restricted",
            "from math import *": "restricted",
            "import pandas.compat._optional as o": "import.pandas",
            "from pandas.compat._optional import import_optional_dependency as i": "import.pandas",
            "import sklearn.tree._tree as t": "import.sklearn",
            "from pandas.io.common import get_handle": "import.pandas",
            "def f(a: '().__class__'): pass": "attribute.__class__",
            "from dataclasses import make_dataclass\nmake_dataclass('X', [('a', 'eval(1)')])": "call.eval",
            "np.load('a.npy', allow_pickle=True)": "option.allow_pickle",
            "np.loadtxt('/etc/passwd')": "path./etc",
            "logging.basicConfig(filename='x')": "option.filename",
        }
        for code, rule in cells.items():
            with self.subTest(code=code):
                error = self.error(code, "PolicyViolation")
                self.assertIn("[" + rule + "]", error["message"])
                self.assertTrue(error["hint"])
        self.assertEqual(self.stdout.getvalue(), "")

    def test_all_violations_at_once(self):
        error = self.error("import os\nx.__class__\ny = z.__dict__", "PolicyViolation")
        for place in ("1:1", "2:1", "3:5"):
            self.assertIn(place, error["message"])

    def test_exception_groups_are_not_allowed(self):
        error = self.error("try: pass\nexcept* ValueError: pass")
        self.assertIn(error["type"], ("PolicyViolation", "SyntaxError"))

    def test_refused_while_running(self):
        cells = {
            "open('x')": "NameError",
            "eval": "NameError",
            "import random\nrandom.os": "AttributeError",
            "import dataclasses\ndataclasses.sys": "ImportRefused",
            "import json\njson.codecs": "ImportRefused",
            "import io\nio.open('x')": "ImportRefused",
            "from io import open": "ImportRefused",
            "from dataclasses import sys": "ImportRefused",
            "getattr('', '__class__')": "AttributeError",
            "'{0.__class__}'.format(1)": "AttributeError",
            "str.format('{0.__class__}', 1)": "NotImplementedError",
            "import math\nmath.pi = 3": "TypeError",
            "int.x = 3": "TypeError",
            "nothing.x": "NameError",
            "(3).missing": "AttributeError",
            "import operator\noperator.attrgetter('__class__')(1)": "AttributeError",
            "from operator import attrgetter\nattrgetter('real.' + '_' * 2 + 'class__')(1)": "AttributeError",
            "from operator import methodcaller\nmethodcaller('_' * 2 + 'dir' + '_' * 2)(1)": "AttributeError",
            "import operator, dataclasses\noperator.attrgetter('sys')(dataclasses)": "ImportRefused",
            "import typing\ntyping.get_type_hints(3)": "ImportRefused",
            "from typing import get_type_hints": "ImportRefused",
            "import typing\ntyping.ForwardRef('x')": "ImportRefused",
            "import logging\nlogging.FileHandler('x')": "ImportRefused",
            "from logging import FileHandler": "ImportRefused",
        }
        for code, kind in cells.items():
            with self.subTest(code=code):
                self.error(code, kind)
        self.assertTrue(os.sep)

    def test_libraries_lead_no_further(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed for this Python")
        self.assertTrue(pandas.__version__)
        self.value("import numpy as np\nimport pandas as pd\ndf = pd.DataFrame({'a': [1]})")
        cells = {
            "df.eval('b = @pd.io.common.os.getpid()')": "ImportRefused",
            "q = '@pd.io.' + 'common.x'\ndf.query(q)": "ImportRefused",
            "df.query(expr='@pd.compat.x > 1')": "ImportRefused",
            "pd.eval('pd.io.common.os')": "ImportRefused",
            "df.eval('@df.' + '_' * 2 + 'class__')": "ImportRefused",
            "df.eval('@df._mgr')": "AttributeError",
            "pd.eval('p.io.' + 'common.x', local_dict={'p': pd})": "ImportRefused",
            "pd.eval('p.x.' + 'os', resolvers=[{'p': pd}])": "ImportRefused",
            "pd.compat": "ImportRefused",
            "pd.io.sql.import_optional_dependency": "ImportRefused",
            "from pandas.io.sql import import_optional_dependency": "ImportRefused",
            "pd.io.common": "ImportRefused",
            "pd.read_pickle": "ImportRefused",
            "np.memmap": "ImportRefused",
            "from numpy import memmap": "ImportRefused",
            "np.lib.npyio.DataSource": "ImportRefused",
            "np.testing.runstring": "ImportRefused",
        }
        for code, kind in cells.items():
            with self.subTest(code=code):
                self.error(code, kind)

    def test_texts_that_change(self):
        self.value(
            "class Text(str):\n    def __eq__(self, other):\n        return True\n"
            "    def __hash__(self):\n        return hash('__name__')\n"
            "    def split(self, by):\n        return ['real']\n"
            "from operator import attrgetter"
        )
        for code in ("getattr(1, Text('__class__'))", "attrgetter(Text('__class__'))(1)"):
            with self.subTest(code=code):
                self.error(code, "TypeError")

    def test_functions_of_earlier_cells_stay_guarded(self):
        self.value("def f():\n    return open('x')")
        self.error("f()", "NameError")

    def test_deep_code(self):
        self.error("x = " + "-" * 700 + "1\n" + "y = " + "1+" * 700 + "1" + "\nz.__class__")


if __name__ == "__main__":
    unittest.main()
