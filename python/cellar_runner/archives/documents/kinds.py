"""Which document a ZIP archive is."""

from __future__ import annotations

from typing import Any

from ...pristine import BUILTINS as __builtins__
from ..limits import ArchiveError


def document_in(archive: Any) -> Any:
    """The document, or None for an archive of other files. One that is broken is left as an archive, with a note."""
    names = {entry.name for entry in archive.entries}
    kind = _kind(names)
    if not kind:
        return None
    try:
        return _document(kind, archive)
    except ArchiveError as error:
        archive.notes.append("looks like {}, but is shown as zip: {}".format(kind, error))
        return None


def _kind(names):
    if "META-INF/container.xml" in names and "mimetype" in names:
        return "epub"
    if "[Content_Types].xml" not in names:
        return ""
    folders = {name.partition("/")[0] for name in names}
    return next((kind for folder, kind in (("word", "docx"), ("xl", "xlsx"), ("ppt", "pptx")) if folder in folders), "")


def _document(kind, archive):
    if kind == "docx":
        from .word import Word

        return Word(archive)
    if kind == "xlsx":
        from .sheets import Sheets

        return Sheets(archive)
    if kind == "pptx":
        from .slides import Slides

        return Slides(archive)
    from .epub import Epub

    return Epub(archive)
