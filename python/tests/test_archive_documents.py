"""PDF, DOCX, XLSX, PPTX, EPUB and HTML: their text, and the places in it."""

import importlib.util
import io
import unittest
import zlib
from unittest import mock

from archive_case import ArchiveCase, docx, epub, page_objects, pdf, pptx, stream, xlsx, zipped

from cellar_runner.archives.pdf import pages

PARAGRAPHS = (
    "<w:p><w:r><w:t>First </w:t></w:r><w:r><w:t>paragraph</w:t></w:r></w:p>"
    "<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t></w:r></w:p>"
    "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>x</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>y</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"
    "<w:p><w:del><w:r><w:t>gone</w:t></w:r></w:del><w:r><w:t>&lt;last&gt;</w:t></w:r></w:p>"
)


class OfficeTest(ArchiveCase):
    def test_word(self):
        notes = ("word/footnotes.xml", "<w:f xmlns:w='w'><w:p><w:t>a footnote</w:t></w:p></w:f>")
        archive = self.archives.open(
            self.write("a.docx", docx(PARAGRAPHS, notes, ("word/media/image1.png", b"\x89PNG\0")))
        )
        self.assertEqual(
            repr(archive), "a.docx: docx, 2 parts, 1 file, 5 bytes\ndocument\nfootnotes\nword/media/image1.png  5"
        )
        self.assertEqual(archive.file("document"), "First paragraph\na\tb\nc\nx\ty\n<last>")
        self.assertEqual(archive.file("word/media/image1.png"), b"\x89PNG\0")
        (hit,) = self.archives.search("FOOT")
        self.assertEqual((hit.file, hit.place), ("footnotes", "line 1"))
        self.assertEqual([path[-13:] for path in self.archives.extract("document", to="out")], ["/document.txt"])

    def test_excel(self):
        rows = (
            "<row r='1'><c r='A1' t='s'><v>0</v></c><c r='B1' t='inlineStr'><is><t>inline</t></is></c></row>"
            "<row r='3'><c r='A3'><v>3.5</v></c><c r='D3' t='b'><v>1</v></c><c r='XFD3' t='str'><v>far</v></c></row>"
        )
        self.archives.open(xlsx(rows, "<si><r><t>sha</t></r><r><t>red</t></r><rPh><t>aid</t></rPh></si>"))
        self.assertEqual(self.archives.file("Data"), "shared\tinline\n3.5\t\t\tTRUE\tXFD: far")
        self.assertEqual(
            [(hit.file, hit.place) for hit in self.archives.search("a")], [("Data", "A1"), ("Data", "XFD3")]
        )

    def test_excel_of_a_library(self):
        if importlib.util.find_spec("openpyxl") is None:
            self.skipTest("no openpyxl")
        import datetime

        import openpyxl

        book = openpyxl.Workbook()
        book.active.title = "Sales"
        book.active.append(["item", "when", "price"])
        book.active.append(["lamp", datetime.date(2024, 5, 1), 12.5])
        book.active.append(["chair", datetime.datetime(2024, 5, 1, 12, 30), 80])
        book.create_sheet("Hidden").sheet_state = "hidden"
        buffer = io.BytesIO()
        book.save(buffer)
        archive = self.archives.open(buffer.getvalue())
        self.assertEqual(archive.names(), ["Sales", "Hidden"])
        self.assertIn("Hidden (hidden)", repr(archive))
        self.assertEqual(archive.file(1), "item\twhen\tprice\nlamp\t2024-05-01\t12.5\nchair\t2024-05-01 12:30:00\t80")

    def test_powerpoint_in_its_order(self):
        archive = self.archives.open(pptx("Welcome", "The end"))
        self.assertEqual(archive.names(), ["slide 1", "slide 2"])
        self.assertEqual(archive.file("slide 1"), "Welcome\nnotes: Slowly")
        self.assertEqual(archive.file(2), "The end")

    def test_epub(self):
        archive = self.archives.open(epub("<html><p>Call me Ishmael.</p></html>", "<html><p>Two</p></html>"))
        self.assertEqual(archive.names(), ["OEBPS/text/c0.xhtml", "OEBPS/text/c1.xhtml"])
        self.assertEqual(archive.metadata, {"title": "A Book"})
        self.assertEqual(archive.file(1), "Call me Ishmael.")
        self.assertEqual(self.archives.search("ishmael")[0].file, "OEBPS/text/c0.xhtml")

    def test_a_broken_document_is_a_zip(self):
        data = zipped(("[Content_Types].xml", "x"), ("xl/workbook.xml", "<not xml"))
        archive = self.archives.open(data)
        self.assertEqual(archive.kind, "zip")
        self.assertIn("looks like xlsx, but is shown as zip", repr(archive))
        self.assertEqual(archive.file("xl/workbook.xml"), "<not xml")


