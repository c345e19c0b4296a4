"""ipywidgets' Output: what is shown within it belongs to the widget, not to the cell."""

from __future__ import annotations

import sys

from ...pristine import BUILTINS as __builtins__
from ..interpreter import Interpreter
from ..magics.capturing import Diversion

MODULE = "ipywidgets.widgets.widget_output"

_modules = sys.modules


def connect(interpreter: Interpreter) -> None:
    """Makes Output collect what a kernel would send to it."""
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
                # a kernel's client sends them back after the cell
                interpreter.ipython.before_next.append(lambda: _add(self, shown))

    kind.__enter__, kind.__exit__ = __enter__, __exit__


def _add(widget, shown):
    widget.outputs = tuple(widget.outputs) + shown


class _Inside:
    def __init__(self, interpreter):
        self._displays = interpreter.displays
        self._report = self._displays.report
        self._errors: list[BaseException] = []
        self._diversion = Diversion(self._displays)
        self._displays.report = self._errors.append

    def end(self):
        """The outputs in Jupyter's format."""
        try:
            captured = self._diversion.end()
        finally:
            self._displays.report = self._report
        shown: list[dict] = [
            {"output_type": "stream", "name": name, "text": text}
            for name, text in (("stdout", captured.stdout), ("stderr", captured.stderr))
            if text
        ]
        for output in captured.outputs:
            texts = {mime: body for mime, body in output.data.items() if isinstance(body, str)}
            shown.append({"output_type": "display_data", "data": texts, "metadata": {}})
        for error in self._errors:
            name, message = type(error).__name__, str(error)
            shown.append({"output_type": "error", "ename": name, "evalue": message, "traceback": []})
        return tuple(shown)
