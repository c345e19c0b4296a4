"""IPython's lines work, or say in one line what to do; plain Python is never rewritten."""
import os
import subprocess
import sys
import unittest

from cell_case import CellCase
from cellar_runner import magics, shell


class RewriteTest(unittest.TestCase):
    def test_lines_inside_strings_and_brackets_stay(self):
        texts = ("x = '''\n!ls\n%time\n'''", "y = (a\n%b)", "z = 1 + \\\n  2", "# !ls", "a != b")
        for text in texts:
            with self.subTest(text=text):
                self.assertIsNone(magics.rewrite(text))

    def test_only_the_magic_line_changes(self):
        text = "a = (10\n  %3)\n!ls 'unbalanced\nb = '''\n!no\n'''"
        lines = magics.rewrite(text).text.split("\n")
        self.assertEqual(lines[:2] + lines[3:], text.split("\n")[:2] + text.split("\n")[3:])
        self.assertIn("shell", lines[2])

    def test_line_numbers_stay(self):
        for text in ("!a \\\n b\nx", "%%time\n\nx", "%time x\ny\nz?"):
            with self.subTest(text=text):
                self.assertEqual(magics.rewrite(text).text.count("\n"), text.count("\n"))


class MagicTest(CellCase):
    def test_valid_code_that_looks_like_magic(self):
        self.assertEqual(self.value("a = 7\n(a\n%4)"), "3")
        self.assertEqual(self.value("'%d!' % 5"), "'5!'")

    def test_unknown_magics_say_what_to_do(self):
        cases = {
            "%nope_at_all": "write it as plain Python",
            "%timit 1": "did you mean %timeit?",
            "%%nope\nx": "%%nope is not available here",
            "%undo": "a command of the host",
            "%checkpoint": "a command of the host",
            "%prun f()": "cProfile",
            "x = %nope 3": "%nope is not available here",
        }
        for code, text in cases.items():
            with self.subTest(code=code):
                error = self.error(code, "MagicUnavailable")
                self.assertIn(text, error["message"])
                self.assertNotIn("\n", error["message"])
                self.assertIn(code.split("\n")[0], error["traceback"])

    def test_a_mistake_beside_a_magic_is_the_one_reported(self):
        error = self.error("%matplotlib inline\nx = = 1", "SyntaxError")
        self.assertIn("line 2", error["message"])

    def test_accepted_and_without_effect(self):
        for code in ("%matplotlib inline", "%load_ext autoreload", "%config X.y = 'z'"):
            with self.subTest(code=code):
                self.assertEqual(self.value(code + "\n1"), "1")
        self.value("%autoreload 2")
        self.assertIn("importlib.reload", self.stderr.getvalue())

    def test_packages_are_added_from_outside(self):
        self.assertIn("already installed: json", self.printed("%pip install json"))
        in_shell = ("!pip install nopkg", "!python3 -m pip install nopkg")
        for code in ("%pip install -q nopkg==1.0",) + in_shell:
            with self.subTest(code=code):
                error = self.error(code, "PackageUnavailable")
                self.assertIn("cellar install nopkg", error["message"])
        self.error("!apt-get install -y thing", "PackageUnavailable")
        self.error("%conda install nopkg", "PackageUnavailable")

    def test_package_names(self):
        parsed = shell.installs("pip install -U -r req.txt 'a>=1' b[x] && echo c")
        self.assertEqual(parsed, ("pip", ["a>=1", "b[x]"]))
        self.assertIsNone(shell.installs("echo pip install x"))

    def test_time(self):
        self.assertIn("Wall time", self.printed("%time x = 3"))
        self.assertEqual(self.value("%time x + 1"), "4")
        self.assertEqual(self.value("import asyncio\n%time await asyncio.sleep(0, 'v')"), "'v'")
        self.assertEqual(self.value("%%time\ny = 5\ny"), "5")
        self.assertIn("Wall time", self.printed("%time for i in range(3): pass"))
        error = self.error("%%time\n\n1 / 0", "ZeroDivisionError")
        self.assertIn("line 3", error["traceback"])

    def test_timeit(self):
        self.assertIn("per loop", self.printed("n = 3\n%timeit -n 2 -r 3 sum(range(n))"))
        self.assertIn("2 runs, 4 loops", self.printed("%%timeit -n4 -r2 k = 2\nk + 1"))
        self.assertEqual(self.value("t = %timeit -o -q -n 1 -r 1 1\nt.repeat"), "1")
        self.error("%timeit", "UsageError")

    def test_capture(self):
        self.assertEqual(self.printed("%%capture out\nprint('hidden')\ndisplay(1)\n5"), "")
        self.assertEqual(self.value("out.stdout"), "'hidden\\n'")
        self.assertEqual(self.shown, [])
        self.assertEqual(self.value("out.outputs"), "[{'text/plain': '1'}]")
        self.assertEqual(self.printed("print('seen')"), "seen\n")

    def test_variables(self):
        self.value("one = 1\n_hidden = 2")
        self.assertEqual(self.printed("%who"), "one\n")
        self.assertIn("int", self.printed("%whos"))
        self.value("%reset -f")
        self.error("one", "NameError")

    def test_folders_and_environment(self):
        here = os.path.realpath(self.folder.name)
        os.mkdir("inner")
        self.assertEqual(self.value("%pwd"), repr(here))
        self.value("folder = 'inner'\n%cd {folder}")
        self.assertEqual(os.getcwd(), os.path.join(here, "inner"))
        self.addCleanup(os.environ.pop, "CELLAR_TEST_NAME", None)
        self.value("%env CELLAR_TEST_NAME=a value")
        self.assertEqual(self.value("%env CELLAR_TEST_NAME"), "'a value'")

    def test_files(self):
        self.assertIn("Writing part.py", self.printed("%%writefile part.py\nv = __name__"))
        self.value("%%writefile -a part.py\nw = 2")
        ran = self.value("%run part.py\n(v, w, '__file__' in globals())")
        self.assertEqual(ran, "('__main__', 2, False)")

    def test_history(self):
        self.value("first = 1")
        self.assertIn("# cell 1\nfirst = 1", self.printed("%history"))

    def test_help(self):
        self.value("def area(r: float):\n    '''Area of a circle.'''\n    return 3 * r")
        for code in ("area?", "?area", "area(2)?"):
            with self.subTest(code=code):
                self.assertIn("Area of a circle.", self.printed(code))
        self.assertIn("return 3 * r", self.printed("area??"))
        self.assertIn("not found", self.printed("nothing_here?"))

    def test_rich_cells(self):
        self.value("%%html\n<b>x</b>")
        self.value("%%markdown\n# t")
        self.assertEqual(self.shown, [{"text/html": "<b>x</b>"}, {"text/markdown": "# t"}])

    def test_inside_a_function(self):
        body = "    got = !echo {word} $word\n    %time n = len(got)\n    return got, n"
        self.value("def f(word):\n" + body)
        self.assertEqual(self.value("f('hey')"), "(['hey hey'], 1)")


