"""IPython's lines work, or say in one line what to do; plain Python is never rewritten."""
import os
import subprocess
import sys
import unittest

from cell_case import CellCase

import cellar_runner
from cellar_runner.cells.magics import rewriter
from cellar_runner.cells.magics.commands import shell, timing


class RewriteTest(unittest.TestCase):
    def test_lines_inside_strings_and_brackets_stay(self):
        texts = ("x = '''\n!ls\n%time\n'''", "y = (a\n%b)", "z = 1 + \\\n  2", "# !ls", "a != b")
        for text in texts:
            with self.subTest(text=text):
                self.assertIsNone(rewriter.rewrite(text))

    def test_only_the_magic_line_changes(self):
        text = "a = (10\n  %3)\n!ls 'unbalanced\nb = '''\n!no\n'''"
        lines = rewriter.rewrite(text).text.split("\n")
        self.assertEqual(lines[:2] + lines[3:], text.split("\n")[:2] + text.split("\n")[3:])
        self.assertIn("shell", lines[2])

    def test_line_numbers_stay(self):
        for text in ("!a \\\n b\nx", "%%time\n\nx", "%%capture a\n%%time\nx", "%time x\ny\nz?"):
            with self.subTest(text=text):
                self.assertEqual(rewriter.rewrite(text).text.count("\n"), text.count("\n"))


