"""matplotlib's figures: shown when asked, or at the end of the cell that left them open."""

from __future__ import annotations

import io
import sys
from importlib.machinery import PathFinder

from .pristine import BUILTINS as __builtins__
from .reprs import guarded_repr, is_a

FIGURE_LIMIT = 50
PYPLOT = "matplotlib.pyplot"

_modules = sys.modules
_BytesIO = io.BytesIO


class Figures:
    """Knows which figures are open; looks at matplotlib only if the user imported it."""

    def __init__(self, send):
        self._send = send
        self._patched = None
        self._shown = []
        self._arrival = Arrival(self.watch)

    def watch(self):
        """Make plt.show() show; without this a figure waits for the end of the cell."""
        pyplot = _modules.get(PYPLOT)
        if pyplot is None:
            if self._arrival not in sys.meta_path:
                sys.meta_path.insert(0, self._arrival)
        elif pyplot is not self._patched:
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


class Arrival:
    """Among the finders of modules; tells when a cell has imported pyplot, in the middle of it."""

    def __init__(self, tell):
        self._tell = tell

    def find_spec(self, name, path=None, target=None):
        """Knows no module, and lends its ear to the loader of one."""
        if name != PYPLOT:
            return None
        spec = PathFinder.find_spec(name, path, target)
        run = getattr(getattr(spec, "loader", None), "exec_module", None)
        if run is None:
            return None

        def exec_module(module):
            run(module)
            self._tell()

        spec.loader.exec_module = exec_module
        return spec


def _png(figure):
    buffer = _BytesIO()
    figure.savefig(buffer, format="png", bbox_inches="tight")
    return buffer.getvalue()
