"""Rich output: the mime bundle of a value, bounded and guarded against its own methods."""

from __future__ import annotations

import sys
from base64 import b64decode
from json import dumps
from json.encoder import encode_basestring_ascii as _quoted

from .excerpts import TABLE_TYPE, excerpt
from .figures import Figures
from .pretty import text_of
from .pristine import BUILTINS as __builtins__
from .reprs import cap, exact, guarded_repr, guarded_str, is_a, type_name
from .values import Encoder, encode

RICH_TEXT_LIMIT = 1_000_000
IMAGE_LIMIT = 12_000_000
BUNDLE_LIMIT = 10_000_000
TYPE_LIMIT = 16
METADATA_LIMIT = 10_000
# For readers that show values in a form of their own.
VALUE_TYPE = "application/vnd.cellar.value+json"
VALUE_LIMIT = 100_000
_STRUCTURED = (list, tuple, dict)

_PLAIN = frozenset(
    (int, float, bool, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, range)
)
_METHODS = (
    ("_repr_html_", "text/html"),
    ("_repr_markdown_", "text/markdown"),
    ("_repr_latex_", "text/latex"),
    ("_repr_svg_", "image/svg+xml"),
    ("_repr_json_", "application/json"),
    ("_repr_png_", "image/png"),
    ("_repr_jpeg_", "image/jpeg"),
)


def bundle(value, failures):
    """(data, metadata) of a value: text for text types, bytes for binary images.

    Without text/plain where its repr fails; the error is then among the failures.
    """
    kind = type(value)
    if kind in _PLAIN or is_a(value, type):
        return _plain_text(value, failures), {}
    notes = []
    data = {}
    own, metadata = _from_mimebundle(value, kind, notes)
    for name, content in own.items():
        _add(data, name, content, notes)
    for method, mime in _METHODS:
        if mime in data or (mime == "image/jpeg" and "image/png" in data):
            continue
        content, described = _call(value, kind, method, notes)
        if content is not None:
            _add(data, mime, content, notes)
            if described and mime in data:
                metadata.setdefault(mime, described)
    if TABLE_TYPE not in data:
        _add(data, TABLE_TYPE, _guarded(excerpt, value, "the table", kind, notes), notes)
    text = data.pop("text/plain", None)
    plain = _plain_text(value, failures) if text is None else {"text/plain": text}
    if notes:
        plain["text/plain"] = "\n".join([plain.get("text/plain", "")] + notes).lstrip("\n")
    return dict(plain, **data), metadata


def _plain_text(value, failures):
    """The bundle of a value that is text alone; empty where it has none."""
    try:
        return {"text/plain": text_of(value)}
    except NotImplementedError:
        # as IPython has it: the way to say that there is no text
        return {}
    except Exception as error:
        failures.append(error)
        return {}


def mime_bundle(content):
    """A bundle from a dict of mime types that user code made itself."""
    notes = []
    data = {}
    for name, item in content.items():
        _add(data, name, item, notes)
    if notes:
        data["text/plain"] = "\n".join([data.get("text/plain", "")] + notes).lstrip("\n")
    return data


def split_images(data):
    """(images, rest) of a bundle."""
    images = {mime: content for mime, content in data.items() if mime.startswith("image/")}
    return images, {mime: content for mime, content in data.items() if mime not in images}


def _call(value, kind, name, notes):
    """(content, metadata) from one of the methods that objects show themselves with."""
    # looked up on the type: objects with a catch-all __getattr__ would answer to any name
    content = _guarded(lambda shown: _method(kind, name)(shown), value, name, kind, notes)
    if is_a(content, tuple) and len(content) == 2 and is_a(content[1], dict):
        return content
    return content, {}


def _method(kind, name):
    method = getattr(kind, name, None)
    return method if callable(method) else _nothing


def _nothing(_value):
    return None


def _guarded(work, value, name, kind, notes):
    try:
        return work(value)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        detail = guarded_str(error) or ""
        notes.append(
            "[{} of {} failed: {}: {}]".format(
                name, type_name(kind), type_name(type(error)), detail[:200]
            )
        )
        return None


