"""Rich output: the mime bundle of a value, bounded and guarded against its own methods."""

from __future__ import annotations

import os
import sys
from base64 import b64decode
from json import dumps
from json.encoder import encode_basestring_ascii as _quoted

from ..pristine import BUILTINS as __builtins__
from ..values.encoding import Encoder, encode
from ..values.reprs import cap, exact, guarded_repr, guarded_str, is_a
from .figures import Figures
from .formatters import PLAIN, DisplayFormatter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

RICH_TEXT_LIMIT = 1_000_000
IMAGE_LIMIT = 12_000_000
BUNDLE_LIMIT = 10_000_000
TYPE_LIMIT = 16
METADATA_LIMIT = 10_000
ID_LIMIT = 200
# For readers that show values in a form of their own.
VALUE_TYPE = "application/vnd.cellar.value+json"
VALUE_LIMIT = 100_000
_STRUCTURED = (list, tuple, dict)

_urandom = os.urandom


def mime_bundle(content: dict) -> dict:
    """A bundle from a dict of mime types that user code made itself."""
    notes: list[str] = []
    data: dict = {}
    for name, item in content.items():
        _add(data, name, item, notes)
    if notes:
        data["text/plain"] = "\n".join([data.get("text/plain", "")] + notes).lstrip("\n")
    return data


def as_message(data: dict) -> tuple[dict, list[bytes]]:
    """(texts and announced binaries of a bundle, the binaries) for the host."""
    texts = {mime: body for mime, body in data.items() if isinstance(body, str)}
    binaries = [(mime, body) for mime, body in data.items() if isinstance(body, bytes)]
    announced = [{"mime": mime, "bytes": len(body)} for mime, body in binaries]
    return {"data": texts, "attachments": announced}, [body for _, body in binaries]


def _split_images(data):
    """(images and other binary content, rest) of a bundle."""
    images = {mime: content for mime, content in data.items() if is_a(content, bytes) or mime.startswith("image/")}
    return images, {mime: content for mime, content in data.items() if mime not in images}


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
    if mime == "application/pdf" or (mime.startswith("image/") and mime != "image/svg+xml"):
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


def text_of_plain(content: Any) -> str:
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


class DisplayHandle:
    """Something shown that can be shown anew, in its place."""

    def __init__(self, display_id: object = None) -> None:
        self.display_id = new_id() if display_id is None else display_id

    def __repr__(self):
        return "<DisplayHandle display_id={}>".format(self.display_id)

    def display(self, obj: object, **options: object) -> None:
        """Show another object under the same id, here."""
        sys.modules["builtins"].display(obj, display_id=self.display_id, **options)

    def update(self, obj: object, **options: object) -> None:
        """Show another object where this was shown."""
        sys.modules["builtins"].display(obj, display_id=self.display_id, update=True, **options)


def new_id() -> str:
    return _urandom(16).hex()


class Displays:
    """Sends rich outputs of one session; offers the `display` builtin."""

    def __init__(self, send: Callable) -> None:
        self._send = send
        self.clear = _ignore
        self.tells_values = False
        # Put in the place of the session's own by code that captures what is shown.
        self.publisher = None
        # Told what a representation raised: the others are shown all the same.
        self.report = _ignore
        self.formatter = DisplayFormatter(lambda error: self.report(error))
        self.figures = Figures(self)

    def display(
        self,
        *objs: Any,
        include: Any = None,
        exclude: Any = None,
        metadata: Any = None,
        transient: Any = None,
        display_id: Any = None,
        raw: bool = False,
        clear: bool = False,
        update: bool = False,
        **_options: object,
    ) -> DisplayHandle | None:
        """Show objects as rich output, in order."""
        if display_id is True:
            display_id = new_id()
        elif display_id is None and is_a(transient, dict):
            display_id = transient.get("display_id")
        if update and not display_id:
            raise TypeError("display_id required for update_display")
        if not objs and display_id:
            objs, raw = ({},), True
        if raw:
            for value in objs:
                if not is_a(value, dict):
                    raise TypeError("display(raw=True) takes dicts of mime type to content")
        if clear:
            self.clear_output(wait=True)
        for value in objs:
            data, described = (value, {}) if raw else self.formatter.format(value, include, exclude)
            if not (data or raw):
                continue
            if is_a(metadata, dict):
                described.update(metadata)
            if self.publisher is None:
                self.publish(data, described, display_id=display_id, update=update)
            else:
                transient = {"display_id": display_id} if display_id else {}
                self.publisher.publish(data=data, metadata=described, transient=transient, update=update)
        return DisplayHandle(display_id) if display_id else None

    def publish(self, data: dict, metadata: Any = None, display_id: object = None, update: bool = False) -> None:
        """Show a bundle that user code made itself."""
        about = {}
        if display_id:
            about["display_id"] = (guarded_str(display_id) or "")[:ID_LIMIT]
            if update:
                about["role"] = "update"
        self.send(mime_bundle(data), metadata, about)

    def clear_output(self, wait: object = False) -> None:
        """Take back what the cell has shown so far; `wait`: when it shows something else."""
        _flush(sys.stdout)
        _flush(sys.stderr)
        self.clear(bool(wait))

    def send(self, data: dict, metadata: Any = None, about: dict | None = None) -> None:
        """Send one bundle, after what was printed before it."""
        _flush(sys.stdout)
        described = {}
        if is_a(metadata, dict):
            described = encode(metadata, METADATA_LIMIT)
        described = {} if "$" in described else described
        if about:
            self._send(data, described, about)
        else:
            self._send(data, described)

    def bundle(self, value: object) -> tuple[dict, dict]:
        """The bundle of a value and its metadata; an empty one where the value has shown itself."""
        kind = type(value)
        if (kind in PLAIN or is_a(value, type)) and not self.formatter.is_used:
            text = self.formatter.formatters["text/plain"](value)
            return ({} if text is None else {"text/plain": text}), {}
        data, metadata = self.formatter.format(value)
        return mime_bundle(data), metadata

    def divert(self, outputs: list) -> Callable[[], None]:
        """Append bundles to a list instead of sending them; gives the function that ends this."""
        before = self._send, self.clear
        self._send = lambda data, _metadata, _about=None: outputs.append(data)
        self.clear = lambda _wait: outputs.clear()

        def restore():
            self._send, self.clear = before

        return restore

    def result(self, value: object, data: dict, metadata: dict, apart: bool = False) -> dict | None:
        """The result of a cell, or None; images, or all of it, go as a display that belongs to it."""
        if not data:
            return None
        images, rest = _split_images(data)
        rest.setdefault("text/plain", "")
        if images or apart:
            shown = data if apart else dict(images, **{"text/plain": rest["text/plain"]})
            self.send(shown, metadata, {"role": "result"})
        if self.tells_values and type(value) in _STRUCTURED:
            encoder = Encoder(VALUE_LIMIT)
            encoded = encoder.encode(value, 0)
            if encoder.loss is None:
                rest[VALUE_TYPE] = dumps(encoded)
        return rest

    def show_result(self, value: object) -> None:
        """The value of code that a cell ran, shown as a value where it is."""
        data, metadata = self.bundle(value)
        if data:
            self.send(data, metadata, {"role": "result"})


def _ignore(_what):
    pass


def _flush(stream):
    try:
        stream.flush()
    except KeyboardInterrupt:
        raise
    except BaseException:
        pass
