"""Libraries that read more formats, where they are installed."""

from __future__ import annotations

import importlib
from typing import Any

from ..pristine import BUILTINS as __builtins__

_import = importlib.import_module


def library(name: str) -> Any:
    """The module, or None; one that is installed but fails to load counts as absent."""
    try:
        return _import(name)
    except Exception:
        return None
