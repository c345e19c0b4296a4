import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOLD = "from cellar_runner.linux import scheduling; scheduling.use_ordinary_priority(); import os; "
TOLD += "print(os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0))"


@unittest.skipUnless(hasattr(os, "sched_setscheduler"), "no scheduling policies here")
class Priority(unittest.TestCase):
    def _after(self, change):
        """What a process that was changed first has in the end; None where the change is refused."""
        code = "import os\ntry:\n    %s\nexcept OSError:\n    raise SystemExit(9)\n%s" % (change, TOLD)
        ran = subprocess.run([sys.executable, "-c", code], cwd=HERE, stdout=subprocess.PIPE, check=False)
        if ran.returncode == 9:
            self.skipTest("refused here: " + change)
        self.assertEqual(ran.returncode, 0)
        return tuple(int(word) for word in ran.stdout.split())

    def test_real_time_is_left(self):
        for policy in ("SCHED_FIFO", "SCHED_RR"):
            change = "os.sched_setscheduler(0, os.%s, os.sched_param(5))" % policy
            self.assertEqual(self._after(change)[0], os.SCHED_OTHER)

    def test_coming_before_others_is_left(self):
        self.assertEqual(self._after("os.setpriority(os.PRIO_PROCESS, 0, -5)")[1], 0)

    def test_coming_after_others_stays(self):
        for policy in (os.SCHED_BATCH, os.SCHED_IDLE):
            change = "os.sched_setscheduler(0, %d, os.sched_param(0))" % policy
            self.assertEqual(self._after(change)[0], policy)
        self.assertEqual(self._after("os.setpriority(os.PRIO_PROCESS, 0, 7)")[1], 7)


if __name__ == "__main__":
    unittest.main()
