"""Sessions run at an ordinary priority, whatever the host was started with."""

from __future__ import annotations

import os

SCHED_DEADLINE = 6


def use_ordinary_priority() -> None:
    """Gives up real-time scheduling and raised priorities, with which a cell could stall the machine.

    It is also needed to start at all: a control group without real-time shares takes no such process.
    What runs later or less than others (batch, idle, a positive nice value) stays so.
    """
    if not hasattr(os, "sched_getscheduler"):
        return
    policy = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK
    if policy in (os.SCHED_FIFO, os.SCHED_RR, SCHED_DEADLINE):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    if os.getpriority(os.PRIO_PROCESS, 0) < 0:
        os.setpriority(os.PRIO_PROCESS, 0, 0)
