"""Cells run as in a REPL, and every one is reported as it ended."""
import os
import pickle
import signal
import sys
import time
import unittest
import warnings

from cell_case import CellCase

LOWEST_LIMIT = (
    "import sys\nfor limit in range(5, 500):\n    try:\n"
    "        sys.setrecursionlimit(limit)\n        break\n    except RecursionError:\n        pass"
)


class ValueTest(CellCase):
    def test_the_last_expression_is_the_result(self):
        self.assertEqual(self.value("x = 5\nx * 2"), "10")
        self.assertEqual(self.value("'only a docstring'"), "'only a docstring'")

    def test_cells_without_a_value(self):
        for code in ("x = 1", "None", "", "   \n\n", "# only a comment", "def f(): pass"):
            with self.subTest(code=code):
                self.assertIsNone(self.value(code))

    def test_a_semicolon_hides_the_value(self):
        for code in ("1;", "1 ; # why", "(1);", "'é';"):
            with self.subTest(code=code):
                self.assertIsNone(self.value(code))
        self.assertEqual(self.value("'a;b'"), "'a;b'")
        self.assertEqual(self.value("1 # not; this"), "1")

    def test_a_cell_of_one_line_is_what_it_would_be_among_others(self):
        self.value("x = 3")
        for code in ("x", "  x", "x\t", "x # the same", "(x)", "x if x else 0", "(lambda: x)()"):
            with self.subTest(code=code):
                self.assertEqual(self.value(code), "3")
                self.assertEqual(self.value("\n" + code.strip() + "\n"), "3")
        self.value("import asyncio")
        self.assertEqual(self.value("await asyncio.sleep(0, x)"), "3")
        self.assertEqual(self.value("(y := x + 1)"), "4")
        self.assertEqual(self.value("y"), "4")
        self.error("x +", "SyntaxError")

    def test_the_compiler_warns_once(self):
        warnings.simplefilter("always")
        codes = ["print('\\d'); z = 1", "'\\d'", "1 is 1"]
        if sys.version_info >= (3, 12):
            codes += ["y = 1or 2", "1or 2; y = 1", "y = [0x1for _ in ()]"]
        for code in codes:
            with self.subTest(code=code):
                told = self.stderr.getvalue().count("Warning: ")
                self.value(code)
                self.assertEqual(self.stderr.getvalue().count("Warning: "), told + 1)
        told = self.stderr.getvalue().count("Warning: ")
        self.error("1 is (yield)", "SyntaxError")
        self.assertLessEqual(self.stderr.getvalue().count("Warning: "), told + 1)

    def test_underscore_is_the_last_value_unless_bound(self):
        self.value("41")
        self.assertEqual(self.value("_ + 1"), "42")
        self.value("_ = 'mine'")
        self.value("7")
        self.assertEqual(self.value("_"), "'mine'")

    def test_state_lives_on_and_survives_an_error(self):
        self.value("a = 1")
        self.error("b = 2\n1 / 0\nc = 3", "ZeroDivisionError")
        self.assertEqual(self.value("(a, b, 'c' in globals())"), "(1, 2, False)")


