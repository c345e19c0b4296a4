"""The names of earlier cells and values, as IPython has them."""
import sys
import unittest

from cell_case import CellCase

from cellar_runner.cells import history
from cellar_runner.values.encoding import describe


class HistoryTest(CellCase):
    def test_before_any_value(self):
        self.assertEqual(self.value("_, __, ___, _i, _ii, _iii"), "('', '', '', '', '', '')")

    def test_the_last_three_values_and_inputs(self):
        for code in ("10", "20", "30", "x = 1", "print(end='')", "None", "40;"):
            self.value(code)
        self.assertEqual(self.value("_, __, ___"), "(30, 20, 10)")
        self.assertEqual(self.value("_i, _ii, _iii"), "('_, __, ___', '40;', 'None')")
        self.assertEqual(self.value("_2, _i2, _i4, Out[3], In[3]"), "(20, '20', 'x = 1', 30, '30')")
        self.assertEqual(self.value("sorted(Out)"), "[1, 2, 3, 8, 9, 10]")
        self.assertEqual(self.value("In is _ih, Out is _oh, len(In), In[0]"), "(True, True, 13, '')")
        self.assertEqual(self.error("_7", "NameError")["message"], "name '_7' is not defined")
        self.error("Out[7]", "KeyError")

    def test_a_name_that_has_another_meaning_is_left_alone(self):
        self.value("5")
        self.value("for _ in range(3): pass")
        self.assertEqual([self.value("7"), self.value("_"), self.value("Out[3]")], ["7", "2", "7"])
        self.value("del _")
        self.assertEqual([self.value("8"), self.value("_")], ["8", "8"])
        self.value("import builtins, gettext\ngettext.install('x')")
        self.value("9")
        self.assertIn("gettext", self.value("_"))
        self.value("del builtins._")
        self.assertEqual([self.value("10"), self.value("_")], ["10", "10"])

    def test_a_value_whose_repr_fails_is_kept(self):
        self.error("class A:\n    def __repr__(self): raise ValueError('no')\nA()", "ValueError")
        self.assertEqual(self.value("type(_) is A, _1 is Out[1]"), "(True, True)")

    def test_none_of_them_is_a_variable(self):
        self.value("mine = 1")
        self.value("mine")
        self.value("_2, _i2")
        self.assertEqual([entry["name"] for entry in describe(self.interpreter.namespace)], ["mine"])
        hidden = "_ __ ___ _i _ii _iii _2 _i2 In Out _ih _oh _dh".split()
        self.assertEqual([name for name in hidden if name in self.interpreter.namespace], [])

    def test_numbers_that_were_left_out(self):
        self.value("1")
        self.number = 7
        self.assertEqual(self.value("len(In), In[3], sorted(Out)"), "(9, '', [1])")

    def test_folders(self):
        self.assertIn("Path(", self.value("_dh"))
        self.assertEqual(self.value("import os\nstr(_dh[0]) == os.getcwd()"), "True")

    def test_what_is_kept_is_bounded(self):
        self.value("import weakref\nclass Big(list): pass\nbig = Big([1])\ngone = weakref.ref(big)\nbig")
        self.value("del big")
        self.assertEqual(self.value("gone() is None"), "False")
        large = history.KEPT_BYTES // 4
        for _ in range(4):
            self.value("bytes(%d)" % large)
        self.assertEqual(self.value("gone() is None, len(Out), 1 in Out"), "(True, 3, False)")
        self.value("bytes(%d)" % (history.KEPT_BYTES + 1))
        self.assertEqual(self.value("len(_) > 1000, 9 in Out"), "(True, False)")
        self.assertEqual(self.value("__"), "''")

    def test_many_values(self):
        for _ in range(history.KEPT_VALUES + 5):
            self.value("1")
        self.assertEqual(self.value("len(Out), min(Out)"), "(%d, 6)" % history.KEPT_VALUES)

    def test_arrays_weigh_what_they_hold(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("needs numpy")
        array = numpy.zeros(1 << 20)
        self.assertGreaterEqual(history._estimated_bytes(array[:1]), 8 << 20)
        self.assertGreaterEqual(history._estimated_bytes([array, array]), 16 << 20)

    def test_hostile_use(self):
        self.value("In.clear(); Out.clear(); Out[1] = 2")
        self.assertEqual(self.value("1"), "1")
        self.assertEqual(self.value("len(In), _"), "(4, 1)")
        self.value("class L:\n    nbytes = property(lambda self: 1 / 0)\nL.__module__ = 'x'\nL()")
        self.assertEqual(sys.getrecursionlimit() > 0, True)


if __name__ == "__main__":
    unittest.main()
