"""The libraries that the values of a snapshot need, and their versions."""

from __future__ import annotations

import re
import sys
from typing import Iterable

from ..module_finder import import_own
from ..pristine import BUILTINS as __builtins__
from ..values.reprs import exact, is_a

KEPT = 200
TEXT_LIMIT = 100

_modules = sys.modules
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
_OWN = frozenset(("__main__", "builtins", "cellar", "cellar_runner", "cloudpickle", "lz4"))
_STANDARD = getattr(sys, "stdlib_module_names", None)
_NUMBERS = re.compile(r"(\d+)(?:\.(\d+))?")


def versions(modules: Iterable[str]) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for top in sorted({name.partition(".")[0] for name in modules}):
        if top in _OWN or len(found) >= KEPT:
            continue
        version = version_of(top)
        if version is not None:
            found[exact(top)[:TEXT_LIMIT]] = version
    return found


def version_of(top: str) -> str | None:
    """The version of a loaded library; None if it has none or comes with Python."""
    module = _modules.get(top)
    if module is None or (_STANDARD is not None and top in _STANDARD):
        return None
    if _STANDARD is None and "-packages" not in str(vars(module).get("__file__")):
        return None
    version = _recorded(module, top)
    return exact(version)[:TEXT_LIMIT] if is_a(version, str) else None


def _recorded(module, top):
    try:
        version = getattr(module, "__version__", None)
        return version if is_a(version, str) else import_own("importlib.metadata").version(top)
    except BaseException:
        return None


def differences(kept: dict[str, str]) -> list[str]:
    """Warnings about libraries whose version has changed."""
    warnings = []
    for top, before in kept.items():
        now = version_of(top)
        if now is not None and _short(now) != _short(before):
            text = "{} is {} now and was {} when the snapshot was written"
            warnings.append(text.format(top, now, before))
    return warnings


def _short(version):
    found = _NUMBERS.match(version)
    return found.groups() if found else version


def distribution_of(module: str) -> str:
    return _DISTRIBUTIONS.get(module, module)
