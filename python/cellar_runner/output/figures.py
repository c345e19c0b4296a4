"""matplotlib's figures: shown when asked, or at the end of the cell that left them open."""

from __future__ import annotations

import io
import sys
from importlib.machinery import PathFinder

from ..pristine import BUILTINS as __builtins__
from ..values.reprs import is_a

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from typing import Any, Callable

    from .displays import Displays

FIGURE_LIMIT = 50
PYPLOT = "matplotlib.pyplot"
_PYLAB = "matplotlib._pylab_helpers"
_MIMES = {
    "png": "image/png",
    "retina": "image/png",
    "png2x": "image/png",
    "svg": "image/svg+xml",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "pdf": "application/pdf",
}
_DOUBLED = ("retina", "png2x")

_modules = sys.modules
_BytesIO = io.BytesIO


class Figures:
    """Does what IPython's inline backend does; looks at matplotlib only if the user imported it."""

    def __init__(self, displays: Displays) -> None:
        self._displays = displays
        self._patched: Any = None
        # Figures that were made in interactive mode since the last were shown.
        self._to_draw: list = []
        self._import_watcher = ImportWatcher(PYPLOT, self.watch)
        self.close_figures = True
        self._formats = ["png"]
        self._options: dict[str, Any] = {"bbox_inches": "tight"}

    def watch(self) -> None:
        """Make plt.show() show; without this a figure waits for the end of the cell."""
        pyplot = _modules.get(PYPLOT)
        if pyplot is None:
            if self._import_watcher not in sys.meta_path:
                sys.meta_path.insert(0, self._import_watcher)
        elif pyplot is not self._patched:
            self._patched = pyplot
            self._patch(pyplot)

    def are_open(self) -> bool:
        """Whether the end of the cell has figures to show."""
        return bool(self._to_draw)

    def flush(self) -> None:
        """What the end of a cell shows; unless told otherwise, it closes all figures."""
        drawn, self._to_draw = self._to_draw, []
        if not drawn or _PYLAB not in _modules:
            return
        self._settle_layouts()
        if self.close_figures:
            self.show(True)
            return
        active = [manager.canvas.figure for manager in self._managers()]
        self._display(figure for figure in active if any(figure is other for other in drawn))

    def _settle_layouts(self):
        """pyplot draws at the end of a cell before the backend does, and layouts change with each drawing."""
        for manager in self._managers():
            figure = manager.canvas.figure
            engine = getattr(figure, "get_layout_engine", lambda: None)()
            if engine is not None and figure.stale and self._patched.isinteractive():
                manager.canvas.draw_idle()

    def show(self, close: bool | None = None) -> None:
        """Show the open figures now."""
        try:
            self._display([manager.canvas.figure for manager in self._managers()])
        finally:
            self._to_draw = []
            if (self.close_figures if close is None else close) and self._managers():
                _modules[_PYLAB].Gcf.destroy_all()

    def select_formats(self, formats: Any, **options: object) -> None:
        """In which forms figures are shown: png, retina, svg, jpeg, pdf."""
        formats = [formats] if is_a(formats, str) else list(formats)
        unknown = [name for name in formats if name not in _MIMES]
        if unknown:
            known = ", ".join(sorted(_MIMES))
            raise ValueError("figures cannot be shown as {!r}: {}".format(unknown[0], known))
        self._formats = formats
        self._options.update(options)
        self._register()

    def configure(self, option: str, value: Any) -> bool:
        """%config InlineBackend.option = value; gives whether there is such an option."""
        if option in ("figure_format", "figure_formats"):
            self.select_formats(value)
        elif option == "close_figures":
            self.close_figures = bool(value)
        elif option == "print_figure_kwargs":
            self._options = dict(value)
            self._register()
        elif option == "rc":
            if self._patched is not None:
                self._patched.rcParams.update(value)
        else:
            return False
        return True

    def _managers(self):
        return list(_modules[_PYLAB].Gcf.get_all_fig_managers()) if _PYLAB in _modules else []

    def _display(self, figures):
        for number, figure in enumerate(figures):
            if number == FIGURE_LIMIT:
                note = "[more than {} figures were open: the rest are not shown]"
                self._displays.send({"text/plain": note.format(FIGURE_LIMIT)})
                return
            self._displays.display(figure)

    def _patch(self, pyplot):
        make = pyplot.new_figure_manager

        # matplotlib sets attributes on it, which a bound method would refuse.
        def show(close=None, block=None, **_options):
            """Show the open figures now."""
            self.show(close)

        def new_figure_manager(*arguments, **options):
            """Create a new figure manager instance."""
            manager = make(*arguments, **options)
            if pyplot.matplotlib.is_interactive():
                self._to_draw.append(manager.canvas.figure)
            return manager

        pyplot.show = show
        pyplot.new_figure_manager = new_figure_manager
        pyplot.matplotlib.interactive(True)
        self._to_draw.extend(manager.canvas.figure for manager in self._managers())
        self._register()

    def _register(self):
        kind = getattr(self._patched, "Figure", None)
        if not is_a(kind, type):
            return
        formatters = self._displays.formatter.formatters
        for mime in set(_MIMES.values()):
            formatters[mime].pop(kind, None)
        for name in self._formats:
            formatters[_MIMES[name]].for_type(kind, _printer(name, self._options))


def _printer(name, options):
    """Draws a figure with the look that it has itself, not with that of files."""

    def print_figure(figure):
        if not figure.axes and not figure.lines:
            return None
        scale = 2 if name in _DOUBLED else 1
        kind = "png" if name in _DOUBLED else name
        look = {
            "format": kind,
            "facecolor": figure.get_facecolor(),
            "edgecolor": figure.get_edgecolor(),
            "dpi": figure.dpi * scale,
        }
        look.update(options)
        buffer = _BytesIO()
        figure.canvas.print_figure(buffer, **look)
        content = buffer.getvalue()
        if kind == "svg":
            return content.decode("utf-8")
        if scale == 2:
            size = [int.from_bytes(content[at : at + 4], "big") // 2 for at in (16, 20)]
            return content, {"width": size[0], "height": size[1]}
        return content

    return print_figure


class ImportWatcher:
    """A finder on sys.meta_path that calls a function as soon as a cell has imported a module."""

    def __init__(self, name: str, notify: Callable[[], None]) -> None:
        self._name = name
        self._notify = notify

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Finds the module as usual, and adds the call to its loader."""
        if name != self._name:
            return None
        spec: Any = PathFinder.find_spec(name, path, target)
        run = getattr(getattr(spec, "loader", None), "exec_module", None)
        if run is None:
            return None

        def exec_module(module):
            run(module)
            self._notify()

        spec.loader.exec_module = exec_module
        return spec
