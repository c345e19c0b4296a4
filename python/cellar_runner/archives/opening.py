"""Which format bytes have, and the reader for it."""

from __future__ import annotations

from typing import Any

from ..pristine import BUILTINS as __builtins__
from ..values.reprs import is_a, type_name
from .archive import Archive
from .charset import Decoding
from .containers.members import Members
from .limits import ArchiveError, Meter, shown
from .source import Source

_PACKINGS = ((b"\x1f\x8b", "gz"), (b"BZh", "bz2"), (b"\xfd7zXZ\0", "xz"), (b"\x28\xb5\x2f\xfd", "zst"))
_HTML_STARTS = ("<!doctype html", "<html", "<head", "<body")
_KNOWN = "ZIP, TAR (gz, bz2, xz, zst), 7z, PDF, DOCX, XLSX, PPTX, EPUB and HTML"


def reopened(given: Any) -> Archive:
    """An archive after its session was restored; a password has to be given anew."""
    return opened(given, None)


def opened(given: Any, password: Any) -> Archive:
    source = Source(given)
    with source:
        return Archive(_members(source, _password(password)))


def kind_of(head: bytes, name: str = "") -> str:
    """A name for what archive_open() can open, by its first bytes; else nothing."""
    if head.startswith((b"PK\3\4", b"PK\5\6")):
        ending = name.lower().rpartition(".")[2]
        return ending if ending in ("docx", "xlsx", "pptx", "epub") else "zip"
    if head.startswith(b"7z\xbc\xaf\x27\x1c"):
        return "7z"
    if b"%PDF-" in head[:1024]:
        return "pdf"
    packing = next((kind for start, kind in _PACKINGS if head.startswith(start)), "")
    return packing or ("tar" if head[257:262] == b"ustar" else "")


def _password(given):
    if given is None or is_a(given, bytes):
        return given
    if not is_a(given, str):
        raise TypeError("the password must be a str, not {}".format(type_name(type(given))))
    return str.__str__(given).encode("utf-8")


def _members(source: Source, password: bytes | None) -> Members:
    head = source.read_at(0, 8192)
    kind = kind_of(head)
    if not head:
        raise ArchiveError("{} is empty".format(shown(source.name)))
    if kind == "7z":
        from .containers.sevenzip import SevenZip

        return SevenZip(source, password)
    if kind == "pdf":
        from .pdf.pages import Pages

        return Pages(source, password)
    if kind in ("gz", "bz2", "xz", "zst"):
        return _packed(source, kind)
    from .containers.tar import Tar, is_header

    if is_header(head[:512]):
        return Tar(source)
    tail = source.read_at(max(0, source.size - 65558), 65558)
    if kind == "zip" or b"PK\5\6" in tail:
        return _zip(source, password)
    if kind == "tar":
        return Tar(source)
    return _html(source, head)


def _packed(source, kind):
    from .containers.packing import packed_blocks, unpacked
    from .containers.single import Single
    from .containers.tar import Tar, is_header

    start = b""
    try:
        for block in unpacked(kind, packed_blocks(source), Meter(source.name)):
            start += block
            if len(start) >= 512:
                break
    except ArchiveError:
        # Without a first block it is no TAR; a library that is missing is reported here.
        if not start:
            raise
    return Tar(source, kind) if is_header(start[:512]) else Single(source, kind)


def _zip(source, password):
    from .containers.zip import Zip
    from .documents import kinds

    archive = Zip(source, password)
    return kinds.document_in(archive) or archive


def _html(source, head):
    from .documents.page import HtmlPage

    text = "".join(Decoding(head).pieces()).lstrip("\ufeff \t\r\n").lower()
    is_named = source.name.lower().endswith((".html", ".htm", ".xhtml"))
    is_markup = text.startswith(_HTML_STARTS) or (text.startswith("<?xml") and "<html" in text)
    if Decoding(head).encoding is not None and (is_named or is_markup or text.startswith("<!--") and "<html" in text):
        return HtmlPage(source)
    message = "{} is none of {}: it begins with {}"
    raise ArchiveError(message.format(shown(source.name), _KNOWN, head[:16]))
