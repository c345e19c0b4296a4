"""The start of a table as data: its columns, their types, and the first rows as plain JSON."""

from __future__ import annotations

import datetime
import decimal
from json import dumps
from typing import Any

from ..pristine import BUILTINS as __builtins__
from .reprs import cap, exact, guarded_repr, guarded_str, is_a, text_of
from .tables import is_missing, is_of_library, reader_of

TABLE_TYPE = "application/vnd.cellar.table+json"
ROW_LIMIT = 50
COLUMN_LIMIT = 200
ITEM_LIMIT = 20
CELL_LIMIT = 500
NAME_LIMIT = 200
CHARACTER_LIMIT = 200_000
# JavaScript's largest exact integer.
SAFE_INT = 2**53

_TIMES = (datetime.datetime, datetime.date, datetime.time)
_ENDLESS = {float("inf"): "inf", float("-inf"): "-inf"}


def excerpt(value: Any) -> dict | None:
    """The first rows of a frame or series of pandas or polars; None for anything else."""
    found = reader_of(value)
    return None if found is None else _table(*found[1](value, ROW_LIMIT, COLUMN_LIMIT))


def _table(shape, columns, dtypes, rows, index):
    height, width = (int(length) for length in shape)
    labels = None if index is None else index.tolist()
    kept, kept_labels = [], []
    room = CHARACTER_LIMIT
    for number, row in enumerate(rows):
        cells = [_plain(cell) for cell in row]
        label = None if labels is None else _plain(labels[number])
        room -= len(dumps([label, cells]))
        if room < 0:
            break
        kept.append(cells)
        kept_labels.append(label)
    table = {
        "columns": [_plain(name) for name in columns],
        "dtypes": [cap(guarded_str(dtype) or "?", NAME_LIMIT) for dtype in dtypes],
        "shape": [height, width],
        "rows": kept,
        "truncated": len(kept) < height or len(columns) < width,
    }
    if labels is not None:
        table["index"] = kept_labels
        if any(name is not None for name in index.names):
            table["index_names"] = [_plain(name) for name in index.names]
    return table


def _plain(value, is_item=False):
    """A cell as JSON: null for what is missing, text for what JSON cannot express."""
    if value is None or value is True or value is False:
        return value
    if is_a(value, float):
        number = float.__float__(value)
        return None if number != number else _ENDLESS.get(number, number)
    if is_a(value, int):
        number = int.__add__(value, 0)
        return number if -SAFE_INT < number < SAFE_INT else cap(guarded_repr(number), CELL_LIMIT)
    if is_a(value, str):
        return cap(exact(value), CELL_LIMIT)
    if is_missing(value):
        return None
    if is_of_library(value, "numpy", "generic"):
        plain = value.item()
        return text_of(value, CELL_LIMIT) if type(plain) is type(value) else _plain(plain, is_item)
    if is_a(value, (list, tuple)) and not is_item and len(value) <= ITEM_LIMIT:
        return [_plain(item, True) for item in value]
    for kind in _TIMES:
        if is_a(value, kind):
            return exact(kind.isoformat(value))
    if is_a(value, (decimal.Decimal, datetime.timedelta)):
        return cap(guarded_str(value) or "?", CELL_LIMIT)
    return text_of(value, CELL_LIMIT)