class ShellTest(CellCase):
    def test_lines_and_exit_code(self):
        self.assertEqual(self.value("x = !printf 'a\\nb\\n'\nx"), "['a', 'b']")
        self.value("!exit 3")
        self.assertEqual(self.value("_exit_code"), "3")

    def test_expansion(self):
        scope = {"n": 3, "name": "file", "obj": [1]}
        cases = {
            "{n + 1} $name $HOME": "4 file $HOME",
            "awk '{print $1}'": "awk '{print $1}'",
            "{{x}} $$name": "{x} $name",
            "{len}": "{len}",
            "{obj[0]}": "1",
        }
        for command, expected in cases.items():
            with self.subTest(command=command):
                self.assertEqual(shell.expand(command, scope, scope), expected)

    def test_output_follows_a_replaced_stdout(self):
        self.value("import io, sys\nsys.stdout = kept = io.StringIO()\n!echo inside")
        self.assertEqual(self.value("kept.getvalue()"), "'inside\\n'")

    def test_output_goes_to_the_descriptors_in_order(self):
        program = (
            "import sys, os\n"
            "from cellar_runner.interpreter import Interpreter\n"
            "it = Interpreter(lambda data, metadata: None)\n"
            "it.streams = (sys.stdin, sys.stdout, sys.stderr)\n"
            "it.run(1, 'print(1)\\n!echo 2\\nprint(3)')\n"
            "it.run(2, '%%sh\\necho 4')\n"
        )
        folder = os.path.dirname(os.path.dirname(os.path.abspath(shell.__file__)))
        done = subprocess.run(
            [sys.executable, "-c", program],
            stdout=subprocess.PIPE,
            env=dict(os.environ, PYTHONPATH=folder),
            check=True,
        )
        self.assertEqual(done.stdout, b"1\n2\n3\n4\n")


if __name__ == "__main__":
    unittest.main()
