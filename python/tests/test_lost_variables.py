"""What cannot be kept is told, with advice, and harms nothing else."""
import builtins
import json
import os
import random
import sys
import unittest
import zlib

from snapshot_case import PLAIN, SnapshotCase, missing

from cellar_runner.state import lost_variables, snapshot


class LossTest(SnapshotCase):
    def lost(self, code, name="v", **options):
        """(reason, advice) of a variable that must be lost, while its neighbours are kept."""
        self.value("before = [1]")
        report = self.travel(code, "after = [before, 2]", **options)
        self.holds("after == [[1], 2] and after[0] is before")
        entry = self.entry(name)
        self.assertFalse(entry["kept"], entry)
        self.assertNotIn("size", entry)
        self.assertIn(name, [lost["name"] for lost in report["lost"]])
        self.assertNotIn(name, report["restored"])
        return entry["reason"], entry["advice"]

    def test_advice_by_kind(self):
        cases = {
            "v = (i for i in ())": ("generator", "convert it to a list"),
            "async def co(): pass\nv = co()": ("coroutine", "await"),
            "import threading\nv = threading.Lock()": ("lock", "create it again"),
            "import threading\nv = threading.Thread()": ("thread", "start it again"),
            "import threading\nv = threading.Event()": ("lock", "create it again"),
            "import socket\nv = socket.socket()": ("socket", "recreate the connection"),
            "import sqlite3\nv = sqlite3.connect(':memory:').cursor()": ("cursor", "reconnect"),
            "import queue\nv = queue.Queue()": ("queue", "list"),
            "import weakref\nclass C: pass\nc = C()\nv = weakref.ref(c)": ("weak", "the object itself"),
            "import hashlib\nv = hashlib.sha256()": ("hash", "digest"),
            "import sys\nv = sys._getframe()": ("running program", "text"),
            "import types\nv = types.ModuleType('made')": ("module", "import it from a file"),
            "import concurrent.futures as f\nv = f.ThreadPoolExecutor()": ("pool", "create it again"),
            "class DbConnection:\n    def __reduce__(self): raise TypeError('no')\nv = DbConnection()": ("no", "reconnect"),
            "class Odd:\n    def __reduce__(self): raise TypeError('no')\nv = Odd()": ("no", "plain values"),
        }
        for code, (reason, advice) in cases.items():
            with self.subTest(code=code):
                found = self.lost(code)
                self.assertIn(reason, found[0])
                self.assertIn(advice, found[1])
        self.value("s = None")

    def test_files(self):
        with open("data.txt", "w") as file:
            file.write("one\ntwo\n")
        for mode in ("r", "rb"):
            reason, advice = self.lost("v = open('data.txt', {!r})\nv.readline()\nNone".format(mode))
            self.assertIn("'data.txt', at position 4", reason)
            self.assertEqual(advice, "reopen the file in the next cell")
        self.assertIn("closed", self.lost("v = open('data.txt')\nv.close()")[0])
        self.assertIn("file", self.lost("import zipfile\nv = zipfile.ZipFile('a.zip', 'w')")[0])

    def test_a_file_for_writing_is_not_flushed(self):
        codes = {
            "a.txt": "v = open('w.txt', 'w')\nv.write('x')\nNone",
            "b.txt": "u = open('w.txt', 'w+b')\nu.write(b'x')\nNone",
        }
        for name, code in codes.items():
            self.value(code.replace("w.txt", name))
            self.save()
            self.assertEqual(os.path.getsize(name), 0)

    def test_where_it_is_inside(self):
        reason, advice = self.lost(
            "class K: pass\nk = K()\nk.rows = [0, (i for i in ())]\nv = {'conn': k}"
        )
        self.assertEqual(
            reason, "item 1 of the list in attribute 'rows' of the K in item 'conn' of the dict is a generator"
        )
        self.assertIn("convert it to a list", advice)

    def test_objects_whose_own_code_fails(self):
        for raising in ("ValueError('no')", "KeyboardInterrupt", "SystemExit(1)", "GeneratorExit", "MemoryError"):
            for method in ("__reduce_ex__(self, p)", "__getstate__(self)", "__reduce__(self)"):
                with self.subTest(raising=raising, method=method):
                    self.lost("class C:\n    def {}: raise {}\nv = C()".format(method, raising))

    def test_errors_whose_text_fails(self):
        code = (
            "class E(Exception):\n    def __str__(self): raise KeyboardInterrupt\n"
            "class C:\n    def __reduce__(self): raise E()\n    def __repr__(self): raise SystemExit\n"
            "    __class__ = property(lambda self: 1 / 0)\nv = C()"
        )
        self.lost(code)

    def test_hostile_metaclasses(self):
        code = (
            "class M(type):\n    def __hash__(cls): raise SystemExit\n"
            "    def __eq__(cls, o): raise SystemExit\n"
            "    def __getattribute__(cls, n): raise SystemExit(n)\n"
            "class C(metaclass=M): pass\nv = object.__new__(C)"
        )
        self.value("before = [1]")
        self.travel(code, "after = [before]")
        self.holds("after[0] is before")

    def test_what_is_nested_too_deeply(self):
        self.value("import sys\nsys.setrecursionlimit(1_000_000)")
        self.addCleanup(sys.setrecursionlimit, sys.getrecursionlimit())
        reason, _ = self.lost("v = []\nfor _ in range(100_000): v = [v]")
        self.assertIn("deeply", reason)
        self.assertEqual(sys.getrecursionlimit(), 1_000_000)
        self.travel("class N: pass\nn = None\nfor i in range(900):\n    m = N()\n    m.n, n = n, m")
        self.assertTrue(self.entry("n")["kept"])

    def test_broken_modules_and_builtins(self):
        self.value("ok = [1, {'a': 2}]\ndef f(): return ok")
        code = (
            "import builtins, json, random, zlib\n"
            "builtins.getattr = builtins.len = builtins.sorted = builtins.sum = None\n"
            "json.dumps = zlib.compress = random.getstate = None\n"
        )
        broken = ("getattr", "len", "sorted", "sum")
        saved = {name: vars(builtins)[name] for name in broken}
        originals = json.dumps, zlib.compress, random.getstate
        self.run_cell(code)
        try:
            pieces = []
            snapshot.write(self.interpreter, lambda piece: pieces.append(bytes(piece)), 1 << 30, codec=PLAIN)
        finally:
            vars(builtins).update(saved)
            json.dumps, zlib.compress, random.getstate = originals
        self.restore(b"".join(pieces))
        self.holds("f() == [1, {'a': 2}]")

    def test_a_reference_to_the_cells_own_module_is_no_value(self):
        self.lost("class C:\n    def __reduce__(self): return 'v'\nv = C()")

    def test_strict(self):
        self.value("a = 1\ng = (i for i in ())")
        with self.assertRaisesRegex(snapshot.Unserializable, "cannot pickle 'generator' object.*'g'"):
            self.save(strict=True)
        self.value("del g")
        self.save(strict=True)

    def test_too_large(self):
        self.value(
            "import os\nsmall = 1\nbig = os.urandom(3 << 20)\n"
            "bigger = os.urandom(5 << 20)\nlast = 2"
        )
        handed = []
        with self.assertRaises(snapshot.TooLarge) as caught:
            snapshot.write(self.interpreter, lambda piece: handed.append(len(piece)), 2 << 20)
        self.assertLessEqual(sum(handed), 2 << 20)
        text = str(caught.exception)
        for part in ("2.0 MB", "bigger (5.0 MB)", "big (3.0 MB)", "delete", "stateMaxSizeMb"):
            self.assertIn(part, text)
        self.save(max_bytes=9_000_000)

    def test_a_failing_sink_is_not_a_loss(self):
        self.value("import os\na = os.urandom(5_000_000)")
        for working in range(1, 6):
            handed = []

            def sink(piece):
                handed.append(len(piece))
                if len(handed) == working:
                    raise OSError("gone")

            with self.assertRaises(OSError):
                snapshot.write(self.interpreter, sink, 1 << 30)
            self.assertEqual(len(handed), working)

    def test_lost_names_give_advice_later(self):
        self.travel("fh = open('/dev/null')\ng = (i for i in ())")
        error = self.error("fh.read()", "NameError")
        self.assertEqual(
            error["hint"],
            "'fh' was not kept when the session was restored: reopen the file in the next cell",
        )
        self.assertIn("convert it to a list", self.error("def f(): return g\nf()", "NameError")["hint"])
        self.assertNotIn("hint", self.error("other", "NameError"))
        self.assertNotIn("hint", self.error("def f():\n    fh\n    fh = 1\nf()", "UnboundLocalError"))

    def test_lost_names_are_remembered_until_they_are_assigned(self):
        self.travel("fh = open('/dev/null')\ng = (i for i in ())")
        self.travel("fh = 3")
        self.assertEqual([entry["name"] for entry in self.manifest["variables"]], ["fh"])
        self.assertEqual(self.value("fh"), "3")
        self.assertIn("hint", self.error("g", "NameError"))
        self.value("del fh")
        self.assertNotIn("hint", self.error("fh", "NameError"))
        self.travel("x = 1")
        self.assertNotIn("hint", self.error("fh", "NameError"))
        self.assertIn("hint", self.error("g", "NameError"))


