"""What a cell hands to functions: options, paths of files, and texts that are taken as code."""

from __future__ import annotations

import _ast
from typing import Any

from ..pristine import BUILTINS as __builtins__
from . import rules, strings
from .modules import refused_name
from .scopes import children

LONGEST_CODE = 30_000

_Name, _Attribute, _Constant, _Call = _ast.Name, _ast.Attribute, _ast.Constant, _ast.Call
# Their subscripts are not annotations.
_PLAIN_TEXTS = frozenset(("Literal", "Annotated"))
_OPTIONS_BY_PLACE = {"numpy.load": (None, "mmap_mode", "allow_pickle")}


class Calls:
    def __init__(self, report, modules, names, check_code):
        self._report = report
        self._modules = modules
        self._names = names
        self._check_code = check_code
        self._texts = {}
        self.reported = set()

    def remember(self, node: Any) -> None:
        """Follows assignments in order: c = 'a' + 'b' makes a text of c."""
        if type(node) is _ast.AugAssign:
            targets: list = [node.target]
            before = self._texts.get(getattr(node.target, "id", None))
        else:
            targets = node.targets if type(node) is _ast.Assign else [node.target]
            before = ""
        text = None if node.value is None else self._text(node.value)
        for target in targets:
            if type(target) is _Name:
                self._texts.pop(target.id, None)
                if text is not None and before is not None:
                    self._texts[target.id] = before + text

    def name_of(self, called: Any) -> str | None:
        """The last part of what is called, before any `import … as`."""
        if type(called) is _Attribute:
            return called.attr
        if type(called) is not _Name:
            return None
        path = self._modules.path_of(called.id)
        return path.rpartition(".")[2] if path else called.id

    def check(self, node: Any, name: str | None, are_paths_guarded: bool = False) -> None:
        if node.keywords:
            self._check_options(node, name)
        if name == "load" and len(node.args) > 1:
            self._check_places(node)
        given = node.args[:5] + [keyword.value for keyword in node.keywords[:9]]
        if name in rules.FILE_CALLS:
            for argument in given:
                self._check_file(argument)
        if name == "make_dataclass":
            for argument in given:
                self.check_annotation(argument)
        elif name in rules.PATH_CALLS and not are_paths_guarded:
            for argument in given:
                self._check_path(argument, name)

    def check_annotation(self, node: Any) -> None:
        """Checks code in a type annotation, which a library may evaluate."""
        waiting = [node]
        while waiting:
            part = waiting.pop()
            if type(part) is _ast.Subscript and self.name_of(part.value) in _PLAIN_TEXTS:
                continue
            text = self._text(part)
            if text is None:
                waiting += children(part)
            elif "(" in text or "__" in text:
                self._check_code(part, text, 0)

    def _text(self, node):
        kind = type(node)
        if kind is _Constant:
            return node.value[:LONGEST_CODE] if type(node.value) is str else None
        if kind is not _Name:
            return strings.text_of(node, 0, self._texts)
        if node.id in self._texts or self._names is None:
            return self._texts.get(node.id)
        value = self._names.get(node.id)
        return value[:LONGEST_CODE] if type(value) is str else None

    def _check_options(self, node, name):
        for keyword in node.keywords:
            if keyword.arg is not None:
                self._check_option(keyword.value, name, keyword.arg)
            elif type(keyword.value) is _ast.Dict:
                for key, value in zip(keyword.value.keys, keyword.value.values):
                    self._check_option(value, name, key and strings.text_of(key))

    def _check_places(self, node):
        options = _OPTIONS_BY_PLACE.get(self._modules.path(node.func), ())
        for argument, option in zip(node.args, options):
            self._check_option(argument, "load", option)

    def _check_option(self, value, function, option):
        hint = rules.OPTIONS.get(option)
        if function == "basicConfig" and option == "filename":
            hint = rules.LOG_FILE_HINT
        if hint is None or (type(value) is _Constant and not value.value):
            return
        message = "the option {} of {} is refused".format(option, function)
        self._report.add(value, "option." + option, message, hint)

    def _check_file(self, node):
        folder = strings.system_folder(self._text(node) or "")
        if folder is not None:
            message = "a system file in {} is refused".format(folder)
            self._report.add(node, "path." + folder, message, rules.PATH_HINT)

    def _check_path(self, node, function):
        text = self._text(node)
        if text is None:
            return
        if function in rules.CODE_CALLS:
            self._check_code(node, text, 0)
            return
        name = strings.name_in_code(text) or self._name_in_chains(text)
        if function == "patch":
            name = text.partition(".")[0]
            name = name if name in rules.MODULES else None
        if name is not None:
            self.reported.update(inside(node))
            message = "{}() is given the refused name {}".format(function, name)
            self._report.add(node, "string." + name, message, rules.STRING_HINT)

    def _name_in_chains(self, text):
        """The refused name that `@pd.io.common` in an expression reaches, or None."""
        for first, *steps in strings.chains(text):
            path = self._modules.path_of(first)
            for step in steps if path else ():
                if refused_name(path, step) is not None:
                    return step
                path += "." + step
        return None


def inside(node: Any) -> list:
    """The node and everything below it."""
    found = [node]
    for part in found:
        found += children(part)
    return found
