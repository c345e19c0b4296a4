"""Values across the wall: a JSON form with tags for what JSON has no word for."""

from __future__ import annotations

import datetime
import decimal
import sys
import types
from base64 import b64decode, b64encode
from json.encoder import encode_basestring_ascii as _quoted
from typing import Any, Iterable

from ..pristine import BUILTINS as __builtins__
from .reprs import exact, guarded_repr, is_a, qualified_name, text_of
from .tables import encode_library_value, is_missing, is_of_library

TAG = "$"
CHARACTER_LIMIT = 8_000_000
NODE_LIMIT = 180_000
VARIABLE_LIMIT = 5_000
NAME_LIMIT = 200
DEPTH_LIMIT = 20
OBJECT_TEXT_LIMIT = 2_000
SHORT_TEXT = 80
SAFE_INT = 2**53
DECODE_DEPTH_LIMIT = 200

_modules = sys.modules
_mro_of = type.__dict__["__mro__"].__get__
_total_seconds = datetime.timedelta.total_seconds
_decimal_text = decimal.Decimal.__str__
_INT_DIGIT_LIMIT = 4_000


def encode(value: Any, limit: int = CHARACTER_LIMIT) -> Any:
    """The tagged form of a value, about `limit` characters at most."""
    return Encoder(limit).encode(value, 0)


