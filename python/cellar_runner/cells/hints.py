"""One line of advice for the errors that models meet in a sandbox."""

from __future__ import annotations

import errno
import os
import re
import sys
from typing import Mapping

from ..errors import HostError, PolicyViolation
from ..module_finder import folder_with_module
from ..pristine import BUILTINS as __builtins__
from ..state.libraries import distribution_of
from .magics.errors import UsageError
from .preloaded_names import SHORT_NAMES

WORKSPACE = "/workspace"
WRITABLE = (WORKSPACE + "/", "/tmp/")

# Names that notebooks often use without their import.
_SHORT_NAMES = {"nx": "networkx", "tf": "tensorflow", **SHORT_NAMES}
_MODULES = frozenset(
    "array asyncio base64 bisect calendar collections contextlib copy csv dataclasses datetime decimal"
    " difflib enum fractions functools glob gzip hashlib heapq html io itertools json logging math"
    " operator os pathlib pickle platform pprint queue random re secrets shutil socket sqlite3"
    " statistics string struct subprocess sys tempfile textwrap threading time traceback types typing"
    " unicodedata unittest urllib uuid warnings zipfile zlib numpy pandas matplotlib scipy sklearn"
    " seaborn sympy requests networkx torch".split()
)
_PARTS = {
    name: module
    for module, names in {
        "collections": "Counter defaultdict deque namedtuple OrderedDict ChainMap",
        "dataclasses": "dataclass",
        "decimal": "Decimal",
        "fractions": "Fraction",
        "functools": "lru_cache partial reduce wraps",
        "itertools": "accumulate combinations permutations product chain groupby islice cycle",
        "pathlib": "Path",
        "typing": "Any Callable Dict Iterable List Optional Tuple Union",
        "math": "sqrt pi ceil floor factorial gcd",
    }.items()
    for name in names.split()
}
_NETWORK_ERRNOS = frozenset((errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EADDRNOTAVAIL))
_NETWORK_TYPES = frozenset(
    ("gaierror", "ConnectError", "ConnectTimeout", "ClientConnectorError", "NameResolutionError")
)
_WRITE_ERRNOS = frozenset((errno.EROFS, errno.EACCES, errno.EPERM))
_UNDEFINED = re.compile(r"name '(\w+)' is not defined")
_UNAWAITABLE = re.compile(r"object \w+ can't be used in 'await'|'\w+' object can't be awaited")
_FROM_HOST = (
    "files of the host are in the sandbox only where they were mounted (--mount .:/data)"
    " or copied in (--put FILE, putFile)"
)
_WRITE_HINT = (
    "only /workspace, /tmp and folders mounted for writing (:rw, readonly: false) can be written in this sandbox"
)
_NETWORK_HINT = "there is no network in this sandbox: work with local data"
_ALLOWED_HINT = "only these hosts can be reached, through HTTP_PROXY and HTTPS_PROXY: {}"
_CUT_HINT = "the network was cut since this session has private data: work with local data"
# The texts of the host's proxy, which clients include in their errors.
_REFUSED = "Forbidden by the sandbox"
_CUT = "Network cut by the sandbox"


def hint_for(error: BaseException, network: bool, lost_names: Mapping[str, str] = {}) -> str | None:
    """A hint or None; raises nothing but KeyboardInterrupt."""
    try:
        if isinstance(error, NameError):
            return _undefined(error, lost_names)
        return _hint(error, network)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None


def _hint(error, network):
    if isinstance(error, (HostError, PolicyViolation, UsageError)):
        return error.hint
    if isinstance(error, ModuleNotFoundError):
        return _missing_module(error)
    if not network:
        hint = _network(error)
        if hint:
            return hint
    if isinstance(error, OSError):
        if error.errno in (errno.ENOSPC, errno.EMFILE, errno.EPERM) and "inotify" in str(error):
            return "files can be watched only where the option limits.inotifyWatches allows it: poll instead"
        return _file(error)
    if isinstance(error, RuntimeError) and "running event loop" in str(error):
        if "cannot be called" in str(error) or "already running" in str(error):
            return "this cell already runs in an event loop: use `await` at top level instead"
    if isinstance(error, TypeError) and _UNAWAITABLE.search(str(error)):
        return "the value is not awaitable: use it without `await`"
    return None


def _undefined(error, lost_names):
    if isinstance(error, UnboundLocalError):
        return None
    found = _UNDEFINED.match(str(error))
    if found is None:
        return None
    name = found.group(1)
    if name in lost_names:
        return "'{}' was not kept when the session was restored: {}".format(name, lost_names[name])
    if name in _SHORT_NAMES:
        return "it is not imported yet: import {} as {}".format(_SHORT_NAMES[name], name)
    if name in _MODULES:
        return "it is not imported yet: import " + name
    if name in _PARTS:
        return "it is not imported yet: from {} import {}".format(_PARTS[name], name)
    return None


def _missing_module(error):
    name = error.name
    if not isinstance(name, str):
        return None
    top = name.partition(".")[0]
    if top in sys.modules or top in getattr(sys, "stdlib_module_names", ()):
        return None
    place = folder_with_module(top)
    if place is not None:
        return "{0} is in {1}, which is not on sys.path: sys.path.append({1!r})".format(top, place)
    return "packages are added from outside: cellar install {}".format(distribution_of(top))


def _network(error):
    allowed = os.environ.get("CELLAR_ALLOWED_HOSTS")
    for item in _related(error):
        if allowed and _CUT in str(item):
            return _CUT_HINT
        if _is_network(item) or (allowed and _REFUSED in str(item)):
            return _ALLOWED_HINT.format(allowed) if allowed else _NETWORK_HINT
    return None


def _related(error):
    """The error, its causes and contexts."""
    seen: set[int] = set()
    waiting = [error]
    while waiting and len(seen) < 20:
        item = waiting.pop()
        if not isinstance(item, BaseException) or id(item) in seen:
            continue
        seen.add(id(item))
        yield item
        waiting += [item.__cause__, item.__context__, getattr(item, "reason", None)]
        waiting += [part for part in item.args if isinstance(part, BaseException)]


def _is_network(error):
    if any(kind.__name__ in _NETWORK_TYPES for kind in type(error).__mro__):
        return True
    return isinstance(error, OSError) and error.errno in _NETWORK_ERRNOS


def _file(error):
    path = error.filename
    if isinstance(path, bytes):
        path = path.decode("utf-8", "replace")
    if not isinstance(path, str) or not os.path.isdir(WORKSPACE):
        return None
    if isinstance(error, FileNotFoundError):
        return None if _is_program(error) else _missing_file(path)
    if error.errno in _WRITE_ERRNOS:
        return _not_writable(error, os.path.abspath(path))
    return None


def _is_program(error):
    """Whether it was a program that was not found."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_globals.get("__name__") == "subprocess"


def _missing_file(path):
    whole = os.path.abspath(path)
    folder = os.path.dirname(whole)
    if (whole + "/").startswith(WRITABLE) and not os.path.isdir(folder):
        return "the folder {} does not exist: create it with os.makedirs; {}".format(folder, _FROM_HOST)
    return _FROM_HOST


def _not_writable(error, path):
    if (path + "/").startswith(WRITABLE):
        return None
    if error.errno == errno.EROFS or _is_read_only(path):
        return _WRITE_HINT
    if os.path.exists(path) and not os.access(path, os.R_OK):
        return "its permissions on the host do not let the sandbox's user read it"
    return "it is mounted for writing, but its permissions on the host do not let the sandbox's user write it"


def _is_read_only(path):
    while not os.path.exists(path):
        path = os.path.dirname(path)
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
