"""The watch that holds a session to its limit where no control group does."""
import unittest

from cellar_runner import memory_watch
from cellar_runner.memory_watch import MemoryWatch

MEBIBYTE = 1 << 20


class Branch:
    """A branch with a head and no checkpoints."""

    pid = 7
    parked = ()
    starved = False


class MemoryWatchTest(unittest.TestCase):
    def ended(self, held, shared):
        """Whether a session that holds so many MB is ended, of which it shares some."""
        usual = memory_watch._proportional_bytes
        self.addCleanup(setattr, memory_watch, "_proportional_bytes", usual)
        memory_watch._proportional_bytes = lambda: held * MEBIBYTE
        branch, ended = Branch(), []
        watch = MemoryWatch({"memory_mb": 100}, None, {0: branch}, shared * MEBIBYTE)
        watch.look(0.0, ended.append)
        self.assertEqual(branch.starved, bool(ended))
        return bool(ended)

    def test_what_exceeds_the_limit_is_ended(self):
        self.assertFalse(self.ended(100, 0))
        self.assertTrue(self.ended(101, 0))

    def test_a_context_of_the_template_is_not_counted(self):
        self.assertFalse(self.ended(600, 500))
        self.assertTrue(self.ended(601, 500))


if __name__ == "__main__":
    unittest.main()
