"""Files that go in and out stay below their folder and within its bounds."""
import base64
import os
import tempfile
import unittest
from unittest import mock

from cellar_runner.protocol import channel
from cellar_runner.session import workspace_files

MANY = 1 << 30


class FilesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = os.path.join(folder.name, "root")
        self.outside = os.path.join(folder.name, "outside")
        os.mkdir(self.root)
        os.mkdir(self.outside)
        self.files = workspace_files.Files(self.root)

    def at(self, path):
        return os.path.join(self.root, path)

    def order(self, path, mode="write", max_bytes=MANY, max_files=1000):
        return {"path": path, "mode": mode, "max_bytes": max_bytes, "max_files": max_files}

    def begin(self, path, data, **limits):
        opened = self.files.open_file(self.order(path, **limits))
        if not opened["done"]:
            return opened
        written = self.files.write_file({"file": opened["file"], "attachments": [data]})
        return opened if written["done"] else written

    def put(self, path, data, **limits):
        begun = self.begin(path, data, **limits)
        if begun["done"]:
            return self.close(begun["file"])
        return begun

    def close(self, number, keep=True):
        return self.files.close_file({"file": number, "keep": keep})

    def get(self, path):
        opened = self.files.open_file(self.order(path, "read"))
        if not opened["done"]:
            return opened["problem"]
        read = self.files.read_file({"file": opened["file"]})
        self.close(opened["file"])
        return base64.b64decode(read["data"])

    def paths(self):
        return [file["path"] for file in self.files.list_files({})["files"]]

    def test_in_and_out(self):
        self.assertEqual(self.put("a/b/c", b"x" * 1000), {"done": True})
        self.assertEqual(self.get("a/b/c"), b"x" * 1000)
        self.assertEqual(os.stat(self.at("a/b/c")).st_mode & 0o777, 0o644)
        self.put("a/b/c", b"new")
        self.assertEqual(self.get("a/b/c"), b"new")
        self.assertEqual(self.paths(), ["a", "a/b", "a/b/c"])

    def test_the_same_without_descriptors_of_folders(self):
        with mock.patch.object(workspace_files, "_BY_DESCRIPTOR", False):
            self.test_in_and_out()
            self.links()

    def links(self):
        os.symlink(self.outside, self.at("way"))
        os.symlink("/etc/hosts", self.at("link"))
        os.mkdir(self.at("folder"))
        self.assertEqual(self.put("way/x", b"1")["problem"], "ELOOP" if not workspace_files._BY_DESCRIPTOR else "ENOTDIR")
        self.assertEqual(os.listdir(self.outside), [])
        self.assertNotIn("way/x", self.paths())
        self.assertEqual(self.get("folder"), "EISDIR")
        self.assertEqual(self.get("none"), "ENOENT")

    def test_links_are_not_followed(self):
        self.links()
        self.assertEqual(self.get("link"), "ELOOP")
        self.assertEqual(self.put("link", b"own"), {"done": True})
        self.assertEqual(self.get("link"), b"own")

    def test_pipes_are_no_files_and_keep_nobody_waiting(self):
        os.mkfifo(self.at("pipe"))
        self.assertEqual(self.get("pipe"), "ENXIO")
        self.assertEqual(self.files.list_files({})["files"][0]["kind"], "other")

    def test_the_bound_holds_for_all_together(self):
        self.assertEqual(self.put("a", bytes(20_000), max_bytes=10_000)["problem"], "EDQUOT")
        self.assertEqual(self.paths(), [])
        one = self.begin("one", bytes(6_000), max_bytes=10_000)["file"]
        two = self.begin("two", bytes(6_000), max_bytes=10_000)["file"]
        self.assertEqual(self.close(one), {"done": True})
        self.assertEqual(self.close(two)["problem"], "EDQUOT")
        self.assertEqual(self.paths(), ["one"])
        self.assertEqual(self.put("one", bytes(7_000), max_bytes=10_000), {"done": True})
        self.assertEqual(self.put("b/c/d", b"", max_files=3)["problem"], "ENFILE")

    def test_what_is_dropped_leaves_nothing(self):
        number = self.begin("x", b"1")["file"]
        self.assertEqual(self.paths(), [])
        self.assertEqual(self.close(number, keep=False), {"done": True})
        self.assertEqual(os.listdir(self.root), [])
        self.assertEqual(self.close(number)["problem"], "EBADF")
        self.assertEqual(self.files.read_file({"file": 99})["problem"], "EBADF")

    def test_a_few_transfers_at_once(self):
        numbers = [self.begin("x%d" % at, b"1")["file"] for at in range(workspace_files.MAX_OPEN)]
        self.assertEqual(self.begin("more", b"1")["problem"], "EMFILE")
        for number in numbers:
            self.close(number)
        self.assertEqual(len(self.paths()), workspace_files.MAX_OPEN)

    def test_odd_times_sizes_and_names_fit_into_an_answer(self):
        self.put("x", b"1")
        os.utime(self.at("x"), (0, 2**40))
        with open(os.path.join(os.fsencode(self.root), b"\xff"), "wb"):
            pass
        listed = self.files.list_files({})["files"]
        self.assertEqual([file["path"] for file in listed], ["x", "\udcff"])
        self.assertLessEqual(abs(listed[0]["modified"]), workspace_files.LONGEST_TIME_MS)
        self.assertEqual(self.get("\udcff"), b"")

    def test_a_listing_is_bounded(self):
        for at in range(12):
            self.put("x%d" % at, b"")
        with mock.patch.object(workspace_files, "MAX_LISTED", 10):
            answer = self.files.list_files({})
        self.assertEqual((len(answer["files"]), answer["cut"]), (10, True))
        os.makedirs(self.at("/".join("d" * (workspace_files.MAX_DEPTH + 5))))
        answer = self.files.list_files({})
        self.assertTrue(answer["cut"])
        self.assertIn("x11", [file["path"] for file in answer["files"]])

    def test_paths_that_are_too_long_are_left_out(self):
        self.put("x", b"")
        folder = os.open(self.root, os.O_RDONLY)
        for _ in range(20):
            os.mkdir("d" * 250, dir_fd=folder)
            inner = os.open("d" * 250, os.O_RDONLY, dir_fd=folder)
            os.close(folder)
            folder = inner
        os.close(folder)
        answer = self.files.list_files({})
        self.assertTrue(answer["cut"])
        self.assertIn("x", [file["path"] for file in answer["files"]])
        self.assertLessEqual(max(len(file["path"]) for file in answer["files"]), workspace_files.MAX_PATH_BYTES)

    def test_a_walk_takes_so_many_steps(self):
        for at in range(20):
            os.makedirs(self.at("a/b/c/d%d" % at))
        self.assertFalse(self.files.list_files({})["cut"])
        with mock.patch.object(workspace_files, "MAX_STEPS", 50), mock.patch.object(workspace_files, "Folder", wraps=workspace_files.Folder) as opened:
            self.assertTrue(self.files.list_files({})["cut"])
            self.assertEqual(self.put("x", b"")["problem"], "ENFILE")
        self.assertLess(opened.call_count, 150)

    def test_whatever_names_are_made_of_a_listing_fits_into_an_answer(self):
        for character in ("\U0001f600", "\u4e00", "\x01", "\udcff"):
            path = character * (workspace_files.MAX_PATH_BYTES // len(os.fsencode(character)))
            about = os.stat(self.root)
            with mock.patch.object(self.files, "_walk", lambda: ((path, about) for _ in range(10_000))):
                answer = self.files.list_files({})
            self.assertTrue(answer["cut"])
            self.assertLess(len(channel._encode(answer)), channel.MAX_FRAME_BYTES - 1000)

    def test_what_may_be_written(self):
        paths = [self.root, os.path.join(self.root, "none")]
        self.assertEqual(self.files.check_writable({"paths": paths}), {"refused": [1]})
