"""The state of a session as text, name by name, so that two sessions can be compared.

It runs in a session as a module of its own. `show` changes nothing that it looks at; `drain` uses up what
can only be known by using it up, and comes last.
"""

import hashlib
import io
import itertools
import json
import os
import sys
import types

SHORT = 100
MOST_DRAINED = 5000
# The descriptors of the runner are above.
MOST_DESCRIPTORS = 1000
# SIGINT belongs to the runner between cells.
SIGINT = 2
# Those of the first cell; what comes later is shown by name.
FIRST_MODULES = set(sys.modules)
# The runner loads some of its own when it needs them, and codecs when a cell has changed the locale.
LATE_MODULES = ("cellar_runner", "encodings.")


def show(names):
    _print(_digest(names, _describe_all))


def drain(names):
    _print(_digest(names, _drain_all))


def _print(state):
    namespace = os.readlink("/proc/self/ns/pid")
    print(json.dumps({"pid": os.getpid(), "namespace": namespace, "state": state}))


def _digest(names, describe):
    state = describe({name: value for name, value in names.items() if not name.startswith("_")})
    state.update({"process: " + name: _shortened(str(value)) for name, value in _process().items()})
    history = names["__builtins__"]
    history = history if isinstance(history, dict) else vars(history)
    shown = history.get("Out", {})
    state["history: Out"] = _shortened(Description().of([shown[key] for key in sorted(shown)]))
    return state


def _describe_all(names):
    description = Description()
    return {name: _shortened(description.of(value)) for name, value in sorted(names.items())}


def _drain_all(names):
    return {name: _shortened(_drained(value)) for name, value in sorted(names.items())}


def _shortened(text):
    if len(text) <= SHORT:
        return text
    return "%s... %d %s" % (text[:SHORT], len(text), _hash(text.encode("utf-8", "replace")))


def _hash(data):
    return hashlib.sha1(data).hexdigest()[:16]


def _process():
    import gc
    import resource
    import signal
    import threading

    mask = os.umask(0)
    os.umask(mask)
    found = {
        "environment": sorted(os.environ.items()),
        "folder": os.getcwd(),
        "umask": mask,
        "search path": sys.path,
        "modules": sorted(name for name in FIRST_MODULES ^ set(sys.modules) if not name.startswith(LATE_MODULES)),
        "recursion limit": sys.getrecursionlimit(),
        "switch interval": sys.getswitchinterval(),
        "collector": (gc.isenabled(), gc.get_threshold()),
        "threads": threading.active_count(),
        "arguments": sys.argv,
        "signal mask": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
        "descriptors": _descriptors(),
        "mappings of files": _mapped_files(),
        # The runner sets that of open files.
        "limits": [resource.getrlimit(kind) for kind in range(8) if kind != resource.RLIMIT_NOFILE],
    }
    found["handlers of the kernel"] = _actions()
    for number in sorted(set(signal.valid_signals()) - {SIGINT}):
        handler = signal.getsignal(number)
        if handler not in (signal.SIG_DFL, None) and not _is_runners(handler):
            found["signal %d" % number] = Description().of(handler)
    for name, read in _SETTINGS.items():
        if name in sys.modules:
            found["of " + name] = read(sys.modules[name])
    return found


_SETTINGS = {
    "random": lambda module: _hash(repr(module.getstate()).encode()),
    "numpy.random": lambda module: _hash(repr(module.get_state(legacy=False)).encode()),
    "decimal": lambda module: module.getcontext(),
    "locale": lambda module: module.setlocale(module.LC_ALL),
    "warnings": lambda module: Description().of(module.filters),
    "math": lambda module: {name: value for name, value in vars(module).items() if name.startswith("trial")},
    "builtins": lambda module: {name: value for name, value in vars(module).items() if name.startswith("trial")},
    "faulthandler": lambda module: module.is_enabled(),
    "logging": lambda module: sorted(
        (name, logger.level) for name, logger in module.root.manager.loggerDict.items() if hasattr(logger, "level")
    ),
}


def _descriptors():
    found = []
    for name in sorted(os.listdir("/proc/self/fd"), key=int):
        number = int(name)
        if not 2 < number < MOST_DESCRIPTORS:
            continue
        try:
            # A cell that was taken back may have removed it.
            target = os.readlink("/proc/self/fd/" + name).replace(" (deleted)", "")
            found.append((number, target.split("#")[0], os.lseek(number, 0, os.SEEK_CUR), os.get_inheritable(number)))
        except OSError:
            # What listed the folder is gone.
            continue
    # A restored session has a new event loop, and the name of a file in memory is not its own.
    return [one for one in found if one[1].startswith(("/workspace", "/tmp"))]


