"""%autoreload: modules whose files have changed are read again before the next cell."""

from __future__ import annotations

import gc
import importlib
import os
import sys
import types
import weakref
from typing import Any

from ....module_finder import RUNNER
from ....pristine import BUILTINS as __builtins__
from ....values.reprs import guarded_str, type_name
from ..dispatch import Commands
from ..errors import UsageError
from ..options import parse_options

_PACKAGES = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)
_CODE = ("__code__", "__defaults__", "__kwdefaults__", "__doc__", "__annotations__", "__dict__")
_UNTOUCHED = frozenset("__dict__ __weakref__ __module__ __qualname__".split())
_MODES = {
    "0": "off", "off": "off", "1": "explicit", "explicit": "explicit", "2": "all", "all": "all",
    "3": "complete", "complete": "complete",
}
_modules = sys.modules
_stat = os.stat


class Reloader:
    """Knows which modules to reload, and the state of their files."""

    def __init__(self, commands):
        self._commands = commands
        self.mode = "off"
        self.wanted = {}
        self.skipped = set()
        self._states = {}
        self._old = {}
        self._failed = {}
        self._own_prefix = os.path.join(os.path.realpath(sys.base_prefix), "lib") + os.sep
        self.note_states()

    def note_states(self) -> None:
        """Takes the files as they are now for those that were read."""
        for name, module in list(_modules.items()):
            path = self._source(name, module)
            if path is not None and name not in self._states:
                self._states[name] = _state(path)

    def check(self, now: bool = False) -> None:
        """Reloads what has changed, as far as the mode asks."""
        if self.mode == "off" and not now:
            return
        for name, module in list(_modules.items()):
            path = self._source(name, module)
            if path is None:
                continue
            state = _state(path)
            if name not in self._states:
                self._states[name] = state
                continue
            if state is None or state == self._states[name] or state == self._failed.get(name):
                continue
            is_wanted = now or self.mode in ("all", "complete") or name in self.wanted
            if name in self.skipped or not is_wanted:
                continue
            try:
                self._reload(name, module)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                self._failed[name] = state
                reason = (guarded_str(error) or "")[:1_000]
                text = "[autoreload of {} failed: {}: {}]\n"
                sys.stderr.write(text.format(name, type_name(type(error)), reason))
            else:
                self._states[name] = state
                self._failed.pop(name, None)

    def _source(self, name, module):
        """The file of a module of the user's own, or None."""
        if type(module) is not types.ModuleType or name in ("__main__", "__mp_main__"):
            return None
        path = module.__dict__.get("__file__")
        if type(path) is not str or not path.endswith(".py"):
            return None
        if path.startswith((RUNNER, self._own_prefix)) or any(part in path for part in _PACKAGES):
            return None
        return path

    def _reload(self, name, module):
        before = dict(module.__dict__)
        # other names may still refer to older versions
        for key, value in before.items():
            if _is_code(value) and getattr(value, "__module__", None) == name:
                self._old.setdefault((name, key), []).append(_weakly(value))
        importlib.invalidate_caches()
        _forget_bytecode(module)
        importlib.reload(module)
        for key, value in list(module.__dict__.items()):
            held = []
            for reference in self._old.get((name, key), ()):
                old = reference()
                if old is not None and old is not value:
                    update(old, value)
                    held.append(reference)
            if held:
                self._old[(name, key)] = held
        self._rebind(before, module.__dict__)

    def _rebind(self, before, after):
        """Rebinds names in cells to what could not be changed in place."""
        namespace = self._commands.namespace
        for key, old in before.items():
            if key.startswith("__") or key not in after or not _is_code(old):
                continue
            if namespace.get(key) is old and type(after[key]) is not type(old):
                namespace[key] = after[key]


def _state(path):
    try:
        found = _stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _forget_bytecode(module):
    """Within one second, a source of the same size has the same mark as the old one."""
    cached = getattr(module, "__cached__", None)
    if type(cached) is str:
        try:
            os.unlink(cached)
        except OSError:
            pass


def _is_code(value):
    return isinstance(value, (type, types.FunctionType))


def _weakly(value):
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: value


def update(old: Any, new: Any) -> bool:
    """Makes an old function or class behave as the new one; False if that is impossible."""
    if isinstance(old, types.FunctionType) and isinstance(new, types.FunctionType):
        return _update_function(old, new)
    if isinstance(old, type) and isinstance(new, type):
        return _update_class(old, new)
    if isinstance(old, property) and isinstance(new, property):
        pairs = ((old.fget, new.fget), (old.fset, new.fset), (old.fdel, new.fdel))
        for one, other in pairs:
            if one is not None and other is not None:
                update(one, other)
        return False
    if type(old) in (staticmethod, classmethod) and type(old) is type(new):
        return update(old.__func__, new.__func__)
    return False


def _update_function(old, new):
    for name in _CODE:
        try:
            if name == "__dict__":
                old.__dict__.update(new.__dict__)
            else:
                setattr(old, name, getattr(new, name))
        except (AttributeError, TypeError, ValueError):
            if name == "__code__":
                # the number of closure variables differs
                return False
    return True


def _update_class(old, new):
    fresh = dict(vars(new))
    for name, value in list(vars(old).items()):
        if name in _UNTOUCHED:
            continue
        if name not in fresh:
            _try(delattr, old, name)
        elif value is not fresh[name] and not update(value, fresh[name]):
            _try(setattr, old, name, fresh[name])
    for name, value in fresh.items():
        if name not in vars(old) and name not in _UNTOUCHED:
            _try(setattr, old, name, value)
    for subject in gc.get_referrers(old):
        if type(subject) is old:
            _try(object.__setattr__, subject, "__class__", new)
    return True


def _try(action, *arguments):
    try:
        action(*arguments)
    except (AttributeError, TypeError):
        pass


def autoreload(commands: Commands, rest: str) -> None:
    """%autoreload [now | off | explicit | all], or 0, 1, 2"""
    reloader = _reloader(commands)
    words = rest.lower().split()
    options = [word for word in words if word.startswith("-")]
    parse_options(" ".join(options), "plh", ("print", "log", "hide-errors"))
    mode = " ".join(word for word in words if word not in options)
    if mode in ("", "now"):
        reloader.check(now=True)
        return
    if mode not in _MODES:
        raise ValueError('Unrecognized autoreload mode "{}".'.format(mode))
    reloader.mode = _MODES[mode]
    reloader.note_states()


def aimport(commands: Commands, rest: str) -> None:
    """%aimport [module, -module]: the modules that %autoreload 1 follows"""
    reloader = _reloader(commands)
    words = rest.replace(",", " ").split()
    if not words:
        listed = " ".join(sorted(reloader.wanted))
        if reloader.mode in ("all", "complete"):
            print("Modules to reload:\nall-except-skipped")
        else:
            print("Modules to reload:\n" + listed)
        print("\nModules to skip:\n" + " ".join(sorted(reloader.skipped)))
        return
    for word in words:
        if word.startswith("-"):
            reloader.skipped.add(word[1:])
            reloader.wanted.pop(word[1:], None)
            continue
        commands.check("import " + word)
        importlib.import_module(word)
        reloader.wanted[word] = True
        reloader.skipped.discard(word)
        top = word.partition(".")[0]
        commands.bind(top, _modules[top])
    reloader.note_states()


def _reloader(commands):
    if commands.reloader is None:
        hint = "load it first: %load_ext autoreload"
        raise UsageError("Line magic function `%autoreload` not found.", hint=hint)
    return commands.reloader
