"""PDF: its pages as text, by pymupdf or pypdf where one is installed, else by the reader of this package."""

from __future__ import annotations

import io
from typing import Any

from ...pristine import BUILTINS as __builtins__
from ...values.reprs import cap, guarded_str, is_a, type_name
from ..containers.members import Entry
from ..documents.document import Document
from ..libraries import library
from ..limits import MOST_ENTRIES, ArchiveError, Meter, shown

MOST_BYTES = 128 << 20
_TOLD = ("Title", "Author", "Subject", "Creator", "CreationDate")


class Pages(Document):
    kind = "pdf"
    noun = "page"

    def __init__(self, source, password=None):
        super().__init__(source)
        Meter(source.name, MOST_BYTES).announce(source.size)
        self._password = password
        with source:
            data = source.read_at(0, source.size)
        self._reader = self._chosen(data)
        images = self._reader.images
        told = {key: value for key, value in self._reader.metadata.items() if value}
        self.metadata.update(told, pages=len(self._reader), images=images, read_with=self._reader.name)
        if getattr(self._reader, "note", ""):
            self.notes.append(self._reader.note)
        if len(self._reader) > MOST_ENTRIES:
            raise ArchiveError("{} has more than {:,} pages: it is not opened".format(shown(source.name), MOST_ENTRIES))
        for number in range(1, len(self._reader) + 1):
            self.add("page {}".format(number), kind="text")

    def _chosen(self, data):
        """The first reader that opens it; the own one says what is wrong."""
        for make in (_with_pymupdf, _with_pypdf):
            try:
                reader = make(data, self._password)
            except ArchiveError:
                raise
            except Exception as error:
                reason = cap(guarded_str(error) or type_name(type(error)), 200)
                self.notes.append("{} failed: {}".format(make.__name__[6:], reason))
                continue
            if reader is not None:
                return reader
        from .own_reader import OwnReader

        try:
            return OwnReader(data)
        except ArchiveError as error:
            raise ArchiveError("{}: {}".format(shown(self.source.name), error)) from None

    def text(self, entry: Entry, meter: Meter) -> str:
        try:
            text = self._reader.text(entry.number, meter)
        except ArchiveError as error:
            raise ArchiveError("{}: {}".format(entry.address, error)) from None
        except Exception as error:
            reason = cap(guarded_str(error) or type_name(type(error)), 200)
            raise ArchiveError(
                "{} is damaged: {}; the other pages may be whole".format(entry.address, reason)
            ) from None
        meter.add(len(text))
        return text


def _metadata(found: Any) -> dict[str, str]:
    told = {}
    for key in _TOLD:
        value = found.get(key) if is_a(found, dict) else None
        if value:
            told[key.lower()] = cap(guarded_str(value) or "", 300)
    return told


def _locked(password):
    if password is None:
        return ArchiveError('the PDF is encrypted: archive_open(..., password="...") opens it')
    return ArchiveError("the password does not fit the PDF: try another one")


def _with_pymupdf(data, password):
    pymupdf = library("pymupdf")
    if pymupdf is None:
        return None
    pymupdf.TOOLS.mupdf_display_errors(False)
    document = pymupdf.open(stream=data, filetype="pdf")
    if document.needs_pass and not (password is not None and document.authenticate(password.decode("utf-8"))):
        raise _locked(password)
    return _MuReader(document)


class _MuReader:
    name = "pymupdf"

    def __init__(self, document):
        self._document = document
        found = document.metadata or {}
        self.metadata = _metadata({key: found.get(key[0].lower() + key[1:]) for key in _TOLD})
        pages = range(min(len(document), 5000))
        self.images = len({image[0] for number in pages for image in document.get_page_images(number)})

    def __len__(self):
        return len(self._document)

    def text(self, index: int, _: Meter) -> str:
        return self._document[index].get_text().strip("\n")


def _with_pypdf(data, password):
    pypdf = library("pypdf")
    if pypdf is None:
        return None
    reader = pypdf.PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt("" if password is None else password.decode("utf-8")):
        raise _locked(password)
    return _PypdfReader(reader)


class _PypdfReader:
    name = "pypdf"

    def __init__(self, reader):
        self._reader = reader
        found = {str(key).lstrip("/"): value for key, value in (reader.metadata or {}).items()}
        self.metadata = _metadata(found)
        self._count = len(reader.pages)
        seen = set()
        for number in range(min(self._count, 5000)):
            seen.update(_pictures(reader.pages[number], number))
        self.images = len(seen)

    def __len__(self):
        return self._count

    def text(self, index: int, _: Meter) -> str:
        return self._reader.pages[index].extract_text().strip("\n")


def _pictures(page, number):
    """What tells the pictures of a page apart from others, without reading them."""
    resources = page.get("/Resources")
    found = resources.get_object().get("/XObject") if resources is not None else None
    if found is None:
        return
    found = found.get_object()
    for name in list(found)[:1000]:
        if found[name].get("/Subtype") == "/Image":
            reference = found.raw_get(name)
            yield getattr(reference, "idnum", (number, name))
