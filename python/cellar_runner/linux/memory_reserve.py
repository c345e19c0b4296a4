"""Memory kept back from cells, so that a MemoryError can still be reported when a cell has used up its own."""

from __future__ import annotations

try:
    import resource
except ImportError:
    resource = None  # type: ignore[assignment]

from ..pristine import BUILTINS as __builtins__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

RESERVED_BYTES = 16 << 20
# How a process leaves that has no memory left to say so with.
EXIT_CODE = 86

_open = open
# Only used where `resource` is there.
_setrlimit: Any = getattr(resource, "setrlimit", None)
_DATA: Any = getattr(resource, "RLIMIT_DATA", None)


def limits(allowed: int) -> tuple[int, int]:
    """(soft, hard) limit of a process that may have so many bytes of data."""
    return allowed, allowed + RESERVED_BYTES


class Reserve:
    """The memory between the soft limit, which cells meet, and the hard one."""

    def __init__(self) -> None:
        # (soft, hard): with the reserve closed, and with it open.
        self._usual: Any = None
        self._whole: Any = None
        self.is_open = False

    def read_limits(self) -> None:
        """Called once the limits of this process are set; prepares all that `open` needs."""
        if resource is None:
            return
        soft, hard = resource.getrlimit(_DATA)
        if 0 <= soft < hard:
            self._usual, self._whole = (soft, hard), (hard, hard)

    def open(self) -> None:
        """Raises the soft limit to the hard one; must work without free memory."""
        if self._whole is None:
            return
        try:
            _setrlimit(_DATA, self._whole)
        except (OSError, ValueError):
            # A cell has lowered the hard limit.
            return
        self.is_open = True

    def close(self) -> None:
        """Restores the soft limit once enough was freed; before that nothing could run."""
        try:
            if data_in_use() > self._usual[0] - RESERVED_BYTES:
                return
        except (OSError, MemoryError):
            return
        try:
            _setrlimit(_DATA, self._usual)
        except (OSError, ValueError):
            self._whole = None
        self.is_open = False


def data_in_use() -> int:
    """Bytes of data that this process has, as RLIMIT_DATA counts them."""
    with _open("/proc/self/status", "rb") as status:
        for line in status:
            if line.startswith(b"VmData:"):
                return int(line.split()[1]) * 1024
    return 0