class MagicTest(CellCase):
    def test_valid_code_that_looks_like_magic(self):
        self.assertEqual(self.value("a = 7\n(a\n%4)"), "3")
        self.assertEqual(self.value("'%d!' % 5"), "'5!'")

    def test_unknown_magics_are_told_as_ipython_tells_them(self):
        cases = {
            "%nope_at_all": ("Line magic function `%nope_at_all` not found.", None),
            "%timit 1": ("Line magic function `%timit` not found.", "did you mean %timeit?"),
            "%%nope\nx": ("Cell magic `%%nope` not found.", None),
            "# c\n%%time\nx": ("Line magic function `%%time` not found.", "did you mean %time?"),
            "%undo": ("Line magic function `%undo` not found.", "a command of the host"),
            "%sql select 1": ("Line magic function `%sql` not found.", "sqlite3"),
            "x = %nope 3": ("Line magic function `%nope` not found.", None),
            "%bash": (
                "Line magic function `%bash` not found "
                "(But cell magic `%%bash` exists, did you mean that instead?).",
                None,
            ),
            "%%time": (
                "%%time is a cell magic, but the cell body is empty. "
                "Did you mean the line magic %time (single %)?",
                None,
            ),
            "%%time x\ny": ("Can't use statement directly after '%%time'!", None),
            "%timeit -z 1": ('option -z not recognized (allowed: "n:r:tcp:qov:")', None),
        }
        for code, (text, hint) in cases.items():
            with self.subTest(code=code):
                self.stderr.truncate(self.stderr.seek(0))
                error = self.error(code, "UsageError")
                self.assertEqual(error["message"], text)
                self.assertEqual(self.stderr.getvalue(), "UsageError: {}\n".format(text))
                if hint is not None:
                    self.assertIn(hint, error["hint"])
        self.assertIn("print the values", self.error("%debug", "MagicUnavailable")["message"])

    def test_a_mistake_beside_a_magic_is_the_one_reported(self):
        error = self.error("%matplotlib inline\nx = = 1", "SyntaxError")
        self.assertIn("line 2", error["message"])

    def test_settings(self):
        for code in ("%matplotlib inline", "%load_ext autoreload", "%config X.y = set(['z'])", "%colors a"):
            with self.subTest(code=code):
                self.assertEqual(self.value(code + "\n1"), "1")
        self.assertIn("'agg'", self.printed("%matplotlib --list"))
        self.assertEqual(self.printed("%matplotlib"), "Using matplotlib backend: inline\n")
        self.assertIn("'nope'", self.error("%matplotlib nope", "RuntimeError")["message"])
        self.value("%config InlineBackend.figure_format = 'retina'")
        self.assertEqual(self.value("%config InlineBackend.figure_format"), "'retina'")
        self.assertEqual(self.printed("%xmode Minimal"), "Exception reporting mode: Minimal\n")
        self.assertEqual(self.value("%precision 3"), "'%.3f'")
        self.value("class Shell: pass\nshell = Shell()\n__builtins__.get_ipython = lambda: shell")
        self.value("%config InteractiveShell.ast_node_interactivity = 'all'")
        self.assertEqual(self.value("shell.ast_node_interactivity"), "'all'")
        self.error("%precision abc", "ValueError")
        self.value("%precision")
        self.assertEqual(self.printed("%pdb off"), "Automatic pdb calling has been turned OFF\n")

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
        times = r"\ACPU times: user \S+ \S+, sys: \S+ \S+, total: \S+ \S+\nWall time: \S+ \S+\n\Z"
        self.assertRegex(self.printed("%time x = 3"), times)
        self.assertEqual(self.value("%time x + 1"), "4")
        self.assertEqual(self.value("import asyncio\n%time await asyncio.sleep(0, 'v')"), "'v'")
        self.assertEqual(self.value("%%time\ny = 5\ny"), "5")
        self.assertIsNone(self.value("%time 5;"))
        self.assertRegex(self.printed("%time for i in range(3): pass"), times)
        self.stdout.truncate(self.stdout.seek(0))
        error = self.error("%%time\n\n1 / 0", "ZeroDivisionError")
        self.assertIn("line 3", error["traceback"])
        self.assertRegex(self.stdout.getvalue(), times)
        self.stdout.truncate(self.stdout.seek(0))
        self.error("%time 1 / 0", "ZeroDivisionError")
        self.assertRegex(self.stdout.getvalue(), times)

    def test_comments_after_a_magic(self):
        self.assertEqual(self.value("%time sum(range(3)) # a (comment"), "3")
        self.assertEqual(self.value("%time '#' # a '"), "'#'")
        self.assertEqual(self.value("t = %time [1] # c\nt"), "[1]")
        self.value("%time z = 1 # c")
        text = self.printed("for i in range(2):\n    %time i # hey\n    if i:\n        %time z = i # c")
        self.assertEqual(text.count("Wall time"), 3)
        self.assertEqual(self.value("z"), "1")
        self.assertIn("per loop", self.printed("%timeit -n 1 -r 1 sum([1]) # c"))

    def test_timeit(self):
        self.assertIn("per loop", self.printed("n = 3\n%timeit -n 2 -r 3 sum(range(n))"))
        self.assertIn("2 runs, 4 loops", self.printed("%%timeit -n4 -r2 k = 2\nk + 1"))
        self.assertIn("1 run, 1 loop each", self.printed("%timeit -t -p2 -n 1 -r1 1"))
        self.assertEqual(self.value("t = %timeit -o -q -n 1 -r 1 1\n(t.repeat, t.loops)"), "(1, 1)")
        self.assertIn("<TimeitResult : ", self.value("t"))
        self.assertEqual(self.printed("%timeit"), "")

    def test_durations(self):
        cases = {0: "0 ns", 5e-7: "500 ns", 0.0123456: "12.3 ms", 3661.5: "1h 1min 1s", 86400: "1d"}
        for seconds, text in cases.items():
            self.assertEqual(timing.span(seconds), text)

    def test_profile(self):
        code = "def f(): return sum([1])\n%prun -l 5 f()"
        self.assertIn("function calls", self.printed(code))
        self.assertIn("(f)", self.printed("%%prun\nf()\nf()"))

    def test_capture(self):
        self.assertEqual(self.printed("%%capture out\nprint('hidden')\ndisplay(1)\n5"), "")
        self.assertEqual(self.value("out.stdout"), "'hidden\\n'")
        self.assertEqual(self.shown, [])
        kept = self.value("[one.data for one in out.outputs]")
        self.assertEqual(kept, "[{'text/plain': '1'}, {'text/plain': '5'}]")
        self.assertEqual(self.printed("out.show()"), "hidden\n")
        self.assertEqual(len(self.shown), 2)
        self.assertEqual(self.value("%%capture --no-display\nprint('hidden')\n6"), "6")
        self.assertEqual(self.printed("%%capture\n%%time\n!echo a\nprint('hidden')"), "")
        self.assertEqual(self.printed("print('seen')"), "seen\n")
        self.error("%%capture --what\n1", "UsageError")

    def test_help(self):
        self.value("def area(r: float):\n    '''Area of a circle.'''\n    return 3 * r")
        for code in ("area?", "?area", "area(2)?"):
            with self.subTest(code=code):
                self.assertIn("Area of a circle.", self.printed(code))
        self.assertIn("return 3 * r", self.printed("area??"))
        self.assertIn("not found", self.printed("nothing_here?"))
        self.value("class A:\n    items = ['abc']\na = A()")
        for code in ("a.items[0]?", "?a.items[0]", "y = a.items[-1]?", "if a:\n    a.items[0]?"):
            with self.subTest(code=code):
                self.assertIn("Type: str", self.printed(code))
        self.assertIn("%run", self.printed("%run?"))
        self.assertIn("area", self.printed("are*?"))
        self.assertEqual(self.value("s = 'why?' # who?\ns"), "'why?'")

    def test_rich_cells(self):
        self.value("%%html\n<b>x</b>")
        self.value("%%markdown\n# t")
        html, markdown = self.shown
        self.assertEqual(html["text/html"], "<b>x</b>\n")
        self.assertEqual(html["text/plain"], "<IPython.core.display.HTML object>")
        self.assertEqual(markdown["text/markdown"], "# t\n")

    def test_inside_a_function(self):
        body = "    got = !echo {word} $word\n    %time n = len(got)\n    return got, n"
        self.value("def f(word):\n" + body)
        self.assertEqual(self.value("f('hey')"), "(['hey hey'], 1)")

    def test_assignment_from_magics(self):
        self.assertEqual(self.value("a, b = !printf '1\\n2\\n'\nb"), "'2'")
        self.assertEqual(self.value("d = {}\nd['x'] = !echo =y\nd"), "{'x': ['=y']}")
        self.assertEqual(self.value("if a == '1':\n    here = %pwd\nhere"), repr(os.getcwd()))

    def test_calls_without_brackets(self):
        self.assertEqual(self.printed(",print a b"), "a b\n")
        self.assertEqual(self.printed(";print a b"), "a b\n")
        self.assertEqual(self.printed("/print 1 2"), "1 2\n")

    def test_magics_without_a_mark(self):
        self.value("%cd -q .")
        self.assertEqual(self.value("pwd"), repr(os.getcwd()))
        self.assertEqual(self.value("time sum([1])"), "1")
        self.value("mkdir inner")
        self.assertEqual(self.printed("cd inner"), os.path.join(os.getcwd()) + "\n")
        self.error("pwd\n1", "NameError")
        self.error("print 3", "SyntaxError")
        self.assertEqual(self.value("pwd = 5\npwd"), "5")
        self.assertEqual(self.value("pwd"), "5")
        self.value("%automagic off")
        self.error("who", "NameError")

    def test_registered_magics(self):
        commands = self.interpreter.commands
        commands.register("cell", lambda line, cell: (line, cell), "expect")
        commands.register("line_cell", lambda line, cell=None: (line, cell), "both")
        commands.register("line", lambda line: "mine", "pwd")

        def scoped(line, local_ns=None):
            return local_ns["inner"]

        scoped.needs_local_scope = True
        commands.register("line", scoped, "scoped")
        self.value("n = 3")
        body = "def f(:\n    %time {n}\n\n"
        self.assertEqual(self.value("%%expect Syntax{n}\n" + body), repr(("Syntax3", body)))
        self.assertEqual(self.value("%both a $n # c"), "('a 3 # c', None)")
        self.assertEqual(self.value("%%both\nx"), "('', 'x\\n')")
        self.assertEqual(self.value("%pwd"), "'mine'")
        code = "def f():\n    inner = 7\n    got = %scoped\n    return got\nf()"
        self.assertEqual(self.value(code), "7")
        self.assertEqual(commands.run_line_magic("both", "z"), ("z", None))
        self.assertEqual(commands.run_cell_magic("expect", "z", "b"), ("z", "b"))
        self.assertEqual(commands.run_cell_magic("time", "", "n + 1"), 4)


