"""Archives that are made to harm give a clear error or a safe result, and the next archive opens."""

import os
import tracemalloc
import unittest
from unittest import mock

from archive_case import GOOD, ArchiveCase, tarred, zipped
from hostile_archives import MB, TABLE

from cellar_runner.archives import results
from cellar_runner.archives.archive import Archive
from cellar_runner.archives.limits import MOST_NESTING, ArchiveError
from cellar_runner.archives.pdf import pages

SENTINEL = "stays as it is"


class HostileCase(ArchiveCase):
    def setUp(self):
        super().setUp()
        # Which libraries are installed must not matter here.
        for name in ("_with_pymupdf", "_with_pypdf"):
            patch = mock.patch.object(pages, name, lambda data, password: None)
            patch.start()
            self.addCleanup(patch.stop)
        self.workspace = os.path.join(self.folder, "workspace")
        os.mkdir(self.workspace)
        self.archives = type(self.archives)(self.workspace)
        with open(os.path.join(self.folder, "evil.txt"), "w") as file:
            file.write(SENTINEL)

    def check(self, data, steps):
        opened = None
        if steps[0][0] != "open":
            steps = (("open", None, lambda archive: isinstance(archive, Archive)),) + steps
        for call, argument, expected in steps:
            try:
                if call == "open":
                    result = opened = self.archives.open(data)
                elif call == "file":
                    result = opened.file(argument)
                elif call == "search":
                    result = self.archives.search(argument, archive=opened)
                else:
                    result = self.archives.extract(argument, to="out", archive=opened)
            except ArchiveError as error:
                self.assertIsInstance(expected, str, "{}({!r}) was refused: {}".format(call, argument, error))
                self.assertIn(expected, str(error))
                self.assertLess(len(str(error)), 1000)
            else:
                self.assertNotIsInstance(expected, str, "{}({!r}) gave {:.500}".format(call, argument, repr(result)))
                self.assertTrue(expected(result), repr(result)[:500])

    def check_that_all_is_well(self):
        self.assertEqual(self.archives.open(GOOD).file("b.txt"), "second file")
        self.assertEqual(self.archives.search("answer").total, 1)
        self.assertEqual(sorted(os.listdir(self.folder)), ["evil.txt", "workspace"])
        with open(os.path.join(self.folder, "evil.txt")) as file:
            self.assertEqual(file.read(), SENTINEL)
        for folder, folders, files in os.walk(self.workspace):
            for name in folders + files:
                self.assertFalse(os.path.islink(os.path.join(folder, name)))
                self.assertFalse(name.endswith(".part"))


class HostileArchivesTest(HostileCase):
    def test_there_are_enough(self):
        self.assertGreaterEqual(len(TABLE), 60)
        self.assertEqual(len({name for name, _, _ in TABLE}), len(TABLE))

    def test_links_of_the_target_are_not_followed(self):
        outside = os.path.join(self.folder, "workspace", "elsewhere")
        os.mkdir(outside)
        os.mkdir(os.path.join(self.workspace, "out"))
        os.symlink(outside, os.path.join(self.workspace, "out", "sub"))
        os.symlink(os.path.join(self.folder, "evil.txt"), os.path.join(self.workspace, "out", "a.txt"))
        self.archives.open(tarred(("sub/b.txt", b"new"), ("a.txt", b"new")))
        result = self.archives.extract(to="out")
        self.assertIn("which is not a folder", repr(result))
        self.assertEqual(os.listdir(outside), [])
        self.assertFalse(os.path.islink(os.path.join(self.workspace, "out", "a.txt")))
        with open(os.path.join(self.folder, "evil.txt")) as file:
            self.assertEqual(file.read(), SENTINEL)

    def test_archives_in_archives_end(self):
        data = GOOD
        for _ in range(MOST_NESTING + 2):
            data = zipped(("inner.zip", data))
        depth = 0
        with self.refused("archive within an archive"):
            while True:
                inner = self.archives.open(data).file("inner.zip")
                self.assertIsInstance(inner, results.MemberBytes)
                data = inner
                depth += 1
        self.assertEqual(depth, MOST_NESTING + 1)
        self.check_that_all_is_well()

    def test_memory_stays_bounded(self):
        rows = {name: (make, steps) for name, make, steps in TABLE}
        for name in (
            "a ratio bomb in bzip2 in ZIP",
            "a ratio bomb in xz",
            "a long name of 1 GB",
            "a stream that unpacks to 40 MB of nothing",
            "a font with a map of 4,000 million codes",
        ):
            make, steps = rows[name]
            data = make()
            tracemalloc.start()
            try:
                self.check(data, steps)
                peak = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
            self.assertLess(peak, 24 * MB, name)


def _tested(make, steps):
    def test(self):
        self.check(make(), steps)
        self.check_that_all_is_well()

    return test


for _number, (_name, _make, _steps) in enumerate(TABLE):
    _words = "".join(letter if letter.isalnum() else "_" for letter in _name)
    setattr(HostileArchivesTest, "test_{:02}_{}".format(_number, _words), _tested(_make, _steps))


if __name__ == "__main__":
    unittest.main()
