"""Magics that run files and programs, and modules that follow their files."""
import json
import os
import sys
import time
import unittest

from cell_case import CellCase


def notebook(*cells):
    """A notebook's JSON: texts are code, tuples are Markdown."""
    made = []
    for text in cells:
        kind = "code" if isinstance(text, str) else "markdown"
        lines = (text if kind == "code" else text[0]).splitlines(True)
        made.append({"cell_type": kind, "metadata": {}, "source": lines})
        if kind == "code":
            made[-1].update(outputs=[], execution_count=None)
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 2})


class FileCase(CellCase):
    def write(self, name, text):
        with open(name, "w", encoding="utf-8") as target:
            target.write(text)
        # a moment that no earlier version of the file had
        moment = time.time() + 10 * self.number + len(text)
        os.utime(name, (moment, moment))


class RunTest(FileCase):
    def test_writefile(self):
        self.assertEqual(self.printed("%%writefile part.py\nv = 1"), "Writing part.py\n")
        self.assertEqual(self.printed("%%writefile part.py\nv = 2"), "Overwriting part.py\n")
        self.assertEqual(self.printed("%%writefile -a part.py\nw = 3"), "Appending to part.py\n")
        self.value("name = 'other'")
        self.assertEqual(self.printed("%%writefile {name}.py\nv"), "Writing other.py\n")
        self.assertEqual(self.printed('%%file "with space.py"\nv'), "Writing with space.py\n")
        with open("part.py", encoding="utf-8") as source:
            self.assertEqual(source.read(), "v = 2\nw = 3\n")
        self.error("%%writefile\nv", "UsageError")

    def test_a_file_has_names_of_its_own(self):
        self.write("part.py", "import sys\nseen = 'x' in globals()\nwhere = __name__, __file__\n"
                   "def f(): return g\ng = 5\nargs = sys.argv\n")
        self.value("x = 1\n%run part.py 1 'a b' *.py")
        path = os.path.join(os.path.realpath(os.getcwd()), "part.py")
        self.assertEqual(self.value("seen, where"), repr((False, ("__main__", path))))
        self.assertEqual(self.value("args"), repr(["part.py", "1", "a b", "part.py"]))
        self.value("import gc; gc.collect()")
        self.assertEqual(self.value("g = 6\nf(), sys.argv == args, __name__"), "(5, False, '__main__')")
        self.value("%run -i part")
        self.assertEqual(self.value("seen"), "True")
        self.assertEqual(self.value("g = 7\nf(), '__file__' in globals()"), "(7, False)")
        self.value("%run -n part.py")
        self.assertEqual(self.value("where[0]"), "'part'")

    def test_how_a_file_ends(self):
        self.write("bad.py", "def h():\n    1 / 0\nq = 1\nh()\n")
        error = self.error("%run bad.py", "ZeroDivisionError")
        self.assertIn('bad.py", line 2, in h', error["traceback"])
        self.assertEqual(self.value("q"), "1")
        self.write("leave.py", "import sys\nleft = 1\nsys.exit(int(sys.argv[1]))\n")
        self.assertEqual(self.value("%run leave.py 0\nleft"), "1")
        self.assertEqual(self.value("%run -e leave.py 3\nleft"), "1")
        self.error("%run leave.py 3", "SystemExit")
        error = self.error("%run nofile.py", "Exception")
        self.assertEqual(error["message"], "File `'nofile.py'` not found.")
        self.error("%run", "Exception")
        self.assertIn("Wall time", self.printed("%run -t leave.py 0"))

    def test_a_notebook_runs_its_code_cells_here(self):
        cells = "%time n = 1\nprint('printed')\nn", "%%capture kept\nprint(n)", "display(n + own)\nm = !echo hey"
        self.write("Utils.ipynb", notebook(("# null",), *cells))
        self.assertIn("printed\n", self.printed("own = 2\n%run Utils.ipynb"))
        self.assertEqual(self.shown, [{"text/plain": "3"}])
        self.assertEqual(self.value("n, kept.stdout, m"), "(1, '1\\n', ['hey'])")
        self.write("bad.ipynb", notebook("good = 1", "\n1 / 0", "never = 1"))
        error = self.error("%run bad", "ZeroDivisionError")
        self.assertIn("<cell bad.ipynb:2>", error["traceback"])
        self.assertEqual(self.value("good, 'never' in globals()"), "(1, False)")
        self.write("none.ipynb", "{")
        self.assertIn("not a notebook", self.error("%run none.ipynb", "ValueError")["message"])


