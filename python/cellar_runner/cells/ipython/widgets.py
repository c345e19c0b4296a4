"""ipywidgets' Output: what is shown within it belongs to the widget, not to the cell."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

from ...pristine import BUILTINS as __builtins__

if TYPE_CHECKING:
    from ..interpreter import Interpreter

MODULE = "ipywidgets.widgets.widget_output"

_modules = sys.modules


def connect(interpreter: Interpreter) -> None:
    """Let Output keep what a kernel would send to it."""
    kind = _modules[MODULE].Output
    enter, leave = kind.__enter__, kind.__exit__
    open_ones = []

    def __enter__(self):
        entered = enter(self)
        open_ones.append(_Inside(interpreter))
        return entered

    def __exit__(self, etype, evalue, tb):
        inside = open_ones.pop()
        try:
            return leave(self, etype, evalue, tb)
        finally:
            shown = inside.end()
            if shown:
                # a kernel hears of them from its client, after the cell
                interpreter.ipython.before_next.append(lambda: _add(self, shown))

    kind.__enter__, kind.__exit__ = __enter__, __exit__


def _add(widget, shown):
    widget.outputs = tuple(widget.outputs) + shown


class _Inside:
    """Diverts text, displays and errors until its end."""

    def __init__(self, interpreter):
        self._displays = interpreter.displays
        self._streams = sys.stdout, sys.stderr
        self._report = self._displays.report
        self._bundles: list[dict] = []
        self._errors: list[BaseException] = []
        sys.stdout, sys.stderr = self._texts = io.StringIO(), io.StringIO()
        self._restore = self._displays.divert(self._bundles)
        self._displays.report = self._errors.append

    def end(self):
        """What was shown, as Jupyter describes outputs."""
        try:
            self._displays.figures.flush()
        finally:
            self._restore()
            self._displays.report = self._report
            sys.stdout, sys.stderr = self._streams
        shown: list[dict] = [
            {"output_type": "stream", "name": name, "text": text.getvalue()}
            for name, text in zip(("stdout", "stderr"), self._texts)
            if text.getvalue()
        ]
        for data in self._bundles:
            texts = {mime: body for mime, body in data.items() if isinstance(body, str)}
            shown.append({"output_type": "display_data", "data": texts, "metadata": {}})
        for error in self._errors:
            name, message = type(error).__name__, str(error)
            shown.append({"output_type": "error", "ename": name, "evalue": message, "traceback": []})
        return tuple(shown)