class LanguageTest(CellCase):
    def test_future_flags_hold_for_later_cells(self):
        self.value("from __future__ import annotations")
        self.assertEqual(self.value("def f(x: Nowhere): pass\nf.__annotations__['x']"), "'Nowhere'")

    def test_the_runner_s_own_future_flags_do_not_leak(self):
        if sys.version_info >= (3, 14):
            self.skipTest("annotations are lazy")
        self.error("def f(x: Nowhere): pass", "NameError")

    def test_main_guard_and_module_name(self):
        self.assertEqual(self.printed("if __name__ == '__main__':\n    print('main')"), "main\n")

    def test_classes_pickle_and_hints_resolve(self):
        self.value(
            "import dataclasses, pickle, typing\n"
            "@dataclasses.dataclass\nclass Point:\n    x: 'int'\n    next: 'Point' = None\n"
        )
        self.assertEqual(self.value("pickle.loads(pickle.dumps(Point(3))).x"), "3")
        self.assertEqual(self.value("typing.get_type_hints(Point)['x']"), "int")
        self.assertIsNotNone(pickle.dumps(self.interpreter.namespace["Point"](1)))

    def test_source_of_functions_and_classes(self):
        self.value("def f():\n    return 'body'\nclass Bare:\n    x = 1\n")
        self.value("class Bare:\n    x = 2\n\nclass Full:\n    def m(self):\n        return 3\n")
        self.value("import inspect")
        self.assertIn("return 'body'", self.value("inspect.getsource(f)"))
        self.assertIn("x = 2", self.value("inspect.getsource(Bare)"))
        self.assertIn("return 3", self.value("inspect.getsource(Full)"))

    def test_warnings_go_to_stderr_once_per_place(self):
        warn = "import warnings\nfor _ in range(3): warnings.warn('old', DeprecationWarning)"
        self.value(warn)
        self.assertEqual(self.stderr.getvalue().count("DeprecationWarning: old"), 1)
        self.value(warn)
        self.assertEqual(self.stderr.getvalue().count("DeprecationWarning: old"), 2)


class EndingTest(CellCase):
    def test_exit_codes(self):
        cases = {
            "import sys; sys.exit()": (0, ""),
            "sys.exit('')": (1, ""),
            "exit(3)": (3, "3"),
            "quit(True)": (1, "1"),
            "raise SystemExit('bye')": (1, "bye"),
            "raise SystemExit([1])": (1, "[1]"),
        }
        for code, (exit_code, message) in cases.items():
            with self.subTest(code=code):
                outcome = self.run_cell(code)
                self.assertEqual(outcome["status"], "error")
                self.assertEqual(outcome["exit_code"], exit_code)
                self.assertEqual(outcome["error"]["type"], "SystemExit")
                self.assertEqual(outcome["error"]["message"], message)

    def test_nobody_answers_prompts(self):
        error = self.error("input('name? ')", "InputUnavailable")
        self.assertIn("assign the value in the code", error["message"])
        self.error("import getpass; getpass.getpass()", "InputUnavailable")
        self.error("breakpoint()", "DebuggerUnavailable")
        self.error("import pdb; pdb.set_trace()", "DebuggerUnavailable")
        self.assertEqual(self.value("import sys; sys.stdin.read()"), "''")

    def test_input_can_be_replaced(self):
        self.value("import builtins; builtins.input = lambda prompt='': 'yes'")
        self.assertEqual(self.value("input()"), "'yes'")

    def test_a_closed_stdin_is_replaced(self):
        self.value("import sys; sys.stdin.close()")
        self.assertEqual(self.value("sys.stdin.read()"), "''")

    def test_help_needs_no_pager(self):
        self.assertIn("Return the number of items", self.printed("help(len)"))

    def test_a_raised_keyboard_interrupt_is_an_error(self):
        self.error("raise KeyboardInterrupt", "KeyboardInterrupt")

    @unittest.skipUnless(hasattr(os, "fork"), "needs fork")
    def test_a_forked_child_never_comes_back(self):
        owner = os.getpid()
        cases = {
            "pass": 0,
            "raise ValueError('child')": 1,
            "raise SystemExit(7)": 7,
            "await asyncio.sleep(0)": 0,
        }
        self.value("import os, asyncio")
        for body, status in cases.items():
            with self.subTest(body=body):
                outcome = self.run_cell("pid = os.fork()\nif not pid:\n    " + body)
                if os.getpid() != owner:
                    os._exit(99)
                self.assertEqual(outcome["status"], "ok")
                ended = os.waitpid(self.interpreter.namespace["pid"], 0)[1]
                self.assertEqual(ended >> 8, status)