def _mapped_files():
    """Which files are mapped; where they are may differ, and so may how a library is divided."""
    with open("/proc/self/maps") as maps:
        return sorted({line.split(None, 5)[5].strip() for line in maps if "/" in line and "/workspace" in line})


def _actions():
    """What sigaction says: whether there is a handler, its flags, and which handlers are the same."""
    import ctypes
    import signal

    sigaction, seen, found = ctypes.CDLL(None).sigaction, {0: 0, 1: 1}, []
    for number in sorted(set(signal.valid_signals()) - {SIGINT}):
        action = (ctypes.c_uint64 * 32)()
        if sigaction(number, None, action) == 0 and action[0]:
            # The structure is a handler, 128 bytes of a mask, and flags.
            found.append((int(number), seen.setdefault(action[0], len(seen)), action[17] & 0xFFFFFFFF))
    return found


def _is_runners(handler):
    return getattr(handler, "__module__", "").startswith("cellar_runner")


class Description:
    """What a value consists of. An object that was met before is only numbered, which shows who shares it."""

    def __init__(self):
        self._met = {}
        self._kept = []

    def of(self, value):
        if value is None or isinstance(value, (bool, int, float, complex, str, range)):
            return self._plain(value)
        if isinstance(value, bytes):
            return repr(value) if len(value) < SHORT else "bytes %d %s" % (len(value), _hash(value))
        if id(value) in self._met:
            return "<%d>" % self._met[id(value)]
        self._met[id(value)] = len(self._met)
        # An id is an object's as long as it lives.
        self._kept.append(value)
        kind = type(value)
        name = kind.__name__
        for base in kind.__mro__:
            known = _KINDS.get("%s.%s" % (base.__module__, base.__qualname__))
            if known is not None:
                return "%s(%s)" % (name, known(self, value))
        return "%s(%s)" % (name, self._object(value))

    def _plain(self, value):
        text = repr(value) if type(value) in _PLAIN else "%s %r" % (type(value).__name__, value)
        return text if len(text) < 4 * SHORT else "%d %s" % (len(text), _hash(text.encode("utf-8", "replace")))

    def all(self, values):
        return ", ".join(self.of(value) for value in values)

    def items(self, mapping):
        return ", ".join("%s: %s" % (self.of(key), self.of(value)) for key, value in list(mapping.items()))

    def unordered(self, values):
        # Each by itself: what they have in common must not depend on their order.
        return ", ".join(sorted(Description().of(value) for value in values))

    def frame(self, frame):
        if frame is None:
            return "ended"
        module = frame.f_code.co_name == "<module>"
        inner = "" if module else self.items(dict(sorted(frame.f_locals.items())))
        return "%s %d %d {%s}" % (frame.f_code.co_name, frame.f_lineno, frame.f_lasti, inner)

    def _object(self, value):
        if hasattr(type(value), "__trial__"):
            return self.of(value.__trial__())
        parts = []
        if hasattr(value, "__dict__"):
            parts.append(self.items(dict(value.__dict__)))
        for base in type(value).__mro__:
            slots = base.__dict__.get("__slots__", ())
            for slot in [slots] if isinstance(slots, str) else slots:
                if slot not in ("__dict__", "__weakref__") and hasattr(value, slot):
                    parts.append("%s=%s" % (slot, self.of(getattr(value, slot))))
        return "; ".join(parts)


_PLAIN = {type(None), bool, int, float, complex, str, range}


def _function(look, value):
    cells = [cell.cell_contents for cell in value.__closure__ or ()]
    code = _hash(value.__code__.co_code)
    return "%s %s %s %s %s" % (value.__name__, code, look.all(cells), look.of(value.__defaults__), look.items(vars(value)))


def _class(look, value):
    if value.__module__ not in ("__main__", "builtins") or value.__flags__ & (1 << 9) == 0:
        return value.__qualname__
    attributes = {key: one for key, one in vars(value).items() if not key.startswith("__")}
    hidden = ("_abc_impl", "_member_map_", "_value2member_map_", "_fields")
    return "%s %s" % (value.__qualname__, look.items({k: v for k, v in attributes.items() if k not in hidden}))


def _exception(look, value):
    frames, trace = [], value.__traceback__
    while trace is not None:
        frames.append("%d %s" % (trace.tb_lineno, look.frame(trace.tb_frame)))
        trace = trace.tb_next
    return "%s; %s; %s" % (look.all(value.args), "; ".join(frames), look.of(value.__cause__))


def _file(look, value):
    """What lies before the offset; a later cell that was taken back may have written behind it."""
    if value.closed:
        return "closed %s" % getattr(value, "mode", "")
    try:
        number = value.fileno()
    except (OSError, AttributeError):
        return "no descriptor"
    name = value.name if isinstance(value.name, str) else "number"
    return "%s %s %s" % (name, getattr(value, "mode", ""), _before_offset(number))


