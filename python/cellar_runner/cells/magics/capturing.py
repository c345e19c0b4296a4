"""Keeping output instead of showing it: what %%capture does."""

from __future__ import annotations

import builtins
import io
import sys
from typing import TYPE_CHECKING, Any

from ...pristine import BUILTINS as __builtins__
from .errors import UsageError

if TYPE_CHECKING:
    from ...output.displays import Displays
    from .dispatch import Commands

_FLAGS = ("--no-stdout", "--no-stderr", "--no-display")


class RichOutput:
    __module__ = "IPython.utils.capture"

    def __reduce__(self):
        return _output_again, (self.data,)

    def __init__(self, data):
        self.data = data
        self.metadata = {}
        self.transient = {}
        self.update = False

    def display(self) -> None:
        vars(builtins)["display"](self.data, raw=True)

    def _repr_mimebundle_(self, include=None, exclude=None):
        return self.data, self.metadata


class CapturedIO:
    __module__ = "IPython.utils.capture"

    def __reduce__(self):
        return _captured_again, (self.stdout, self.stderr, list(self.outputs))

    def __init__(self, stdout: str | io.StringIO, stderr: str | io.StringIO, outputs: list[RichOutput]) -> None:
        self._texts = stdout, stderr
        self.outputs = outputs

    @property
    def stdout(self) -> str:
        return _content(self._texts[0])

    @property
    def stderr(self) -> str:
        return _content(self._texts[1])

    def show(self) -> None:
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        for output in self.outputs:
            output.display()

    __call__ = show

    def __str__(self):
        return self.stdout


def _content(text):
    return text.getvalue() if isinstance(text, io.StringIO) else text


def _output_again(data):
    return RichOutput(data)


def _captured_again(*parts):
    return CapturedIO(*parts)


class _Outputs(list):
    def append(self, data):
        super().append(RichOutput(data))


class Diversion:
    """Collects what is printed and shown until it ends."""

    def __init__(self, displays: Displays, stdout: bool = True, stderr: bool = True, display: bool = True) -> None:
        texts = io.StringIO(), io.StringIO()
        self.captured = CapturedIO(*texts, _Outputs())
        self._displays = displays if display else None
        self._streams = sys.stdout, sys.stderr
        sys.stdout = texts[0] if stdout else sys.stdout
        sys.stderr = texts[1] if stderr else sys.stderr
        self._restore = displays.divert(self.captured.outputs) if display else None

    def end(self) -> CapturedIO:
        try:
            if self._displays is not None:
                self._displays.figures.flush()
        finally:
            if self._restore is not None:
                self._restore()
            sys.stdout, sys.stderr = self._streams
            self.captured.outputs = list(self.captured.outputs)
        return self.captured


class Capturing:
    def __init__(self, commands: Commands, arguments: str = "") -> None:
        words = arguments.split()
        names = [word for word in words if not word.startswith("-")]
        unknown = [word for word in words if word.startswith("-") and word not in _FLAGS]
        if unknown or len(names) > 1:
            raise UsageError("unrecognized arguments: " + " ".join(unknown or names[1:]))
        self._commands = commands
        self._name = names[0] if names else None
        self._wanted = [flag not in words for flag in _FLAGS]
        self.hides_value = "--no-display" not in words

    def __enter__(self):
        self._diversion = Diversion(self._commands.interpreter.displays, *self._wanted)
        return self

    def take(self, value: Any) -> None:
        if value is not None:
            self._commands.interpreter.displays.display(value)

    def __exit__(self, *_error):
        kept = self._diversion.end()
        if self._name is not None:
            self._commands.bind(self._name, kept)
