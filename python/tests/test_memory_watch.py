"""The watch that holds a session to its limit where no control group does."""
import builtins
import mmap
import os
import unittest
from unittest import mock

from cellar_runner.session import memory_watch
from cellar_runner.session.memory_watch import MemoryWatch

MEBIBYTE = 1 << 20


class Branch:
    """A branch with a head and no checkpoints."""

    pid = 7
    parked = ()
    out_of_memory = False

    def logged_bytes(self):
        return 0


class MemoryWatchTest(unittest.TestCase):
    def ended(self, held, shared):
        """Whether a session that holds so many MB is ended, of which it shares some."""
        usual = memory_watch._proportional_bytes
        self.addCleanup(setattr, memory_watch, "_proportional_bytes", usual)
        memory_watch._proportional_bytes = lambda: held * MEBIBYTE
        branch, ended = Branch(), []
        watch = MemoryWatch({"memory_mb": 100}, None, {0: branch}, shared * MEBIBYTE)
        watch.check(0.0, ended.append)
        self.assertEqual(branch.out_of_memory, bool(ended))
        return bool(ended)

    def test_what_exceeds_the_limit_is_ended(self):
        self.assertFalse(self.ended(100, 0))
        self.assertTrue(self.ended(101, 0))

    def test_sockets_are_charged_for_beyond_some(self):
        for name, value in (("_has_loopback_only", True), ("_sockets", 264)):
            self.addCleanup(setattr, memory_watch, name, getattr(memory_watch, name))
            setattr(memory_watch, name, lambda value=value: value)
        self.assertFalse(self.ended(0, 0))
        self.assertTrue(self.ended(1, 0))
        memory_watch._has_loopback_only = lambda: False
        self.assertFalse(self.ended(1, 0))

    def test_checkpoints_go_first_and_win_no_time(self):
        usual = memory_watch._proportional_bytes
        self.addCleanup(setattr, memory_watch, "_proportional_bytes", usual)
        for held, left in ((110, 9), (300, 1)):
            memory_watch._proportional_bytes = lambda held=held: held * MEBIBYTE
            branch, ended = Branch(), []
            branch.parked = list(range(10))
            branch.forget = branch.parked.remove
            watch = MemoryWatch({"memory_mb": 100}, None, {0: branch}, 0)
            watch.check(0.0, ended.append)
            self.assertEqual((len(branch.parked), ended), (left, []))
            self.assertLess(watch.due, 0.1)
            while len(branch.parked) > 1:
                watch.check(0.0, ended.append)
            watch.check(0.0, ended.append)
            self.assertEqual(ended, [branch])

    def test_a_context_of_the_template_is_not_counted(self):
        self.assertFalse(self.ended(600, 500))
        self.assertTrue(self.ended(601, 500))


class Group:
    """A control group that has room."""

    limit = 100 * MEBIBYTE

    def __init__(self, counts_sockets):
        self.counts_sockets = counts_sockets

    def usage(self):
        return 0


class GroupTest(unittest.TestCase):
    def ended(self, sockets, counts_sockets):
        for name, value in (("_has_loopback_only", True), ("_sockets", sockets)):
            self.addCleanup(setattr, memory_watch, name, getattr(memory_watch, name))
            setattr(memory_watch, name, lambda value=value: value)
        branch, ended = Branch(), []
        MemoryWatch({"memory_mb": 100}, Group(counts_sockets), {0: branch}, 0).check(0.0, ended.append)
        return bool(ended)

    def test_sockets_that_the_group_does_not_count_are_bounded_by_number(self):
        self.assertFalse(self.ended(800, False))
        self.assertTrue(self.ended(801, False))
        self.assertFalse(self.ended(801, True))


class ProportionalTest(unittest.TestCase):
    """What is read of a process, here of this one."""

    def setUp(self):
        self.addCleanup(setattr, memory_watch.processes, "listed", memory_watch.processes.listed)
        memory_watch.processes.listed = lambda: [os.getpid()]

    def test_page_tables_count(self):
        before = memory_watch._proportional_bytes()
        # One page is read in each of many places: nothing but page tables is taken.
        stride, count = 2 << 20, 8192
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000
        with mmap.mmap(-1, stride * count, flags=flags, prot=mmap.PROT_READ) as sparse:
            for place in range(count):
                sparse[place * stride]
            grown = memory_watch._proportional_bytes() - before
        self.assertGreater(grown, 24 * MEBIBYTE)

    def test_a_process_that_hides_is_counted_by_its_size(self):
        held = bytearray(64 * MEBIBYTE)
        shown = memory_watch._proportional_bytes()
        usual = builtins.open

        def closed(path, *rest):
            if str(path).endswith("smaps_rollup"):
                raise PermissionError(13, "hidden")
            return usual(path, *rest)

        with mock.patch.object(builtins, "open", closed):
            hidden = memory_watch._proportional_bytes()
        self.assertGreater(min(shown, hidden), len(held))


if __name__ == "__main__":
    unittest.main()
