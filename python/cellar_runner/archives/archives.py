"""The archives of a session: archive_open() and the functions that follow it."""

from __future__ import annotations

import os
from typing import Any

from ..pristine import BUILTINS as __builtins__
from ..values.reprs import is_a

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .archive import Archive
    from .results import Extracted, Hits, MemberBytes, MemberText


class Archives:
    """Remembers what was opened last. What reads archives is loaded with the first one."""

    def __init__(self, workspace="/workspace"):
        self._workspace = workspace
        self._current: Archive | None = None

    def open(self, source: Any, password: Any = None) -> Archive:
        from .opening import opened

        self._current = opened(source, password)
        return self._current

    def file(self, name: Any, archive: Any = None, start: Any = 0) -> MemberText | MemberBytes:
        return self._chosen(archive).file(name, start)

    def search(self, query: Any, regex: Any = False, archive: Any = None) -> Hits:
        from .search import search

        return search(self._chosen(archive), query, regex)

    def extract(self, name_or_names: Any = None, to: Any = None, archive: Any = None) -> Extracted:
        """Into a folder of the archive's name in the workspace, unless `to` names another."""
        from .extraction import extract
        from .limits import ArchiveError

        chosen = self._chosen(archive)
        if to is None:
            stem = os.path.splitext(os.path.basename(chosen.name))[0].strip(". ")
            to = os.path.join(self._workspace, _plain(stem) or "archive")
        root = os.path.realpath(self._workspace)
        folder = os.path.realpath(os.path.join(root, os.fspath(to)))
        if folder != root and not folder.startswith(root + os.sep):
            raise ArchiveError("{} is outside of {}: name a folder in it with to=...".format(folder, root))
        return extract(chosen, name_or_names, folder)

    def _chosen(self, archive):
        from .archive import Archive
        from .limits import ArchiveError

        if is_a(archive, Archive):
            return archive
        if archive is not None:
            return self.open(archive)
        if self._current is None:
            raise ArchiveError('no archive is open: archive_open("/workspace/data.zip") opens one')
        return self._current


def _plain(name):
    return "".join(letter if letter.isprintable() and letter not in "/\\" else "_" for letter in name)[:100]
