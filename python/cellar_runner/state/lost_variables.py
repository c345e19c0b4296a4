"""Why a variable cannot be kept, and what to do about it, in words that a model can act on."""

from __future__ import annotations

from typing import Any, Callable, NoReturn

from ..pristine import BUILTINS as __builtins__
from ..values.reprs import cap, exact, guarded_repr, guarded_str, is_a, type_name

TEXT_LIMIT = 500
SEARCHED = 5_000
SEARCHED_DEPTH = 4

_mro_of = type.__dict__["__mro__"].__get__
_module_of = type.__dict__["__module__"].__get__
_name_of = type.__dict__["__name__"].__get__
GENERAL = "create it again in the next cell, or keep its data as plain values such as dict and list"
_RECONNECT = "reconnect in the next cell"
_AGAIN = "create it again in the next cell"
_START = "start it again in the next cell"
_LIST = "create it again, or convert it to a list first"
_AWAIT = "await it in the cell that creates it and keep the result"
_FILE = "an open file"
# Reason, advice, classes as `module:name`, and parts of the names of other classes with this advice.
_LOSSES = (
    ("a cursor", _RECONNECT + " and query again, or keep its rows as a list", "sqlite3:Cursor", "cursor"),
    ("a connection", _RECONNECT, "", "connection engine session client"),
    ("a socket", "recreate the connection in the next cell", "_socket:socket", "socket"),
    ("a generator", _LIST, "builtins:generator builtins:async_generator", "generator"),
    ("an iterator", _LIST, "", "iterator iterable"),
    (
        "a lock",
        _AGAIN,
        "_thread:lock _thread:RLock threading:Condition threading:Semaphore threading:Event threading:Barrier",
        "lock semaphore",
    ),
    ("a thread", _START, "threading:Thread", "thread"),
    ("a running process", _START, "multiprocessing.process:BaseProcess subprocess:Popen", "process"),
    (
        _FILE,
        "reopen the file in the next cell",
        "_io:TextIOWrapper _io:_BufferedIOBase _io:FileIO mmap:mmap zipfile:ZipFile zipfile:ZipExtFile "
        "tarfile:TarFile tempfile:_TemporaryFileWrapper",
        "reader writer file",
    ),
    ("a coroutine", _AWAIT, "builtins:coroutine", ""),
    ("a running task", _AWAIT, "_asyncio:Future _asyncio:Task concurrent.futures._base:Future", ""),
    ("an event loop", "use `await` in the cell instead of keeping a loop", "asyncio.events:AbstractEventLoop", ""),
    ("a pool of workers", _AGAIN, "concurrent.futures._base:Executor multiprocessing.pool:Pool", ""),
    ("a queue", "keep its items as a list and fill it again", "queue:Queue _queue:SimpleQueue", ""),
    (
        "a part of a running program",
        "keep its text instead, such as traceback.format_exc()",
        "builtins:frame builtins:traceback",
        "",
    ),
    ("a weak reference", "keep the object itself in a variable", "weakref:ReferenceType builtins:weakref", ""),
    ("a running hash", "keep its digest instead", "_hashlib:HASH", ""),
    ("a context variable", _AGAIN, "_contextvars:ContextVar _contextvars:Context", ""),
)
_KINDS = {tuple(kind.split(":")): row[:2] for row in _LOSSES for kind in row[2].split()}
# Files in memory can be saved.
_NO_LOSS = frozenset((("_io", "BytesIO"), ("_io", "StringIO")))


class LostVariable(Exception):
    def __init__(self, value, reason, advice):
        kind = type_name(type(value))
        super().__init__("cannot pickle '{}' object: {}".format(kind, reason))
        self.value = value
        self.reason = reason
        self.advice = advice


def names_of(kind: type) -> list[tuple[str, str]]:
    """(module, name) of a class and its bases, whatever its metaclass claims."""
    found = []
    for base in _mro_of(kind):
        module = _module_of(base)
        found.append((exact(module) if is_a(module, str) else "", exact(_name_of(base))))
    return found


def by_type(kind: type) -> Callable[[Any], NoReturn] | None:
    """What raises the error for a value of this class, or None where it can be saved."""
    name = next((name for name in names_of(kind) if name in _NO_LOSS or name in _KINDS), None)
    if name is None or name in _NO_LOSS:
        return None
    reason, advice = _KINDS[name]

    def lose(value):
        raise LostVariable(value, reason + _place(value) if reason is _FILE else reason, advice)

    return lose


def _place(value):
    """The file's path and position."""
    words = []
    try:
        name = value.name if hasattr(value, "name") else value.filename
        if is_a(name, str):
            words.append(cap(guarded_repr(name), 200))
        if value.closed:
            words.append("closed")
        # tell() of a file open for writing would flush it, here and in the session.
        elif not value.writable():
            words.append("at position {}".format(value.tell()))
    except KeyboardInterrupt:
        raise
    except BaseException:
        pass
    return " ({})".format(", ".join(words)) if words else ""


def short(text: str) -> str:
    return cap(exact(text), TEXT_LIMIT)


def by_error(value: Any, error: Any) -> LostVariable:
    if is_a(error, LostVariable):
        inside = _search(value, error)
        reason = "{} is {}".format(inside, error.reason) if inside else error.reason
        return LostVariable(value, short(reason), short(error.advice))
    if is_a(error, RecursionError) or "recursion" in (guarded_str(error) or ""):
        reason = "it is nested too deeply"
        return LostVariable(value, reason, "keep it in a flat form, such as a list")
    if is_a(error, MemoryError):
        advice = "delete what is not needed, or write it to a file in /workspace"
        return LostVariable(value, "there is not enough memory to write it", advice)
    reason = "{}: {}".format(type_name(type(error)), guarded_str(error) or "")
    return LostVariable(value, short(reason), advice_for(value))


def advice_for(value: Any) -> str:
    kind = type(value)
    if type_name(kind) == "function":
        return "use def instead of lambda" if getattr(value, "__name__", "") == "<lambda>" else GENERAL
    for _, name in names_of(kind)[:-1]:
        for _reason, advice, _kinds, parts in _LOSSES:
            if any(part in name.lower() for part in parts.split()):
                return advice
    return GENERAL


def _search(value, error):
    """Where the culprit is inside a container, such as "item 'conn' of the dict"."""
    seen: set[int] = set()
    waiting = [(value, "", 0)]
    while waiting and len(seen) < SEARCHED:
        item, path, depth = waiting.pop(0)
        if id(item) in seen:
            continue
        seen.add(id(item))
        if path and item is error.value:
            return path
        if depth < SEARCHED_DEPTH:
            for part, word in _parts(item):
                waiting.append((part, word + (" in " + path if path else ""), depth + 1))
    return None


def _parts(item):
    named = "item"
    pairs: Any
    if is_a(item, dict):
        pairs = dict.items(item)
    else:
        plain = next((plain for plain in (list, tuple, set, frozenset) if is_a(item, plain)), None)
        if plain is not None:
            pairs = enumerate(plain.__iter__(item))
        else:
            named = "attribute"
            try:
                attributes = object.__getattribute__(item, "__dict__")
            except (AttributeError, TypeError):
                return []
            pairs = dict.items(attributes) if type(attributes) is dict else ()
    word = "{} {} of the {}"
    kind = type_name(type(item))
    return [(part, word.format(named, _key(key), kind)) for key, part in list(pairs)[:SEARCHED]]


def _key(key):
    plain = any(type(key) is kind for kind in (str, int, float, bool, bytes))
    return cap(guarded_repr(key), 80) if plain else "<{}>".format(type_name(type(key)))
