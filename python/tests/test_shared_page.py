"""What the processes of a session share."""
import sys
import unittest

if sys.platform == "linux":
    from cellar_runner.linux.shared_page import SharedPage


@unittest.skipUnless(sys.platform == "linux", "sessions with an init need Linux")
class BoardTest(unittest.TestCase):
    def test_living_branches_never_share_a_slot(self):
        board, taken = SharedPage(), []
        slot = board.take()
        while slot is not None:
            taken.append(slot)
            slot = board.take()
        self.assertEqual(len(set(taken)), len(taken))
        for step, slot in enumerate(taken, 1):
            board.interrupt(slot, step)
            board.allow_inline(slot, step % 2)
            board.set_cell(slot, step, 2 * step)
        for step, slot in enumerate(taken, 1):
            self.assertEqual(board.interrupted(slot), step)
            self.assertEqual(board.allows_inline(slot), bool(step % 2))
            self.assertEqual(board.cell(slot), (step, 2 * step))

    def test_a_slot_that_comes_back_is_empty_and_used_again(self):
        board = SharedPage()
        for step in range(1, 1000):
            slot = board.take()
            self.assertEqual((board.interrupted(slot), board.cell(slot)), (0, (0, 0)))
            board.interrupt(slot, step)
            board.set_cell(slot, step, step)
            board.give_back(slot)
