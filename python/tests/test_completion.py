"""What Tab offers, without running what it looks at."""
import os
import signal
import sys
import time
import unittest

from cell_case import CellCase

from cellar_runner.cells.completion import candidates, time_limit


class CompletionCase(CellCase):
    """Completes texts in a session of its own."""

    def matches(self, before, after=""):
        found = candidates.complete(before + after, len(before), self.interpreter)
        self.assertEqual(found["end"], len(before))
        return found["matches"]

    def start(self, before):
        return candidates.complete(before, len(before), self.interpreter)["start"]


class WhatIsOffered(CompletionCase):
    def test_names_keywords_and_builtins(self):
        self.run_cell("number_one = 1; _hidden = 2")
        self.assertEqual(self.matches("number_"), ["number_one"])
        self.assertEqual(self.matches("lamb"), ["lambda"])
        self.assertEqual(self.matches("isinst"), ["isinstance"])
        self.assertNotIn("_hidden", self.matches(""))
        self.assertIn("_hidden", self.matches("_hid"))

    def test_attributes_of_names_literals_and_elements(self):
        self.run_cell("class A:\n  class_side = 1\n  def method(self): pass\na = A(); a.own = [1]; xs = [a]")
        self.assertEqual(self.matches("a."), ["class_side", "method", "own"])
        self.assertEqual(self.matches("a.own.app"), ["append"])
        self.assertEqual(self.matches("xs[0].ow"), ["own"])
        self.assertEqual(self.matches("'text'.uppe"), ["upper"])
        self.assertEqual(self.matches("print(a.o"), ["own"])
        self.assertEqual(self.matches("A.cl"), ["class_side"])
        self.assertEqual(self.start("print(a.o"), 8)
        self.assertEqual(self.matches("nothing."), [])
        self.assertEqual(self.matches("f(a)."), [])

    def test_modules(self):
        self.assertIn("json", self.matches("import js"))
        self.assertEqual(self.matches("import os, xml.etr"), ["etree"])
        self.assertIn("decoder", self.matches("from json import dec"))
        self.assertEqual(self.matches("from json import load, dum"), ["dump", "dumps"])
        self.assertNotIn("cellar_runner", self.matches("import cellar"))
        sys.modules.pop("this", None)
        self.matches("from this import ")
        self.assertNotIn("this", sys.modules)

    def test_magics(self):
        self.assertEqual(self.matches("%timei"), ["%timeit"])
        self.assertEqual(self.matches("%%captu"), ["%%capture"])
        self.assertEqual(self.matches("x = 1\n%%captu"), [])

    def test_keys(self):
        self.run_cell("d = {'alpha': {'inner': 1}, 'it\\'s': 2, 3: 4}")
        self.assertEqual(self.matches("d['al"), ["alpha']"])
        self.assertEqual(self.matches("d['al", "']"), ["alpha"])
        self.assertEqual(self.matches('d["'), ['alpha"]', 'it\'s"]'])
        self.assertEqual(self.matches("d['alpha']['"), ["inner']"])
        self.assertIn("'alpha']", self.matches("d["))

    def test_columns_of_a_frame(self):
        try:
            import pandas  # noqa: F401
        except ImportError:
            self.skipTest("no pandas")
        self.run_cell("import pandas\ndf = pandas.DataFrame({'price': [1], 'two words': [2]})")
        self.assertEqual(self.matches("df['tw"), ["two words']"])
        self.assertIn("price", self.matches("df.pri"))

    def test_files(self):
        os.mkdir("data")
        for name in ("data/sales.csv", "report.txt", ".hidden"):
            with open(name, "w"):
                pass
        self.assertEqual(self.matches("open('da"), ["data/"])
        self.assertEqual(self.matches("open('data/sa"), ["sales.csv"])
        self.assertEqual(self.start("open('data/sa"), 11)
        self.assertEqual(self.matches("!cat rep"), ["report.txt"])
        self.assertEqual(self.matches("%cd da"), ["data/"])
        self.assertEqual(self.matches("open('"), ["data/", "report.txt"])

    def test_nothing_in_comments_and_long_strings(self):
        self.assertEqual(self.matches("# prin"), [])
        self.assertEqual(self.matches("'''\nprin"), [])
        self.assertEqual(self.matches("'it\\'s' + prin"), ["print"])