def _before_offset(number):
    offset = os.lseek(number, 0, os.SEEK_CUR)
    try:
        content, at = [], 0
        while at < offset:
            content.append(os.pread(number, offset - at, at))
            if not content[-1]:
                break
            at += len(content[-1])
        return "%d %s" % (offset, _hash(b"".join(content)))
    except OSError:
        return "%d, not for reading" % offset


def _array(look, value):
    if value.dtype.hasobject:
        return "%s %s %s" % (value.dtype, value.shape, look.all(value.ravel().tolist()))
    return "%s %s %s %s" % (value.dtype, value.shape, value.flags.writeable, _hash(value.tobytes()))


def _frame(look, value):
    columns = [(str(name), str(value.dtypes.iloc[at]), value.iloc[:, at].tolist()) for at, name in enumerate(value.columns)]
    return "%s %s" % (_hash(repr(value.index.tolist()).encode()), look.all(repr(column) for column in columns))


def _reduced(look, value):
    try:
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return look.of(value.__reduce__()[1:])
    except TypeError:
        return ""


def _generator(look, value):
    inner = value.gi_yieldfrom if value.gi_frame is not None else None
    return "%s %s" % (look.frame(value.gi_frame), look.of(inner))


def _own(*names):
    return lambda look, value: look.all(getattr(value, name) for name in names)


def _with_base(rest):
    """What is shown of a container, and of the attributes of a class made from it."""

    def describe(look, value):
        more = look.items(vars(value)) if hasattr(value, "__dict__") and vars(value) else ""
        return rest(look, value) + ("; " + more if more else "")

    return describe


def _text(look, value):
    return str(value)


def _represented(look, value):
    return repr(value)


def _buffer(look, value):
    return "%d %s" % (len(value), _hash(bytes(value)))


