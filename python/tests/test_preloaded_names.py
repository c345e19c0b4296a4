"""Short names of libraries: known where asked for, never variables of the session."""
import sys
import unittest
from unittest import mock

from cell_case import CellCase

from cellar_runner.cells import preloaded_names

ASKED = {preloaded_names.SWITCH: preloaded_names.PRELOADED}


class AliasesTest(CellCase):
    def test_names_are_known_and_no_variables(self):
        preloaded_names.bind(ASKED)
        self.assertEqual(self.value("json.dumps([math.floor(1.5)])"), "'[1]'")
        self.assertEqual(self.value("'json' in globals()"), "False")

    def test_a_variable_of_the_same_name_wins(self):
        self.value("json = 5")
        preloaded_names.bind(ASKED)
        self.assertEqual(self.value("json"), "5")

    def test_nothing_is_bound_unasked(self):
        preloaded_names.bind({})
        self.error("json", "NameError")

    def test_nothing_is_imported_for_it(self):
        with mock.patch.dict(sys.modules):
            sys.modules.pop("csv", None)
            preloaded_names.bind(ASKED)
        self.error("csv", "NameError")


if __name__ == "__main__":
    unittest.main()
