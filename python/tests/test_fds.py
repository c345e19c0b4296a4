"""Where descriptors are placed."""

from __future__ import annotations

import os
import unittest

from cellar_runner.linux import fds

FIRST = 200


class PlacingTest(unittest.TestCase):
    def test_some_are_where_others_belong(self) -> None:
        """A cell that has opened all lower numbers leaves only the runner's own for what a new head receives."""
        for order in ((1, 0, 2, 3), (3, 2, 1, 0), (0, 1, 2, 3), (1, 2, 3, 7)):
            names = ["/dev/null", "/dev/zero", "/dev/full", "/dev/urandom"]
            for place, name in zip(order, names):
                opened = os.open(name, os.O_RDONLY)
                os.dup2(opened, FIRST + place)
                os.close(opened)
            before = len(os.listdir("/proc/self/fd"))
            fds.place_all([FIRST + place for place in order], FIRST)
            numbers = range(FIRST, FIRST + len(names))
            self.assertEqual([os.readlink("/proc/self/fd/%d" % number) for number in numbers], names)
            self.assertFalse(any(os.get_inheritable(number) for number in numbers))
            self.assertEqual(len(os.listdir("/proc/self/fd")), before)
            os.closerange(FIRST, FIRST + 8)


if __name__ == "__main__":
    unittest.main()
