"""What needs a person at a terminal, and what only needs standard input."""
import unittest

from cell_case import CellCase


class InputTest(CellCase):
    def test_reads_what_is_put_in_the_place_of_standard_input(self):
        self.value("import io, sys\nsys.stdin = io.StringIO('3\\nann\\n')")
        code = "sys.stdin = io.StringIO('3\\nann\\n')\nnumber = int(input())\nname = input('name? ')"
        self.assertEqual(self.printed(code), "name? ")
        self.assertEqual(self.value("number, name"), "(3, 'ann')")

    def test_its_end_is_an_error_of_python(self):
        error = self.error("import io, sys\nsys.stdin = io.StringIO('')\ninput()", "EOFError")
        self.assertIn("EOF when reading a line", error["message"])
        self.error("import sys\nsys.stdin = None\ninput()", "RuntimeError")
        self.error("import sys\ndel sys.stdin\ninput()", "RuntimeError")
        self.error("input(1, 2)", "TypeError")

    def test_nobody_answers_where_it_is_put_back(self):
        code = "import io, sys\nold, sys.stdin = sys.stdin, io.StringIO('1\\n')\ninput()\nsys.stdin = old\ninput()"
        error = self.error(code, "InputUnavailable")
        self.assertIn("assign the value in the code", error["message"])
        self.error("input()", "InputUnavailable")

    def test_a_password_is_read_from_it_too(self):
        code = "import getpass, io, sys, warnings\nwarnings.simplefilter('ignore')\n"
        code += "sys.stdin = io.StringIO('secret\\n')\ngetpass.getpass('? ', io.StringIO())"
        self.assertEqual(self.value(code), "'secret'")


class DebuggerTest(CellCase):
    COMMANDS = "sys.stdin = io.StringIO('p x * 2\\nc\\n')"

    def test_takes_its_commands_from_it(self):
        for call in ("pdb.set_trace()", "breakpoint()", "pdb.Pdb().set_trace()"):
            code = "import io, pdb, sys\n{}\ndef f(x):\n    {}\n    return x\nf(21)".format(self.COMMANDS, call)
            with self.subTest(call=call):
                self.assertIn("(Pdb) 42", self.printed(code))
        self.assertEqual(self.value("sys.gettrace()"), None)

    def test_or_from_a_stream_of_its_own(self):
        code = "import io, pdb, sys\nout = io.StringIO()\n"
        code += "pdb.Pdb(stdin=io.StringIO('p 6 * 7\\nc\\n'), stdout=out).set_trace()\nx = 1\n'42' in out.getvalue()"
        self.assertEqual(self.value(code), "True")

    def test_one_that_asks_nobody_works(self):
        code = (
            "import bdb\nclass Lines(bdb.Bdb):\n    seen = 0\n"
            "    def user_line(self, frame):\n        self.seen += 1\n"
            "lines = Lines()\nlines.set_trace()\nx = 1\ny = 2\nlines.set_quit()\nlines.seen > 2"
        )
        self.assertEqual(self.value(code), "True")


class InspectTest(CellCase):
    def test_getfile_is_as_python_has_it(self):
        code = (
            "import inspect\nclass M(type):\n    @property\n    def __module__(cls): raise ValueError('no')\n"
            "class Odd(metaclass=M): pass\nclass Bare: __module__ = None\n"
            "def kind(thing):\n    try: inspect.getfile(thing)\n    except Exception as e: return type(e).__name__"
        )
        self.value(code)
        self.assertEqual(self.value("kind(Odd), kind(Bare), kind(int), kind(3)"), "(None, 'TypeError', 'TypeError', 'TypeError')")
        self.assertEqual(self.value("inspect.getfile.__module__, inspect.getfile.__name__"), "('inspect', 'getfile')")
        self.assertEqual(self.value("class Mine:\n    a = 1\ninspect.getsource(Mine)"), "'class Mine:\\n    a = 1\\n'")


if __name__ == "__main__":
    unittest.main()
