"""ZIP: the directory by zipfile, the content in counted steps."""

from __future__ import annotations

import copy
import struct
import zipfile
import zlib
from typing import Any, Iterator

from ...pristine import BUILTINS as __builtins__
from ..libraries import library
from ..limits import BLOCK, DIRECTORY_BYTES, ArchiveError, Meter, refuse_many, shown
from .members import Entry, Members, missing_library, reading
from .packing import unpacked

STORED, DEFLATED, BZIP2, LZMA, AES = 0, 8, 12, 14, 99
_PACKINGS = {DEFLATED: "deflate", BZIP2: "bz2", LZMA: "lzma", 20: "zst", 93: "zst", 95: "xz"}
_END, _END_SIZE = b"PK\5\6", 22
_ENTRY = b"PK\1\2"
_HEADER_SIZE = 30
_ENCRYPTED, _UTF8, _HAS_END = 1, 0x800, 2


class Zip(Members):
    kind = "zip"

    def __init__(self, source, password=None):
        super().__init__(source)
        self._password = password
        with source, reading(source.name, "ZIP archive"):
            _count_entries(source)
            self._file = zipfile.ZipFile(source.file())
            self._infos = self._file.infolist()
            self._refuse_overlaps()
            for info in self._infos:
                self._list(info)

    def _list(self, info):
        name, note = _name(info)
        kind = _kind(info, name)
        if info.flag_bits & _ENCRYPTED:
            note = ", ".join(filter(None, (note, "encrypted")))
        self.add(name, kind=kind, note=note, size=info.file_size if kind == "file" else None, packed=info.compress_size)

    def _refuse_overlaps(self):
        """Members that share their bytes make small archives huge."""
        end = 0
        for info in sorted(self._infos, key=lambda one: one.header_offset):
            if info.header_offset < 0:
                message = "{} is not a whole ZIP archive: {} begins before the file does; get it again"
                raise ArchiveError(message.format(shown(self.source.name), shown(info.filename)))
            if info.header_offset < end:
                message = "{} has members that overlap, as in a decompression bomb, such as {}: it is not opened"
                raise ArchiveError(message.format(shown(self.source.name), shown(info.filename)))
            end = info.header_offset + _HEADER_SIZE + info.compress_size

    def blocks(self, entry: Entry, meter: Meter) -> Iterator[bytes]:
        info = self._infos[entry.number]
        meter.announce(info.file_size)
        with self.source:
            count = checksum = 0
            for block in self._unchecked(info, entry, meter):
                count, checksum = count + len(block), zlib.crc32(block, checksum)
                if count > info.file_size:
                    break
                yield block
            if count != info.file_size:
                message = "{} says that it holds {:,} bytes, but {}: it is damaged, or made to mislead"
                holds = "holds more" if count > info.file_size else "holds {:,}".format(count)
                raise ArchiveError(message.format(shown(entry), info.file_size, holds))
            if checksum != info.CRC and info.compress_type != AES:
                message = "{} is damaged: its content does not fit its checksum; get the archive again"
                raise ArchiveError(message.format(shown(entry)))

    def _unchecked(self, info, entry, meter):
        with reading(entry.name, "member"):
            if info.compress_type == AES:
                yield from _aes_blocks(self.source, info, entry, self._given_password(entry), meter)
            elif info.flag_bits & _ENCRYPTED:
                yield from self._decrypted(info, entry, meter)
            elif info.compress_type == STORED:
                yield from meter.metered(self._raw(info))
            elif info.compress_type == LZMA:
                yield from unpacked("lzma", _lzma_file(self._raw(info), info), meter)
            elif info.compress_type in _PACKINGS:
                yield from unpacked(_PACKINGS[info.compress_type], self._raw(info), meter)
            else:
                message = "{} is packed by method {}, which cannot be read here: unpack it elsewhere"
                raise ArchiveError(message.format(shown(entry), info.compress_type))

    def _raw(self, info):
        """The packed bytes."""
        raw: Any = copy.copy(info)
        raw.compress_type, raw.file_size, raw.CRC = STORED, info.compress_size, None
        with self._file.open(raw) as stream:
            while True:
                block = stream.read(BLOCK if info.compress_type == STORED else 4096)
                if not block:
                    return
                yield block

    def _decrypted(self, info, entry, meter):
        if info.compress_type not in (STORED, DEFLATED):
            message = "{} is encrypted and packed by method {}, which cannot be read here: unpack it elsewhere"
            raise ArchiveError(message.format(shown(entry), info.compress_type))
        try:
            stream = self._file.open(info, pwd=self._given_password(entry))
        except RuntimeError as error:
            if "assword" not in str(error):
                raise
            raise _wrong_password(entry) from None
        with stream:
            while True:
                try:
                    block = stream.read(BLOCK)
                except (zlib.error, zipfile.BadZipFile):
                    # One wrong password in 256 passes the first check.
                    raise _wrong_password(entry) from None
                if not block:
                    return
                meter.add(len(block), info.compress_size)
                yield block

    def _given_password(self, entry):
        if self._password is None:
            message = '{} is encrypted: archive_open(..., password="...") opens it'
            raise ArchiveError(message.format(shown(entry)))
        return self._password


