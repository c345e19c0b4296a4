"""The packed data of PDF's streams."""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from typing import Any

from ...pristine import BUILTINS as __builtins__
from ..containers.packing import PACKED_BLOCK
from ..limits import BLOCK, ArchiveError, Meter, shown

MOST_FILTERS = 6
_SHORT = {
    "Fl": "FlateDecode",
    "AHx": "ASCIIHexDecode",
    "A85": "ASCII85Decode",
    "RL": "RunLengthDecode",
    "LZW": "LZWDecode",
}
_PICTURE = ("DCTDecode", "DCT", "JPXDecode", "CCITTFaxDecode", "CCF", "JBIG2Decode")


def unpacked(data: bytes, names: list[str], parameters: list[dict[str, Any]], meter: Meter) -> bytes:
    if len(names) > MOST_FILTERS:
        raise ArchiveError("a stream of the PDF is packed {:,} times: it is not read".format(len(names)))
    for number, name in enumerate(names):
        name = _SHORT.get(name, name)
        given = parameters[number] if number < len(parameters) else {}
        if name == "FlateDecode":
            data = _predicted(_inflated(data, meter), given)
        elif name == "LZWDecode":
            data = _predicted(_lzw(data, given.get("EarlyChange", 1), meter), given)
        elif name == "ASCIIHexDecode":
            digits = re.sub(rb"[^0-9a-fA-F]", b"", data.split(b">", 1)[0])
            data = bytes.fromhex((digits + b"0" * (len(digits) % 2)).decode("ascii"))
        elif name == "ASCII85Decode":
            data = _ascii85(data, meter)
        elif name == "RunLengthDecode":
            data = _run_lengths(data, meter)
        elif name not in ("Crypt", ""):
            what = "a picture" if name in _PICTURE else "packed by {}".format(shown(name))
            raise ArchiveError("a stream of the PDF is {}, which is not text".format(what))
    return data


def _inflated(data, meter):
    """What can be unpacked: many writers cut the last bytes off."""
    machine = zlib.decompressobj()
    parts: list[bytes] = []
    used = 0
    try:
        for start in range(0, len(data), PACKED_BLOCK):
            given = data[start : start + PACKED_BLOCK]
            used += len(given)
            while given:
                part = machine.decompress(given, BLOCK)
                meter.add(len(part), used)
                parts.append(part)
                given = machine.unconsumed_tail
            if machine.eof:
                break
    except zlib.error:
        if not parts:
            raise ArchiveError("a stream of the PDF is damaged: it does not unpack") from None
    return b"".join(parts)


def _ascii85(data, meter):
    data = re.sub(rb"[\0\t\n\f\r ]", b"", data.split(b"~>", 1)[0])
    meter.add(len(data) + 4 * data.count(b"z"))
    try:
        return base64.a85decode(data)
    except (ValueError, binascii.Error):
        raise ArchiveError("a stream of the PDF is damaged: it is no ASCII85") from None


def _run_lengths(data, meter):
    parts, position = [], 0
    while position < len(data) and data[position] != 128:
        count = data[position]
        if count < 128:
            part = data[position + 1 : position + 2 + count]
            position += 2 + count
        else:
            part = data[position + 1 : position + 2] * (257 - count)
            position += 2
        meter.add(len(part))
        parts.append(part)
    return b"".join(parts)


def _lzw(data, early, meter):
    early = 0 if early == 0 else 1
    parts: list[bytes] = []
    table = [bytes((code,)) for code in range(256)] + [b"", b""]
    width, bits, held = 9, 0, 0
    previous = b""
    for byte in data:
        held, bits = (held << 8 | byte) & 0xFFFFFF, bits + 8
        if bits < width:
            continue
        bits -= width
        code = (held >> bits) & ((1 << width) - 1)
        if code == 257:
            break
        if code == 256:
            del table[258:]
            width, previous = 9, b""
            continue
        if code < len(table):
            entry = table[code]
        elif previous and code == len(table):
            entry = previous + previous[:1]
        else:
            raise ArchiveError("a stream of the PDF is damaged: it is no LZW")
        meter.add(len(entry))
        parts.append(entry)
        if previous and len(table) < 4096:
            table.append(previous + entry[:1])
        previous = entry
        # The writer is one entry ahead, as the next code shows.
        size = len(table) + early
        width = 12 if size >= 2048 else 11 if size >= 1024 else 10 if size >= 512 else 9
    return b"".join(parts)


def _number(given, name, default, most):
    value = given.get(name, default)
    return value if type(value) is int and 0 < value <= most else default


def _predicted(data, given):
    predictor = _number(given, "Predictor", 1, 15)
    if predictor < 2:
        return data
    colours, bits = _number(given, "Colors", 1, 32), _number(given, "BitsPerComponent", 8, 16)
    width = -(-_number(given, "Columns", 1, 1 << 20) * colours * bits // 8)
    step = max(1, colours * bits // 8)
    if predictor == 2:
        return _tiff(data, width, step) if bits == 8 else data
    rows, above = [], bytes(width)
    for start in range(0, len(data), width + 1):
        row = bytearray(data[start + 1 : start + 1 + width])
        above = _png_row(data[start], row, above, step)
        rows.append(above)
    return b"".join(rows)


def _tiff(data, width, step):
    result = bytearray(data)
    for start in range(0, len(result), width):
        for place in range(start + step, min(start + width, len(result))):
            result[place] = (result[place] + result[place - step]) & 255
    return bytes(result)


def _png_row(kind, row, above, step):
    for place in range(len(row)):
        left = row[place - step] if place >= step else 0
        up = above[place]
        if kind == 1:
            guess = left
        elif kind == 2:
            guess = up
        elif kind == 3:
            guess = (left + up) // 2
        elif kind == 4:
            corner = above[place - step] if place >= step else 0
            estimate = left + up - corner
            distances = (abs(estimate - left), abs(estimate - up), abs(estimate - corner))
            guess = (left, up, corner)[distances.index(min(distances))]
        else:
            break
        row[place] = (row[place] + guess) & 255
    return bytes(row) + bytes(len(above) - len(row))
