"""Output of a session that is one process."""
import os
import subprocess
import sys
import threading
import time
import unittest

from cellar_runner.output.marks import new_nonce
from cellar_runner.output.pump import OutputPump

SECONDS = 20


class Recorder:
    """A channel that keeps what is sent."""

    def __init__(self):
        self.sent = []
        self.during = None

    def notify(self, method, params):
        during, self.during = self.during, None
        if during is not None:
            during()
        if method == "output":
            self.sent.append((params["step"], params["stream"], params["text"]))
        else:
            self.sent.append((method, params["step"], params["omitted"]["stdout"]))


def at_once(work, *arguments):
    return work(*arguments)


@unittest.skipUnless(os.name == "posix", "the pipes of Windows are watched in another way")
class OutputPumpTest(unittest.TestCase):
    def setUp(self):
        self.channel = Recorder()
        self.pump = OutputPump(self.channel, new_nonce(), at_once, lambda number: number)

    def begin(self):
        self.pump.begin(frozenset())
        self.pump.begin_cell(1, 1000)

    def until(self, expected):
        deadline = time.monotonic() + SECONDS
        while self.channel.sent != expected and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(self.channel.sent, expected)

    def test_a_line_is_out_when_write_returns(self):
        self.begin()
        self.pump.write(0, b"one\n")
        self.assertEqual(self.channel.sent, [(1, "stdout", "one\n")])

    def test_raw_output_keeps_its_place(self):
        self.begin()
        self.pump.write(0, b"one\n")
        os.write(self.pump.descriptors[0], b"two\n")
        command = [sys.executable, "-c", "print('three')"]
        subprocess.run(command, stdout=self.pump.descriptors[0], check=True)
        self.pump.write(1, b"four\n")
        os.write(self.pump.descriptors[0], b"five\n")
        self.pump.end_cell(1)
        texts = [text for _, _, text in self.channel.sent[:-1]]
        self.assertEqual("".join(texts), "one\ntwo\nthree\nfour\nfive\n")
        self.assertEqual(self.channel.sent[-1], ("settled", 1, 0))

    def test_is_bounded_with_a_notice(self):
        self.pump.begin(frozenset())
        self.pump.begin_cell(1, 10)
        for _ in range(1000):
            self.pump.write(0, b"0123456789\n")
        self.pump.end_cell(1)
        text = "".join(text for _, stream, text in self.channel.sent if stream == "stdout")
        self.assertIn("bytes omitted", text)
        self.assertLess(len(text), 100)
        self.assertEqual(self.channel.sent[-1], ("settled", 1, 10990))

    def test_print_within_a_print_does_not_hang(self):
        self.begin()
        self.channel.during = lambda: self.pump.write(0, b"inner\n")
        self.pump.write(0, b"outer\n")
        self.pump.end_cell(1)
        texts = [text for _, _, text in self.channel.sent[:-1]]
        self.assertEqual(texts, ["outer\n", "inner\n"])

    def test_print_while_a_cell_ends_does_not_hang(self):
        self.begin()
        self.pump.write(0, b"outer")
        self.channel.during = lambda: self.pump.write(0, b"inner\n")
        self.pump.end_cell(1)
        self.pump.sync()
        expected = [(1, "stdout", "outer"), ("settled", 1, 0), (None, "stdout", "inner\n")]
        self.assertEqual(self.channel.sent, expected)

    def test_print_in_the_watching_thread_does_not_hang(self):
        threading.Thread(target=self.pump.watch, daemon=True).start()
        self.begin()
        self.channel.during = lambda: self.pump.write(0, b"inner\n")
        os.write(self.pump.descriptors[0], b"outer\n")
        self.until([(1, "stdout", "outer\n"), (1, "stdout", "inner\n")])

    def test_display_within_a_print_does_not_hang(self):
        self.begin()
        self.channel.during = self.pump.sync
        self.pump.write(0, b"outer\n")
        self.assertEqual(self.channel.sent, [(1, "stdout", "outer\n")])

    def test_unfinished_lines_and_raw_output_come_without_a_further_write(self):
        threading.Thread(target=self.pump.watch, daemon=True).start()
        self.begin()
        self.pump.write(0, b"half")
        self.until([(1, "stdout", "half")])
        os.write(self.pump.descriptors[1], b"raw\n")
        self.until([(1, "stdout", "half"), (1, "stderr", "raw\n")])
        time.sleep(0.3)
        self.pump.write(0, b"again")
        self.until([(1, "stdout", "half"), (1, "stderr", "raw\n"), (1, "stdout", "again")])

    def test_between_cells_output_belongs_to_none(self):
        self.begin()
        self.pump.end_cell(1)
        self.pump.write(0, b"late\n")
        self.assertEqual(self.channel.sent[-1], (None, "stdout", "late\n"))

    def test_a_copy_made_by_user_code_writes_to_the_pipes(self):
        self.begin()
        self.pump._drain_lock.acquire()
        pid = os.fork()
        if pid == 0:
            self.pump.write(0, b"from the copy\n")
            os._exit(0 if self.channel.sent == [] else 1)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.pump._drain_lock.release()
        self.pump.end_cell(1)
        self.assertEqual(self.channel.sent[0], (1, "stdout", "from the copy\n"))


if __name__ == "__main__":
    unittest.main()
