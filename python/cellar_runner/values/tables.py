"""Tagged forms of the values of numpy, pandas and polars, where the user has loaded these."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Callable, Iterable, NamedTuple

from ..pristine import BUILTINS as __builtins__
from .reprs import is_a

if TYPE_CHECKING:
    from .encoding import Encoder

ROW_LIMIT = 1_000

_modules = sys.modules


class Table(NamedTuple):
    """The first rows of a frame or series, which is a frame of one column."""

    shape: tuple
    columns: list
    dtypes: list
    rows: Iterable[tuple]
    index: Any = None


def _pandas_frame(value, rows, columns):
    head = value.iloc[:rows, :columns]
    cells = head.itertuples(index=False, name=None)
    return Table(value.shape, head.columns.tolist(), head.dtypes.tolist(), cells, head.index)


def _pandas_series(value, rows, _columns):
    head = value.iloc[:rows]
    return Table((len(value), 1), [value.name], [value.dtype], zip(head.tolist()), head.index)


def _polars_frame(value, rows, columns):
    head = value[:rows, :columns]
    return Table(value.shape, head.columns, head.dtypes, head.iter_rows())


def _polars_series(value, rows, _columns):
    return Table((len(value), 1), [value.name], [value.dtype], zip(value.head(rows).to_list()))


_READERS = (
    ("pandas", "DataFrame", _pandas_frame),
    ("pandas", "Series", _pandas_series),
    ("polars", "DataFrame", _polars_frame),
    ("polars", "Series", _polars_series),
)


def is_of_library(value: object, module: str, *names: str) -> bool:
    """Whether this is an instance of one of these classes of a library that is loaded."""
    kinds = (getattr(_modules.get(module), name, None) for name in names)
    return any(is_a(kind, type) and is_a(value, kind) for kind in kinds)


def reader_of(value: object) -> tuple[str, Callable[..., Table]] | None:
    """(DataFrame or Series, a function of the value, rows and columns), or None for anything else."""
    found = (row[1:] for row in _READERS if is_of_library(value, *row[:2]))
    return next(found, None)


def encode_library_value(encoder: Encoder, value: Any, depth: int) -> dict | None:
    """The tagged form of an array, scalar, table or series, or None."""
    if is_of_library(value, "numpy", "generic"):
        plain = value.item()
        return None if type(plain) is type(value) else encoder.encode(plain, depth)
    if is_of_library(value, "numpy", "ndarray"):
        return _array(encoder, value, depth)
    found = reader_of(value)
    if found is None:
        return None
    return (_frame if found[0] == "DataFrame" else _series)(encoder, value, found[1], depth)


def is_missing(value: object) -> bool:
    """Whether this is pandas' NaT or NA."""
    pandas = _modules.get("pandas")
    return any(value is getattr(pandas, name, _modules) for name in ("NaT", "NA"))


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


def _frame(encoder, value, read, depth):
    count, width = value.shape
    table = read(value, min(count, ROW_LIMIT, encoder.remaining() // max(1, width)), width)
    columns, _ = encoder.items(iter(value.columns), width, depth)
    rows = []
    for row in table.rows:
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


def _series(encoder, value, read, depth):
    table = read(value, ROW_LIMIT, 1)
    shown = [row[0] for row in table.rows]
    labels = range(len(shown)) if table.index is None else table.index.tolist()
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
