"""Imports, random numbers and libraries live on in a new session."""
import os
import sys
import unittest
from unittest import mock

from snapshot_case import PLAIN, SnapshotCase, missing

from cellar_runner.state import process_state


class AmbientTest(SnapshotCase):
    def test_futures_stay_in_force(self):
        self.travel("from __future__ import annotations")
        self.assertEqual(self.value("def f(a: nowhere): pass\nf.__annotations__"), "{'a': 'nowhere'}")

    def test_imports(self):
        self.travel(
            "import json as j, os.path\nfrom math import sqrt, pi\n"
            "from collections import OrderedDict as OD"
        )
        self.holds("j.dumps(1) == '1' and os.path.join('a', 'b') == 'a/b' and sqrt(4) == 2")
        self.holds("pi > 3 and OD(a=1)")

    def test_modules_of_the_workspace(self):
        with open("own_module.py", "w") as file:
            file.write("def f():\n    return 'own'\nclass K:\n    pass\n")
        self.addCleanup(sys.modules.pop, "own_module", None)
        self.addCleanup(sys.path.__setitem__, slice(None), list(sys.path))
        self.value("import sys\nsys.path.insert(0, {!r})".format(self.folder.name))
        self.value(
            "sys.path.append('/nowhere')\nimport own_module\nfrom own_module import f, K\n"
            "k = K()"
        )
        data, _ = self.save()
        del sys.modules["own_module"]
        for entry in (self.folder.name, "/nowhere"):
            sys.path.remove(entry)
        self.assertEqual(self.restore(data)["lost"], [])
        self.holds("f() == 'own' and type(k) is own_module.K")
        self.assertEqual((sys.path[0], sys.path[-1]), (self.folder.name, "/nowhere"))

    def test_a_module_that_is_gone(self):
        with open("gone_module.py", "w") as file:
            file.write("class K:\n    pass\n")
        self.addCleanup(sys.modules.pop, "gone_module", None)
        self.addCleanup(sys.path.__setitem__, slice(None), list(sys.path))
        self.value("import sys\nsys.path.insert(0, {!r})".format(self.folder.name))
        self.value(
            "shared = ['s']\nimport gone_module\nk = [shared, gone_module.K(), ['own']]\n"
            "late = [shared, k[2]]"
        )
        self.value("half = {'k': k}\nok = 1")
        data, _ = self.save()
        del sys.modules["gone_module"]
        os.remove("gone_module.py")
        sys.path_importer_cache.clear()
        report = self.restore(data)
        self.assertEqual(report["restored"], ["sys", "shared", "ok"])
        lost = {entry["name"]: entry for entry in report["lost"]}
        self.assertEqual(set(lost), {"gone_module", "k", "late", "half"})
        self.assertIn("cellar install gone_module", lost["gone_module"]["advice"])
        self.assertIn("shares", lost["late"]["reason"])
        self.assertIn("cellar install", self.error("gone_module", "NameError")["hint"])
        self.holds("shared == ['s'] and ok == 1")

    def test_random_numbers_go_on(self):
        self.value("import random\nrandom.seed(3)")
        data, _ = self.save()
        expected = self.value("random.random()")
        self.value("random.seed(8)")
        self.restore(data)
        self.assertEqual(self.value("random.random()"), expected)

    def test_the_folder(self):
        os.mkdir("sub")
        home = os.getcwd()
        with mock.patch.object(process_state, "WORKSPACE", home):
            self.value("import os\nos.chdir('sub')")
            data, _ = self.save()
            os.chdir(home)
            self.restore(data)
            self.assertEqual(os.getcwd(), os.path.join(home, "sub"))
            os.chdir(home)
            os.rmdir("sub")
            self.assertIn("no longer exists", self.restore(data)["warnings"][0])


@unittest.skipIf(missing("numpy", "pandas"), missing("numpy", "pandas"))
class LibraryTest(SnapshotCase):
    def test_arrays(self):
        self.travel(
            "import numpy as np\na = np.arange(1_000_000)\nb = a\nc = {'a': a}\nsmall = np.ones(3)\n"
            "f = np.asfortranarray(np.random.rand(700, 300))\ns = a[::3]\n"
            "ro = np.arange(100_000.)\nro.flags.writeable = False\n"
            "o = np.array([1, 'x', None], dtype=object)\ncopies = [x.copy() for x in (a, f, ro)]"
        )
        self.holds("a is b and c['a'] is a and (a == np.arange(1_000_000)).all() and f.flags.f_contiguous")
        self.holds("(s == a[::3]).all() and not ro.flags.writeable and o[1] == 'x'")
        self.holds("all((x == y).all() for x, y in zip((a, f, ro), copies))")
        self.assertEqual(self.value("a[5] = 7\nsmall[0] = 2\nint(b[5]), float(small[0])"), "(7, 2.0)")
        self.assertGreater(self.entry("a")["size"], 8_000_000)
        self.assertEqual(self.entry("b")["size"] < 100, True)

    def test_a_forked_copy_does_not_change_a_restored_array(self):
        self.travel("import numpy as np, os\na = np.zeros(500_000)")
        self.value("p = os.fork()\nif p == 0:\n    a[0] = 1\n    os._exit(0)\nos.waitpid(p, 0)\nNone")
        self.assertEqual(self.value("float(a[0])"), "0.0")

    def test_frames_and_random_state(self):
        self.value("import pandas as pd, numpy as np\nnp.random.seed(5)")
        self.value("df = pd.DataFrame({'n': range(20_000), 's': ['w'] * 20_000})\ncol = df['n']")
        data, manifest = self.save()
        self.assertLessEqual({"numpy", "pandas"}, set(manifest["libraries"]))
        expected = self.value("float(np.random.rand())")
        self.assertEqual(self.restore(data)["lost"], [])
        self.assertEqual(self.value("float(np.random.rand())"), expected)
        self.holds("df.n.sum() == 199990000 and df.s[3] == 'w' and col.sum() == 199990000")
        self.assertEqual(self.value("df.loc[0, 'n'] = 9\nint(df.n[0])"), "9")

    def test_another_version_is_told(self):
        self.value("import numpy as np\na = np.ones(3)")
        data, manifest = self.save()
        self.assertEqual(self.restore(data)["warnings"], [])
        numpy = sys.modules["numpy"]
        with mock.patch.object(numpy, "__version__", "99.1.0"):
            self.assertIn("numpy is 99.1.0 now", self.restore(data)["warnings"][0])


class PlainAmbientTest(AmbientTest):
    codec = PLAIN


class PlainLibraryTest(LibraryTest):
    codec = PLAIN

if __name__ == "__main__":
    unittest.main()
