"""Cells compiled by RestrictedPython: attributes, items, writes and imports pass through guards."""

from __future__ import annotations

import _ast
import builtins
import operator
import sys
import types
from typing import Any, Mapping

from ..module_finder import exclude_workspace, import_own, search_path
from ..pristine import BUILTINS as __builtins__
from . import checker, rules
from .guarded_lookups import Formatting, ImportRefused, plain, substitute
from .report import Report

# The first release that guards positional-only arguments.
OLDEST = (8, 3)
COLLECTED = 1_000_000

READABLE = frozenset("__name__ __doc__ __version__".split())
METHODS = frozenset(
    "__init__ __repr__ __str__ __len__ __iter__ __next__ __call__ __contains__ __getitem__ "
    "__setitem__ __enter__ __exit__ __bool__ __hash__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ "
    "__add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __neg__ __abs__ "
    "__post_init__".split()
)
_PLAIN = (
    "all any ascii bin bytearray classmethod dict display enumerate filter format frozenset help "
    "iter keep list map max min next object property reversed set staticmethod sum super NotImplemented _"
).split()
_OPERATORS = {
    sign: getattr(operator, name)
    for sign, name in zip(
        "+= -= *= /= %= **= <<= >>= |= ^= &= //= @=".split(),
        "iadd isub imul itruediv imod ipow ilshift irshift ior ixor iand ifloordiv imatmul".split(),
    )
}
_DEFINED = (type, types.FunctionType, types.BuiltinFunctionType)
_FIXED = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType)

_import, _getattr, _print = builtins.__import__, getattr, print
_modules = sys.modules


class RestrictionUnavailable(RuntimeError):
    """RestrictedPython is missing or too old to be of use."""


def library() -> tuple[Any, Any]:
    """The modules of RestrictedPython; raises with a remedy if it is missing or too old."""
    try:
        package = import_own("RestrictedPython")
        guards, transformer = import_own("RestrictedPython.Guards"), import_own("RestrictedPython.transformer")
    except ImportError:
        raise RestrictionUnavailable(
            "the policy 'restricted' needs RestrictedPython: cellar install RestrictedPython, "
            "or use the policy 'ast'"
        ) from None
    version = _version(package)
    if version < OLDEST:
        raise RestrictionUnavailable(
            "RestrictedPython {} has known ways round its guards: cellar install "
            "'RestrictedPython>={}'".format(_dotted(version), _dotted(OLDEST))
        )
    return guards, transformer


def _version(package):
    try:
        metadata = import_own("importlib.metadata")
        # Files in the working folder could claim any version.
        found = metadata.distributions(name=package.__name__, path=search_path())
        parts = next(iter(found)).version.split(".")[:2]
        return tuple(int("".join(filter(str.isdigit, part)) or 0) for part in parts)
    except Exception:
        return (0, 0)


def _dotted(version):
    return ".".join(map(str, version))


