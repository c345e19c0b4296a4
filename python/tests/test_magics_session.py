"""Magics on the session itself: its variables, folders, environment and earlier cells."""
import os
import unittest
from contextlib import redirect_stdout

from cell_case import CellCase
from snapshot_case import SnapshotCase

from cellar_runner.policy.admission import Admission


class VariablesTest(CellCase):
    def test_who(self):
        self.assertEqual(self.printed("%who"), "Interactive namespace is empty.\n")
        self.value("one = 1\n_hidden = 2\ntext = 'x' * 60\nmany = [1]")
        self.assertEqual(self.printed("%who"), "many\t one\t text\t \n")
        self.assertEqual(self.printed("%who int str"), "one\t text\t \n")
        self.assertEqual(self.printed("%who complex"), "No variables match your requested type.\n")
        self.assertEqual(self.value("%who_ls"), "['many', 'one', 'text']")
        table = (
            "Variable   Type    Data/Info\n----------------------------\nmany       list    n=1\n"
            "one        int     1\ntext       str     {0}<...>{0}\n"
        )
        self.assertEqual(self.printed("%whos"), table.format("x" * 25))

    def test_forgetting(self):
        self.value("one = 1\ntwo = other = [2]\nthree = 3")
        self.value("%xdel two")
        self.assertEqual(self.value("%who_ls"), "['one', 'three']")
        self.assertIn("'nope' is not defined", self.printed("%xdel nope"))
        self.value("%reset_selective -f ^o")
        self.assertEqual(self.value("%who_ls"), "['three']")
        self.assertIn("%reset -f", self.error("%reset", "MagicUnavailable")["message"])
        self.value("%store three\n%reset -f")
        self.error("three", "NameError")
        self.assertEqual(self.value("%store -r three\nthree"), "3")


class EnvironmentTest(CellCase):
    def test_folders(self):
        here = os.path.realpath(self.folder.name)
        inner = os.path.join(here, "in ner")
        os.mkdir("in ner")
        self.assertEqual(self.value("%pwd"), repr(here))
        self.assertEqual(self.printed("folder = 'in ner'\n%cd {folder}"), inner + "\n")
        self.assertEqual(self.printed("%cd -"), here + "\n")
        self.assertEqual(self.printed("%cd -q 'in ner'"), "")
        self.assertEqual(os.getcwd(), inner)
        text = "[Errno 2] No such file or directory: 'nowhere'\n{}\n".format(inner)
        self.assertEqual(self.printed("%cd nowhere"), text)
        self.assertEqual(self.value("%pushd .."), repr([inner]))
        self.assertEqual(self.value("%dirs"), repr([inner]))
        self.assertEqual(self.printed("%popd"), "{0}\npopd -> {0}\n".format(inner))
        self.error("%popd", "UsageError")
        self.assertIn("0: " + here, self.printed("%dhist"))

    def test_environment(self):
        self.addCleanup(os.environ.pop, "CELLAR_TEST_NAME", None)
        self.assertEqual(self.printed("%env CELLAR_TEST_NAME=a value"), "env: CELLAR_TEST_NAME=a value\n")
        self.assertEqual(self.value("%env CELLAR_TEST_NAME"), "'a value'")
        self.value("n = 3\n%set_env CELLAR_TEST_NAME {n + 1}")
        self.assertEqual(self.value("!!echo $CELLAR_TEST_NAME"), "['4']")
        self.error("%env CELLAR_TEST_NOT_THERE", "UsageError")

    def test_earlier_cells(self):
        self.value("first = 1")
        self.value("second = 2\nsecond")
        self.assertEqual(self.printed("%history"), "first = 1\nsecond = 2\nsecond\n%history\n")
        self.assertEqual(self.printed("%hist -n 1-2"), "   1: first = 1\n   2:\nsecond = 2\nsecond\n")
        self.value("%reset -f")
        self.assertIn("=== Output: ===", self.printed("%rerun 1"))
        self.assertEqual(self.value("first"), "1")
        self.value("%macro -q again 2")
        self.assertEqual(self.value("again"), "2")
        self.assertIn("first = 1", self.printed("%save kept 1"))
        self.value("%reset -f")
        self.assertEqual(self.value("%run kept.py\nfirst"), "1")

    def test_names_for_magics_and_commands(self):
        self.value("%alias say echo said %s to %s")
        self.value("import io, sys\nsys.stdout = kept = io.StringIO()\n%say a b c")
        self.assertEqual(self.value("kept.getvalue()"), "'said a to b c\\n'")
        created = "Created `%t` as an alias for `%timeit`.\nCreated `%%t` as an alias for `%%timeit`.\n"
        self.assertEqual(self.printed("%alias_magic t timeit"), created)
        self.assertIn("2 loops", self.printed("x = 1\n%t -n 2 -r 1 x"))
        self.assertIn("%%bash", self.value("%lsmagic"))