class Encoder:
    def __init__(self, limit, nodes=NODE_LIMIT):
        self._characters = limit
        self._nodes = nodes
        self._open = set()
        # Why the value could not be sent whole, if so.
        self.loss = None

    def left(self) -> tuple[int, int]:
        """How many characters and nodes of its limits were not used."""
        return max(0, self._characters), max(0, self._nodes)

    def remaining(self) -> int:
        """How many more nodes fit."""
        return max(0, min(self._nodes, self._characters // 8))

    def encode(self, value: Any, depth: int) -> Any:
        self._nodes -= 1
        if value is None or value is True or value is False:
            self._characters -= 5
            return value
        scalar = _SCALARS.get(type(value)) or next(filter(None, map(_SCALARS.get, _mro_of(type(value))[1:-1])), None)
        if scalar is not None:
            return scalar(self, value)
        return self._compound(value, depth)

    def _compound(self, value, depth):
        self._nodes -= 1
        if is_missing(value):
            return None
        if id(value) in self._open:
            self.loss = "it contains itself"
            return {TAG: "cycle"}
        if depth >= DEPTH_LIMIT or self.remaining() == 0:
            return self._truncated("it is too large or nested too deep", qualified_name(type(value))[:500], "...")
        self._open.add(id(value))
        try:
            if is_a(value, dict):
                return self._dict(value, depth)
            for kind, tag in _SEQUENCES:
                if is_a(value, kind):
                    items, whole = self.items(kind.__iter__(value), kind.__len__(value), depth)
                    if not whole:
                        return self._cut(value, items, kind.__len__(value))
                    return items if tag is None else self.tagged(tag, items)
            try:
                encoded = encode_library_value(self, value, depth)
            except KeyboardInterrupt:
                raise
            except Exception:
                encoded = None
            return self.as_object(value) if encoded is None else encoded
        finally:
            self._open.discard(id(value))

    def tagged(self, tag: str, content: Any) -> dict:
        self._nodes -= 2
        self._characters -= 20
        return {TAG: tag, "v": content}

    def items(self, iterator: Iterable, length: int, depth: int) -> tuple[list, bool]:
        """(encoded items, whether all fitted)."""
        encoded = []
        for item in iterator:
            if self.remaining() == 0:
                break
            encoded.append(self.encode(item, depth + 1))
        return encoded, len(encoded) >= length

    def _dict(self, value, depth):
        length = dict.__len__(value)
        plain = all(type(key) is str and key != TAG for key in dict.__iter__(value))
        pairs = []
        for key, item in dict.items(value):
            if self.remaining() == 0:
                break
            name = self._text(key) if plain else self.encode(key, depth + 1)
            if plain and name is not key:
                break
            self._nodes -= 0 if plain else 2
            pairs.append([name, self.encode(item, depth + 1)])
        if len(pairs) < length:
            return self._cut(value, dict(pairs) if plain else pairs, length)
        return dict(pairs) if plain else self.tagged("dict", pairs)

    def _text(self, value):
        text = str.__str__(value)
        cost = len(text)
        if cost <= self._characters:
            cost = len(_quoted(text))
        if cost <= self._characters:
            self._characters -= cost
            return text
        self._characters -= OBJECT_TEXT_LIMIT
        loss = "a text of {:,} characters is too long".format(len(text))
        return self._truncated(loss, "str", exact(text[: OBJECT_TEXT_LIMIT // 10]), length=len(text))

    def _int(self, value):
        number = int.__add__(value, 0)
        if -SAFE_INT < number < SAFE_INT:
            self._characters -= 10
            return number
        if number.bit_length() > 3 * _INT_DIGIT_LIMIT:
            return self.as_object(number)
        text = str(number)
        self._characters -= len(text)
        return self.tagged("int", text)

    def _float(self, value):
        self._characters -= 20
        number = float.__float__(value)
        if number != number:
            return self.tagged("float", "nan")
        if number in (float("inf"), float("-inf")):
            return self.tagged("float", "inf" if number > 0 else "-inf")
        return number

    def _bytes(self, value):
        if len(value) * 4 // 3 > self._characters:
            head = guarded_repr(bytes(value[: OBJECT_TEXT_LIMIT // 10]))
            return self._truncated("{:,} bytes are too many".format(len(value)), "bytes", head, length=len(value))
        self._characters -= len(value) * 4 // 3
        return self.tagged("bytes", b64encode(bytes(value)).decode("ascii"))

    def _complex(self, value):
        parts = [self._float(complex.real.__get__(value)), self._float(complex.imag.__get__(value))]
        return self.tagged("complex", parts)

    def _iso(self, value):
        for base, tag in _ISO:
            if is_a(value, base):
                if is_missing(value):
                    return None
                return self.tagged(tag, exact(base.isoformat(value)))
        return self.as_object(value)

    def _timedelta(self, value):
        self._characters -= 20
        return self.tagged("timedelta", _total_seconds(value))

    def _decimal(self, value):
        text = exact(_decimal_text(value))
        self._characters -= len(text)
        return self.tagged("decimal", text)

    def as_object(self, value: Any) -> dict:
        """Type and text of a value that cannot be sent."""
        text = text_of(value, OBJECT_TEXT_LIMIT)
        self.loss = "it holds a {}".format(qualified_name(type(value))[:500])
        self._nodes -= 3
        self._characters -= len(_quoted(text))
        return {TAG: "object", "type": qualified_name(type(value))[:500], "text": text}

    def _truncated(self, loss, kind, text, **more):
        self._nodes -= 3
        self.loss = loss
        return {TAG: "truncated", "type": kind, "text": text, **more}

    def _cut(self, value, items, length):
        text = "the first {:,} of {:,} items".format(len(items), length)
        loss = "{:,} items are too many".format(length)
        return self._truncated(loss, qualified_name(type(value))[:500], text, length=length, v=items)


_SCALARS = {
    str: Encoder._text,
    int: Encoder._int,
    float: Encoder._float,
    bytes: Encoder._bytes,
    bytearray: Encoder._bytes,
    complex: Encoder._complex,
    datetime.datetime: Encoder._iso,
    datetime.date: Encoder._iso,
    datetime.time: Encoder._iso,
    datetime.timedelta: Encoder._timedelta,
    decimal.Decimal: Encoder._decimal,
}
_SEQUENCES = ((list, None), (tuple, "tuple"), (set, "set"), (frozenset, "frozenset"))
_ISO = (
    (datetime.datetime, "datetime"),
    (datetime.date, "date"),
    (datetime.time, "time"),
)


def decode(tagged: Any) -> Any:
    """The Python value of a tagged form; ValueError if it is invalid."""
    return _decode(tagged, 0)


def _decode(tagged, depth):
    if depth > DECODE_DEPTH_LIMIT:
        raise ValueError("the value is nested too deep")
    if is_a(tagged, list):
        return [_decode(item, depth + 1) for item in tagged]
    if not is_a(tagged, dict):
        return tagged
    if TAG not in tagged:
        return {key: _decode(item, depth + 1) for key, item in tagged.items()}
    decoder = _DECODERS.get(tagged[TAG]) if is_a(tagged[TAG], str) else None
    if decoder is None:
        raise ValueError("a value tagged {!r} cannot be set".format(tagged[TAG]))
    try:
        content = tagged["v"]
        if is_a(content, list):
            content = [_decode(item, depth + 1) for item in content]
        return decoder(content)
    except (KeyError, TypeError, ArithmeticError, AttributeError) as error:
        raise ValueError("not a valid {} value: {}".format(tagged[TAG], error)) from None


_DECODERS = {
    "int": lambda text: int(str.__str__(text)),
    "float": lambda text: float(str.__str__(text)),
    "bytes": lambda text: b64decode(text, validate=True),
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "dict": lambda pairs: dict((key, item) for key, item in pairs),
    "datetime": datetime.datetime.fromisoformat,
    "date": datetime.date.fromisoformat,
    "time": datetime.time.fromisoformat,
    "timedelta": lambda seconds: datetime.timedelta(seconds=seconds),
    "decimal": lambda text: decimal.Decimal(str.__str__(text)),
    "complex": lambda parts: complex(*parts),
    "ndarray": lambda items: _modules["numpy"].array(items) if "numpy" in _modules else items,
}


def describe(namespace: dict) -> list[dict]:
    described: list[dict] = []
    for name, value in list(namespace.items()):
        if type(name) is not str or name.startswith("_") or len(name) > NAME_LIMIT:
            continue
        if len(described) >= VARIABLE_LIMIT:
            break
        kind = type(value)
        is_module = is_a(value, types.ModuleType)
        entry = {
            "name": exact(name),
            "type": "module" if is_module else qualified_name(kind)[:200],
            "text": _short(value),
        }
        size = None if is_module else _size(value)
        if size is not None:
            entry["size"] = size
        described.append(entry)
    return described


def _short(value):
    if type(value) in _SCALARS and is_a(value, (str, bytes, bytearray)):
        text = guarded_repr(value[:SHORT_TEXT])
    else:
        text = text_of(value, 4 * SHORT_TEXT)
    text = " ".join(text.split())
    return text if len(text) <= SHORT_TEXT else text[: SHORT_TEXT - 3] + "..."


def _size(value):
    """len() where that is known to be cheap and honest."""
    for plain in (str, bytes, bytearray, list, tuple, dict, set, frozenset, range):
        if is_a(value, plain):
            return plain.__len__(value)
    if is_of_library(value, "numpy", "ndarray") or is_of_library(value, "pandas", "DataFrame", "Series"):
        try:
            size = len(value)
            return size if type(size) is int and size >= 0 else None
        except TypeError:
            pass
    return None
