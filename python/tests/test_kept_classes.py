"""keep(): objects that can save and load live on in a new session."""
import unittest

from snapshot_case import PLAIN, SnapshotCase

STORE = (
    "import threading\n"
    "class Store:\n"
    "    def __init__(self, rows):\n"
    "        self.rows, self.lock = rows, threading.Lock()\n"
    "def save(store): return PREFIX + ','.join(store.rows)\n"
    "def load(text): return Store(text[len(PREFIX):].split(','))\n"
    "keep(Store, save, load)\n"
)


class KeepTest(SnapshotCase):
    def test_objects_come_back_wherever_they_are(self):
        # The prefix is made last: what load uses must be there before it runs, whatever the order was.
        report = self.travel(
            STORE + "a = Store(['x', 'y'])\nb = a\nc = {'in': [a, (a,)]}\ndef f(s=a): return s\n"
            "late = Store(['z'])\nPREFIX = '> '"
        )
        self.assertEqual(report["lost"], [])
        self.assertEqual(report["warnings"], [])
        self.holds("a.rows == ['x', 'y'] and type(a) is Store and a.lock.acquire(False)")
        self.holds("b is a and c['in'][0] is a and c['in'][1][0] is a and f() is a and late.rows == ['z']")
        self.assertTrue(self.entry("a")["kept"])

    def test_what_was_said_holds_in_the_next_session_too(self):
        self.travel(STORE + "PREFIX = ''\na = Store(['x'])")
        self.travel("a.rows.append('y')\nnew = Store(['n'])")
        self.holds("a.rows == ['x', 'y'] and new.rows == ['n'] and type(new) is Store")

    def test_subclasses_go_by_the_nearest_class(self):
        self.travel(
            STORE + "PREFIX = ''\nclass Small(Store): pass\nclass Own(Store): pass\nclass Owner(Own): pass\n"
            "keep(Own, lambda own: own.rows, lambda rows: Own(['own'] + rows))\n"
            "a, b, c = Small(['a']), Own(['b']), Owner(['c'])"
        )
        self.holds("type(a) is Store and b.rows == ['own', 'b'] and type(c) is Own and c.rows == ['own', 'c']")

    def test_the_last_word_counts(self):
        again = "keep(Store, lambda store: store.rows, lambda rows: Store(rows + ['again']))\n"
        self.travel(STORE + again + "a = Store(['x'])")
        self.holds("a.rows == ['x', 'again']")
        # A cell that runs again makes the class anew; objects of before are of that name too.
        self.travel(STORE + again)
        self.holds("a.rows == ['x', 'again', 'again'] and len({type(a), Store}) == 1")

    def test_bytes_paths_and_methods(self):
        self.travel(
            "class Log:\n    def __init__(self, path):\n        self.path = path\n        self.file = open(path, 'a')\n"
            "    def save(self):\n        self.file.flush()\n        return self.path.encode()\n"
            "    @classmethod\n    def load(cls, data): return cls(data.decode())\n"
            "keep(Log, Log.save, Log.load)\nlog = Log('log.txt')\nlog.file.write('one ')\nNone"
        )
        self.assertEqual(self.value("log.file.write('two')\nlog.file.close()\nopen('log.txt').read()"), "'one two'")

    def test_a_class_of_a_library(self):
        self.travel("import threading\nkeep(type(threading.Lock()), lambda lock: lock.locked(), lambda held: threading.Lock())\nv = [threading.Lock()]")
        self.holds("v[0].acquire(False)")

    def test_a_variable_of_that_name_is_the_users_own(self):
        report = self.travel("keep = [1]")
        self.assertEqual(report["restored"], ["keep"])
        self.assertEqual(self.value("keep"), "[1]")
        self.assertEqual(self.value("del keep\nkeep.__name__"), "'keep'")


class KeepFailureTest(SnapshotCase):
    def test_a_save_that_fails_is_told_and_harms_nothing_else(self):
        report = self.travel(
            "class Bad: pass\ndef save(bad): raise ValueError('no disk')\nkeep(Bad, save, lambda data: Bad())\n"
            "good = [1]\na = Bad()\nb = {'k': [a, good]}\nz = [good]"
        )
        self.assertEqual(sorted(lost["name"] for lost in report["lost"]), ["a", "b"])
        self.assertIn("an object of Bad, whose save function failed: ValueError: no disk", self.entry("a")["reason"])
        self.assertIn("item 0 of the list in item 'k' of the dict", self.entry("b")["reason"])
        self.assertIn("keep(Bad, save, load)", self.entry("a")["advice"])
        self.holds("z[0] is good")

    def test_a_load_that_fails_is_told_and_harms_nothing_else(self):
        report = self.travel(
            "class Bad: pass\ndef load(data): raise OSError('gone')\nkeep(Bad, lambda bad: b'x', load)\n"
            "good = [1]\na = Bad()\nb = [a]\nz = [good]"
        )
        self.assertTrue(self.entry("a")["kept"])
        reasons = {lost["name"]: lost["reason"] for lost in report["lost"]}
        self.assertIn("the load function of keep(Bad) failed: OSError: gone", reasons["a"])
        self.assertEqual(sorted(reasons), ["a", "b"])
        self.holds("z[0] is good")
        self.assertIn("run the cell", self.error("a", "NameError")["hint"])

    def test_what_save_gives_must_be_data(self):
        report = self.travel(
            "import threading\nclass Bad: pass\nkeep(Bad, lambda bad: threading.Lock(), print)\na = Bad()\nz = 1"
        )
        self.assertEqual([lost["name"] for lost in report["lost"]], ["a"])
        self.assertIn("lock", self.entry("a")["reason"])

    def test_functions_that_cannot_be_kept_have_to_be_given_again(self):
        report = self.travel(
            "import threading\nclass Bad: pass\ndef made():\n    lock = threading.Lock()\n"
            "    return lambda bad: lock.locked()\nkeep(Bad, made(), print)\nz = 1"
        )
        self.assertEqual(report["restored"], ["threading", "Bad", "made", "z"])
        self.assertEqual(len(report["warnings"]), 1)
        self.assertIn("keep(Bad) has to be called again: ", report["warnings"][0])

    def test_refuses_what_is_no_class_of_ones_own(self):
        self.assertIn("takes a class", self.error("keep(3, print, print)", "TypeError")["message"])
        for name in ("int", "dict", "object", "type", "str", "type(print)"):
            error = self.error("keep({}, print, print)".format(name), "TypeError")
            self.assertIn("save anyway", error["message"])
        self.assertIn("function for load", self.error("class C: pass\nkeep(C, print, 3)", "TypeError")["message"])


class PlainKeepTest(KeepTest):
    codec = PLAIN


if __name__ == "__main__":
    unittest.main()