def _from_mimebundle(value, kind, notes):
    content, metadata = _call(value, kind, "_repr_mimebundle_", notes)
    if not is_a(content, dict):
        return {}, {}
    return content, dict(dict.items(metadata))


def _add(data, mime, content, notes):
    """Check one representation and add it, or a note on why it is left out."""
    if not is_a(mime, str) or not 0 < len(mime) <= 200 or content is None:
        return
    if len(data) >= TYPE_LIMIT:
        return
    mime = exact(mime)
    if mime == "text/plain":
        data[mime] = text_of_plain(content)
        return
    if mime.startswith("image/") and mime != "image/svg+xml":
        content = _binary(content)
        limit = IMAGE_LIMIT
    else:
        content = _text(content)
        limit = RICH_TEXT_LIMIT
    if content is None:
        notes.append("[{} left out: not valid content for this type]".format(mime))
    elif len(content) > limit or _cost(content) + sum(map(_cost, data.values())) > BUNDLE_LIMIT:
        notes.append("[{} left out: {:,} characters or bytes]".format(mime, len(content)))
    else:
        data[mime] = content


def text_of_plain(content):
    """text/plain that an object gave itself, capped."""
    from_object = exact(content) if is_a(content, str) else guarded_repr(content)
    return cap(from_object)


def _cost(content):
    """Bytes on the wire."""
    return len(_quoted(content)) if is_a(content, str) else len(content)


def _text(content):
    if is_a(content, str):
        return exact(content)
    if is_a(content, (bytes, bytearray)):
        return bytes(content).decode("utf-8", "replace")
    try:
        return dumps(content, allow_nan=False)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None


def _binary(content):
    if is_a(content, (bytes, bytearray, memoryview)):
        return bytes(content)
    if not is_a(content, str):
        return None
    try:
        return b64decode(content)
    except ValueError:
        return None


class Displays:
    """Sends rich outputs of one session; offers the `display` builtin."""

    def __init__(self, send):
        self._send = send
        self.tells_values = False
        # What the values that this cell showed raised instead of giving their text.
        self.failures = []
        self.figures = Figures(self.send)

    def display(self, *values, raw=False, metadata=None, **_options):
        """Show values as rich output, in order."""
        if raw:
            for value in values:
                if not is_a(value, dict):
                    raise TypeError("display(raw=True) takes dicts of mime type to content")
        for value in values:
            data, described = (mime_bundle(value), {}) if raw else self.bundle(value)
            if is_a(metadata, dict):
                described.update(metadata)
            if data:
                self.send(data, described)

    def send(self, data, metadata=None):
        """Send one bundle, after what was printed before it."""
        _flush(sys.stdout)
        described = {}
        if is_a(metadata, dict):
            described = encode(metadata, METADATA_LIMIT)
        self._send(data, {} if "$" in described else described)

    def bundle(self, value):
        """The bundle of a value and its metadata; a figure is drawn."""
        picture = self.figures.draw(value)
        if picture is None:
            return bundle(value, self.failures)
        return dict(_plain_text(value, self.failures), **{"image/png": picture}), {}

    def divert(self, outputs):
        """Append bundles to a list instead of sending them; gives the function that ends this."""
        before = self._send
        self._send = lambda data, _metadata: outputs.append(data)

        def restore():
            self._send = before

        return restore

    def result(self, value):
        """The result of a cell, or None; images are sent as displays of their own."""
        data, metadata = self.bundle(value)
        images, rest = split_images(data)
        if images:
            self.send(dict(images, **{"text/plain": rest.get("text/plain", "")}), metadata)
        if self.tells_values and type(value) in _STRUCTURED:
            encoder = Encoder(VALUE_LIMIT)
            encoded = encoder.encode(value, 0)
            if encoder.loss is None:
                rest[VALUE_TYPE] = dumps(encoded)
        return rest or None


def _flush(stream):
    try:
        stream.flush()
    except KeyboardInterrupt:
        raise
    except BaseException:
        pass
