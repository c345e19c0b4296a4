"""The Python files of the catalogue as the modules of a package, as a sandbox loads them."""

import importlib
import os
import sys
import types
import unittest

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "catalogue")


class CatalogueCase(unittest.TestCase):
    """Tests of the functions of one file; skipped where a library of it is not installed."""

    file = ""

    @classmethod
    def setUpClass(cls):
        if "catalogue" not in sys.modules:
            package = types.ModuleType("catalogue")
            package.__path__ = [FOLDER]
            sys.modules["catalogue"] = package
        try:
            cls.tools = importlib.import_module("catalogue." + cls.file)
        except ImportError as error:
            raise unittest.SkipTest("the library {} is not installed".format(error.name)) from None

    def needs(self, *names):
        for name in names:
            try:
                importlib.import_module(name)
            except ImportError:
                self.skipTest("the library {} is not installed".format(name))

    def refuses(self, pattern, function, *args, **options):
        """Bad input is a ValueError that says what is wrong."""
        with self.assertRaisesRegex(ValueError, pattern):
            function(*args, **options)

    def near(self, value, expected, relative=1e-9):
        self.assertLessEqual(abs(value - expected), relative * max(abs(expected), 1e-300), (value, expected))
