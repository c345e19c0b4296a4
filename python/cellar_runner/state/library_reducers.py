"""Objects that can save and load, but not be pickled."""

from __future__ import annotations

import io
from typing import Any

from ..pristine import BUILTINS as __builtins__
from .builders import import_module
from .lost_variables import LostVariable, names_of


class LibraryReducer:
    """How objects of one class are saved and loaded."""

    def __init__(self, kind, save, load):
        self.kind = kind
        self._save = save
        self.load = load

    def reduce(self, value: Any) -> tuple:
        return load, (self.kind[1], self._save(value))


def load(name: str, saved: Any) -> Any:
    return next(handler for handler in REDUCERS if handler.kind[1] == name).load(saved)


def for_type(kind: type) -> LibraryReducer | None:
    names = names_of(kind)
    return next((handler for handler in REDUCERS if handler.kind in names), None)


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


def _save_sheet(sheet):
    return sheet.parent, sheet.title


def _load_sheet(saved):
    return saved[0][saved[1]]


def _save_cell(cell):
    return cell.parent, cell.row, cell.column


def _load_cell(saved):
    return saved[0].cell(saved[1], saved[2])


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


REDUCERS = (
    LibraryReducer(("openpyxl.workbook.workbook", "Workbook"), _save_workbook, _load_workbook),
    LibraryReducer(("openpyxl.worksheet.worksheet", "Worksheet"), _save_sheet, _load_sheet),
    LibraryReducer(("openpyxl.cell.cell", "Cell"), _save_cell, _load_cell),
    LibraryReducer(("sqlite3", "Connection"), _save_database, _load_database),
)
