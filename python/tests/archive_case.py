"""Archives and documents made for tests, and a test case with the functions for them."""

import contextlib
import io
import os
import struct
import tarfile
import tempfile
import unittest
import zipfile
import zlib

from cellar_runner.archives.archives import Archives
from cellar_runner.archives.limits import ArchiveError

CONTENT_TYPES = "<Types xmlns='http://schemas.openxmlformats.org/package/2006/content-types'/>"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


class ArchiveCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)
        self.archives = Archives(self.folder)

    def write(self, name, data):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    @contextlib.contextmanager
    def refused(self, *parts, kind=ArchiveError):
        with self.assertRaises(kind) as raised:
            yield raised
        for part in parts:
            self.assertIn(part, str(raised.exception))


def zipped(*files, packing=zipfile.ZIP_DEFLATED):
    """A ZIP archive of (name or ZipInfo, content)."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", packing) as file:
        for name, content in files:
            file.writestr(name, content, packing)
    return buffer.getvalue()


def tarred(*members, packing="", form=tarfile.PAX_FORMAT):
    """A TAR archive of (name, content) or of TarInfo."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:" + packing, format=form) as file:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                file.addfile(member)
                continue
            info = tarfile.TarInfo(member[0])
            info.size = len(member[1])
            file.addfile(info, io.BytesIO(member[1]))
    return buffer.getvalue()


def tar_header(name=b"a.txt", size=b"00000000000\0", kind=b"0", link=b""):
    """A header with any fields, and the right checksum."""
    head = name.ljust(100, b"\0") + b"0000644\0" * 3 + size.ljust(12, b"\0") + b"00000000000\0"
    tail = kind + link.ljust(100, b"\0") + b"ustar\x0000" + b"\0" * 247
    total = sum(head) + 8 * 32 + sum(tail)
    return head + b"%06o\0 " % total + tail


def related(*targets):
    """The relations of a part: (id, kind, target)."""
    rows = "".join("<Relationship Id='{}' Type='{}/{}' Target='{}'/>".format(i, RELATIONS, k, t) for i, k, t in targets)
    return (
        "<Relationships xmlns='http://schemas.openxmlformats.org/package/2006/relationships'>"
        + rows
        + "</Relationships>"
    )


def docx(body, *more):
    return zipped(
        ("[Content_Types].xml", CONTENT_TYPES),
        ("_rels/.rels", related(("r1", "officeDocument", "word/document.xml"))),
        ("word/document.xml", "<w:document xmlns:w='{}'><w:body>{}</w:body></w:document>".format(WORD, body)),
        *more,
    )


def xlsx(rows, strings="", before=""):
    return zipped(
        ("[Content_Types].xml", CONTENT_TYPES),
        ("_rels/.rels", related(("r1", "officeDocument", "xl/workbook.xml"))),
        (
            "xl/workbook.xml",
            before
            + "<workbook xmlns='{}' xmlns:r='{}'><sheets><sheet name='Data' sheetId='1' r:id='s1'/></sheets></workbook>".format(
                SHEET, RELATIONS
            ),
        ),
        (
            "xl/_rels/workbook.xml.rels",
            related(("s1", "worksheet", "worksheets/sheet1.xml"), ("t1", "sharedStrings", "sharedStrings.xml")),
        ),
        ("xl/sharedStrings.xml", "<sst xmlns='{}'>{}</sst>".format(SHEET, strings)),
        ("xl/worksheets/sheet1.xml", "<worksheet xmlns='{}'><sheetData>{}</sheetData></worksheet>".format(SHEET, rows)),
    )


def pptx(*slides):
    """Slides in the order of the presentation, which is not that of their files."""
    count = len(slides)
    ids = "".join("<p:sldId id='{}' r:id='s{}'/>".format(256 + number, number) for number in range(count))
    files = [
        ("[Content_Types].xml", CONTENT_TYPES),
        ("_rels/.rels", related(("r1", "officeDocument", "ppt/presentation.xml"))),
        (
            "ppt/presentation.xml",
            "<p:presentation xmlns:p='p' xmlns:r='{}'><p:sldIdLst>{}</p:sldIdLst></p:presentation>".format(
                RELATIONS, ids
            ),
        ),
        (
            "ppt/_rels/presentation.xml.rels",
            related(*[("s%d" % n, "slide", "slides/slide%d.xml" % (count - n)) for n in range(count)]),
        ),
    ]
    for number, text in enumerate(slides):
        body = "<p:sld xmlns:p='p' xmlns:a='{}'><a:p><a:r><a:t>{}</a:t></a:r></a:p></p:sld>".format(DRAWING, text)
        files.append(("ppt/slides/slide%d.xml" % (count - number), body))
    files.append(("ppt/slides/_rels/slide%d.xml.rels" % count, related(("n", "notesSlide", "../notesSlides/n1.xml"))))
    files.append(
        (
            "ppt/notesSlides/n1.xml",
            "<p:notes xmlns:p='p' xmlns:a='{}'><a:p><a:t>Slowly</a:t></a:p></p:notes>".format(DRAWING),
        )
    )
    return zipped(*files)


def epub(*chapters, package=None):
    items = "".join("<item id='c{0}' href='text/c{0}.xhtml'/>".format(number) for number in range(len(chapters)))
    order = "".join("<itemref idref='c{}'/>".format(number) for number in range(len(chapters)))
    made = (
        "<package xmlns='http://www.idpf.org/2007/opf'><metadata xmlns:dc='http://purl.org/dc/elements/1.1/'>"
        "<dc:title>A Book</dc:title></metadata><manifest>" + items + "</manifest><spine>" + order + "</spine></package>"
    )
    container = "<container><rootfiles><rootfile full-path='OEBPS/book.opf'/></rootfiles></container>"
    pages = [("OEBPS/text/c%d.xhtml" % number, text) for number, text in enumerate(chapters)]
    return zipped(
        ("mimetype", "application/epub+zip"),
        ("META-INF/container.xml", container),
        ("OEBPS/book.opf", package or made),
        *pages,
    )


def stream(attributes, data, packed=True):
    """The body of a PDF's stream object."""
    if packed:
        data, attributes = zlib.compress(data), attributes + b" /Filter /FlateDecode"
    return b"<< %s /Length %d >>\nstream\n%s\nendstream" % (attributes, len(data), data)


def pdf(objects, trailer=b"/Root 1 0 R", with_table=True):
    """A PDF file of these objects by number."""
    result, places = b"%PDF-1.7\n", {}
    for number, body in objects.items():
        places[number] = len(result)
        result += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    if not with_table:
        return result + b"trailer << " + trailer + b" >>\n"
    start = len(result)
    size = max(objects) + 1
    result += b"xref\n0 %d\n" % size
    for number in range(size):
        result += b"%010d 00000 n \n" % places[number] if number in places else b"0000000000 65535 f \n"
    return result + b"trailer << /Size %d %s >>\nstartxref\n%d\n%%%%EOF\n" % (size, trailer, start)


HELVETICA = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"


def page_objects(content, font=HELVETICA, resources=b"", **more):
    """One page with a font F1; `more` are further objects, as o9=..."""
    objects = {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        2: b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        3: b"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> %s >> >>" % resources,
        4: stream(b"", content),
        5: font,
    }
    objects.update({int(name[1:]): body for name, body in more.items()})
    return objects


def zip_end(count, size, offset):
    return b"PK\5\6" + struct.pack("<4H2LH", 0, 0, min(count, 65535), min(count, 65535), size, offset, 0)


GOOD = zipped(("notes/a.txt", "first line\nThe Answer is 42\n"), ("b.txt", "second file"))