class SnapshotTest(SnapshotCase):
    def test_what_magics_leave_behind_is_kept(self):
        with open("part.py", "w", encoding="utf-8") as target:
            target.write("def f(): return g + 1\ng = 5\n")
        self.value("%run part.py\nrows = !printf 'a\\nb'\ng = 10")
        self.value("%%capture out\nprint('hidden')\n7")
        self.value("t = %timeit -o -q -n 1 -r 1 1")
        data, manifest = self.save()
        self.assertEqual([entry for entry in manifest["variables"] if not entry["kept"]], [])
        self.restore(data)
        self.assertEqual(self.value("f(), rows.s, out.stdout, out.outputs[0].data, t.loops"),
                         "(6, 'a b', 'hidden\\n', {'text/plain': '7'}, 1)")


class PolicyTest(CellCase):
    """What a magic runs keeps the policy that the cells keep."""

    def setUp(self):
        super().setUp()
        self.interpreter.admission = Admission("ast", False)
        self.refused = "PolicyViolation"

    def test_refused_before_the_cell_runs(self):
        cells = (
            "%run x.ipynb", "%prun eval('1')", "%%prun\neval('1')", "%rerun 1", "%load_ext os",
            "%aimport subprocess", "%timeit eval('1')", "%%timeit\nimport os", "%%bash\nls", "x = !ls",
            "%time eval('1') # c", "%%capture\neval('1')", "%%capture\n%%time\nimport os", "cd ..",
            "%macro m 1", "%pylab inline", "%env A=1", "%%mine\nx", "%mine", "!!ls",
        )
        for code in cells:
            with self.subTest(code=code):
                self.error(code, self.refused)

    def test_refused_while_it_runs(self):
        commands = self.interpreter.commands
        with open("bad.py", "w", encoding="utf-8") as target:
            target.write("import os\nran = 1\n")
        with open("bad.ipynb", "w", encoding="utf-8") as target:
            target.write('{"cells": [{"cell_type": "code", "source": ["import os\\n", "ran = 1"]}]}')
        calls = {"run": ("bad.py", "bad.ipynb"), "timeit": ("-v a eval('1')", "__import__('os')")}
        calls.update(prun=("eval('1')",), time=("eval('1')",), load_ext=("subprocess",))
        for name, lines in calls.items():
            for line in lines:
                with self.subTest(name=name, line=line):
                    with self.assertRaises(Exception) as caught, redirect_stdout(self.stdout):
                        commands.run_line_magic(name, line)
                    self.assertEqual(type(caught.exception).__name__, self.refused)
        with self.assertRaises(Exception), redirect_stdout(self.stdout):
            commands.run_cell_magic("time", "", "import os")
        self.assertNotIn("ran", self.interpreter.namespace)

    def test_texts_take_names_alone(self):
        self.value("n = 3")
        self.value('%config A.b = "{n} $n"')
        kept = self.interpreter.commands.settings
        self.assertEqual(kept["A", "b"], "3 3")
        self.value('%config A.b = "{n + 1} $n.real"')
        self.assertEqual(kept["A", "b"], "{n + 1} $n.real")
        self.error("%config A.b = n.__class__", self.refused)

    def test_what_is_harmless_still_works(self):
        self.assertIn("Wall time", self.printed("%time x = 3"))
        self.assertIn("per loop", self.printed("%timeit -n 1 -r 1 -q 1\n%timeit -n1 -r1 x"))
        self.assertIn("x", self.printed("%whos"))
        self.value("%matplotlib inline\n%load_ext autoreload\n%autoreload 2")


if __name__ == "__main__":
    unittest.main()