class ShellTest(CellCase):
    def test_lines_and_exit_code(self):
        self.assertEqual(self.value("x = !printf 'a\\nb\\n'\nx"), "['a', 'b']")
        self.value("!exit 3")
        self.assertEqual(self.value("_exit_code"), "3")
        self.assertEqual(self.value("y = !echo a; echo b >&2\n(y.n, y.s, y.grep('b'))"), "('a\\nb', 'a b', ['b'])")
        self.assertEqual(self.value("!!echo hi"), "['hi']")
        self.assertEqual(self.value("%sx echo hi"), "['hi']")
        self.assertEqual(self.value("%%sx\necho a\necho b"), "['a', 'b']")

    def test_expansion(self):
        scope = {"n": 3, "name": "file", "obj": [1]}
        cases = {
            "{n + 1} $name $HOME": "4 file $HOME",
            "awk '{print $1}'": "awk '{print $1}'",
            "{{x}} $$name": "{x} $name",
            "{n:03d} {name!r}": "003 'file'",
            "{name} {nope}": "{name} {nope}",
            "'$name'": "'$name'",
            "-d '{\"a\": 1}'": "-d '{\"a\": 1}'",
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
            "from cellar_runner.cells.interpreter import Interpreter\n"
            "it = Interpreter(lambda data, metadata: None)\n"
            "it.streams = (sys.stdin, sys.stdout, sys.stderr)\n"
            "it.run(1, 'print(1)\\n!echo 2\\nprint(3)')\n"
            "it.run(2, '%%sh\\necho 4')\n"
        )
        folder = os.path.dirname(os.path.dirname(os.path.abspath(cellar_runner.__file__)))
        done = subprocess.run(
            [sys.executable, "-c", program],
            stdout=subprocess.PIPE,
            env=dict(os.environ, PYTHONPATH=folder),
            check=True,
        )
        self.assertEqual(done.stdout, b"1\n2\n3\n4\n")


if __name__ == "__main__":
    unittest.main()
