import os
import time
import unittest

from cellar_runner.linux import fds, shared_page
from cellar_runner.output import streams
from cellar_runner.output.inline import Alarm, InlineOutput

NONCE = b"n" * 16


class InlineOutputTest(unittest.TestCase):
    """Init is played by the test: it does nothing until it is told to."""

    def setUp(self):
        fds.open_descriptor_range()
        out, err = os.pipe(), os.pipe()
        for reader, _ in (out, err):
            os.set_blocking(reader, False)
        placed = {
            fds.OUT: out[1],
            fds.ERR: err[1],
            fds.OUT_READER: out[0],
            fds.ERR_READER: err[0],
            fds.ALARM: Alarm.create().descriptor,
            fds.LAST_PID: os.open("/proc/loadavg", os.O_RDONLY),
        }
        for number, descriptor in placed.items():
            fds.place(descriptor, number)
            self.addCleanup(os.close, number)
        self.board = shared_page.SharedPage()
        self.addCleanup(os.close, self.board.file)
        self.slot = self.board.take()
        self.board.allow_inline(self.slot, True)
        pipes = streams.OutputPipes((fds.OUT, fds.ERR), NONCE)
        self.output = InlineOutput(self.board, self.slot, NONCE, pipes)

    def is_short(self, step):
        """Whether a cell that begins now is one whose output the head may read."""
        self.output.begin_cell(step, 100)
        return self.board.cell(self.slot) == (step, 100)

    def hand_over(self, step):
        """A cell that takes longer than a short one."""
        self.assertTrue(self.is_short(step))
        os.write(fds.OUT, b"earlier\n")
        alarm = Alarm(fds.ALARM)
        alarm.set(1)
        time.sleep(0.01)
        self.assertIsNone(self.output.end_cell(step))

    def test_output_that_init_has_not_taken_is_never_the_next_cells(self):
        self.hand_over(1)
        self.assertFalse(self.is_short(2))
        self.assertEqual(self.board.cell(self.slot)[0], 1)

    def test_when_init_has_taken_it_cells_may_be_short_again(self):
        self.hand_over(1)
        os.read(fds.OUT_READER, 100)
        self.board.set_cell(self.slot, 0, 0)
        self.output.note_newest_pid()
        self.assertTrue(self.is_short(2))


if __name__ == "__main__":
    unittest.main()
