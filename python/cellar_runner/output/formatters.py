"""How objects are shown: a formatter for each MIME type, with IPython's rules of precedence."""

from __future__ import annotations

import sys
import warnings

from ..pristine import BUILTINS as __builtins__
from ..values.excerpts import TABLE_TYPE, excerpt
from ..values.pretty import text_of
from ..values.reprs import cap, guarded_repr, is_a

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Container

_MISSING = object()
_mro = type.__dict__["__mro__"].__get__
_CANARY = "_ipython_canary_method_should_not_exist_"
PLAIN = frozenset((int, float, bool, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, range))
_BUILTIN = {kind.__name__: kind for kind in (object, type) + tuple(PLAIN)}
# In IPython's order, which is that of the representations in a bundle.
_METHODS = (
    ("text/html", "_repr_html_"),
    ("text/markdown", "_repr_markdown_"),
    ("image/svg+xml", "_repr_svg_"),
    ("image/png", "_repr_png_"),
    ("application/pdf", "_repr_pdf_"),
    ("image/jpeg", "_repr_jpeg_"),
    ("text/latex", "_repr_latex_"),
    ("application/json", "_repr_json_"),
    ("application/javascript", "_repr_javascript_"),
)


_BINARY = ("image/png", "image/jpeg", "application/pdf")


class FormatterWarning(UserWarning):
    """A representation that is left out, since it is not of the kind that its type demands."""


def _is_valid(mime, content):
    """Whether it is what a function for this type gives: the content, or that and its metadata."""
    if is_a(content, tuple) and len(content) == 2 and is_a(content[1], dict):
        content = content[0]
    if mime == "application/json":
        return is_a(content, (list, dict, tuple, str))
    return is_a(content, (bytes, str) if mime in _BINARY else str)


def real_method(value: object, name: str) -> Callable | None:
    """A method that the object really has: not one of a class, nor of what answers to any name."""
    if is_a(value, type):
        return None
    try:
        if getattr(value, _CANARY, None) is not None:
            return None
        method = getattr(value, name, None)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None
    return method if callable(method) and not is_a(method, type) else None


class Formatter:
    """Makes one representation: by a function for the object's type, or by its own method."""

    enabled = True

    def __init__(self, format_type: str, print_method: str, guard: Callable, on_change: Callable) -> None:
        self.format_type = format_type
        self.print_method = print_method
        self.type_printers: dict = {}
        self.deferred_printers: dict = {}
        self.singleton_printers: dict = {}
        self._guard = guard
        self._on_change = on_change

    def __repr__(self):
        return "<formatter of {}>".format(self.format_type)

    def __call__(self, value):
        """The representation, or None; what fails in it is told and not raised."""
        return self._guard(self._checked, value) if self.enabled else None

    def _checked(self, value):
        content = self.content(value)
        if content is None or _is_valid(self.format_type, content):
            return content
        message = "{} formatter returned invalid type {} for object: {}"
        shown = message.format(self.format_type, type(content), cap(guarded_repr(value), 200))
        warnings.warn(shown, FormatterWarning, stacklevel=2)
        return None

    def content(self, value: object, absent: object = None, **options: object) -> Any:
        """The representation, or `absent`; `options` are for the object's own method."""
        printer = self._find(value)
        if printer is not None:
            return printer(value)
        method = real_method(value, self.print_method)
        return absent if method is None else method(**options)

    def lookup(self, value: object) -> Callable:
        """The function registered for an object; KeyError where there is none."""
        printer = self._find(value)
        if printer is None:
            raise KeyError("no formatter of {} for {!r}".format(self.format_type, type(value)))
        return printer

    def lookup_by_type(self, kind: Any) -> Callable:
        """The function registered for a type or one of its bases; KeyError where there is none."""
        if is_a(kind, str):
            return self.deferred_printers[_split(kind)]
        printer = self._of_type(kind)
        if printer is None:
            raise KeyError("no formatter of {} for {!r}".format(self.format_type, kind))
        return printer

    def for_type(self, kind: Any, func: Callable | None = None) -> Callable | None:
        """Register a function for a type, or for its name; gives the one before."""
        if is_a(kind, str):
            return self.for_type_by_name(*_split(kind), func=func)  # type: ignore[misc]
        before = self._of_type(kind)
        if func is not None:
            self.type_printers[kind] = func
            self._on_change(kind)
        return before

    def for_type_by_name(self, type_module: str, type_name: str, func: Callable | None = None) -> Callable | None:
        """The same for a type that may not be imported yet."""
        key = type_module, type_name
        for kind in self.type_printers:
            if _names(kind) == key:
                return self.for_type(kind, func)
        before = self.deferred_printers.get(key)
        if func is not None:
            self.deferred_printers[key] = func
            self._on_change(_BUILTIN.get(type_name) if type_module == "builtins" else None)
        return before

    def pop(self, kind: Any, default: object = _MISSING) -> Any:
        """Take back what was registered for a type."""
        key = _split(kind) if is_a(kind, str) else _names(kind)
        found = self.deferred_printers.pop(key, _MISSING)
        for known in [known for known in self.type_printers if known is kind or _names(known) == key]:
            found = self.type_printers.pop(known)
        if found is _MISSING:
            if default is _MISSING:
                raise KeyError("no formatter of {} for {!r}".format(self.format_type, kind))
            return default
        return found

    def __contains__(self, kind):
        if is_a(kind, str):
            return _split(kind) in self.deferred_printers
        return self._of_type(kind) is not None

    def _find(self, value):
        if not (self.type_printers or self.deferred_printers or self.singleton_printers):
            return None
        printer = self.singleton_printers.get(id(value))
        return self._of_type(type(value)) if printer is None else printer

    def _of_type(self, kind):
        for base in _mro(kind):
            printer = self.type_printers.get(base)
            if printer is None and self.deferred_printers:
                printer = self.deferred_printers.pop(_names(base), None)
                if printer is not None:
                    self.type_printers[base] = printer
            if printer is not None:
                return printer
        return None


