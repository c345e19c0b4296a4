"""Runs the functions of tool files inside a sandbox: they are the modules of a package, by their own names."""

import importlib
import importlib.abc
import importlib.util
import linecache
import sys
import types

PACKAGE = "cellar_tools"
MOST_PARTS = 150_000
MOST_CHARACTERS = 6_000_000
DEEPEST = 25


class ToolFiles(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports from memory, so that a file named like a module of Python's own hides nothing."""

    def __init__(self, texts):
        self.texts = texts
        package = types.ModuleType(PACKAGE)
        package.__path__ = []
        sys.modules[PACKAGE] = package
        sys.meta_path.insert(0, self)

    def find_spec(self, name, path=None, target=None) -> object:
        package, _, stem = name.partition(".")
        if package != PACKAGE or stem not in self.texts:
            return None
        return importlib.util.spec_from_loader(name, self, origin=stem + ".py")

    def exec_module(self, module) -> None:
        stem = module.__name__.partition(".")[2]
        file, text = stem + ".py", self.texts[stem]
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        exec(compile(text, file, "exec"), module.__dict__)


class Refused(Exception):
    """A result that cannot leave."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


class Plain:
    """Turns what a function gave into numbers, strings, lists and dicts."""

    def __init__(self):
        self.parts = 0
        self.characters = 0

    def of(self, value, depth=0) -> object:
        self.parts += 1
        if self.parts > MOST_PARTS or depth > DEEPEST:
            raise Refused("TOO_LARGE", "it has too many parts, or is nested too deep")
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, (str, bytes)):
            self.characters += len(value)
            if self.characters > MOST_CHARACTERS:
                raise Refused("TOO_LARGE", "it has more than {:,} characters".format(MOST_CHARACTERS))
            return str(value) if isinstance(value, str) else bytes(value)
        if isinstance(value, int):
            return int(value)
        if isinstance(value, float):
            return float(value)
        if isinstance(value, complex):
            return {"re": value.real, "im": value.imag}
        if isinstance(value, dict):
            return {self.key(key): self.of(one, depth + 1) for key, one in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.of(one, depth + 1) for one in value]
        if isinstance(value, (set, frozenset)):
            return [self.of(one, depth + 1) for one in sorted(value, key=repr)]
        return self.converted(value, depth)

    def key(self, key) -> str:
        self.characters += len(key) if isinstance(key, str) else 20
        return key if isinstance(key, str) else str(key)

    def converted(self, value, depth) -> object:
        if hasattr(value, "columns") and hasattr(value, "to_dict"):
            return self.of(value.to_dict("records"), depth)
        for name in ("tolist", "isoformat"):
            if callable(getattr(value, name, None)):
                return self.of(getattr(value, name)(), depth)
        raise Refused("BAD_RESULT", "it has a {}; numbers, strings, lists and dicts can leave".format(type(value)))


def load(texts, stem) -> None:
    """Make the files known, and run the one that is about to be used."""
    ToolFiles(texts)
    importlib.import_module(PACKAGE + "." + stem)


def call(order) -> dict:
    """Call a function by name; give its value, or why it cannot leave."""
    module = importlib.import_module(PACKAGE + "." + order["module"])
    value = getattr(module, order["function"])(**order["arguments"])
    try:
        return {"isPlain": True, "value": Plain().of(value)}
    except Refused as refused:
        return {"isPlain": False, "code": refused.code, "text": str(refused)}
