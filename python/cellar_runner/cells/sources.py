"""Sources of the cells that ran, for tracebacks, inspect and history."""

from __future__ import annotations

import functools
import inspect
import linecache
import sys

from ..pristine import BUILTINS as __builtins__

KEPT_LENGTH = 2_000_000

_modules = sys.modules
_module_of = type.__dict__["__module__"].__get__


class Sources:
    """Lines of each cell by file name; also in linecache, which user code may damage."""

    def __init__(self):
        self._lines = {}
        self.texts = {}

    def add(self, number: int | str, text: str) -> str:
        """Registers a cell's source; returns its file name."""
        filename = "<cell {}>".format(number)
        if len(text) > KEPT_LENGTH:
            return filename
        lines = [line + "\n" for line in text.split("\n")]
        self.texts[number] = text
        self._lines[filename] = lines
        try:
            linecache.cache[filename] = (len(text), None, lines, filename)
        except (AttributeError, TypeError):
            pass
        return filename

    def __contains__(self, filename):
        return filename in self._lines

    def line(self, filename: str, number: int) -> str:
        lines = self._lines.get(filename, ())
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def file_of_class(self, cls: type) -> str | None:
        """The newest cell that defines this class, or None."""
        for member in vars(cls).values():
            member = getattr(member, "__func__", member)
            code = getattr(member, "__code__", None)
            filename = getattr(code, "co_filename", None)
            if filename in self._lines:
                return filename
        header = "class " + cls.__name__
        for filename in reversed(list(self._lines)):
            for line in self._lines[filename]:
                text = line.lstrip()
                if text.startswith(header) and text[len(header) : len(header) + 1] in ":( ":
                    return filename
        return None

    def patch_inspect(self) -> None:
        """Lets inspect.getsource find classes of cells, which have no file."""
        original = getattr(inspect.getfile, "original", inspect.getfile)

        @functools.wraps(original)
        def getfile(object):
            if _is_of_cells(object):
                main = _modules.get("__main__")
                if getattr(main, "__file__", None) is None:
                    filename = self.file_of_class(object)
                    if filename is not None:
                        return filename
            return original(object)

        getfile.original = original  # type: ignore[attr-defined]
        inspect.getfile = getfile


def _is_of_cells(value):
    """Whether a value is a class made by a cell, whatever its metaclass claims."""
    try:
        return issubclass(type(value), type) and _module_of(value) == "__main__"
    except Exception:
        return False
