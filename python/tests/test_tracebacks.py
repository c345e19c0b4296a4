"""Errors show the user's frames, are bounded, and are never lost to their own text."""
import os
import sys
import unittest

from cell_case import CellCase

from cellar_runner.cells import hints, tracebacks


class FrameTest(CellCase):
    def test_user_frames_with_source_and_the_library_that_raised(self):
        self.value("import json\ndef parse(text):\n    return json.loads(text)")
        text = self.error("parse('{')", "JSONDecodeError")["traceback"]
        lines = text.split("\n")
        self.assertEqual(lines[0], "Traceback (most recent call last):")
        self.assertIn('  File "<cell 2>", line 1, in <module>', lines)
        self.assertIn("    return json.loads(text)", lines)
        self.assertRegex(lines[-2], r"^  \[raised in json/decoder\.py:\d+ raw_decode\]$")
        self.assertTrue(lines[-1].startswith("json.decoder.JSONDecodeError: "))
        self.assertEqual(text.count("File "), 2)
        self.assertNotIn("cellar_runner", text)

    def test_a_file_of_the_working_folder_is_the_user_s(self):
        with open("mine.py", "w") as file:
            file.write("def f():\n    return {}['k']\n")
        self.addCleanup(sys.modules.pop, "mine", None)
        sys.path.insert(0, os.getcwd())
        self.addCleanup(sys.path.remove, os.getcwd())
        self.assertIn("return {}['k']", self.error("import mine; mine.f()")["traceback"])

    def test_an_older_cell_keeps_its_source(self):
        self.value("def boom():\n    raise ValueError('old')")
        self.value("import linecache; linecache.clearcache()")
        self.assertIn("raise ValueError('old')", self.error("boom()")["traceback"])

    def test_repeated_frames_are_collapsed(self):
        error = self.error("def f(n):\n    return f(n + 1)\nf(0)", "RecursionError")
        self.assertRegex(error["traceback"], r"repeated [\d,]+ more times")
        self.assertLess(len(error["traceback"]), 2000)
        code = "def a(n):\n    return b(n)\ndef b(n):\n    return a(n)\na(0)"
        text = self.error(code, "RecursionError")["traceback"]
        self.assertRegex(text, r"\[\.\.\. [\d,]+ frames left out \.\.\.\]")
        self.assertLess(len(text), 5000)

    def test_long_messages_keep_head_and_tail(self):
        error = self.error("raise ValueError('a' * 100_000 + 'end')")
        self.assertLess(len(error["message"]), tracebacks.MESSAGE_LIMIT + 200)
        self.assertTrue(error["message"].endswith("end"))
        self.assertIn("characters left out", error["message"])
        self.assertLess(len(error["traceback"]), tracebacks.TRACEBACK_LIMIT + 200)


class KindTest(CellCase):
    def test_syntax_errors_have_a_caret(self):
        error = self.error("x = 1\nif x\n    y", "SyntaxError")
        self.assertIn('  File "<cell 1>", line 2\n    if x\n', error["traceback"])
        self.assertIn("^", error["traceback"])
        self.assertNotIn("Traceback", error["traceback"])

    def test_chains(self):
        code = "try:\n    1 / 0\nexcept Exception as e:\n    raise KeyError('k') from e"
        text = self.error(code, "KeyError")["traceback"]
        self.assertLess(text.index("ZeroDivisionError"), text.index("direct cause"))
        self.assertLess(text.index("direct cause"), text.index("KeyError: 'k'"))
        text = self.error("try:\n    1 / 0\nexcept Exception:\n    {}['k']")["traceback"]
        self.assertIn("During handling", text)
        text = self.error("try:\n    1 / 0\nexcept Exception:\n    raise KeyError from None")
        self.assertNotIn("ZeroDivisionError", text["traceback"])

    def test_a_chain_that_bites_its_tail(self):
        make = "a, b = ValueError('a'), ValueError('b')\n"
        self.error(make + "a.__cause__ = b\nb.__cause__ = a\nraise a", "ValueError")

    @unittest.skipUnless(sys.version_info >= (3, 11), "needs Python 3.11")
    def test_groups_and_notes(self):
        make = "e = ExceptionGroup('two', [ValueError('one'), KeyError('k')])\n"
        code = make + "e.add_note('a note')\nraise e"
        text = self.error(code, "ExceptionGroup")["traceback"]
        for part in ("two (2 sub-exceptions)", "| ValueError: one", "| KeyError: 'k'", "a note"):
            self.assertIn(part, text)

    def test_empty_messages_and_names(self):
        self.assertEqual(self.error("raise ValueError")["message"], "")
        self.assertEqual(self.error("raise type('', (Exception,), {})")["type"], "<unnamed>")
        self.assertEqual(self.error("raise MemoryError", "MemoryError")["message"], "")
        self.assertEqual(self.error("assert False")["traceback"].split("\n")[-1], "AssertionError")

    def test_hostile_exceptions(self):
        bodies = (
            "def __str__(self): raise SystemExit",
            "def __str__(self): return 5",
            "def __str__(self): return str(self)",
            "__class__ = property(lambda self: 1 / 0)",
            "__cause__ = __context__ = __traceback__ = property(lambda self: 1 / 0)",
            "__notes__ = property(lambda self: 1 / 0)",
            "def __getattribute__(self, name): raise MemoryError",
        )
        for body in bodies:
            for base in ("Exception", "BaseException", "OSError", "SyntaxError"):
                with self.subTest(body=body, base=base):
                    code = "class Evil(%s):\n    %s\nraise Evil('x')" % (base, body)
                    error = self.error(code, "Evil")
                    self.assertIsInstance(error["message"], str)
                    self.assertIn("raise Evil('x')", error["traceback"])

    def test_a_metaclass_that_lies_about_the_name(self):
        code = (
            "class M(type):\n    __name__ = property(lambda c: 1 / 0)\n"
            "class E(Exception, metaclass=M): pass\nraise E('x')"
        )
        self.error(code, "E")

    def test_text_is_always_valid_utf_8(self):
        error = self.error("raise ValueError('\\ud800')")
        error["message"].encode("utf-8")
        error["traceback"].encode("utf-8")


