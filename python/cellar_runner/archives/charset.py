"""Whether bytes are text, and in which encoding."""

from __future__ import annotations

import codecs
from typing import Iterator

from ..pristine import BUILTINS as __builtins__

LOOKED_AT = 8192
STEP = 1 << 20

_decoder_of = codecs.getincrementaldecoder
# The mark of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_BINARY_STARTS = (b"%PDF-", b"PK\3\4", b"PK\5\6", b"\x1f\x8b", b"\x7fELF", b"\x89PNG", b"\xff\xd8\xff", b"GIF8")
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\r\f\b\x1b")


class Decoding:
    """`encoding` is None for what is not text; `is_guess` says that nothing proves it."""

    def __init__(self, data):
        self.data = data
        self.encoding, self.is_guess = _detected(data)

    def pieces(self) -> Iterator[str]:
        decoder = _decoder_of(self.encoding or "latin-1")("replace")
        for start in range(0, len(self.data), STEP):
            yield decoder.decode(self.data[start : start + STEP])
        yield decoder.decode(b"", True)

    def text(self) -> str:
        return "".join(self.pieces())


def _detected(data):
    head = data[:LOOKED_AT]
    if head.startswith(_BINARY_STARTS):
        return None, False
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name, False
    if b"\0" in head:
        return None, False
    if _decodes(data, "utf-8"):
        return "utf-8", False
    controls = len(head) - len(head.translate(None, _CONTROLS))
    if controls * 50 > len(head):
        return None, False
    return ("cp1252" if _decodes(data, "cp1252") else "latin-1"), True


def _decodes(data, encoding):
    decoder = _decoder_of(encoding)()
    try:
        for start in range(0, len(data), STEP):
            decoder.decode(data[start : start + STEP])
        decoder.decode(b"", True)
    except UnicodeDecodeError:
        return False
    return True
