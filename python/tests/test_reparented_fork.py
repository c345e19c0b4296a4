"""Forks that the interpreter does not know of."""
import os
import random
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

if sys.platform == "linux":
    from cellar_runner.linux import reparented_fork, syscalls
    from cellar_runner.linux.reparented_fork import ReparentedFork

PATIENCE_SECONDS = 20


def _told_by(fork, tell):
    """What a child says before it leaves."""
    reader, writer = os.pipe()
    child = fork()
    if child == 0:
        try:
            os.write(writer, repr(tell()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        if not select.select([pipe], [], [], PATIENCE_SECONDS)[0]:
            raise AssertionError("the child says nothing")
        told = eval(pipe.read())
    if child is not True:
        os.waitpid(child, 0)
    return told


@unittest.skipUnless(sys.platform == "linux", "sessions with an init need Linux")
class ReparentedForkTest(unittest.TestCase):
    def ways(self):
        quick, plain = ReparentedFork(), ReparentedFork()
        plain._code = None
        return {"with machine code": quick, "by plain forks": plain}

    def test_the_child_has_another_parent_and_the_middle_is_gone(self):
        for name, way in self.ways().items():
            with self.subTest(name):
                told = _told_by(way.fork, lambda: (os.getppid(), sum(range(1000))))
                self.assertNotEqual(told[0], os.getpid())
                self.assertEqual(told[1], 499500)
                with self.assertRaises(ChildProcessError):
                    os.waitpid(-1, os.WNOHANG)

    def test_this_process_goes_on_as_before(self):
        for name, way in self.ways().items():
            with self.subTest(name):
                kept = list(range(100))
                self.assertEqual([_told_by(way.fork, os.getpid) > 0 for _ in range(20)], [True] * 20)
                self.assertEqual(kept, list(range(100)))

    def test_machine_code_is_there_for_this_processor(self):
        if os.uname().machine != "x86_64":
            self.skipTest("there is none for %s: plain forks do it" % os.uname().machine)
        self.assertIsNotNone(ReparentedFork()._code)

    def test_machine_code_is_what_its_source_says(self):
        assemble, extract = shutil.which("as"), shutil.which("objcopy")
        if assemble is None or extract is None or os.uname().machine != "x86_64":
            self.skipTest("needs `as` and `objcopy` of binutils on x86_64")
        source = os.path.join(os.path.dirname(reparented_fork.__file__), "reparented_fork.s")
        with tempfile.TemporaryDirectory() as folder:
            made, code = os.path.join(folder, "middle.o"), os.path.join(folder, "middle.bin")
            subprocess.run([assemble, "--64", "-o", made, source], check=True)
            subprocess.run([extract, "-O", "binary", "-j", ".text", made, code], check=True)
            with open(code, "rb") as file:
                self.assertEqual(file.read().hex(), reparented_fork._MIDDLE["x86_64"])

    def test_what_cannot_be_made_is_told(self):
        way = ReparentedFork()
        way._code = way._code and (None, lambda *_: -11)
        # With threads of other tests it would take a plain fork.
        with mock.patch.object(syscalls, "has_threads", lambda: False):
            if way._code is not None:
                with self.assertRaises(BlockingIOError):
                    way.fork()


@unittest.skipUnless(sys.platform == "linux", "sessions with an init need Linux")
class CopyTest(unittest.TestCase):
    def test_random_numbers_stay_as_they_are(self):
        random.seed(1)
        expected = random.random()
        random.seed(1)
        self.assertEqual(_told_by(syscalls.fork, random.random), expected)
        self.assertEqual(_told_by(syscalls._plain_fork, random.random), expected)

    def test_a_copy_knows_its_own_pid_and_thread(self):
        def tell():
            return os.getpid() == threading.get_native_id(), os.getpid()

        alone, pid = _told_by(syscalls.fork, tell)
        self.assertTrue(alone)
        self.assertNotEqual(pid, os.getpid())

    def test_a_copy_does_not_wait_for_threads_that_it_does_not_have(self):
        leave = threading.Event()

        def work():
            while not leave.is_set():
                pass

        busy = threading.Thread(target=work)
        busy.start()
        try:
            for fork in (syscalls.fork, ReparentedFork().fork):
                told = _told_by(fork, lambda: (sum(range(100_000)), threading.active_count()))
                self.assertEqual(told, (4999950000, 1))
        finally:
            leave.set()
            busy.join()
