"""What `IPython.display` offers, where IPython is not installed."""

from __future__ import annotations

import builtins
import os
from base64 import b64encode
from html import escape
from json import dumps, loads
from typing import Any, Callable

from ...pristine import BUILTINS as __builtins__

_builtin = vars(builtins).__getitem__
_SIGNATURES = (
    (b"\x89PNG", "png"),
    (b"\xff\xd8", "jpeg"),
    (b"GIF8", "gif"),
    (b"RIFF", "webp"),
)


def display(*objs: Any, **options: Any) -> Any:
    """Show objects as rich output, in order."""
    return _builtin("display")(*objs, **options)


def update_display(obj: Any, *, display_id: str, **options: Any) -> None:
    """Replace the object that is shown under this id."""
    options["update"] = True
    display(obj, display_id=display_id, **options)


def clear_output(wait: bool = False) -> None:
    """Clear the output of the cell; with `wait`, when the next output comes."""
    _builtin("get_ipython")().display_pub.clear_output(wait)


def publish_display_data(data: dict, metadata: dict | None = None, *, transient: Any = None, **options: Any) -> None:
    """Show a bundle of MIME types."""
    _builtin("get_ipython")().display_pub.publish(data, metadata, transient=transient, **options)


def display_as(mime: str) -> Callable:
    """display_html and its like."""

    def show(*objs, raw=False, metadata=None, **options):
        if raw:
            for content in objs:
                publish_display_data({mime: content}, {mime: metadata} if metadata else metadata, **options)
        else:
            display(*objs, include=[mime], metadata=metadata, **options)

    show.__doc__ = "Show the {} of objects.".format(mime)
    return show


class DisplayObject:
    _read_flags = "r"
    _show_mem_addr = False
    _addresses: tuple[str, ...] = ("http://", "https://")
    embed = True

    def __init__(self, data=None, url=None, filename=None, metadata=None):
        self.data, self.url, self.filename = self._located(data, url, filename)
        self.metadata = metadata or {}
        self.reload()
        self._check_data()

    def _located(self, data, url, filename):
        """Data that is the address or the path of a file becomes a url or a filename."""
        data, filename = (os.fspath(one) if isinstance(one, os.PathLike) else one for one in (data, filename))
        if isinstance(data, str) and url is None and filename is None:
            if data.startswith(self._addresses):
                return None, data, None
            if self._may_be_file(data):
                return None, None, data
        return data, url, filename

    def __repr__(self):
        if self._show_mem_addr:
            return object.__repr__(self)
        return "<{}.{} object>".format(type(self).__module__, type(self).__name__)

    def _may_be_file(self, _text):
        return False

    def _check_data(self):
        pass

    def reload(self) -> None:
        """Read the data again from its file or address."""
        if not self.embed:
            return
        if self.filename is not None:
            encoding = None if "b" in self._read_flags else "utf-8"
            with open(self.filename, self._read_flags, encoding=encoding) as source:
                self.data = source.read()
        elif self.url is not None:
            from urllib.request import urlopen

            with urlopen(self.url) as response:
                self.data = response.read()
            if self._read_flags == "r":
                self.data = self.data.decode("utf-8", "replace")

    def _with_metadata(self, data):
        return (data, self.metadata) if self.metadata else data


class TextDisplayObject(DisplayObject):
    def _check_data(self):
        if self.data is not None and not isinstance(self.data, str):
            raise TypeError("{} expects text, not {!r}".format(type(self).__name__, self.data))


class Pretty(TextDisplayObject):
    def _repr_pretty_(self, page, cycle):
        page.text(self.data)

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": self.data}


class HTML(TextDisplayObject):
    def _repr_html_(self):
        return self._with_metadata(self.data)

    def __html__(self):
        return self.data


class Markdown(TextDisplayObject):
    def _repr_markdown_(self):
        return self._with_metadata(self.data)


class Math(TextDisplayObject):
    def _repr_latex_(self):
        return self._with_metadata("$\\displaystyle {}$".format(self.data.strip("$")))


class Latex(TextDisplayObject):
    def _repr_latex_(self):
        return self._with_metadata(self.data)