class WhatIsNotRun(CompletionCase):
    def test_properties_and_getattr(self):
        self.run_cell(
            "ran = []\nclass A:\n"
            "  def __getattr__(self, name): ran.append(name)\n"
            "  @property\n  def shown(self): ran.append('shown')\n"
            "class B(dict):\n  def __getitem__(self, key): ran.append(key)\n  def keys(self): ran.append('keys')\n"
            "a = A(); b = B(k=A())"
        )
        self.assertEqual(self.matches("a.sho"), ["shown"])
        self.assertEqual(self.matches("a.shown."), [])
        self.assertEqual(self.matches("a.other."), [])
        self.assertEqual(self.matches("b['"), ["k']"])
        self.assertEqual(self.matches("b['k']."), [])
        self.assertEqual(self.interpreter.namespace["ran"], [])

    def test_metaclasses(self):
        self.run_cell(
            "ran = []\nclass M(type):\n"
            "  def __getattribute__(kind, name): ran.append(name); return type.__getattribute__(kind, name)\n"
            "class A(metaclass=M):\n  text = 'x'\n"
            "  def __getattribute__(self, name): ran.append(name)\n"
            "a = A(); ran.clear()"
        )
        self.assertEqual(self.matches("a.text.uppe"), ["upper"])
        self.assertEqual(self.matches("A.text.uppe"), ["upper"])
        self.assertEqual(self.matches("a['"), [])
        self.assertEqual(self.interpreter.namespace["ran"], [])


@unittest.skipUnless(time_limit.is_available(), "no timer")
class WhatDoesNotEnd(CompletionCase):
    def test_a_dir_that_hangs_is_broken_off(self):
        self.run_cell("class A:\n  x = 1\n  def __dir__(self):\n    while True: pass\na = A()")
        self.assertEqual(self.matches("a."), ["x"])
        self.assertEqual(signal.getitimer(signal.ITIMER_REAL)[0], 0)

    def test_a_dir_that_raises_or_lies(self):
        self.run_cell(
            "class A:\n  x = 1\n  def __dir__(self): raise SystemExit\n"
            "class B:\n  def __dir__(self): return ['y', 'a\\x1b[2J', 5, 'z' * 5000, 'no name']\n"
            "a = A(); b = B()"
        )
        self.assertEqual(self.matches("a."), ["x"])
        self.assertEqual(self.matches("b."), ["y"])

    def test_names_that_raise_end_nothing(self):
        self.run_cell(
            "class Name(str):\n  def isidentifier(self): raise SystemExit\n  __hash__ = str.__hash__\n"
            "globals()[Name('odd')] = 1"
        )
        self.assertEqual(self.matches("od"), [])

    def test_names_without_end(self):
        self.run_cell(
            "class Endless:\n  def __init__(self): self.given = 0\n  def __iter__(self): return self\n"
            "  def __next__(self):\n    self.given += 1\n    return 'name'\n"
            "endless = Endless()\nclass A:\n  def __dir__(self): return endless\na = A()\n"
            "import sys, types\nodd = types.ModuleType('odd_module')\nodd.__path__ = Endless()\n"
            "sys.modules['odd_module'] = odd"
        )
        self.addCleanup(sys.modules.pop, "odd_module", None)
        self.assertEqual(self.matches("a."), ["name"])
        self.matches("import odd_module.")
        given = [self.interpreter.namespace[name] for name in ("endless", "odd")]
        self.assertLessEqual(given[0].given, candidates.LOOK_LIMIT)
        self.assertLessEqual(given[1].__path__.given, candidates.LOOK_LIMIT)

    def test_the_timer_of_a_cell_goes_on(self):
        struck = []
        before = signal.signal(signal.SIGALRM, lambda *_: struck.append(1))
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        self.run_cell("number = 1")
        self.assertEqual(self.matches("numb"), ["number"])
        deadline = time.monotonic() + 30
        while not struck and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(struck, [1])

    def test_so_many(self):
        self.run_cell("class A: pass\na = A()\nfor i in range(5000): setattr(a, 'n%d' % i, i)")
        self.assertEqual(len(self.matches("a.n")), candidates.MATCH_LIMIT)
