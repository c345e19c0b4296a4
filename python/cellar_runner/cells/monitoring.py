"""sys.monitoring, which a cell may have left on."""

from __future__ import annotations

import sys
from typing import Any

from ..pristine import BUILTINS as __builtins__

TOOLS = 6

_monitoring: Any = getattr(sys, "monitoring", None)
is_monitored = _monitoring is not None


def stop_monitoring() -> None:
    for tool in range(TOOLS):
        if _monitoring.get_tool(tool) is not None:
            _monitoring.set_events(tool, 0)