class PlainLossTest(LossTest):
    codec = PLAIN


class HandlerTest(SnapshotCase):
    def test_databases_in_memory(self):
        self.travel(
            "import sqlite3\ndb = sqlite3.connect(':memory:', isolation_level=None)\n"
            "db.row_factory = sqlite3.Row\n"
            "db.executescript('create table t(a, b); insert into t values (1, \"x\")')\n"
            "also = {'db': db}\n"
            "empty = sqlite3.connect(':memory:')"
        )
        self.holds("tuple(db.execute('select a, b from t').fetchone()) == (1, 'x') and also['db'] is db")
        self.holds("db.isolation_level is None and db.row_factory is sqlite3.Row")
        self.holds("empty.execute('select count(*) from sqlite_master').fetchone() == (0,)")
        self.travel("file = sqlite3.connect('own.db')")
        self.assertIn("sqlite3.connect('", self.entry("file")["advice"])
        self.assertIn("own.db", self.entry("file")["reason"])

    def test_streams_in_memory(self):
        self.travel(
            "import io\ns = io.StringIO('abc')\ns.read(1)\nb = io.BytesIO(b'xyz')\n"
            "b.seek(2)\nNone"
        )
        self.assertEqual(self.value("s.read(), b.read()"), "('bc', b'z')")

    def test_warnings_of_libraries_are_not_shown(self):
        self.value(
            "import warnings\nclass C:\n    def __reduce__(self):\n"
            "        warnings.warn('old')\n        return C, ()\nc = C()"
        )
        self.value("warnings.simplefilter('error')")
        self.travel("code = compile('1 + 1', 'x', 'eval')")
        self.assertEqual(self.value("type(c) is C, eval(code)"), "(True, 2)")

    def test_views_and_proxies(self):
        self.travel(
            "import types\nb = memoryview(b'abcd').cast('H')\n"
            "w = memoryview(bytearray(b'ab'))\np = types.MappingProxyType({'a': 1})"
        )
        self.assertEqual(self.value("w[0] = 65\nb.format, b.readonly, bytes(w), p['a']"), "('H', True, b'Ab', 1)")

    @unittest.skipIf(missing("openpyxl"), missing("openpyxl"))
    def test_workbooks(self):
        self.travel(
            "import openpyxl\nwb = openpyxl.Workbook()\nws = wb.create_sheet('data')\n"
            "ws['B2'] = 5\ncell = ws['B2']\n"
            "wb.active = 1\nwo = openpyxl.Workbook(write_only=True)\nwb.save('f.xlsx')\n"
            "ro = openpyxl.load_workbook('f.xlsx', read_only=True)"
        )
        self.holds("ws.parent is wb and wb['data'] is ws and ws['B2'].value == 5 and cell.parent is ws")
        self.value("cell.value = 6")
        self.holds("ws['B2'].value == 6 and wb.active is ws")
        self.assertIn("write-only workbook", self.entry("wo")["reason"])
        self.assertIn("read-only workbook", self.entry("ro")["reason"])
        self.assertIn("openpyxl", self.manifest["libraries"])


class WordTest(unittest.TestCase):
    def test_texts_are_short(self):
        self.assertLess(len(lost_variables.short("x" * 10_000)), 1000)


if __name__ == "__main__":
    unittest.main()
