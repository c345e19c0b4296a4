"""A test case with the functions of a session's toolbox over a context that a test can set."""
import contextlib
import unittest

from cellar_runner.context.toolbox import toolbox


class ToolCase(unittest.TestCase):
    """Has each function of the toolbox as an attribute."""

    def setUp(self):
        self.variables = {}
        vars(self).update(toolbox(lambda: self.variables["context"]))

    @contextlib.contextmanager
    def refused(self, kind, *parts):
        """What runs inside must raise this, with these parts in the message."""
        with self.assertRaises(kind) as raised:
            yield
        for part in parts:
            self.assertIn(part, str(raised.exception))
