"""Tagged forms of the values of numpy, pandas and polars, where the user has loaded these."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ..pristine import BUILTINS as __builtins__
from .reprs import is_a

if TYPE_CHECKING:
    from .encoding import Encoder

ROW_LIMIT = 1_000

_modules = sys.modules


def encode_library_value(encoder: Encoder, value: Any, depth: int) -> dict | None:
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
    polars = _modules.get("polars")
    if polars is not None:
        if is_a(value, polars.DataFrame):
            return _polars_table(encoder, value, depth)
        if is_a(value, polars.Series):
            return _polars_series(encoder, value, depth)
    return None


def is_missing(value: object) -> bool:
    """Whether this is what pandas puts where a value is not known."""
    pandas = _modules.get("pandas")
    return any(value is getattr(pandas, name, _modules) for name in ("NaT", "NA"))


def _scalar(encoder, value, depth):
    plain = value.item()
    return None if type(plain) is type(value) else encoder.encode(plain, depth)


def _array(encoder, value, depth):
    shape = [int(length) for length in value.shape]
    truncated = value.size > encoder.remaining()
    if truncated and value.ndim:
        row = max(1, value.size // max(1, shape[0]))
        value = value[: encoder.remaining() // row]
        encoder.loss = "an array is too large"
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
    shown = value.iloc[: _shown_rows(encoder, value)].itertuples(index=False, name=None)
    return _rows(encoder, value, shown, depth)


def _polars_table(encoder, value, depth):
    return _rows(encoder, value, value.head(_shown_rows(encoder, value)).iter_rows(), depth)


def _shown_rows(encoder, value):
    count, width = value.shape
    return min(count, ROW_LIMIT, encoder.remaining() // max(1, width))


def _rows(encoder, value, shown, depth):
    count, width = value.shape
    columns, _ = encoder.items(iter(value.columns), width, depth)
    rows = []
    for row in shown:
        cells, whole = encoder.items(iter(row), width, depth)
        if not whole:
            break
        rows.append(cells)
    if len(rows) < count:
        encoder.loss = "a table of {:,} rows is too long".format(count)
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
    return _column(encoder, value, shown.tolist(), shown.index.tolist(), depth)


def _polars_series(encoder, value, depth):
    shown = value.head(ROW_LIMIT).to_list()
    return _column(encoder, value, shown, range(len(shown)), depth)


def _column(encoder, value, shown, labels, depth):
    items, _ = encoder.items(iter(shown), len(shown), depth)
    index, _ = encoder.items(iter(labels[: len(items)]), len(items), depth)
    if len(items) < len(value):
        encoder.loss = "a series of {:,} values is too long".format(len(value))
    return {
        "$": "series",
        "name": encoder.encode(value.name, depth + 1),
        "dtype": str(value.dtype),
        "index": index,
        "v": items,
        "shape": [len(value)],
        "truncated": len(items) < len(value),
    }
