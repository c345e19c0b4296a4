"""Objects that can save and load, but not be pickled."""

from __future__ import annotations

import io
from typing import Any, Callable

from ..pristine import BUILTINS as __builtins__
from .builders import import_module
from .lost_variables import LostVariable, names_of


def _save_workbook(workbook):
    for flag, word in (("read_only", "read-only"), ("write_only", "write-only")):
        if getattr(workbook, flag):
            advice = "save it to a file in /workspace and load it again in the next cell"
            raise LostVariable(workbook, "a {} workbook".format(word), advice)
    stream = io.BytesIO()
    workbook.save(stream)
    return stream.getvalue(), workbook.vba_archive is not None


def _load_workbook(saved):
    return import_module("openpyxl").load_workbook(io.BytesIO(saved[0]), keep_vba=saved[1])


def _save_database(connection):
    cursor = connection.cursor()
    cursor.row_factory = None
    path = cursor.execute("PRAGMA database_list").fetchone()[2]
    if path:
        advice = "reconnect in the next cell: sqlite3.connect({!r})".format(path)
        raise LostVariable(connection, "a connection to the database {!r}".format(path), advice)
    if not cursor.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        content = ""
    elif hasattr(connection, "serialize"):
        content = connection.serialize()
    else:
        content = "\n".join(connection.iterdump())
    return content, connection.isolation_level, connection.row_factory


def _load_database(saved):
    content, level, row_factory = saved
    connection = import_module("sqlite3").connect(":memory:")
    if type(content) is bytes:
        connection.deserialize(content)
    else:
        connection.executescript(content)
    connection.isolation_level, connection.row_factory = level, row_factory
    return connection


# (module, class): functions that save to something picklable, and load from it.
REDUCERS: dict[tuple[str, str], tuple[Callable, Callable]] = {
    ("openpyxl.workbook.workbook", "Workbook"): (_save_workbook, _load_workbook),
    ("openpyxl.worksheet.worksheet", "Worksheet"): (
        lambda sheet: (sheet.parent, sheet.title),
        lambda saved: saved[0][saved[1]],
    ),
    ("openpyxl.cell.cell", "Cell"): (
        lambda cell: (cell.parent, cell.row, cell.column),
        lambda saved: saved[0].cell(saved[1], saved[2]),
    ),
    ("sqlite3", "Connection"): (_save_database, _load_database),
}


def load(name: str, saved: Any) -> Any:
    return next(pair[1] for key, pair in REDUCERS.items() if key[1] == name)(saved)


def for_type(kind: type) -> Callable | None:
    """The reducer for a class, or None."""
    key = next((key for key in names_of(kind) if key in REDUCERS), None)
    return None if key is None else lambda value: (load, (key[1], REDUCERS[key][0](value)))