class ScriptTest(FileCase):
    def test_programs(self):
        error = self.error("%%bash\nexit 3", "CalledProcessError")
        self.assertEqual(error["message"], "Command 'b'exit 3\\n'' returned non-zero exit status 3.")
        self.value("%%bash --no-raise-error\nexit 4")
        self.value("%%bash --out o --err e\necho out; echo err >&2")
        self.assertEqual(self.value("o, e"), "('out\\n', 'err\\n')")
        self.assertIn("Couldn't find program: 'nosuchprogram'", self.printed("%%script nosuchprogram\nx"))
        self.assertEqual(self.printed("%%capture c\n%%sh\necho in; echo err >&2"), "")
        self.assertEqual(self.value("c.stdout, c.stderr"), "('in\\n', 'err\\n')")
        self.value("%%python --out version\nimport sys; print(sys.version)")
        self.assertEqual(self.value("version.strip()"), repr(sys.version))
        self.value("%%sh --bg --out b --proc p\necho late")
        self.assertEqual(self.value("b.read(), p.wait()"), "(b'late\\n', 0)")


class AutoreloadTest(FileCase):
    def setUp(self):
        super().setUp()
        self.addCleanup(sys.path.remove, self.folder.name)
        sys.path.insert(0, self.folder.name)
        for name in ("moving", "still"):
            self.addCleanup(sys.modules.pop, name, None)

    def test_says_that_it_has_to_be_loaded(self):
        error = self.run_cell("%autoreload 2")["error"]
        self.assertIn("%load_ext autoreload", error["hint"])

    def test_functions_classes_and_instances_follow_their_file(self):
        self.write("moving.py", "def f(): return 1\nclass A:\n    def m(self): return 'old'\n    gone = 1\nk = 1\n")
        self.value("%load_ext autoreload\n%autoreload 2\nimport moving\nfrom moving import f, A\na = A()")
        text = "def f(b=3): return 20 + b\nclass A:\n    def m(self): return 'new'\n    @property\n    def p(self): return 4\nk = 2\n"
        self.write("moving.py", text)
        self.assertEqual(self.value("f(), a.m(), a.p, hasattr(A, 'gone'), moving.k"), "(23, 'new', 4, False, 2)")
        self.assertEqual(self.value("isinstance(a, moving.A), isinstance(A(), A)"), "(True, True)")
        self.write("moving.py", text.replace("20", "40 "))
        self.assertEqual(self.value("f()"), "43")
        self.write("moving.py", "def f(: pass\n")
        self.assertEqual(self.value("f()"), "43")
        self.assertIn("autoreload of moving failed: SyntaxError", self.stderr.getvalue())
        self.write("moving.py", "def f(): return 'mended'\n")
        self.assertEqual(self.value("f()"), "'mended'")

    def test_modes(self):
        self.error("%autoreload 2", "UsageError")
        self.write("moving.py", "v = 1\n")
        self.write("still.py", "v = 1\n")
        self.value("%load_ext autoreload\n%autoreload 1\nimport still\n%aimport moving")
        self.write("moving.py", "v = 22\n")
        self.write("still.py", "v = 22\n")
        self.assertEqual(self.value("moving.v, still.v"), "(22, 1)")
        self.value("%autoreload now")
        self.assertEqual(self.value("still.v"), "22")
        self.value("%autoreload 0")
        self.write("moving.py", "v = 333\n")
        self.assertEqual(self.value("moving.v"), "22")
        self.assertIn("Modules to reload:\nmoving\n", self.printed("%aimport"))
        self.error("%autoreload 9", "ValueError")

    def test_a_module_that_cannot_be_read_again_is_not_when_that_is_ended(self):
        self.write("moving.py", "v = 1\n")
        self.value("%load_ext autoreload\n%autoreload 2\nimport moving")
        self.write("moving.py", "raise KeyboardInterrupt\n")
        self.error("moving.v", "KeyboardInterrupt")
        for ending in ("%autoreload 0", " %autoreload  off\n"):
            self.value(ending)
            self.assertEqual(self.value("moving.v"), "1")
            self.value("%autoreload 2")

    def test_extensions(self):
        self.write("moving.py", "def load_ipython_extension(shell): shell.append('loaded')\n")
        self.value("import builtins\nshell = []\nbuiltins.get_ipython = lambda: shell")
        self.value("%load_ext moving")
        self.assertEqual(self.value("shell"), "['loaded']")
        self.assertIn("already loaded", self.printed("%load_ext moving"))
        self.assertEqual(self.printed("%load_ext json"), "The json module is not an IPython extension.\n")
        self.error("%load_ext nopenope", "ModuleNotFoundError")


if __name__ == "__main__":
    unittest.main()