class Guards:
    """Rewrites cells and provides the functions that the rewritten cells call."""

    def __init__(self):
        guards, transformer = library()
        self._safe_getattr = guards.safer_getattr
        self._missing = guards.raise_
        self._refuse_writes = guards.full_write_guard
        self._transformer = _transformer(transformer)
        self._printer = Printer()
        self._builtins = self._guarded_builtins(guards)

    def guarded(self, tree: Any, text: str, names: Mapping[str, Any] | None = None) -> tuple[Any, list[dict]]:
        """(the guarded tree, the violations) of a parsed cell."""
        report = Report(text)
        for one in checker.Inspection(text, names).violations(tree, checker.ARGUMENT_CHECKS):
            report.add_at(**one)
        try:
            tree = self._transformer(report).visit(tree)
        except RecursionError:
            report.add_at(1, 1, "syntax", "the code is too deeply nested", rules.NESTING_HINT)
        return tree, report.violations()

    def restrict_builtins(self, namespace: dict[str, Any], given: dict[str, Any]) -> None:
        """Leaves only the safe builtins to the cells."""
        self._printer.forget()
        # A file written by a cell under an allowed name would run without guards.
        exclude_workspace()
        present = vars(builtins)
        safe = self._builtins
        for name in _PLAIN:
            if name in present:
                safe[name] = present[name]
        safe.update(given)
        namespace["__builtins__"] = safe

    def _guarded_builtins(self, guards):
        safe = dict(guards.safe_builtins)
        for name, value in vars(builtins).items():
            if isinstance(value, type) and issubclass(value, Exception) and "Group" not in name:
                safe[name] = value
        for name in ("setattr", "delattr"):
            safe.pop(name, None)
        safe.update(
            __import__=self._guarded_import,
            __metaclass__=type,
            getattr=self._getattr,
            hasattr=self._hasattr,
            type=_type_of,
            _getattr_=self._getattr,
            _getitem_=operator.getitem,
            _getiter_=lambda value: value,
            _apply_=lambda function, *arguments, **options: function(*arguments, **options),
            _write_=self._write,
            _print=self._printer,
            _inplacevar_=_inplace,
            _augitem_=self._augment_item,
            _augattr_=self._augment_attribute,
            _unpack_sequence_=guards.guarded_unpack_sequence,
            _iter_unpack_sequence_=guards.guarded_iter_unpack_sequence,
        )
        return safe

    def _getattr(self, owner, name, *default):
        if len(default) > 1:
            raise TypeError("getattr takes 2 or 3 arguments")
        if plain(name, "the name of an attribute") in READABLE:
            return _getattr(owner, name, *default)
        if name in ("format", "format_map") and isinstance(owner, str):
            return Formatting(self._getattr, owner, name)
        value = self._safe_getattr(owner, name, *(default or (self._missing,)))
        if isinstance(owner, types.ModuleType):
            self._check_member(owner, name, value)
        return substitute(self._getattr, owner, name, value) or value

    def _hasattr(self, owner, name):
        try:
            self._getattr(owner, name)
            return True
        except (AttributeError, NotImplementedError, ImportError):
            return False

    def _check_member(self, module, name, value):
        path = str(module.__dict__.get("__name__"))
        refused = rules.refused_member(path, name)
        if refused is None and isinstance(value, types.ModuleType):
            other = str(value.__dict__.get("__name__"))
            if other.partition(".")[0] not in rules.ALLOWED:
                refused = other, rules.MODULES.get(other, rules.PRIVATE_HINT)
            else:
                refused = rules.refused_part(other)
        if refused is None and isinstance(value, _DEFINED):
            refused = rules.refused_origin(value.__module__)
        if refused is not None:
            raise ImportRefused("{} of the module {} is refused: {}".format(name, path, refused[1]))

    def _guarded_import(self, name, globals=None, locals=None, fromlist=(), level=0):
        refused = _refused_import(name, level)
        if refused is not None:
            raise ImportRefused("importing {} is refused: {}".format(name, refused))
        module = _import(name, globals, locals, fromlist or (), 0)
        return self._members(module, fromlist) if fromlist else module

    def _members(self, module, names):
        """What `from` takes of a module, through the guard."""
        taken = types.ModuleType(module.__name__)
        taken.__file__ = module.__dict__.get("__file__")
        for name in names:
            try:
                setattr(taken, name, self._getattr(module, name))
            except AttributeError:
                continue
        return taken

    def _write(self, owner):
        """Modules, functions and classes are read-only."""
        if isinstance(owner, _FIXED) or isinstance(owner, type):
            return self._refuse_writes(owner)
        return owner

    def _augment_item(self, sign, owner, key, value):
        self._write(owner)[key] = _inplace(sign, owner[key], value)

    def _augment_attribute(self, sign, owner, name, value):
        setattr(self._write(owner), name, _inplace(sign, self._getattr(owner, name), value))