class BadInputTest(CellCase):
    def test_text_that_is_no_source(self):
        cases = {
            "x = 1\n\0": "a null byte at column 1",
            "'\ud800'": "a lone surrogate (U+D800) at column 2",
            "\x89PNG\r\n\x1a\n\x01\x02": "",
            "if x:\n\ty\n        z": "",
            "x = = 1": "invalid syntax",
        }
        for code, message in cases.items():
            with self.subTest(code=code):
                outcome = self.run_cell(code)
                self.assertEqual(outcome["status"], "error")
                self.assertIn(message, outcome["error"]["message"])
                outcome["error"]["traceback"].encode("utf-8")
        self.assertEqual(self.value("1 + 1"), "2")

    def test_deep_nesting_is_an_error(self):
        for code in ("(" * 5000 + ")" * 5000, "-" * 5000 + "1"):
            outcome = self.run_cell(code)
            self.assertIn(outcome["status"], ("ok", "error"))
        self.assertEqual(self.run_cell("(" * 5000)["status"], "error")

    def test_a_long_source(self):
        self.assertEqual(self.value("#" * 5_000_000 + "\n3"), "3")

    def test_windows_line_ends(self):
        self.assertEqual(self.value("if True:\r\n    x = 4\r\nx\r\n"), "4")


class DamageTest(CellCase):
    def check_alive(self):
        self.assertEqual(self.value("[1, 'two']"), "[1, 'two']")
        error = self.error("def broken():\n    return 1 / 0\nbroken()", "ZeroDivisionError")
        self.assertIn("return 1 / 0", error["traceback"])
        self.error("x = = 1", "SyntaxError")

    def test_each_kind_of_damage(self):
        damages = (
            "import builtins\nfor n in 'print exec eval compile repr len isinstance getattr str "
            "type open issubclass'.split(): setattr(builtins, n, None)",
            "import sys; sys.stdout = sys.stderr = sys.stdin = None",
            "import sys; sys.displayhook = sys.excepthook = None",
            "__name__ = 'gone'; __builtins__ = {}",
            "import sys; del sys.modules['__main__']",
            LOWEST_LIMIT,
            "import sys; sys.settrace(lambda *a: 1 / 0)",
            "import traceback, linecache, ast, json, io\nfor m in (traceback, linecache, ast, io):"
            "\n    for n in list(vars(m)):\n        if n[0] != '_': setattr(m, n, None)",
            "import asyncio; asyncio.set_event_loop = asyncio.new_event_loop = None",
        )
        for damage in damages:
            with self.subTest(damage=damage):
                read, write = os.pipe()
                pid = os.fork()
                if pid == 0:
                    os._exit(self.survive(damage, write))
                os.close(write)
                with os.fdopen(read, "rb") as report:
                    text = report.read()
                self.assertEqual(os.waitpid(pid, 0)[1], 0, text.decode())

    def survive(self, damage, write):
        """In a child of its own: 0 if cells are still reported truthfully after the damage."""
        encode, put = str.encode, os.write
        try:
            self.run_cell(damage)
            outcomes = [self.run_cell(code) for code in ("[1, 'two']", "1 / 0", "x = = 1")]
            texts = [
                outcomes[0]["result"]["text/plain"],
                outcomes[1]["error"]["type"],
                outcomes[2]["error"]["type"],
            ]
            put(write, encode("{}".format(texts)))
            return 0 if texts == ["[1, 'two']", "ZeroDivisionError", "SyntaxError"] else 1
        except BaseException as error:
            put(write, encode("{!r}".format(error)))
            return 2

    def test_main_is_registered_again(self):
        self.value("import sys, pickle\nclass C: pass\nsys.modules['__main__'] = sys")
        self.assertEqual(self.value("type(pickle.loads(pickle.dumps(C()))) is C"), "True")

    def test_dunder_names_are_set_again(self):
        self.value("__name__ = 'gone'; __builtins__ = {}")
        self.assertEqual(self.value("(len(__name__), __name__)"), "(8, '__main__')")

    def test_tracers_and_low_limits_end_with_their_cell(self):
        self.value("import sys\nsys.settrace(lambda *a: None)")
        self.assertIsNone(sys.gettrace())
        self.value(LOWEST_LIMIT)
        self.assertGreaterEqual(sys.getrecursionlimit(), 1000)
        self.value("sys.setrecursionlimit(5000)")
        self.assertEqual(self.value("sys.getrecursionlimit()"), "5000")

    def test_a_repr_that_lowers_the_limit(self):
        self.value(
            "class R:\n    def __repr__(self):\n        exec(LOWEST)\n"
            "        sys.settrace(lambda *a: None)\n        return 'low'\n"
            "import sys\nLOWEST = %r\nR()" % LOWEST_LIMIT
        )
        self.check_alive()

    def test_a_failure_of_the_runner_is_an_outcome(self):
        self.interpreter._failure = None
        self.assertEqual(self.error("1 / 0")["type"], "TypeError")

    def test_a_profiler_that_raises_is_taken_off(self):
        self.run_cell("import sys; sys.setprofile(lambda *a: 1 / 0)")
        self.check_alive()
        self.assertIsNone(sys.getprofile())


