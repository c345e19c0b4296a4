"""matplotlib's figures: shown when asked, or at the end of the cell that left them open."""

from __future__ import annotations

import io
import sys

from .pristine import BUILTINS as __builtins__
from .reprs import guarded_repr, is_a

FIGURE_LIMIT = 50

_modules = sys.modules
_BytesIO = io.BytesIO


class Figures:
    """Knows which figures are open; looks at matplotlib only if the user imported it."""

    def __init__(self, send):
        self._send = send
        self._patched = None
        self._shown = []

    def watch(self):
        """Make plt.show() show; without this a figure waits for the end of the cell."""
        pyplot = _modules.get("matplotlib.pyplot")
        if pyplot is not None and pyplot is not self._patched:
            self._patched = pyplot
            pyplot.show = self._showing_function()

    def draw(self, value):
        """The PNG of a figure, or None for any other value."""
        kind = getattr(_modules.get("matplotlib.figure"), "Figure", None)
        if not is_a(kind, type) or not is_a(value, kind):
            return None
        try:
            picture = _png(value)
        except Exception:
            return None
        self._shown.append(value)
        return picture

    def flush(self):
        """Send and close the open figures."""
        pylab = _modules.get("matplotlib._pylab_helpers")
        if pylab is None:
            return
        shown, self._shown = self._shown, []
        managers = list(pylab.Gcf.figs.values())
        try:
            for manager in managers[:FIGURE_LIMIT]:
                figure = manager.canvas.figure
                if figure.get_children()[1:] and not any(figure is other for other in shown):
                    self._send({"image/png": _png(figure), "text/plain": guarded_repr(figure)})
            if len(managers) > FIGURE_LIMIT:
                note = "[{} more figures were open and are not shown]"
                self._send({"text/plain": note.format(len(managers) - FIGURE_LIMIT)})
        finally:
            pylab.Gcf.destroy_all()

    def _showing_function(self):
        # matplotlib sets attributes on it, which a bound method would refuse
        def show(*_arguments, **_options):
            """Show the open figures now."""
            self.flush()

        return show


def _png(figure):
    buffer = _BytesIO()
    figure.savefig(buffer, format="png", bbox_inches="tight")
    return buffer.getvalue()
