"""Large contexts: text and values that come as bytes, made without a second copy of the whole."""

from __future__ import annotations

import codecs
import ctypes
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from ..pristine import BUILTINS as __builtins__
from ..values.encoding import decode

if TYPE_CHECKING:
    from . import mapped_text

PIECE_BYTES = 1 << 18
HUGE_PAGE = 2 << 20
MADV_HUGEPAGE = 14
# Smaller strings are cheap anyway.
SMALL_CHARACTERS = 1 << 16
SHORT_PIECE = 1000

# Invalid UTF-8 stays in the text as surrogates, and can be encoded back.
_CODECS = {
    "utf-8": ("utf-8", "surrogateescape"),
    "utf-16-le": ("utf-16-le", "surrogatepass"),
    "json": ("utf-8", "surrogatepass"),
}
# Highest code point of a string, bytes per character, encoding.
_END = "le" if sys.byteorder == "little" else "be"
_WIDTHS = (
    (0x7F, 1, "ascii"),
    (0xFF, 1, "latin-1"),
    (0xFFFF, 2, "utf-16-" + _END),
    (0x10FFFF, 4, "utf-32-" + _END),
)

_decode_json = json.JSONDecoder().decode
_decoder_of = codecs.getincrementaldecoder
_preadv: Any = getattr(os, "preadv", None)
_size_of = sys.getsizeof
_WIDE_HEADER = _size_of("\xe9" * 3) - 4


_new: Any = None
_madvise: Any = None
try:
    _new = ctypes.pythonapi["PyUnicode_New"]
    _new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_ssize_t, ctypes.c_uint32]
    _madvise = ctypes.CDLL(None).madvise if sys.platform == "linux" else None
except (AttributeError, OSError, TypeError, ValueError):
    _new = _madvise = None
if _madvise is not None:
    _madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class StringMemory:
    """Fills the memory of a new string, in huge pages, which forks copy quickly."""

    def __init__(self, address, size):
        self._view: Any = memoryview((ctypes.c_char * size).from_address(address)).cast("B")
        low = -(-address // HUGE_PAGE) * HUGE_PAGE
        high = (address + size) // HUGE_PAGE * HUGE_PAGE
        if _madvise is not None and high > low:
            _madvise(low, high - low, MADV_HUGEPAGE)

    def put(self, data: bytes) -> None:
        self._view[: len(data)] = data
        self._view = self._view[len(data) :]

    def finish(self) -> None:
        self._view = None


def _blank(length, width, highest, mapped_texts):
    text = _new(length, highest)
    size = length * width
    address = id(text) + _size_of(text) - (length + 1) * width
    mapped_text = None if mapped_texts is None else mapped_texts.create(text, address, size)
    return text, mapped_text or StringMemory(address, size)


class Text:
    """Makes one string of pieces of bytes. As long as they are ASCII, they go straight to their place.

    `mapped_texts` is a mapped_text.MappedTexts, where the string is to be shared by many processes.
    """

    def __init__(self, size, encoding, errors, mapped_texts=None):
        self._mapped_texts = mapped_texts
        self._decoder = _decoder_of(encoding)(errors)
        self._pieces = []
        self._size = size
        self._plain = self._filler = None
        self._filled = 0
        if encoding == "utf-8" and _new is not None and size >= SMALL_CHARACTERS:
            self._plain, self._filler = _blank(size, 1, 0x7F, mapped_texts)

    def feed(self, piece: bytes | bytearray) -> None:
        if self._filler is not None:
            end = self._filled + len(piece)
            if end <= self._size and piece.isascii():
                self._filler.put(piece)
                self._filled = end
                return
            self._finish_filler()
        self._pieces.append(self._decoder.decode(piece))

    def _finish_filler(self):
        if self._filler is not None:
            self._filler.finish()
            self._filler = None

    def finish(self) -> str:
        self._finish_filler()
        plain, self._plain = self._plain, None
        pieces, self._pieces = self._pieces, []
        rest = self._decoder.decode(b"", True)
        if rest:
            pieces.append(rest)
        if pieces:
            return _joined(plain, self._filled, pieces, self._mapped_texts)
        if plain is None:
            return ""
        return plain if self._filled == self._size else plain[: self._filled]


def _joined(plain, filled, pieces, mapped_texts):
    """The start of `plain` and the pieces; frees each piece once it is written."""
    total = filled + sum(map(len, pieces))
    if _new is None or total < SMALL_CHARACTERS:
        return "".join(([plain[:filled]] if filled else []) + pieces)
    highest, width, encoding = max(map(_width, pieces))
    text, filler = _blank(total, width, highest, mapped_texts)
    for start in range(0, filled, PIECE_BYTES):
        part = plain[start : min(filled, start + PIECE_BYTES)]
        filler.put(part.encode(encoding))
    pieces.reverse()
    while pieces:
        filler.put(pieces.pop().encode(encoding, "surrogatepass"))
    filler.finish()
    return text


def _width(piece):
    """The row of the table for the narrowest string that can hold this one."""
    if len(piece) < SHORT_PIECE:
        # The size of an interned string may include more than its characters.
        code = ord(max(piece, default="\0"))
        return next(row for row in _WIDTHS if code <= row[0])
    if piece.isascii():
        return _WIDTHS[0]
    width = (_size_of(piece) - _WIDE_HEADER) // (len(piece) + 1)
    return next(row for row in _WIDTHS[1:] if width <= row[1])


class Incoming:
    def __init__(self, form, size, mapped_texts=None):
        self._form = form
        self._text = Text(size, *_CODECS[form], mapped_texts)
        self.received = 0

    def feed(self, piece: bytes | bytearray) -> None:
        self.received += len(piece)
        self._text.feed(piece)

    def finish(self) -> Any:
        text = self._text.finish()
        if self._form != "json":
            return text
        return decode(_decode_json(text))


def read(descriptor: int, form: str, size: int, mapped_texts: mapped_text.MappedTexts | None = None) -> object:
    """The context in the first `size` bytes of a file; stops early if the file shrinks."""
    incoming = Incoming(form, size, mapped_texts)
    buffer = bytearray(PIECE_BYTES)
    view = memoryview(buffer)
    while incoming.received < size:
        wanted = min(PIECE_BYTES, size - incoming.received)
        got = _preadv(descriptor, [view[:wanted]], incoming.received)
        if got == 0:
            break
        incoming.feed(buffer if got == PIECE_BYTES else bytes(view[:got]))
    return incoming.finish()
