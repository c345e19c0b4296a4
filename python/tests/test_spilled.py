"""Long outputs that a session keeps by itself."""
import os
import tempfile
import unittest
from unittest import mock

from cellar_runner.context import spilled


class SpilledTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.join(folder.name, "spilled")
        patch = mock.patch.object(spilled, "folder", lambda: self.folder)
        patch.start()
        self.addCleanup(patch.stop)

    def test_a_text_is_kept_under_its_name_alone(self):
        spilled.keep("../../turn_1.txt", "long \ud800")
        self.assertEqual(os.listdir(self.folder), ["turn_1.txt"])

    def test_what_a_cell_put_in_its_way_is_told(self):
        with open(self.folder, "w"):
            pass
        # An OSError would mean that the channel is broken, and end the session.
        with self.assertRaisesRegex(ValueError, "cannot write to .*spilled"):
            spilled.keep("turn_1.txt", "long")


if __name__ == "__main__":
    unittest.main()
