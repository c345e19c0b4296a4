"""Checkpoints by written pages: the parts that need no other process, and one child that is stopped and copied."""

import ctypes
import mmap
import os
import signal
import socket
import sys
import unittest

if sys.platform != "linux":
    raise unittest.SkipTest("only Linux has what this tests")

from cellar_runner.linux import ptrace
from cellar_runner.linux.signal_actions import SignalActions
from cellar_runner.session.checkpoint.kernel_state import KernelState
from cellar_runner.session.checkpoint.page_log import HotPages, PageTables
from cellar_runner.session.checkpoint.page_runs import count, joined, pages_of, within

PAGE = 4096


class Tracker:
    def __init__(self):
        self.protected = []

    def protect(self, runs):
        self.protected.append(runs)


def run(first, last):
    """Pages by their numbers, the last one not among them."""
    return first * PAGE, last * PAGE


class RunsTest(unittest.TestCase):
    def test_pages_that_follow_each_other_are_one_run(self):
        pages = [number * PAGE for number in (1, 2, 3, 7, 9, 10)]
        self.assertEqual(joined(pages), [run(1, 4), run(7, 8), run(9, 11)])
        self.assertEqual(pages_of(joined(pages)), pages)
        self.assertEqual(count(joined(pages)), 6)
        self.assertEqual(joined([]), [])

    def test_what_lies_within_ranges(self):
        allowed = [run(2, 4), run(6, 7), run(10, 20)]
        self.assertEqual(list(within([run(1, 12)], allowed)), [run(2, 4), run(6, 7), run(10, 12)])
        self.assertEqual(list(within([run(3, 5), run(6, 7), run(19, 30)], allowed)), [run(3, 4), run(6, 7), run(19, 20)])
        self.assertEqual(list(within([run(0, 1), run(4, 6), run(8, 9)], allowed)), [])
        self.assertEqual(list(within([run(2, 3), run(3, 4)], allowed)), [run(2, 3), run(3, 4)])


class PageTablesTest(unittest.TestCase):
    def test_counts_the_tables_that_pages_need(self):
        tables = PageTables()
        # One of each level.
        self.assertEqual(tables.add([run(0, 1)]), 3)
        self.assertEqual(tables.add([run(1, 512)]), 0)
        self.assertEqual(tables.add([run(511, 513)]), 1)
        # Three of the lowest level, and one above them.
        self.assertEqual(tables.add([run(1 << 18, (1 << 18) + 1025)]), 4)
        self.assertEqual(tables.size, 8)


class HotPagesTest(unittest.TestCase):
    def test_what_is_written_again_is_not_protected_again(self):
        tracker, hot = Tracker(), HotPages()
        self.assertEqual(hot.protect_new([PAGE, 2 * PAGE], tracker), [run(1, 3)])
        self.assertEqual(hot.protect_new([PAGE, 2 * PAGE, 5 * PAGE], tracker), [run(5, 6)])
        self.assertEqual(tracker.protected, [[run(1, 3)], [run(5, 6)]])

    def test_what_cannot_be_written_is_forgotten(self):
        hot = HotPages()
        new = hot.protect_new([PAGE, 2 * PAGE, 5 * PAGE], Tracker())
        self.assertEqual(hot.drop_outside(new, [run(1, 2), run(5, 9)]), [run(2, 3)])
        self.assertNotIn(2 * PAGE, hot)
        self.assertIn(5 * PAGE, hot)
        self.assertEqual(hot.drop_outside([run(5, 6)], [run(5, 9)]), [])


class SignalActionsTest(unittest.TestCase):
    def test_the_digest_tells_handlers_and_flags(self):
        if not ptrace.is_supported():
            self.skipTest("not on this kind of processor")
        actions = SignalActions()
        self.addCleanup(signal.signal, signal.SIGUSR1, signal.getsignal(signal.SIGUSR1))
        before = actions.digest()
        signal.signal(signal.SIGUSR1, print)
        handled = actions.digest()
        signal.siginterrupt(signal.SIGUSR1, False)
        self.assertEqual(len({before, handled, actions.digest()}), 3)
        self.assertEqual(actions.digest(), actions.digest())


class StoppedChildTest(unittest.TestCase):
    def setUp(self):
        if not ptrace.is_supported():
            self.skipTest("not on this kind of processor")
        self.memory = mmap.mmap(-1, PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pid = os.fork()
        if self.pid == 0:
            self.ours.close()
            while True:
                word = theirs.recvmsg(100)[0]
                if not word:
                    os._exit(0)
                theirs.send(word + bytes(self.memory[:3]))
        theirs.close()
        self.addCleanup(self.end)

    def end(self):
        self.ours.close()
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)

    def stop(self):
        try:
            return ptrace.Tracee.stop(self.pid, ptrace.SYS_RECVMSG)
        except PermissionError as error:
            self.skipTest("tracing is not allowed here: %s" % error)

    def test_it_waits_on_where_it_was_stopped(self):
        child = self.stop()
        self.assertEqual(child.call(39), self.pid)
        with self.assertRaises(OSError):
            child.call(3, 12345)
        child.write([(self.address, self.address + 3)], b"new")
        child.release()
        self.ours.send(b"a ")
        self.assertEqual(self.ours.recv(100), b"a new")

    def test_memory_is_read_in_one_piece(self):
        child = self.stop()
        child.write([(self.address, self.address + 2), (self.address + 2, self.address + 6)], b"abcdef")
        buffer = ctypes.create_string_buffer(6)
        child.read([(self.address + 3, self.address + 6), (self.address, self.address + 3)], ctypes.addressof(buffer))
        child.release()
        self.assertEqual(buffer.raw, b"defabc")

    def test_its_state_is_told_and_compared(self):
        child = self.stop()
        one, other = KernelState(self.pid, 7), KernelState(self.pid, 7)
        self.assertTrue(other.follows(one, 0))
        self.assertFalse(other.follows(one, 1))
        self.assertFalse(KernelState(self.pid, 8).follows(one, 0))
        child.call(80, self.folder(child))
        self.assertFalse(KernelState(self.pid, 7).follows(one, 0))
        child.release()

    def folder(self, child):
        child.write([(self.address, self.address + 5)], b"/usr\0")
        return self.address


if __name__ == "__main__":
    unittest.main()