def _wrong_password(entry):
    return ArchiveError("the password does not fit {}, or it is damaged: try another one".format(shown(entry)))


def _aes_blocks(source, info, entry, password, meter):
    pyzipper = library("pyzipper")
    if pyzipper is None:
        raise missing_library(entry.name, "encrypted with AES", "pyzipper")
    with pyzipper.AESZipFile(source.file()) as file:
        match = next((one for one in file.infolist() if one.header_offset == info.header_offset), None)
        if match is None:
            raise ArchiveError("{} is damaged: pyzipper does not find it".format(shown(entry)))
        try:
            stream = file.open(match, pwd=password)
        except RuntimeError:
            raise _wrong_password(entry) from None
        with stream:
            while True:
                block = stream.read(BLOCK)
                if not block:
                    return
                meter.add(len(block), info.compress_size)
                yield block


def _lzma_file(blocks, info):
    """The data as a .lzma file: ZIP has its own header before the same stream."""
    blocks = iter(blocks)
    head = next(blocks, b"")
    if len(head) < 9 or head[2:4] != b"\5\0":
        raise ArchiveError("{} has no LZMA header: it is damaged".format(shown(info.filename)))
    ends_itself = info.flag_bits & _HAS_END
    yield head[4:9] + struct.pack("<Q", (1 << 64) - 1 if ends_itself else info.file_size)
    yield head[9:]
    yield from blocks


def _count_entries(source):
    """Walks the directory before zipfile makes an object of each entry; what it declares may be a lie."""
    tail_size = min(source.size, _END_SIZE + 65536)
    tail = source.read_at(source.size - tail_size, tail_size)
    place = tail.rfind(_END)
    if place < 0 or len(tail) < place + _END_SIZE:
        message = "{} is not a whole ZIP archive: it has no directory at its end; get it again"
        raise ArchiveError(message.format(shown(source.name)))
    size = struct.unpack_from("<L", tail, place + 12)[0]
    end = source.size - tail_size + place
    locator = source.read_at(end - 20, 20) if end >= 20 else b""
    if locator[:4] == b"PK\6\7":
        position = struct.unpack_from("<Q", locator, 8)[0]
        record = source.read_at(end - 76, 56) if end >= 76 else b""
        if record[:4] != b"PK\6\6":
            record = source.read_at(position, 56)
        if len(record) == 56 and record[:4] == b"PK\6\6":
            size, end = struct.unpack_from("<Q", record, 40)[0], end - 76
    if size > DIRECTORY_BYTES:
        message = "{} has a directory of {:,} bytes, more than {:,}: it is not opened"
        raise ArchiveError(message.format(shown(source.name), size, DIRECTORY_BYTES))
    directory = source.read_at(max(0, end - size), size)
    position = count = 0
    while directory.startswith(_ENTRY, position) and position + 46 <= len(directory):
        count += 1
        refuse_many(count, source.name)
        position += 46 + sum(struct.unpack_from("<3H", directory, position + 28))


def _name(info):
    name = info.orig_filename
    note = ""
    if not info.flag_bits & _UTF8 and not name.isascii():
        try:
            name = name.encode("cp437").decode("utf-8")
        except (UnicodeEncodeError, UnicodeDecodeError):
            note = "name not in UTF-8"
    return name, note


def _kind(info, name):
    made_by_unix = info.create_system == 3
    mode = (info.external_attr >> 16) & 0o170000 if made_by_unix else 0
    if mode in (0o120000, 0o060000, 0o020000, 0o010000, 0o140000):
        return "link" if mode == 0o120000 else "pipe" if mode == 0o010000 else "device"
    return "folder" if name.endswith("/") or mode == 0o040000 else "file"
