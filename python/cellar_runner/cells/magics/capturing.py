"""Keeping output instead of showing it: what %%capture does."""

from __future__ import annotations

import builtins
import io
import sys
from typing import Any

from ...pristine import BUILTINS as __builtins__
from .errors import UsageError

_FLAGS = ("--no-stdout", "--no-stderr", "--no-display")


class RichOutput:
    """One kept display."""

    __module__ = "IPython.utils.capture"

    def __reduce__(self):
        return _output_again, (self.data,)

    def __init__(self, data):
        self.data = data
        self.metadata = {}
        self.transient = {}
        self.update = False

    def display(self) -> None:
        """Show it after all."""
        vars(builtins)["display"](self.data, raw=True)

    def _repr_mimebundle_(self, include=None, exclude=None):
        return self.data, self.metadata

class CapturedIO:
    """What %%capture kept."""

    __module__ = "IPython.utils.capture"

    def __reduce__(self):
        return _captured_again, (self.stdout, self.stderr, self.outputs)

    def __init__(self, stdout, stderr, outputs):
        self.stdout = stdout
        self.stderr = stderr
        self.outputs = outputs

    def show(self) -> None:
        """Show it after all."""
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        for output in self.outputs:
            output.display()

    __call__ = show

    def __str__(self):
        return self.stdout


def _output_again(data):
    return RichOutput(data)


def _captured_again(*parts):
    return CapturedIO(*parts)


class Capturing:
    """Context that keeps output instead of showing it."""

    def __init__(self, commands, arguments=""):
        words = arguments.split()
        names = [word for word in words if not word.startswith("-")]
        unknown = [word for word in words if word.startswith("-") and word not in _FLAGS]
        if unknown or len(names) > 1:
            raise UsageError("unrecognized arguments: " + " ".join(unknown or names[1:]))
        self._commands = commands
        self._name = names[0] if names else None
        self._keep_out = "--no-stdout" not in words
        self._keep_err = "--no-stderr" not in words
        self.hides_value = "--no-display" not in words
        self._bundles = []
        self._restore = None

    def __enter__(self):
        self._streams = sys.stdout, sys.stderr
        if self._keep_out:
            sys.stdout = io.StringIO()
        if self._keep_err:
            sys.stderr = io.StringIO()
        if self.hides_value:
            self._restore = self._commands.divert_displays(self._bundles)
        return self

    def take(self, value: Any) -> None:
        """The value of the cell, which is not shown."""
        if value is not None:
            self._commands.display(value)

    def __exit__(self, *_error):
        try:
            if self.hides_value:
                self._commands.flush_figures()
        finally:
            if self._restore is not None:
                self._restore()
            kept = sys.stdout, sys.stderr
            sys.stdout, sys.stderr = self._streams
            if self._name is not None:
                outputs = [RichOutput(data) for data in self._bundles]
                out, err = map(_content, kept)
                self._commands.bind(self._name, CapturedIO(out, err, outputs))


def _content(stream):
    return stream.getvalue() if isinstance(stream, io.StringIO) else ""
