"""JSON, CSV and SQL over values that are passed in."""

import csv
import io
import json
import math
import re

from .inputs import choice, mapping, text, whole

MOST_ROWS = 200_000
_NAME = re.compile(r"[A-Za-z_]\w{0,62}\Z")


def json_query(data, query) -> object:
    """Pick parts of JSON with a JMESPath expression."""
    import jmespath
    from jmespath.exceptions import JMESPathError

    try:
        value = json.loads(data) if isinstance(data, str) else data
    except ValueError as error:
        raise ValueError("data is not JSON: {}".format(error)) from None
    try:
        return jmespath.search(text(query, "query", 10_000), value)
    except JMESPathError as error:
        raise ValueError("query {!r}: {}".format(query, str(error).split("\n")[0])) from None


def _delimiter(value):
    if not isinstance(value, str) or len(value) != 1 or value in '"\r\n':
        raise ValueError("delimiter must be one character such as ',' or ';', not {!r}".format(value))
    return value


def _typed(cell):
    """A number or a truth value where the text is just that; 007 and 1_000 stay texts."""
    if re.match(r"-?(0|[1-9]\d{0,17})\Z", cell):
        return int(cell)
    if re.match(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?\Z", cell) and math.isfinite(float(cell)):
        return float(cell)
    return {"": None, "true": True, "false": False}.get(cell, cell)


def csv_to_json(csv_text, delimiter=",", header=True, typed=True) -> list:
    """Rows of CSV as objects, or as lists without a header."""
    source = io.StringIO(text(csv_text, "csv_text", 6_000_000).lstrip("\ufeff"), newline="")
    try:
        rows = [row for row in csv.reader(source, delimiter=_delimiter(delimiter), strict=True) if row]
    except csv.Error as error:
        raise ValueError("csv_text cannot be read: {}".format(error)) from None
    if len(rows) > MOST_ROWS:
        raise ValueError("csv_text has {:,} rows; {:,} are the most".format(len(rows), MOST_ROWS))
    convert = _typed if typed else str
    if not header:
        return [[convert(cell) for cell in row] for row in rows]
    names = rows[0] if rows else []
    if len(set(names)) != len(names):
        raise ValueError("the header has a name twice: {}".format(names[:20]))
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(names):
            raise ValueError("row {} has {} cells, and the header {}".format(number, len(row), len(names)))
    return [dict(zip(names, map(convert, row))) for row in rows[1:]]


def _rows(value, name):
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise ValueError("{} must be a list of objects".format(name))
    if len(value) > MOST_ROWS:
        raise ValueError("{} has {:,} rows; {:,} are the most".format(name, len(value), MOST_ROWS))
    return value


def _columns(rows):
    """Every key of the rows, in the order in which they come up."""
    return list({key: None for row in rows for key in row})


def _cell(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (list, dict)) else value


def json_to_csv(rows, delimiter=",") -> str:
    """A list of objects as CSV, with a header."""
    objects = _rows(rows, "rows")
    columns = _columns(objects)
    written = io.StringIO()
    writer = csv.writer(written, delimiter=_delimiter(delimiter), lineterminator="\n")
    if columns:
        writer.writerow(columns)
    writer.writerows([[_cell(row.get(column)) for column in columns] for row in objects])
    return written.getvalue()


def sql_query(query, tables=None, engine="sqlite", limit=10_000) -> list:
    """Run SQL over lists of objects, which are its tables."""
    text(query, "query", 100_000)
    most = whole(limit, "limit", 1, MOST_ROWS)
    given = mapping({} if tables is None else tables, "tables", 0)
    for name in given:
        if not _NAME.match(name):
            raise ValueError("{!r} is not a name for a table".format(name))
    run = {"sqlite": _sqlite, "duckdb": _duckdb}[choice(engine, "engine", ("sqlite", "duckdb"))]
    names, rows = run(query, {name: _rows(rows, "tables." + name) for name, rows in given.items()}, most + 1)
    if len(rows) > most:
        raise ValueError("the query gives more than {:,} rows; add a LIMIT, or raise limit".format(most))
    return [dict(zip(_distinct(names), row)) for row in rows]


def _distinct(names):
    """A column for each: a second `id` is `id_2`, as an object has each key once."""
    seen = {}
    distinct = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        distinct.append(name if seen[name] == 1 else "{}_{}".format(name, seen[name]))
    return distinct


def _quoted(name):
    return '"{}"'.format(str(name).replace('"', '""'))


def _sqlite(query, tables, most):
    import sqlite3

    with sqlite3.connect(":memory:") as database:
        for name, rows in tables.items():
            columns = _columns(rows) or ["value"]
            database.execute("CREATE TABLE {} ({})".format(_quoted(name), ", ".join(map(_quoted, columns))))
            places = ", ".join("?" * len(columns))
            cells = ([_stored(row.get(column)) for column in columns] for row in rows)
            database.executemany("INSERT INTO {} VALUES ({})".format(_quoted(name), places), cells)
        try:
            cursor = database.execute(query)
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise ValueError("SQL error: {}".format(error)) from None
        if cursor.description is None:
            return [], []
        return [column[0] for column in cursor.description], cursor.fetchmany(most)


def _stored(value):
    return json.dumps(value) if isinstance(value, (list, dict)) else value


def _duckdb(query, tables, most):
    import duckdb
    import pandas

    database = duckdb.connect(":memory:", config={"threads": 1, "enable_external_access": False})
    try:
        for name, rows in tables.items():
            database.register(name, pandas.DataFrame(rows, columns=_columns(rows) or ["value"]))
        cursor = database.execute(query)
        names = [column[0] for column in cursor.description or []]
        return names, [[_plain(cell) for cell in row] for row in cursor.fetchmany(most)]
    except duckdb.Error as error:
        raise ValueError("SQL error: {}".format(str(error).split("\n")[0])) from None
    finally:
        database.close()


def _plain(cell):
    import decimal

    return float(cell) if isinstance(cell, decimal.Decimal) else cell
