"""The request for completions; what answers it is loaded when somebody asks."""

from __future__ import annotations

from typing import Any

from ...pristine import BUILTINS as __builtins__


def answer(service: Any, params: dict[str, Any]) -> dict[str, Any]:
    from .candidates import complete

    return complete(params["code"], params["cursor"], service._interpreter)
