"""A test case with an interpreter of its own, that leaves this process as it found it."""
import bdb
import builtins
import getpass
import inspect
import io
import os
import signal
import sys
import tempfile
import unittest
import warnings

from cellar_runner.cells.interpreter import Interpreter
from cellar_runner.session.interrupts import Interrupts


class CellCase(unittest.TestCase):
    """Runs cells in a folder of its own; keeps what they print and display."""

    def setUp(self):
        self._keep_process_state()
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder.name)
        self.shown = []
        self.number = 0
        self.stdout, self.stderr = io.StringIO(), io.StringIO()
        self.roles = []
        self.cleared = []
        self.interpreter = Interpreter(self._keep)
        self.interpreter.displays.clear = self.cleared.append
        self.interpreter.streams = (io.StringIO(), self.stdout, self.stderr)

    def _keep(self, data, _metadata, about=None):
        self.shown.append(data)
        self.roles.append(about)

    def _keep_process_state(self):
        present = vars(builtins)
        saved_builtins = dict(present)
        saved_modules = {"__main__": sys.modules["__main__"]}
        saved_finders = list(sys.meta_path)
        names = "stdin stdout stderr __stdin__ __stdout__ __stderr__ displayhook excepthook argv"
        saved_sys = {name: getattr(sys, name) for name in names.split() + ["breakpointhook"]}
        saved_functions = getpass.getpass, bdb.Bdb.set_trace, inspect.getfile
        saved_limit = sys.getrecursionlimit()
        quiet = warnings.catch_warnings()
        quiet.__enter__()

        def restore():
            present.update(saved_builtins)
            for name in list(present):
                if name not in saved_builtins:
                    del present[name]
            sys.modules.update(saved_modules)
            sys.meta_path[:] = saved_finders
            for name, value in saved_sys.items():
                setattr(sys, name, value)
            getpass.getpass, bdb.Bdb.set_trace, inspect.getfile = saved_functions
            sys.setrecursionlimit(saved_limit)
            quiet.__exit__(None, None, None)

        self.addCleanup(restore)

    def run_cell(self, code):
        """The outcome of one more cell."""
        self.number += 1
        return self.interpreter.run(self.number, code)

    def value(self, code):
        """The text of the value of a cell that must succeed."""
        outcome = self.run_cell(code)
        self.assertEqual(outcome["status"], "ok", outcome["error"])
        return outcome["result"] and outcome["result"]["text/plain"]

    def error(self, code, kind=None):
        """The error of a cell that must fail."""
        outcome = self.run_cell(code)
        self.assertEqual(outcome["status"], "error", outcome)
        if kind is not None:
            self.assertEqual(outcome["error"]["type"], kind, outcome["error"]["traceback"])
        return outcome["error"]

    def printed(self, code):
        """What a cell that must succeed prints."""
        self.stdout.seek(0)
        self.stdout.truncate()
        self.value(code)
        return self.stdout.getvalue()

    def arm(self, delay):
        """Interrupt the next cell after this many seconds, as the head would."""
        armed = [False]
        interrupts = Interrupts(lambda: 1)
        interrupts.step = 1

        def interrupt(_number, _frame):
            if armed[0]:
                interrupts.raise_if_interrupted()

        def enter():
            armed[0] = True

        def leave():
            armed[0] = False

        self.interpreter.enter, self.interpreter.leave = enter, leave
        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, interrupt))
        self.addCleanup(signal.setitimer, signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_REAL, delay)
        return armed