class SVG(DisplayObject):
    def _may_be_file(self, text):
        return not text.lstrip().startswith("<")

    def _repr_svg_(self):
        text = self.data
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        return self._with_metadata(_svg_element(text))


def _svg_element(text):
    """The svg element of an XML file."""
    from xml.dom import minidom
    from xml.parsers.expat import ExpatError

    try:
        found = minidom.parseString(text).getElementsByTagName("svg")
    except ExpatError:
        return text
    return found[0].toxml() if found else text


class JSON(DisplayObject):
    def __init__(
        self, data=None, url=None, filename=None, expanded=False, metadata=None, root="root", **more
    ):
        described = {"expanded": expanded, "root": root}
        described.update(metadata or {}, **more)
        super().__init__(data, url, filename, described)

    def _check_data(self):
        if isinstance(self.data, str):
            self.data = loads(self.data)
        if self.data is not None and not isinstance(self.data, (dict, list)):
            raise TypeError("JSON expects a dict or a list, not {!r}".format(self.data))

    def _repr_json_(self):
        return self._with_metadata(self.data)


class GeoJSON(JSON):
    def _repr_mimebundle_(self, include=None, exclude=None):
        kind = "application/geo+json"
        plain = "<IPython.display.GeoJSON object>"
        return {kind: self.data, "text/plain": plain}, {kind: self.metadata}


class Javascript(TextDisplayObject):
    def __init__(self, data=None, url=None, filename=None, lib=None, css=None):
        self.lib = [lib] if isinstance(lib, str) else list(lib or ())
        self.css = [css] if isinstance(css, str) else list(css or ())
        super().__init__(data, url, filename)

    def _repr_javascript_(self):
        parts = [
            'var link = document.createElement("link");link.rel = "stylesheet";'
            'link.href = {};document.head.appendChild(link);\n'.format(dumps(address))
            for address in self.css
        ]
        script = self.data or ""
        for address in reversed(self.lib):
            script = "$.getScript({}, function () {{\n{}}});\n".format(dumps(address), script)
        return "".join(parts) + script


class Image(DisplayObject):
    _read_flags = "rb"

    def __init__(
        self,
        data=None,
        url=None,
        filename=None,
        format=None,
        embed=None,
        width=None,
        height=None,
        retina=False,
        unconfined=False,
        metadata=None,
        alt=None,
    ):
        data, url, filename = self._located(data, url, filename)
        named = filename or url
        if format is None and isinstance(named, str) and "." in named:
            ending = named.rpartition(".")[2].lower()
            format = {"jpg": "jpeg"}.get(ending, ending)
        self.embed = (url is None) if embed is None else embed
        self.width, self.height, self.alt = width, height, alt
        self.retina, self.unconfined = retina, unconfined
        self.format = format
        super().__init__(data, url, filename, metadata)
        found = next((name for mark, name in _SIGNATURES if _bytes(self.data).startswith(mark)), None)
        self.format = found or (self.format or "png")
        if self.retina and self.format == "png" and width is None and height is None:
            size = [int.from_bytes(_bytes(self.data)[at : at + 4], "big") // 2 for at in (16, 20)]
            self.width, self.height = size

    def _may_be_file(self, text):
        return True

    def _described(self):
        told = {"width": self.width, "height": self.height, "alt": self.alt}
        return {name: value for name, value in told.items() if value}

    def _repr_mimebundle_(self, include=None, exclude=None):
        if self.embed:
            mime = "image/" + self.format
            described = {**self._described(), **({"unconfined": True} if self.unconfined else {}), **self.metadata}
            content = b64encode(_bytes(self.data)).decode("ascii")
            return {mime: content}, {mime: described} if described else {}
        return {"text/html": self._repr_html_()}

    def _repr_html_(self):
        if self.embed:
            return None
        marks = "".join(' {}="{}"'.format(name, escape(str(value))) for name, value in self._described().items())
        confined = ' class="unconfined"' if self.unconfined else ""
        return '<img src="{}"{}{}/>'.format(self.url, marks, confined)


def _bytes(data):
    return data if isinstance(data, bytes) else b""