class HtmlTest(ArchiveCase):
    def text(self, page):
        return str(self.archives.open(page if isinstance(page, bytes) else page.encode()).file("text"))

    def test_what_a_page_shows(self):
        page = (
            "<!DOCTYPE html><html><head><title>A &amp; B</title><style>p{}</style></head><body><h1>Head</h1>"
            "<script>var x = '<p>no</p>';</script><p>one\n two <b>bold</b></p><!-- <p>no</p> --><ul><li>first<li>second</ul>"
            "<table><tr><td>1</td><td>2</td></tr></table><pre>a\n  b</pre><a title='x > y'>link</a> 1 < 2 &eacute;</body></html>"
        )
        expected = "A & B\n\nHead\none two bold\n- first\n- second\n1\t2\na\n  b\nlink 1 < 2 é"
        self.assertEqual(self.text(page), expected)

    def test_character_sets(self):
        self.assertEqual(self.text("<html><meta charset=koi8-r>мир".encode("koi8-r")), "мир")
        self.assertEqual(self.text("<html>caf\xe9".encode("latin-1")), "café")
        self.assertEqual(self.text("<html><meta charset=unicode_escape>\\u0041\xe9".encode("latin-1")), "\\u0041é")

    def test_unfinished_markup(self):
        for page, text in (
            ("<html><p", ""),
            ("<html>a<!--", "a"),
            ("<html>x<script>", "x"),
            ("<html><p title='>a", "a"),
        ):
            self.assertEqual(self.text(page), text, page)


