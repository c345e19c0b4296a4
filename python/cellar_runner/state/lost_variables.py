"""Why a variable cannot be kept, and what to do about it, in words that a model can act on."""

from __future__ import annotations

from typing import Any, Callable

from ..pristine import BUILTINS as __builtins__
from ..values.reprs import cap, exact, guarded_repr, guarded_str, is_a, type_name

TEXT_LIMIT = 500
SEARCHED = 5_000
SEARCHED_DEPTH = 4

_mro_of = type.__dict__["__mro__"].__get__
_module_of = type.__dict__["__module__"].__get__
_name_of = type.__dict__["__name__"].__get__
_FILE = ("an open file", "reopen the file in the next cell")
_GENERATOR = ("a generator", "create it again, or convert it to a list first")
_ITERATOR = ("an iterator", "create it again, or convert it to a list first")
_COROUTINE = ("a coroutine", "await it in the cell that creates it and keep the result")
_TASK = ("a running task", "await it in the cell that creates it and keep the result")
_LOOP = ("an event loop", "use `await` in the cell instead of keeping a loop")
_LOCK = ("a lock", "create it again in the next cell")
_THREAD = ("a thread", "start it again in the next cell")
_POOL = ("a pool of workers", "create it again in the next cell")
_PROCESS = ("a running process", "start it again in the next cell")
_QUEUE = ("a queue", "keep its items as a list and fill it again")
_SOCKET = ("a socket", "recreate the connection in the next cell")
_CONNECTION = ("a connection", "reconnect in the next cell")
_CURSOR = ("a cursor", "reconnect in the next cell and query again, or keep its rows as a list")
_FRAME = ("a part of a running program", "keep its text instead, such as traceback.format_exc()")
_WEAK = ("a weak reference", "keep the object itself in a variable")
_HASH = ("a running hash", "keep its digest instead")
_CONTEXT = ("a context variable", "create it again in the next cell")
_LAMBDA = ("a lambda", "use def instead of lambda")
GENERAL = "create it again in the next cell, or keep its data as plain values such as dict and list"

# By advice: the classes, as `module:name`.
_KINDS = {
    tuple(kind.split(":")): words
    for words, kinds in (
        (
            _FILE,
            "_io:TextIOWrapper _io:_BufferedIOBase _io:FileIO mmap:mmap zipfile:ZipFile zipfile:ZipExtFile "
            "tarfile:TarFile tempfile:_TemporaryFileWrapper",
        ),
        (_GENERATOR, "builtins:generator builtins:async_generator"),
        (_COROUTINE, "builtins:coroutine"),
        (_TASK, "_asyncio:Future _asyncio:Task concurrent.futures._base:Future"),
        (_LOOP, "asyncio.events:AbstractEventLoop"),
        (_POOL, "concurrent.futures._base:Executor multiprocessing.pool:Pool"),
        (_PROCESS, "multiprocessing.process:BaseProcess subprocess:Popen"),
        (
            _LOCK,
            "_thread:lock _thread:RLock threading:Condition threading:Semaphore threading:Event "
            "threading:Barrier",
        ),
        (_THREAD, "threading:Thread"),
        (_QUEUE, "queue:Queue _queue:SimpleQueue"),
        (_SOCKET, "_socket:socket"),
        (_CURSOR, "sqlite3:Cursor"),
        (_FRAME, "builtins:frame builtins:traceback"),
        (_WEAK, "weakref:ReferenceType builtins:weakref"),
        (_HASH, "_hashlib:HASH"),
        (_CONTEXT, "_contextvars:ContextVar _contextvars:Context"),
    )
    for kind in kinds.split()
}
# Files in memory can be saved.
_NO_LOSS = frozenset((("_io", "BytesIO"), ("_io", "StringIO")))
_WORDS = (
    (("cursor",), _CURSOR),
    (("connection", "engine", "session", "client"), _CONNECTION),
    (("socket",), _SOCKET),
    (("generator",), _GENERATOR),
    (("iterator", "iterable"), _ITERATOR),
    (("lock", "semaphore"), _LOCK),
    (("thread",), _THREAD),
    (("process",), _PROCESS),
    (("reader", "writer", "file"), _FILE),
)


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


def by_type(kind: type) -> Callable[[Any], LostVariable] | None:
    """What makes the error for a value of this class, or None where it can be saved."""
    for name in names_of(kind):
        if name in _NO_LOSS:
            return None
        if name in _KINDS:
            words = _KINDS[name]
            return lambda value: _loss(value, words)
    return None


def _loss(value, words):
    reason, advice = words
    if words is _FILE:
        reason += _place(value)
    return LostVariable(value, reason, advice)


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
    name = type_name(kind)
    if name == "function":
        return _LAMBDA[1] if getattr(value, "__name__", "") == "<lambda>" else GENERAL
    for word in [text for _, text in names_of(kind)[:-1]]:
        for parts, words in _WORDS:
            if any(part in word.lower() for part in parts):
                return words[1]
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
    kind = type(item)
    if is_a(item, dict):
        word = "item {} of the {}"
        pairs = list(dict.items(item))[:SEARCHED]
        return [(part, word.format(_key(key), type_name(kind))) for key, part in pairs]
    for plain in (list, tuple, set, frozenset):
        if is_a(item, plain):
            word = "item {} of the {}"
            parts = list(plain.__iter__(item))[:SEARCHED]
            return [(part, word.format(i, type_name(kind))) for i, part in enumerate(parts)]
    try:
        attributes = object.__getattribute__(item, "__dict__")
    except (AttributeError, TypeError):
        return []
    if type(attributes) is not dict:
        return []
    word = "attribute {} of the {}"
    pairs = list(dict.items(attributes))[:SEARCHED]
    return [(part, word.format(_key(key), type_name(kind))) for key, part in pairs]


def _key(key):
    plain = any(type(key) is kind for kind in (str, int, float, bool, bytes))
    return cap(guarded_repr(key), 80) if plain else "<{}>".format(type_name(type(key)))
