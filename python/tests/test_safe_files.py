import os
import tempfile
import unittest
from unittest import mock

from cellar_runner.agent.actions import folder, safe_files


class SafeFilesTest(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.root = os.path.join(os.path.realpath(made.name), "workspace")
        self.outside = os.path.join(os.path.realpath(made.name), "outside")
        os.makedirs(os.path.join(self.root, "a", "b"))
        os.makedirs(self.outside)

    def swap(self, *_):
        """What another process may do between two steps."""
        path = os.path.join(self.root, "a", "b")
        if not os.path.islink(path):
            os.rename(path, path + "-moved")
            os.symlink(self.outside, path)

    def test_a_folder_that_becomes_a_link_before_it_is_opened_is_an_error(self):
        checked = safe_files.inside

        def inside(*given, **named):
            found = checked(*given, **named)
            self.swap()
            return found

        with mock.patch.object(safe_files, "inside", inside), self.assertRaises(OSError):
            safe_files.write("a/b/file", "x", True, self.root)
        self.assertEqual(os.listdir(self.outside), [])

    def test_a_folder_that_becomes_a_link_while_it_is_open_stays_the_same(self):
        with mock.patch.object(folder.Folder, "__enter__", lambda self_: self.swap() or self_):
            safe_files.write("a/b/file", "x", True, self.root)
        self.assertEqual(os.listdir(self.outside), [])
        self.assertEqual(os.listdir(os.path.join(self.root, "a", "b-moved")), ["file"])

    def test_what_is_kept_where_no_file_can_be_linked_is_a_copy(self):
        safe_files.write("file", "old", True, self.root)
        with mock.patch.object(folder, "_link", None):
            told = safe_files.write("file", "new", True, self.root)
        with open(told.partition("the old one is ")[2]) as kept:
            self.assertEqual(kept.read(), "old")

    def test_nothing_is_left_of_what_cannot_be_written(self):
        with mock.patch.object(safe_files, "write_all", side_effect=OSError(28, "full")), self.assertRaises(OSError):
            safe_files.write("file", "x", True, self.root)
        self.assertEqual(sorted(os.listdir(self.root)), ["a"])

    def test_without_descriptors_of_folders_files_are_written_by_path(self):
        with mock.patch.object(folder, "_HOLDS", False):
            safe_files.write("c/file", "one", True, self.root)
            told = safe_files.write("c/file", "two", True, self.root)
            safe_files.append("log", "line", self.root)
        self.assertIn("the old one is", told)
        with open(os.path.join(self.root, "c", "file")) as file:
            self.assertEqual(file.read(), "two")


if __name__ == "__main__":
    unittest.main()