class PlainFormatter(Formatter):
    """text/plain: functions for types get a printer to write to, as IPython's do."""

    def content(self, value: object, absent: object = None, **_options: object) -> Any:
        return text_of(value, asked=self)


class MimebundleFormatter(Formatter):
    """`_repr_mimebundle_`: several representations at once."""

    def __call__(self, value, include=None, exclude=None):
        found = self._guard(lambda shown: self.content(shown, include=include, exclude=exclude), value)
        if is_a(found, tuple) and len(found) == 2:
            data, metadata = found
        else:
            data, metadata = found, None
        return (
            dict(dict.items(data)) if is_a(data, dict) else {},
            dict(dict.items(metadata)) if is_a(metadata, dict) else {},
        )


class IPythonDisplayFormatter(Formatter):
    """`_ipython_display_`: an object that shows itself. Gives whether it did."""

    def __call__(self, value):
        return self._guard(lambda shown: self.content(shown, _MISSING) is not _MISSING, value) is True


class DisplayFormatter:
    """All formatters of a session. `report` is told of those that fail."""

    def __init__(self, report: Callable) -> None:
        self._report = report
        # Whether even a plain value must be looked at: a function is registered for its type.
        self.is_used = False
        self.formatters: dict[str, Any] = {}
        self.formatters["text/plain"] = self._formatter(PlainFormatter, "text/plain", "_repr_pretty_")
        for mime, method in _METHODS:
            self.formatters[mime] = self._formatter(Formatter, mime, method)
        self.mimebundle_formatter = self._formatter(MimebundleFormatter, "", "_repr_mimebundle_")
        self.ipython_display_formatter = self._formatter(IPythonDisplayFormatter, "", "_ipython_display_")

    def _formatter(self, kind, mime, method):
        return kind(mime, method, self._guarded, self._note_use)

    @property
    def format_types(self) -> list[str]:
        return list(self.formatters)

    @property
    def active_types(self) -> list[str]:
        return [mime for mime, formatter in self.formatters.items() if getattr(formatter, "enabled", True)]

    @active_types.setter
    def active_types(self, types: Container[str]) -> None:
        for mime, formatter in self.formatters.items():
            formatter.enabled = mime in types
        self.is_used = True

    def format(
        self, value: object, include: Container[str] | None = None, exclude: Container[str] | None = None
    ) -> tuple[dict, dict]:
        """(data, metadata) of an object; two empty dicts where it has shown itself."""
        if self.ipython_display_formatter(value):
            return {}, {}
        data, metadata = self.mimebundle_formatter(value, include=include, exclude=exclude)
        for part in (data, metadata):
            for mime in [mime for mime in part if not _is_wanted(mime, include, exclude)]:
                del part[mime]
        for mime, formatter in list(self.formatters.items()):
            if not _is_wanted(mime, include, exclude):
                continue
            if mime in data and not _is_registered(formatter, value):
                continue
            content, described = formatter(value), None
            if is_a(content, tuple) and len(content) == 2:
                content, described = content
            if content is not None:
                data[mime] = content
            if described is not None:
                metadata[mime] = described
        if TABLE_TYPE not in data and _is_wanted(TABLE_TYPE, include, exclude):
            table = _table(value)
            if table is not None:
                data[TABLE_TYPE] = table
        return data, metadata

    def _note_use(self, kind):
        if kind is object or kind in PLAIN or (kind is not None and issubclass(kind, type)):
            self.is_used = True

    def _guarded(self, work, value):
        try:
            return work(value)
        except KeyboardInterrupt:
            raise
        except NotImplementedError:
            # An object's way to say that it has no such representation.
            return None
        except BaseException as error:
            self._report(error)
            return None


def format_display_data(
    value: object, include: Container[str] | None = None, exclude: Container[str] | None = None
) -> tuple[dict, dict]:
    """IPython.core.formatters' function of this name."""
    shell = sys.modules["builtins"].get_ipython()
    return shell.display_formatter.format(value, include, exclude)


def _table(value):
    try:
        return excerpt(value)
    except KeyboardInterrupt:
        raise
    except BaseException:
        # It stands beside the table's own forms, which tell what is wrong.
        return None


def _is_wanted(mime, include, exclude):
    return (not include or mime in include) and (not exclude or mime not in exclude)


def _is_registered(formatter, value):
    lookup = getattr(formatter, "lookup", None)
    try:
        lookup(value)  # type: ignore[misc]
        return True
    except Exception:
        return False


def _split(name):
    module, _, kind = name.rpartition(".")
    return module, kind


def _names(kind):
    return getattr(kind, "__module__", None), getattr(kind, "__name__", None)