def _refused_import(name, level=0):
    if level:
        return "there is no package here to import from"
    refused = rules.refused_import(name)
    if refused is not None:
        return refused[1]
    if any(step.startswith("_") for step in name.split(".")) and name != "__future__":
        return rules.PRIVATE_HINT
    if name.partition(".")[0] not in rules.ALLOWED:
        return "it is not on the list of allowed modules"
    return None


def _inplace(sign, left, right):
    return _OPERATORS[sign](left, right)


def _type_of(value):
    """The class of a value."""
    return type(value)


class Printer:
    """Collects what a cell prints, and prints it at once."""

    def __init__(self):
        self.forget()

    def forget(self) -> None:
        self._texts: list[str] = []
        self._room = COLLECTED

    def write(self, text: str) -> None:
        sys.stdout.write(text)
        if self._room > 0:
            self._texts.append(text[: self._room])
            self._room -= len(text)

    def flush(self) -> None:
        sys.stdout.flush()

    def __call__(self):
        return "".join(self._texts)

    def _call_print(self, *values, **options):
        if options.get("file") is None:
            options["file"] = self
        _print(*values, **options)


def _transformer(base):
    """A transformer that reports violations with their place."""

    class Transformer(base.RestrictingNodeTransformer):  # type: ignore[name-defined]
        def __init__(self, report):
            super().__init__()
            self._report = report

        def error(self, node, info):
            message = info[:1].lower() + info[1:].rstrip(".")
            self._report.add(node, "restricted", message, _hint(node))

        def inject_print_collector(self, node, position=0):
            """All cells share one collector among the builtins."""

        def check_name(self, node, name, allow_magic_methods=False):
            is_method = allow_magic_methods and getattr(node, "col_offset", 0)
            if not (is_method and name in METHODS):
                super().check_name(node, name, allow_magic_methods)

        def check_import_names(self, node):
            paths = [alias.name for alias in node.names]
            if type(node) is _ast.ImportFrom:
                paths = [node.module or ""]
            for path in paths:
                refused = _refused_import(path, getattr(node, "level", 0) or 0)
                if refused is not None:
                    name = path.partition(".")[0]
                    message = "importing {} is refused".format(path)
                    self._report.add(node, "import." + name, message, refused)
            return super().check_import_names(node)

        def visit_AnnAssign(self, node):
            return self.node_contents_visit(node)

        def visit_Attribute(self, node):
            if type(node.ctx) is _ast.Load:
                if node.attr in READABLE:
                    node = self.node_contents_visit(node)
                    return self._call(node, "_getattr_", [node.value, _ast.Constant(node.attr)])
                if node.attr == "__init__" and _is_super(node.value):
                    return self.node_contents_visit(node)
            return super().visit_Attribute(node)

        def visit_AugAssign(self, node):
            target = node.target
            if type(target) is _ast.Name:
                return super().visit_AugAssign(node)
            if type(target) is _ast.Attribute:
                read = _ast.Attribute(target.value, target.attr, _ast.Load())
                base.copy_locations(read, target)
                owner, last = super().visit_Attribute(read).args
                name = "_augattr_"
            else:
                owner, last = self.visit(target.value), self.visit(target.slice)
                name = "_augitem_"
            sign = _ast.Constant(base.IOPERATOR_TO_STR[type(node.op)])
            arguments = [sign, owner, last, self.visit(node.value)]
            statement = _ast.Expr(self._call(node, name, arguments))
            base.copy_locations(statement, node)
            return statement

        def _call(self, node, name, arguments):
            call = _ast.Call(_ast.Name(name, _ast.Load()), arguments, [])
            base.copy_locations(call, node)
            return call

    return Transformer


def _is_super(node):
    return type(node) is _ast.Call and type(node.func) is _ast.Name and node.func.id == "super"


def _hint(node):
    name = getattr(node, "attr", None) or getattr(node, "id", None)
    if name == "__cellar__":
        return rules.SHELL_HINT
    hint = rules.ATTRIBUTES.get(name) or rules.CALLS.get(name)
    if hint is None and isinstance(name, str) and name.startswith("_"):
        return rules.PRIVATE_HINT
    return hint or "write it in a simpler way"
