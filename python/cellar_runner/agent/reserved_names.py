"""The names that the host gave to an agent's session, put back after a cell that rebinds one."""

from __future__ import annotations

import builtins
import operator

from ..pristine import BUILTINS as __builtins__

MOST_CHANGES = 64
MOST_NAMES = 9

_builtin_names = vars(builtins)
_is = operator.is_
MISSING = object()


class ReservedNames:
    """Built-ins and the context. A value that a cell bound to such a name is kept under another one.

    `functions` has the built-ins by name and may grow; `given()` returns the context, or MISSING.
    """

    def __init__(self, functions, given):
        self._functions = functions
        self._given = given
        # By reserved name: the name under which a value is kept, and the id of that value.
        self._kept = {}
        self._changes = []

    def uncover(self, namespace: dict) -> None:
        """Removes what hides a built-in from a namespace, and puts the context back."""
        try:
            context = self._given()
            if context is not MISSING and namespace.get("context", MISSING) is not context:
                taken = namespace.get("context", MISSING)
                namespace["context"] = context
                self._note(namespace, "context", taken)
            if not namespace.keys().isdisjoint(self._functions.keys()):
                for name in [name for name in self._functions if name in namespace]:
                    self._restore_function(namespace, name)
        except BaseException:
            # Keys of a namespace may be objects whose comparison raises.
            return

    def put_back(self, namespace: dict) -> list[dict]:
        """Restores every name; returns those that had changed, and where their values are kept."""
        self.uncover(namespace)
        try:
            functions = self._functions
            if not all(map(_is, map(_builtin_names.get, functions), functions.values())):
                for name, function in functions.items():
                    if _builtin_names.get(name) is not function:
                        self._restore_function(namespace, name)
        except BaseException:
            pass
        changes, self._changes = self._changes, []
        return changes[:MOST_CHANGES]

    def _restore_function(self, namespace, name):
        function, present = self._functions[name], _builtin_names.get(name, MISSING)
        _builtin_names[name] = function
        taken = namespace.pop(name, present)
        if taken is not function:
            self._note(namespace, name, taken)

    def _note(self, namespace, name, taken):
        kept = None if taken is MISSING else self._keep(namespace, name, taken)
        self._changes.append({"name": name, "kept": kept})

    def _keep(self, namespace, name, value):
        """The name under which a value is kept; never one that the code uses for something else."""
        last, identity = self._kept.get(name, (None, None))
        names = ["my_" + name] + ["my_{}_{}".format(name, number) for number in range(2, MOST_NAMES + 1)]
        for free in names:
            if free not in namespace or (free == last and id(namespace[free]) == identity):
                namespace[free] = value
                self._kept[name] = (free, id(value))
                return free
        return None