class InterruptTest(CellCase):
    def interrupted(self, code, delay=0.1):
        armed = self.arm(delay)
        outcome = self.run_cell(code)
        signal.setitimer(signal.ITIMER_REAL, 0)
        self.assertFalse(armed[0])
        self.assertEqual(outcome["status"], "interrupted", outcome)
        self.assertEqual(outcome["error"]["type"], "KeyboardInterrupt")
        return outcome["error"]

    def test_a_busy_loop_and_a_sleep(self):
        self.assertIn("while True", self.interrupted("while True: pass")["traceback"])
        self.interrupted("import time; time.sleep(60)")
        self.assertEqual(self.value("1"), "1")

    def test_an_await_names_its_line(self):
        error = self.interrupted(
            "import asyncio\nasync def wait():\n    await asyncio.sleep(60)\nawait wait()"
        )
        self.assertIn("await wait()", error["traceback"])
        self.assertIn("await asyncio.sleep(60)", error["traceback"])

    def test_while_the_outcome_is_made(self):
        forever = "        while True: pass\n"
        for code in (
            "class R:\n    def __repr__(self):\n" + forever + "R()",
            "class H:\n    def _repr_html_(self):\n" + forever + "H()",
            "class E(Exception):\n    def __str__(self):\n" + forever + "raise E",
            "class N(Exception):\n    @property\n    def __notes__(self):\n" + forever + "raise N",
        ):
            with self.subTest(code=code):
                self.interrupted(code)

    def test_a_shell_command_is_ended_with_its_children(self):
        self.interrupted("!sleep 60 & echo $! > pid; wait")
        with open("pid") as file:
            pid = int(file.read())
        self.assertTrue(self.is_gone(pid))

    def is_gone(self, pid):
        for _ in range(100):
            try:
                with open("/proc/%d/stat" % pid) as file:
                    if file.read().rpartition(")")[2].split()[0] == "Z":
                        return True
            except OSError:
                return True
            time.sleep(0.05)
        return False

    def test_a_caught_interrupt_is_the_user_s(self):
        self.arm(0.1)
        caught = "except KeyboardInterrupt:\n    x = 'caught'\nx"
        code = "import time\ntry:\n    time.sleep(60)\n" + caught
        self.assertEqual(self.value(code), "'caught'")

    def test_at_any_moment_it_is_one_outcome(self):
        statuses = set()
        for step in range(300):
            self.arm(0.000001 + step * 0.000001)
            outcome = self.run_cell("class Q: pass\nq = [Q() for _ in range(50)]\nq")
            signal.setitimer(signal.ITIMER_REAL, 0)
            statuses.add(outcome["status"])
        self.assertLessEqual(statuses, {"ok", "interrupted"})


if __name__ == "__main__":
    unittest.main()
