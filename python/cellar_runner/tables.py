"""Tagged forms of numpy's and pandas' values, where the user has loaded these."""

from __future__ import annotations

import sys

from .pristine import BUILTINS as __builtins__
from .reprs import is_a

ROW_LIMIT = 1_000

_modules = sys.modules


def encode_library_value(encoder, value, depth):
    """The tagged form of an array, scalar, table or series, or None for anything else."""
    numpy = _modules.get("numpy")
    if numpy is not None:
        if is_a(value, numpy.generic):
            return _scalar(encoder, value, depth)
        if is_a(value, numpy.ndarray):
            return _array(encoder, value, depth)
    pandas = _modules.get("pandas")
    if pandas is not None:
        if is_a(value, pandas.DataFrame):
            return _table(encoder, value, depth)
        if is_a(value, pandas.Series):
            return _series(encoder, value, depth)
    return None


def _scalar(encoder, value, depth):
    plain = value.item()
    return None if type(plain) is type(value) else encoder.encode(plain, depth)


def _array(encoder, value, depth):
    shape = [int(length) for length in value.shape]
    truncated = value.size > encoder.room()
    if truncated and value.ndim:
        row = max(1, value.size // max(1, shape[0]))
        value = value[: encoder.room() // row]
    items = value.tolist()
    encoded = {
        "$": "ndarray",
        "dtype": str(value.dtype),
        "shape": shape,
        "v": encoder.encode(items, depth),
    }
    if truncated:
        encoded["truncated"] = True
    return encoded


def _table(encoder, value, depth):
    count, width = value.shape
    shown = min(count, ROW_LIMIT, encoder.room() // max(1, width))
    columns, _ = encoder.items(iter(value.columns), width, depth)
    rows = []
    for row in value.iloc[:shown].itertuples(index=False, name=None):
        cells, whole = encoder.items(iter(row), width, depth)
        if not whole:
            break
        rows.append(cells)
    return {
        "$": "dataframe",
        "columns": columns,
        "dtypes": [str(dtype) for dtype in value.dtypes],
        "rows": rows,
        "shape": [int(count), int(width)],
        "truncated": len(rows) < count,
    }


def _series(encoder, value, depth):
    shown = value.iloc[: min(len(value), ROW_LIMIT)]
    items, _ = encoder.items(iter(shown.tolist()), len(shown), depth)
    index, _ = encoder.items(iter(shown.index.tolist()[: len(items)]), len(items), depth)
    return {
        "$": "series",
        "name": encoder.encode(value.name, depth + 1),
        "dtype": str(value.dtype),
        "index": index,
        "v": items,
        "shape": [len(value)],
        "truncated": len(items) < len(value),
    }