class HintTest(CellCase):
    def hint(self, code):
        return self.error(code).get("hint", "")

    def test_missing_packages(self):
        self.assertIn("cellar install nopkg", self.hint("import nopkg.part"))
        self.assertEqual(self.hint("import json.nopart"), "")
        self.assertIn("beautifulsoup4", self.hint("raise ModuleNotFoundError(name='bs4')"))

    def at_home(self):
        """As behind walls, where the working folder is the workspace."""
        for name, value in (("WORKSPACE", os.getcwd()), ("WRITABLE", (os.getcwd(), "/tmp"))):
            self.addCleanup(setattr, hints, name, getattr(hints, name))
            setattr(hints, name, value)

    def test_files_that_are_not_there(self):
        self.at_home()
        for code in (
            "open('sales.csv')",
            "open(b'sales.csv')",
            "open('/home/me/sales.csv')",
            "import zipfile; zipfile.ZipFile('a.zip')",
            "import pathlib; pathlib.Path('a.txt').read_text()",
            "import os; os.listdir('folder')",
        ):
            self.assertIn("--mount .:/data", self.hint(code))
            self.assertIn("putFile", self.hint(code))
            self.assertNotIn("makedirs", self.hint(code))
        self.assertIn("os.makedirs", self.hint("open('out/report.csv', 'w')"))
        self.assertEqual(self.hint("import subprocess; subprocess.run(['no-such-program'])"), "")

    def test_files_that_cannot_be_written(self):
        self.at_home()
        self.assertIn("readonly: false", self.hint("raise OSError(30, 'read-only', '/data/x')"))
        self.assertIn("mounted for writing, but", self.hint("raise PermissionError(13, 'x', '/x')"))
        self.assertEqual(self.hint("raise PermissionError(13, 'x', 'own')"), "")

    def test_without_walls_files_of_the_host_are_there(self):
        if os.path.isdir("/workspace"):
            self.skipTest("this machine has a folder /workspace")
        self.assertEqual(self.hint("open('relative')"), "")
        self.assertEqual(self.hint("open('/nowhere/x')"), "")

    def test_network(self):
        code = "import urllib.error, socket\nraise urllib.error.URLError(socket.gaierror(-2, 'x'))"
        self.assertIn("no network", self.hint(code))
        unreachable = "import errno\nraise OSError(errno.ENETUNREACH, 'x')"
        self.assertIn("no network", self.hint(unreachable))
        self.interpreter.network = True
        self.assertEqual(self.hint(code), "")

    def test_network_behind_a_proxy(self):
        self.run_cell("import os; os.environ['CELLAR_ALLOWED_HOSTS'] = 'example.org, *.example.net'")
        self.addCleanup(os.environ.pop, "CELLAR_ALLOWED_HOSTS", None)
        self.assertIn("example.org, *.example.net", self.hint("raise OSError(101, 'x')"))
        refused = "raise OSError('Tunnel connection failed: 403 Forbidden by the sandbox')"
        self.assertIn("*.example.net", self.hint(refused))
        self.assertIn("was cut", self.hint("raise OSError('403 Network cut by the sandbox')"))
        self.assertEqual(self.hint("raise OSError('403 Forbidden')"), "")

    def test_a_lost_error_while_formatting_is_still_told(self):
        formatter = self.interpreter._tracebacks
        formatter._chain = lambda *arguments: (_ for _ in ()).throw(MemoryError)
        error = self.error("raise ValueError('x')", "ValueError")
        self.assertIn("raise ValueError", error["traceback"])


class PathTest(unittest.TestCase):
    def test_library_paths_are_short(self):
        path = os.path.join(os.path.dirname(os.__file__), "a", "b.py")
        self.assertEqual(tracebacks._short(path), "a/b.py")


if __name__ == "__main__":
    unittest.main()