class PdfTest(ArchiveCase):
    """What the reader of the package does, whichever libraries are installed."""

    def setUp(self):
        super().setUp()
        for name in ("_with_pymupdf", "_with_pypdf"):
            patch = mock.patch.object(pages, name, lambda data, password: None)
            patch.start()
            self.addCleanup(patch.stop)

    def text(self, content, **options):
        return str(self.archives.open(pdf(page_objects(content, **options))).file(1))

    def test_text_operators(self):
        content = (
            b"BT /F1 12 Tf 14 TL 72 700 Td (Hello) Tj ( World) Tj T* (Next \\(line\\)) Tj "
            b"(third) ' 1 2 (fourth) \" 0 -14 Td [(Ker) 20 (ned) -600 (word)] TJ ET"
        )
        self.assertEqual(self.text(content), "Hello World\nNext (line)\nthird\nfourth\nKerned word")

    def test_where_text_stands_makes_lines(self):
        content = (
            b"BT /F1 10 Tf 1 0 0 1 50 700 Tm (left) Tj 1 0 0 1 300 700 Tm (right) Tj 1 0 0 1 50 688 Tm (below) Tj ET "
            b"q 1 0 0 1 0 -100 cm BT 1 0 0 1 50 688 Tm (far below) Tj ET Q"
        )
        self.assertEqual(self.text(content), "left   right\nbelow\n\nfar below")

    def test_encodings(self):
        differences = b"<< /Subtype /Type1 /Encoding << /BaseEncoding /WinAnsiEncoding /Differences [65 /eacute /fi 70 /uni20AC] >> >>"
        self.assertEqual(self.text(b"BT /F1 9 Tf (ABCF\\200) Tj ET", font=differences), "éfiC€€")
        mac = b"<< /Subtype /Type1 /Encoding /MacRomanEncoding >>"
        self.assertEqual(self.text(b"BT /F1 9 Tf <8e> Tj ET", font=mac), "é")
        standard = b"<< /Subtype /Type1 /BaseFont /Times >>"
        self.assertEqual(self.text(b"BT /F1 9 Tf (it's \\256) Tj ET", font=standard), "it’s fi")

    def test_maps_to_unicode(self):
        cmap = (
            b"1 begincodespacerange <0000> <FFFF> endcodespacerange 1 beginbfchar <0001> <00660069> endbfchar "
            b"2 beginbfrange <0010> <0020> <0041> <0030> <0031> [<4E2D> <6587>] endbfrange"
        )
        font = b"<< /Subtype /Type0 /ToUnicode 9 0 R /DescendantFonts [<< /DW 1000 /W [1 [500] 16 32 600] >>] >>"
        text = self.text(b"BT /F1 9 Tf <000100100012003000319999> Tj ET", font=font, o9=stream(b"", cmap))
        self.assertEqual(text, "fiAC中文\ufffd")

    def test_forms_pictures_and_metadata(self):
        resources = b"/XObject << /Fm 8 0 R /Im 9 0 R >>"
        form = stream(
            b"/Type /XObject /Subtype /Form /Resources << /Font << /F1 5 0 R >> >>", b"BT /F1 9 Tf (in a form) Tj ET"
        )
        objects = page_objects(b"/Fm Do /Im Do BI /W 1 /H 1 ID \x00EI\x01 EI BT ET", resources=resources, o8=form)
        objects[9] = stream(b"/Type /XObject /Subtype /Image /Width 1 /Height 1", b"\0\0\0")
        objects[10] = b"<< /Title <FEFF00C9> /Author (Ada \\(L.\\)) >>"
        archive = self.archives.open(self.write("a.pdf", pdf(objects, b"/Root 1 0 R /Info 10 0 R")))
        self.assertEqual(archive.file("page 1"), "in a form")
        expected = "a.pdf: pdf, 1 page\ntitle: É\nauthor: Ada (L.)\npages: 1\nimages: 1\nread_with: Cellar's own reader\npage 1"
        self.assertEqual(repr(archive), expected)

    def test_object_streams_and_their_table(self):
        inner = [(1, b"<< /Type /Catalog /Pages 2 0 R >>"), (2, b"<< /Type /Pages /Kids [3 0 R] >>")]
        inner += [
            (3, b"<< /Type /Page /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>"),
            (5, page_objects(b"")[5]),
        ]
        heads, bodies = b"", b""
        for number, body in inner:
            heads += b"%d %d " % (number, len(bodies))
            bodies += body + b" "
        pack = stream(b"/Type /ObjStm /N 4 /First %d" % len(heads), heads + bodies)
        data = b"%PDF-1.5\n"
        places = {}
        for number, body in ((4, stream(b"", b"BT /F1 9 Tf (packed) Tj ET")), (6, pack)):
            places[number] = len(data)
            data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
        rows = [
            (0, 0, 0),
            (2, 6, 0),
            (2, 6, 1),
            (2, 6, 2),
            (1, places[4], 0),
            (2, 6, 3),
            (1, places[6], 0),
            (1, len(data), 0),
        ]
        plain = [bytes((kind,)) + place.to_bytes(2, "big") + bytes((index,)) for kind, place, index in rows]
        # With PNG's "up" predictor, as most writers do.
        above, packed = bytes(4), b""
        for row in plain:
            packed += b"\2" + bytes((one - other) & 255 for one, other in zip(row, above))
            above = row
        table = stream(
            b"/Type /XRef /Size 8 /W [1 2 1] /Root 1 0 R /DecodeParms << /Predictor 12 /Columns 4 >>", packed
        )
        data += b"7 0 obj\n%s\nendobj\nstartxref\n%d\n%%%%EOF" % (table, len(data))
        archive = self.archives.open(data)
        self.assertEqual((str(archive.file(1)), archive.notes), ("packed", []))
        # The same without its table.
        archive = self.archives.open(data.replace(b"startxref", b"startnone"))
        self.assertEqual((str(archive.file(1)), len(archive.notes)), ("packed", 1))

    def test_other_packings(self):
        content = b"BT /F1 9 Tf (packed text) Tj ET"
        cases = {
            b"/ASCIIHexDecode": content.hex().encode() + b">",
            b"/RunLengthDecode": bytes((len(content) - 1,)) + content + b"\x80",
            b"[/ASCIIHexDecode /FlateDecode]": zlib.compress(content).hex().encode(),
            b"/LZWDecode": _lzw(content),
        }
        for name, data in cases.items():
            objects = page_objects(b"")
            objects[4] = stream(b"/Filter " + name, data, packed=False)
            self.assertEqual(self.archives.open(pdf(objects)).file(1), "packed text", name)

    def test_hits_name_the_page(self):
        self.archives.open(pdf(page_objects(b"BT /F1 9 Tf (needle) Tj ET")))
        (hit,) = self.archives.search("NEEDLE")
        self.assertEqual((hit.file, hit.place, hit), ("page 1", "line 1", "needle"))

    def test_an_encrypted_file_names_the_library(self):
        with self.refused("encrypted", "pypdf or pymupdf"):
            self.archives.open(pdf(page_objects(b""), b"/Root 1 0 R /Encrypt << /Filter /Standard >>"))

    def test_a_plot(self):
        if importlib.util.find_spec("matplotlib") is None:
            self.skipTest("no matplotlib")
        from matplotlib.backends.backend_pdf import FigureCanvasPdf
        from matplotlib.figure import Figure

        figure, buffer = Figure(), io.BytesIO()
        figure.text(0.1, 0.8, "Known answer: é")
        FigureCanvasPdf(figure).print_pdf(buffer)
        self.assertEqual(self.archives.open(buffer.getvalue()).file(1), "Known answer: é")


class PdfLibraryTest(ArchiveCase):
    def test_each_library_says_that_it_was_used(self):
        data = pdf(page_objects(b"BT /F1 12 Tf 72 700 Td (Hello library) Tj ET"))
        found = [name for name in ("pymupdf", "pypdf") if importlib.util.find_spec(name)]
        if not found:
            self.skipTest("neither pymupdf nor pypdf is installed")
        for name in found:
            others = [other for other in ("pymupdf", "pypdf") if other != name]
            with mock.patch.object(pages, "_with_" + others[0], lambda data, password: None):
                archive = self.archives.open(data)
                self.assertEqual((str(archive.file(1)), archive.metadata["read_with"]), ("Hello library", name))


def _lzw(data):
    """Codes of nine bits only, with a clear code often enough."""
    bits = ""
    for start in range(0, len(data), 100):
        bits += format(256, "09b") + "".join(format(byte, "09b") for byte in data[start : start + 100])
    bits += format(257, "09b")
    bits += "0" * (-len(bits) % 8)
    return bytes(int(bits[place : place + 8], 2) for place in range(0, len(bits), 8))


if __name__ == "__main__":
    unittest.main()
