"""One line of advice for the errors that models meet in a sandbox."""

from __future__ import annotations

import errno
import sys

from .bridge import HostError
from .pristine import BUILTINS as __builtins__

READABLE = ("/workspace", "/tmp")

_DISTRIBUTIONS = {
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "fitz": "pymupdf",
    "git": "gitpython",
    "PIL": "pillow",
    "pptx": "python-pptx",
    "serial": "pyserial",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
_NETWORK_ERRNOS = frozenset(
    getattr(errno, name)
    for name in ("ENETUNREACH", "EHOSTUNREACH", "ENETDOWN", "EADDRNOTAVAIL")
    if hasattr(errno, name)
)
_NETWORK_TYPES = frozenset(
    ("gaierror", "ConnectError", "ConnectTimeout", "ClientConnectorError", "NameResolutionError")
)
_WRITE_ERRNOS = frozenset((errno.EROFS, errno.EACCES, errno.EPERM))
_NETWORK_HINT = "there is no network in this sandbox: work with local data"


def hint_for(error, network):
    """A hint or None; never raises but for an interrupt."""
    try:
        return _hint(error, network)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None


def _hint(error, network):
    if isinstance(error, HostError):
        return error.hint
    if isinstance(error, ModuleNotFoundError):
        return _missing_module(error)
    if not network and _is_network(error):
        return _NETWORK_HINT
    if isinstance(error, OSError):
        return _file(error)
    if isinstance(error, RuntimeError) and "running event loop" in str(error):
        if "cannot be called" in str(error) or "already running" in str(error):
            return "this cell already runs in an event loop: use `await` at top level instead"
    return None


def _missing_module(error):
    name = error.name
    if not isinstance(name, str):
        return None
    top = name.partition(".")[0]
    if top in sys.modules or top in getattr(sys, "stdlib_module_names", ()):
        return None
    if top == "IPython":
        return "display() is built in and magics work without IPython"
    return "packages are added from outside: cellar install {}".format(
        _DISTRIBUTIONS.get(top, top)
    )


def _is_network(error):
    seen = set()
    waiting = [error]
    while waiting and len(seen) < 20:
        item = waiting.pop()
        if not isinstance(item, BaseException) or id(item) in seen:
            continue
        seen.add(id(item))
        kinds = [kind.__name__ for kind in type(item).__mro__]
        if any(kind in _NETWORK_TYPES for kind in kinds):
            return True
        if isinstance(item, OSError) and item.errno in _NETWORK_ERRNOS:
            return True
        waiting += [item.__cause__, item.__context__, getattr(item, "reason", None)]
        waiting += [part for part in item.args if isinstance(part, BaseException)]
    return False


def _file(error):
    path = error.filename
    if isinstance(path, bytes):
        path = path.decode("utf-8", "replace")
    if not isinstance(path, str) or not path.startswith("/"):
        return None
    if any(path == folder or path.startswith(folder + "/") for folder in READABLE):
        return None
    if isinstance(error, FileNotFoundError):
        return "only /workspace, /tmp and mounted folders exist in this sandbox"
    if error.errno in _WRITE_ERRNOS:
        return "only /workspace and /tmp can be written in this sandbox"
    return None
