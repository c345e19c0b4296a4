"""Writes the variables of a session and reads them again."""

import os
import pickle
import types


def write(interpreter, sink, max_bytes, private=True, strict=False):
    kept = {}
    variables = []
    for name, value in interpreter.namespace.items():
        if name.startswith("__") or isinstance(value, types.ModuleType):
            continue
        try:
            kept[name] = pickle.dumps(value)
        except Exception as error:
            variables.append({"name": name, "type": type(value).__name__, "kept": False, "reason": str(error)[:4000]})
            continue
        variables.append({"name": name, "type": type(value).__name__, "kept": True, "size": len(kept[name])})
    sink(pickle.dumps(kept))
    return {"format": 1, "python": "3", "codec": "pickle", "libraries": {}, "variables": variables, "omitted": 0}


def read(descriptor, interpreter):
    with os.fdopen(os.dup(descriptor), "rb") as file:
        kept = pickle.loads(file.read())
    for name, data in kept.items():
        interpreter.namespace[name] = pickle.loads(data)
    return {"restored": list(kept), "lost": [], "warnings": []}