_KINDS = {
    "builtins.list": _with_base(lambda look, value: look.all(list(value))),
    "builtins.tuple": _with_base(lambda look, value: look.all(value)),
    "builtins.dict": _with_base(lambda look, value: look.items(value)),
    "builtins.set": lambda look, value: look.unordered(value),
    "builtins.frozenset": lambda look, value: look.unordered(value),
    "builtins.bytearray": _buffer,
    "builtins.memoryview": _buffer,
    "builtins.function": _function,
    "builtins.method": lambda look, value: "%s %s" % (value.__name__, look.of(value.__self__)),
    "builtins.builtin_function_or_method": lambda look, value: value.__qualname__,
    "builtins.type": _class,
    "builtins.module": lambda look, value: value.__name__,
    "builtins.generator": _generator,
    "builtins.coroutine": lambda look, value: look.frame(value.cr_frame),
    "builtins.async_generator": lambda look, value: look.frame(value.ag_frame),
    "builtins.code": lambda look, value: _hash(value.co_code),
    "builtins.slice": _represented,
    "builtins.mappingproxy": lambda look, value: look.items(value),
    "builtins.BaseException": _exception,
    "builtins.weakref": lambda look, value: look.of(value()),
    "weakref.ReferenceType": lambda look, value: look.of(value()),
    "weakref.WeakValueDictionary": lambda look, value: look.items(dict(value)),
    "weakref.finalize": lambda look, value: str(value.alive),
    "collections.deque": lambda look, value: "%s %s" % (value.maxlen, look.all(list(value))),
    "collections.defaultdict": lambda look, value: look.items(value),
    "collections.OrderedDict": lambda look, value: look.items(value),
    "array.array": lambda look, value: "%s %s" % (value.typecode, _hash(value.tobytes())),
    "enum.Enum": _text,
    "re.Pattern": _own("pattern", "flags"),
    "re.Match": lambda look, value: "%s %s" % (value.span(), value.groups()),
    "functools.partial": _own("func", "args", "keywords"),
    "functools._lru_cache_wrapper": lambda look, value: "%s %s" % (value.cache_info(), look.of(value.__wrapped__)),
    "_io.BytesIO": lambda look, value: "closed" if value.closed else "%d %s" % (value.tell(), _hash(value.getvalue())),
    "_io.StringIO": lambda look, value: "closed" if value.closed else "%d %s" % (value.tell(), look.of(value.getvalue())),
    "_io._IOBase": _file,
    "tempfile._TemporaryFileWrapper": lambda look, value: look.of(value.file),
    "mmap.mmap": lambda look, value: "closed" if value.closed else "%d %d %s" % (len(value), value.tell(), _hash(value[:])),
    "_ctypes.Array": _buffer,
    "_ctypes.Structure": _buffer,
    "_ctypes._Pointer": lambda look, value: "",
    "ctypes.CDLL": lambda look, value: "",
    "_random.Random": lambda look, value: _hash(repr(value.getstate()).encode()),
    "_thread.lock": lambda look, value: str(value.locked()),
    "_thread.RLock": lambda look, value: str(value._is_owned()),
    "_thread._local": lambda look, value: look.items(vars(value)),
    "_queue.SimpleQueue": lambda look, value: str(value.qsize()),
    "asyncio.queues.Queue": lambda look, value: look.all(value._queue),
    "_contextvars.ContextVar": lambda look, value: "%s %s" % (value.name, look.of(value.get(None))),
    "_contextvars.Context": lambda look, value: look.unordered((key.name, one) for key, one in value.items()),
    "contextvars.ContextVar": lambda look, value: "%s %s" % (value.name, look.of(value.get(None))),
    "contextvars.Context": lambda look, value: look.unordered((key.name, one) for key, one in value.items()),
    "decimal.Decimal": _text,
    "decimal.Context": _represented,
    "fractions.Fraction": _text,
    "datetime.date": _represented,
    "datetime.tzinfo": _represented,
    "datetime.timedelta": _represented,
    "pathlib.PurePath": _text,
    "_struct.Struct": _own("format", "size"),
    "zlib.Compress": lambda look, value: _hash(value.copy().flush()),
    "zlib.Decompress": lambda look, value: _hash(value.copy().flush() + value.unconsumed_tail),
    "_hashlib.HASH": lambda look, value: value.hexdigest(),
    "_blake2.blake2b": lambda look, value: value.hexdigest(),
    "hmac.HMAC": lambda look, value: value.hexdigest(),
    "_csv.reader": _own("line_num"),
    "sqlite3.Connection": lambda look, value: "%s %s %s"
    % (value.in_transaction, value.total_changes, _hash("\n".join(value.iterdump()).encode())),
    "sqlite3.Cursor": _own("description", "arraysize"),
    "pyexpat.xmlparser": _own("CurrentByteIndex", "CurrentLineNumber"),
    "xml.etree.ElementTree.Element": lambda look, value: sys.modules["xml.etree.ElementTree"].tostring(value).decode(),
    "numpy.ndarray": _array,
    "numpy.generic": _represented,
    "numpy.random._generator.Generator": lambda look, value: look.of(value.bit_generator.state),
    "pandas.core.frame.DataFrame": _frame,
    "pandas.DataFrame": _frame,
    "pandas.Series": lambda look, value: _frame(look, value.to_frame()),
    "pandas.core.series.Series": lambda look, value: _frame(look, value.to_frame()),
    "pandas.Index": lambda look, value: "%s %s" % (value.dtype, _hash(repr(value.tolist()).encode())),
    "pandas.core.indexes.base.Index": lambda look, value: "%s %s" % (value.dtype, _hash(repr(value.tolist()).encode())),
    "logging.Logger": lambda look, value: "%s %d %d" % (value.name, value.level, len(value.handlers)),
    "zipfile.ZipFile": lambda look, value: look.all(value.namelist()),
    "threading.Thread": lambda look, value: str(value.is_alive()),
}
for _name in (
    "list_iterator list_reverseiterator tuple_iterator range_iterator dict_keyiterator enumerate zip map filter"
).split():
    _KINDS["builtins." + _name] = _reduced
for _name in "chain count cycle islice accumulate _tee repeat product zip_longest".split():
    _KINDS["itertools." + _name] = _reduced


def _drained(value):
    """What a value still had in it, in a way that leaves it used up."""
    try:
        return Description().of(_rest_of(value))
    except Exception as error:
        return "%s: %s" % (type(error).__name__, error)


def _rest_of(value):
    kind = type(value).__name__
    if isinstance(value, types.CoroutineType):
        try:
            return value.send(None)
        except StopIteration as end:
            return ["returned", end.value]
    if kind in ("LZMACompressor", "BZ2Compressor"):
        return value.flush()
    if kind == "Cursor":
        return value.fetchall()
    if kind == "xmlparser":
        return value.Parse("</root>", True)
    if isinstance(value, (io.IOBase,)) and not value.closed and _is_of_disk(value):
        return _rest_of_file(value)
    if hasattr(value, "__next__") and not isinstance(value, io.IOBase):
        return list(itertools.islice(value, MOST_DRAINED))
    return value


def _is_of_disk(value):
    return not isinstance(value, (io.BytesIO, io.StringIO))


def _rest_of_file(value):
    if value.writable():
        value.flush()
        return "written %s" % _before_offset(value.fileno())
    return value.read()
