"""Checks decoded JSON against the subset of JSON Schema that messages.py uses."""

from __future__ import annotations

# Bound here because a cell may replace what it finds in builtins.
_len, _type, _range = len, type, range
_dict, _list, _str, _int, _float, _bool = dict, list, str, int, float, bool

MAX_PROBLEMS = 20

_SAFE_INTEGER = 2**53 - 1
_INFINITY = float("inf")
_MISSING = object()

_NAMES = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
}


def check(schema, value):
    """None when the value fits, else a list of at most MAX_PROBLEMS texts that begin with a path."""
    found = _visit(schema, value, "$")
    return None if found is None else found[:MAX_PROBLEMS]


def _visit(schema, value, path):
    if "const" in schema:
        return None if _same(schema["const"], value) else ["%s is not the expected constant" % path]
    if "enum" in schema:
        for allowed in schema["enum"]:
            if _same(allowed, value):
                return None
        return ["%s is not one of the allowed values" % path]
    wanted = schema.get("type")
    if wanted is not None:
        visit = _VISITS[wanted]
        problems = visit(schema, value, path)
        if problems is not None:
            return problems
    if "anyOf" in schema:
        return _alternatives(schema["anyOf"], value, path, False)
    if "oneOf" in schema:
        return _alternatives(schema["oneOf"], value, path, True)
    return None


def _same(expected, value):
    """Equality without Python's True == 1, but with JSON's 1 == 1.0."""
    if _type(expected) is _type(value):
        return expected == value
    numbers = (_int, _float)
    return _type(expected) in numbers and _type(value) in numbers and expected == value


def _alternatives(schemas, value, path, exclusive):
    matches = 0
    for schema in schemas:
        if _visit(schema, value, path) is None:
            matches += 1
            if not exclusive:
                return None
    if matches == 1:
        return None
    return ["%s fits %s of the alternatives" % (path, "several" if matches else "none")]


def _wrong_type(schema, value, path):
    return ["%s is %s, not %s" % (path, _NAMES.get(_type(value), "unknown"), schema["type"])]


def _visit_object(schema, value, path):
    if _type(value) is not _dict:
        return _wrong_type(schema, value, path)
    if "maxProperties" in schema and _len(value) > schema["maxProperties"]:
        return ["%s has more than %d members" % (path, schema["maxProperties"])]
    problems = None
    for name in schema.get("required", ()):
        if name not in value:
            problems = _add(problems, ["%s.%s is missing" % (path, name)])
    properties = schema.get("properties", {})
    others = schema.get("additionalProperties", True)
    names = schema.get("propertyNames")
    for name, item in value.items():
        if names is not None:
            problems = _add(problems, _visit(names, name, path + " has a name that"))
        part = properties.get(name, _MISSING)
        if part is _MISSING:
            if others is True:
                continue
            if others is False:
                problems = _add(problems, ["%s has an unknown member %r" % (path, name[:80])])
            else:
                problems = _add(problems, _visit(others, item, _member(path, name)))
        else:
            problems = _add(problems, _visit(part, item, _member(path, name)))
        if problems is not None and _len(problems) >= MAX_PROBLEMS:
            break
    return problems


def _visit_array(schema, value, path):
    if _type(value) is not _list:
        return _wrong_type(schema, value, path)
    if "maxItems" in schema and _len(value) > schema["maxItems"]:
        return ["%s has more than %d elements" % (path, schema["maxItems"])]
    if "minItems" in schema and _len(value) < schema["minItems"]:
        return ["%s has fewer than %d elements" % (path, schema["minItems"])]
    items = schema.get("items")
    if not items:
        return None
    problems = None
    for index in _range(_len(value)):
        problems = _add(problems, _visit(items, value[index], "%s[%d]" % (path, index)))
        if problems is not None and _len(problems) >= MAX_PROBLEMS:
            break
    return problems


def _visit_string(schema, value, path):
    if _type(value) is not _str:
        return _wrong_type(schema, value, path)
    if "maxLength" in schema and _len(value) > schema["maxLength"]:
        return ["%s is longer than %d characters" % (path, schema["maxLength"])]
    if "minLength" in schema and _len(value) < schema["minLength"]:
        return ["%s is shorter than %d characters" % (path, schema["minLength"])]
    return None


def _visit_number(schema, value, path):
    kind = _type(value)
    if kind is not _int and (kind is not _float or not -_INFINITY < value < _INFINITY):
        return _wrong_type(schema, value, path)
    if "minimum" in schema and value < schema["minimum"]:
        return ["%s is below %s" % (path, schema["minimum"])]
    if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
        return ["%s is not above %s" % (path, schema["exclusiveMinimum"])]
    if "maximum" in schema and value > schema["maximum"]:
        return ["%s is above %s" % (path, schema["maximum"])]
    return None


def _visit_integer(schema, value, path):
    kind = _type(value)
    if kind is not _int and (kind is not _float or not value.is_integer()):
        return _wrong_type(schema, value, path)
    if not -_SAFE_INTEGER <= value <= _SAFE_INTEGER:
        return ["%s is not a safe integer" % path]
    return _visit_number(schema, value, path)


def _visit_boolean(schema, value, path):
    return None if _type(value) is _bool else _wrong_type(schema, value, path)


def _visit_null(schema, value, path):
    return None if value is None else _wrong_type(schema, value, path)


def _member(path, name):
    return "%s.%s" % (path, name[:80])


def _add(problems, more):
    if more is None:
        return problems
    return more if problems is None else problems + more


_VISITS = {
    "object": _visit_object,
    "array": _visit_array,
    "string": _visit_string,
    "number": _visit_number,
    "integer": _visit_integer,
    "boolean": _visit_boolean,
    "null": _visit_null,
}
