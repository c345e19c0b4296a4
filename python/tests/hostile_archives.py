"""Archives that are made to harm: each with what is done to it and what must come of it.

A row is (name, what makes its bytes, steps). A step is (call, argument, part of the error), or for a safe
result (call, argument, function that checks it).
"""
import bz2
import gzip
import io
import lzma
import random
import stat
import struct
import tarfile
import zipfile
import zlib

from archive_case import GOOD, docx, epub, page_objects, pdf, stream, tar_header, tarred, xlsx, zip_end, zipped

MB = 1 << 20
LAUGHS = "<!DOCTYPE d [<!ENTITY a 'ha'>" + "".join(
    "<!ENTITY {} '{}'>".format(chr(98 + level), "&{};".format(chr(97 + level)) * 10) for level in range(9)
) + "]>"


def patched(data, *changes):
    """Bytes with others at (signature, offset behind it)."""
    data = bytearray(data)
    for signature, offset, value in changes:
        start = data.index(signature) + offset
        data[start : start + len(value)] = value
    return bytes(data)


def sized(name, content, size, packing=zipfile.ZIP_DEFLATED):
    """A ZIP archive whose member says that it has another size."""
    field = struct.pack("<L", size)
    return patched(zipped((name, content), packing=packing), (b"PK\3\4", 22, field), (b"PK\1\2", 24, field))


def zeros(pack, megabytes):
    machine = pack()
    parts = [machine.compress(bytes(MB)) for _ in range(megabytes)]
    return b"".join(parts + [machine.flush()])


def gzip_machine():
    return zlib.compressobj(9, zlib.DEFLATED, 31)


def zip_of_raw(name, packed, size, method, checksum=0):
    """A ZIP archive with one member of these packed bytes."""
    fields = struct.pack("<3H2L2L2H", 20, 0, method, 0, checksum, len(packed), size, len(name), 0)
    local = b"PK\3\4" + fields + name + packed
    entry = b"PK\1\2" + struct.pack("<H", 20) + fields + struct.pack("<3H2L", 0, 0, 0, 0, 0) + name
    return local + entry + zip_end(1, len(entry), len(local))


def overlapping(count):
    """Many entries of the directory that all lead to one member."""
    one = zipped(("a", bytes(100_000)))
    place, end = one.index(b"PK\1\2"), one.index(b"PK\5\6")
    entries = b"".join(one[place:end].replace(b"a", bytes((97 + number,)), 1) for number in range(count))
    return one[:place] + entries + zip_end(count, len(entries), place)


def quoted_overlap():
    """The second member begins inside of the first."""
    data = bytearray(zipped(("a", b"x" * 5000), ("b", b"y" * 10), packing=zipfile.ZIP_STORED))
    second = data.index(b"PK\1\2", data.index(b"PK\1\2") + 4)
    data[second + 42 : second + 46] = struct.pack("<L", 40)
    return bytes(data)


def many_entries(count):
    entry = b"PK\1\2" + bytes(42) + b""
    return b"PK\3\4" + bytes(26) + entry * count + zip_end(1, len(entry) * count, 30)


def with_mode(name, mode, content=""):
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.external_attr = mode << 16
    return info, content


def member(name, kind, target=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def pax(records, name=b"real.txt", content=b""):
    data = records + bytes(-len(records) % 512)
    return tar_header(b"pax", b"%011o\0" % len(records), b"x") + data + tar_header(name, b"%011o\0" % len(content)) + content


def xz_with_dictionary(code):
    """The header of an xz stream that asks for a dictionary of any size."""
    data = bytearray(lzma.compress(b"x" * 100, check=lzma.CHECK_NONE))
    place = data.index(b"\x21\x01")
    data[place + 2] = code
    block = 12
    length = (data[block] + 1) * 4
    data[block + length - 4 : block + length] = struct.pack("<L", zlib.crc32(bytes(data[block : block + length - 4])))
    return bytes(data)


def raw_zip_name(name):
    """A member whose name zipfile would not write."""
    stand_in = b"n" * len(name)
    return zipped((stand_in.decode(), "text")).replace(stand_in, name)


def page(content, **options):
    return pdf(page_objects(content, **options))


def broken_page(**objects):
    made = page_objects(b"BT /F1 9 Tf (text) Tj ET")
    made.update({int(name[1:]): body for name, body in objects.items()})
    return pdf(made)


def nothing_harmful(result):
    return len(repr(result)) < 100_000


def noise(seed, size):
    source = random.Random(seed)
    return bytes(source.randrange(256) for _ in range(size))


def texts(*names):
    return lambda archive: archive.names() == list(names)


def is_refused(reason):
    return lambda result: len(result) == 1 and reason in repr(result)


BOMB = "as a decompression bomb does"
GOOD_MEMBER = ("good.txt", b"good")


def deflated(data):
    machine = zlib.compressobj(9, zlib.DEFLATED, -15)
    return machine.compress(data) + machine.flush()


RATIO = (
    ("a ratio bomb in ZIP", lambda: zipped(("a", bytes(20 * MB))), (("file", "a", BOMB), ("search", "x", nothing_harmful), ("extract", "a", BOMB))),
    ("a ratio bomb in bzip2 in ZIP", lambda: zipped(("a", bytes(20 * MB)), packing=zipfile.ZIP_BZIP2), (("file", "a", BOMB),)),
    ("a ratio bomb in LZMA in ZIP", lambda: zipped(("a", bytes(20 * MB)), packing=zipfile.ZIP_LZMA), (("file", "a", BOMB),)),
    ("a ratio bomb in gzip", lambda: zeros(gzip_machine, 30), (("file", 0, BOMB), ("search", "x", nothing_harmful))),
    ("a ratio bomb in bzip2", lambda: zeros(bz2.BZ2Compressor, 30), (("file", 0, BOMB), ("extract", None, nothing_harmful))),
    ("a ratio bomb in xz", lambda: zeros(lzma.LZMACompressor, 30), (("file", 0, BOMB),)),
    ("a bomb as TAR and gzip", lambda: gzip.compress(tarred(("a", bytes(30 * MB)))), (("open", None, BOMB),)),
    ("a bomb of many gzip streams", lambda: gzip.compress(bytes(200_000)) * 100, (("file", 0, nothing_harmful),)),
    ("a member of 65 MB at a small ratio", lambda: zipped(("a", (b"%05d" % 7 + bytes(3000)) * (65 * MB // 3005))), (("file", "a", "at most 64 MB are read"),)),
    ("a gzip file of 65 MB at a small ratio", lambda: gzip.compress((noise(1, 40) + bytes(3000)) * (66 * MB // 3040), 1), (("file", 0, "more than 64 MB"),)),
    ("a TAR member that says 1 TB", lambda: tar_header(b"a", b"\x80" + (1 << 40).to_bytes(11, "big")), (("open", None, lambda a: "cut off" in repr(a)), ("file", "a", "says that it holds 1,024 GB"))),
)
LIES = (
    ("a ZIP member that says it is small", lambda: sized("a", b"x" * 100_000, 10), (("file", "a", "holds more"), ("search", "x", nothing_harmful))),
    ("a stored member that says it is small", lambda: sized("a", b"x" * 1000, 10, zipfile.ZIP_STORED), (("file", "a", "holds more"),)),
    ("a ZIP member that says it is large", lambda: sized("a", b"x" * 100, 5000), (("file", "a", "holds 100"),)),
    ("a ZIP member that says 4 GB", lambda: sized("a", b"x" * 100, 0xFFFFFFF0), (("file", "a", "at most 64 MB"), ("extract", None, "at most 512 MB are extracted"))),
    ("a wrong checksum", lambda: patched(GOOD, (b"PK\1\2", 16, b"\1\2\3\4")), (("file", 0, "does not fit its checksum"), ("file", 1, nothing_harmful))),
    ("a directory that says it has one entry", lambda: many_entries(100_001), (("open", None, "more than 100,000 entries"),)),
    ("a directory of 4 GB", lambda: b"PK\3\4" + bytes(50) + zip_end(1, 0xFFFFFFF0, 4), (("open", None, "directory of 4,294,967,280 bytes"),)),
    ("entries that lead to one member", lambda: overlapping(20), (("open", None, "members that overlap"),)),
    ("a member inside of another", quoted_overlap, (("open", None, "members that overlap"),)),
    ("a packed size beyond the file", lambda: patched(GOOD, (b"PK\1\2", 20, struct.pack("<L", 1 << 30))), (("open", None, "members that overlap"),)),
    ("an unknown packing", lambda: zip_of_raw(b"a", b"xxxx", 4, 77), (("file", "a", "packed by method 77"),)),
    ("LZMA without its header", lambda: zip_of_raw(b"a", b"xx", 4, 14), (("file", "a", "no LZMA header"),)),
    ("packed data that is noise", lambda: zip_of_raw(b"a", noise(2, 500), 4000, 8), (("file", "a", "damaged"),)),
    ("a directory entry without its member", lambda: patched(GOOD, (b"PK\3\4", 0, b"XXXX")), (("file", 0, "damaged"), ("file", 1, nothing_harmful))),
)
NAMES = (
    ("a name with ..", lambda: zipped(("../../evil.txt", "x"), GOOD_MEMBER), (("extract", None, is_refused("leads out of the folder")), ("extract", "../../evil.txt", "leads out"), ("file", 0, nothing_harmful))),
    ("a name with .. in the middle", lambda: zipped(("a/../../evil.txt", "x"), GOOD_MEMBER), (("extract", None, is_refused("leads out")),)),
    ("an absolute name", lambda: zipped(("/tmp/evil.txt", "x"), GOOD_MEMBER), (("extract", None, is_refused("absolute")),)),
    ("a name of Windows", lambda: zipped(("C:\\evil.txt", "x"), GOOD_MEMBER), (("extract", None, is_refused("absolute")),)),
    ("backslashes that lead out", lambda: zipped(("a\\..\\..\\evil.txt", "x"), GOOD_MEMBER), (("extract", None, is_refused("leads out")),)),
    ("a name with NUL", lambda: raw_zip_name(b"safe\0/../../evil"), (("extract", None, lambda result: len(result) == 0),)),
    ("a name with a line break", lambda: zipped(("a\nb", "x"), GOOD_MEMBER), (("extract", None, is_refused("control characters")),)),
    ("an empty name", lambda: zip_of_raw(b"", b"x", 1, 0, zlib.crc32(b"x")), (("extract", None, lambda result: "no name" in repr(result)),)),
    ("a name that is only dots", lambda: zipped(("./.", "x"), GOOD_MEMBER), (("extract", None, is_refused("no name")),)),
    ("a name of 60,000 characters", lambda: zipped(("n" * 60_000, "x")), (("open", None, "names of too many characters"),)),
    ("a name too long for a file", lambda: zipped(("n" * 300, "x"), GOOD_MEMBER), (("extract", None, is_refused("too long for a file")),)),
    ("a file that is also a folder", lambda: zipped(("a", "x"), ("a/b", "y")), (("extract", None, is_refused("which is not a folder")),)),
    ("a name that is no UTF-8, marked as it", lambda: patched(zipped(("ä.txt", "x")), (b"PK\1\2", 46, b"\xff\xff")), (("open", None, "damaged"),)),
    ("a name in code page 437", lambda: raw_zip_name(b"\x84.txt"), (("open", None, texts("ä.txt")), ("file", "ä.txt", nothing_harmful))),
    ("a name in unmarked UTF-8", lambda: raw_zip_name("ä.txt".encode()), (("open", None, texts("ä.txt")),)),
    ("a TAR name that is no UTF-8", lambda: tar_header(b"\xff.txt"), (("open", None, lambda a: "name not in UTF-8" in repr(a)), ("extract", None, nothing_harmful))),
    ("one name five times", lambda: tarred(*[("a", b"%d" % number) for number in range(5)]), (("open", None, texts("a", "a#2", "a#3", "a#4", "a#5")), ("file", "a#5", lambda text: text == "4"))),
    (".. in TAR", lambda: tarred(("../evil.txt", b"x"), GOOD_MEMBER), (("extract", None, is_refused("leads out")),)),
    ("an absolute name in TAR", lambda: tarred(("/etc/passwd", b"x"), GOOD_MEMBER), (("extract", None, is_refused("absolute")),)),
)
LINKS = (
    ("a symbolic link in ZIP", lambda: zipped(with_mode("link", stat.S_IFLNK | 0o777, "/etc/passwd"), GOOD_MEMBER), (("extract", None, is_refused("a link")), ("file", "link", "links are not followed"))),
    ("a symbolic link in TAR", lambda: tarred(member("link", tarfile.SYMTYPE, "/etc"), ("good.txt", b"x")), (("extract", None, is_refused("a link")), ("file", "link", "to '/etc'"))),
    ("a hard link in TAR", lambda: tarred(member("link", tarfile.LNKTYPE, "../../secret"), ("good.txt", b"x")), (("extract", None, is_refused("a link")),)),
    ("a file behind a link", lambda: tarred(member("out", tarfile.SYMTYPE, "/tmp"), ("out/evil.txt", b"x")), (("extract", None, lambda result: [path[-13:] for path in result] == ["/out/evil.txt"]),)),
    ("a device in TAR", lambda: tarred(member("null", tarfile.CHRTYPE), ("good.txt", b"x")), (("extract", None, is_refused("a device")), ("file", "null", "never read"))),
    ("a pipe in TAR", lambda: tarred(member("pipe", tarfile.FIFOTYPE), ("good.txt", b"x")), (("extract", None, is_refused("a pipe")),)),
    ("a device in ZIP", lambda: zipped(with_mode("null", stat.S_IFCHR | 0o666), GOOD_MEMBER), (("extract", None, is_refused("a device")),)),
)
BROKEN = (
    ("nothing", lambda: b"", (("open", None, "is empty"),)),
    ("a ZIP archive cut in its directory", lambda: GOOD[:-30], (("open", None, "no directory at its end"),)),
    ("a ZIP archive cut at its start", lambda: GOOD[40:], (("open", None, "begins before the file does"),)),
    ("half a ZIP archive", lambda: GOOD[: len(GOOD) // 2], (("open", None, "no directory"),)),
    ("only the end of a ZIP archive", lambda: zip_end(5, 1000, 0), (("open", None, "damaged"),)),
    ("a TAR archive cut in a member", lambda: tarred(("a", b"x" * 5000))[:2000], (("open", None, lambda a: "ends early" in repr(a)), ("file", "a", "cut off"))),
    ("a TAR header with a wrong checksum", lambda: patched(tarred(("a", b"x"), ("b", b"y")), (b"b\0\0\0", 0, b"c")), (("open", None, lambda a: len(a) == 1 and "ends early" in repr(a)),)),
    ("a gzip file cut off", lambda: gzip.compress(noise(3, 5000))[:3000], (("file", 0, "ends too early"),)),
    ("a gzip file with noise", lambda: patched(gzip.compress(noise(4, 5000)), (b"\x1f\x8b", 10, noise(5, 500))), (("open", None, "damaged"),)),
    ("an xz file cut off", lambda: lzma.compress(noise(6, 5000))[:3000], (("file", 0, "ends too early"),)),
    ("a dictionary of 4 GB for xz", lambda: xz_with_dictionary(40), (("open", None, "damaged or not a whole xz stream"),)),
    ("noise", lambda: noise(7, 5000), (("open", None, "is none of ZIP"),)),
    ("noise behind the start of ZIP", lambda: b"PK\3\4" + noise(8, 5000), (("open", None, "no directory"),)),
    ("noise behind the start of 7z", lambda: b"7z\xbc\xaf\x27\x1c" + noise(9, 500), (("open", None, "7z"),)),
)
TAR = (
    ("a negative size in TAR", lambda: tar_header(b"a", b"\xff" * 12), (("open", None, "not a whole TAR"),)),
    ("a size that is no number", lambda: tar_header(b"a", b"zzz"), (("open", None, "not a whole TAR"),)),
    ("a long name of 1 GB", lambda: gzip.compress(tar_header(b"././@LongLink", b"%011o\0" % (1 << 30), b"L") + bytes(4 * MB)), (("open", None, "extension of 1,073,741,824 bytes"),)),
    ("an extension whose length is 0", lambda: pax(b"0 path=x\n"), (("open", None, "extension is damaged"),)),
    ("an extension of digits only", lambda: pax(b"9" * 400_000), (("open", None, "extension is damaged"),)),
    ("a size in an extension that is negative", lambda: pax(b"11 size=-5\n"), (("open", None, "has the size"),)),
    ("extensions without end", lambda: gzip.compress(tar_header(b"x", kind=b"g") * 400_000, 1), (("open", None, "too many headers"),)),
    ("100,001 members in TAR", lambda: gzip.compress(b"".join(tar_header(b"%08d" % n) for n in range(100_001)), 1), (("open", None, "more than 100,000 entries"),)),
    ("a sparse file", lambda: tar_header(b"a", b"00000001000\0", b"S") + bytes(512), (("file", "a", "sparse file"),)),
)
XML = (
    ("billion laughs in DOCX", lambda: laughing_docx(), (("file", "document", "entities are not expanded"), ("search", "ha", nothing_harmful))),
    ("billion laughs in XLSX", lambda: xlsx("", before=LAUGHS), (("open", None, lambda a: a.kind == "zip" and "entities are not expanded" in repr(a)),)),
    ("an external entity", lambda: xlsx("", before="<!DOCTYPE d [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>"), (("open", None, lambda a: a.kind == "zip"),)),
    ("entities in the package of a book", lambda: epub("x", package=LAUGHS + "<package>&j;</package>"), (("open", None, lambda a: a.kind == "zip"),)),
    ("one long string in a million cells", lambda: xlsx("<row>" + "<c t='s'><v>0</v></c>" * 2000 + "</row>", "<si><t>" + noise(10, 40_000).hex() + "</t></si>"), (("file", "Data", "more than 64 MB"), ("search", "x", nothing_harmful))),
    ("cells at the far end", lambda: xlsx("".join("<row r='{0}'><c r='XFD{0}'><v>1</v></c></row>".format(1048576 - n) for n in range(1000))), (("file", "Data", lambda text: text.total < 20_000),)),
    ("elements in elements", lambda: docx("<w:p>" * 200_000), (("file", "document", "elements in each other"),)),
    ("a document that is not XML", lambda: docx("<w:p></w:q>"), (("file", "document", "not well-formed"),)),
    ("a part that leads out", lambda: epub("x", package="<package><manifest><item id='a' href='../../../../etc/passwd'/></manifest><spine><itemref idref='a'/></spine></package>"), (("open", None, lambda a: len(a) == 0),)),
)
PDF = (
    ("a PDF of noise", lambda: b"%PDF-1.7\n" + noise(11, 5000), (("open", None, "has no pages"),)),
    ("a PDF cut in half", lambda: page(b"BT /F1 9 Tf (text) Tj ET")[:300], (("open", None, nothing_harmful),)),
    ("an object that refers to itself", lambda: broken_page(o4=b"4 0 R"), (("file", 1, lambda text: text == ""),)),
    ("references in a circle", lambda: broken_page(o4=b"6 0 R", o6=b"7 0 R", o7=b"6 0 R"), (("file", 1, lambda text: text == ""),)),
    ("a page tree in a circle", lambda: broken_page(o2=b"<< /Type /Pages /Kids [3 0 R 2 0 R] >>"), (("open", None, lambda a: len(a) <= 2),)),
    ("a length that is its own stream", lambda: broken_page(o4=b"<< /Length 4 0 R >>\nstream\nBT ET\nendstream"), (("file", 1, nothing_harmful),)),
    ("a form that contains itself", lambda: page(b"/Fm Do", resources=b"/XObject << /Fm 9 0 R >>", o9=stream(b"/Subtype /Form", b"/Fm Do BT /F1 9 Tf (x) Tj ET")), (("file", 1, lambda text: text == "x"),)),
    ("forms that double", lambda: doubling_forms(), (("file", 1, "operators: it is not read"),)),
    ("a stream that unpacks to 40 MB of nothing", lambda: page(b" " * (40 * MB)), (("file", 1, BOMB),)),
    ("a stream packed seven times", lambda: broken_page(o4=stream(b"/Filter [%s]" % (b"/FlateDecode " * 7), b"x", packed=False)), (("file", 1, "packed 7 times"),)),
    ("a table with 600,000 objects", lambda: huge_table(600_000), (("open", None, "more than 500,000 objects"),)),
    ("600,000 objects without a table", lambda: b"%PDF-1.7\n" + b"".join(b"%d 0 obj 1 endobj\n" % n for n in range(600_000)), (("open", None, "more than 500,000 objects"),)),
    ("lists in lists", lambda: broken_page(o4=b"[" * 100_000), (("file", 1, "lists in each other"),)),
    ("dicts in dicts on a page", lambda: page(b"<<" * 50_000), (("file", 1, "lists in each other"),)),
    ("a font with a map of 4,000 million codes", lambda: mapped(b"1 beginbfrange <00000000> <FFFFFFFF> <0041> endbfrange"), (("file", 1, nothing_harmful),)),
    ("a table before itself", lambda: circular_tables(), (("file", 1, lambda text: text == "text"),)),
    ("a pack of objects in itself", lambda: packed_in_itself(), (("open", None, nothing_harmful),)),
    ("a table at a place beyond the end", lambda: page(b"BT /F1 9 Tf (found) Tj ET").replace(b"startxref\n", b"startxref\n99999"), (("file", 1, lambda text: text == "found"),)),
    ("a predictor for rows of 4 GB", lambda: broken_page(o4=stream(b"/DecodeParms << /Predictor 12 /Columns 4294967295 >>", b"\2BT ET")), (("file", 1, nothing_harmful),)),
    ("a string that never ends", lambda: page(b"BT /F1 9 Tf (" + b"x" * 100_000), (("file", 1, nothing_harmful),)),
    ("pages by the hundred thousand", lambda: broken_page(o2=b"<< /Type /Pages /Kids [%s] >>" % (b"3 0 R " * 100_001)), (("open", None, "pages"),)),
)
HTML = (
    ("a number of a character with a million digits", lambda: b"<html>&#" + b"9" * MB + b";", (("file", 1, lambda text: text == "\ufffd"),)),
    ("a million open tags", lambda: b"<html>" + b"<a " * MB, (("file", 1, nothing_harmful),)),
    ("a million quotes", lambda: b"<html><a " + b"\"'" * MB, (("file", 1, nothing_harmful),)),
    ("a million comments that never end", lambda: b"<html>" + b"<!--" * MB, (("file", 1, nothing_harmful),)),
    ("a million scripts that never end", lambda: b"<html>" + b"<script>" * (MB // 2), (("file", 1, nothing_harmful),)),
)


def laughing_docx():
    body = docx("")
    with zipfile.ZipFile(io.BytesIO(body)) as file:
        files = [(info.filename, file.read(info).decode()) for info in file.infolist()]
    return zipped(*[(name, LAUGHS + text if name == "word/document.xml" else text) for name, text in files])


def doubling_forms():
    names = b"".join(b"/F%d %d 0 R " % (number, 10 + number) for number in range(10))
    objects = page_objects(b"/F0 Do", resources=b"/XObject << " + names + b">>")
    for number in range(10):
        objects[10 + number] = stream(b"/Subtype /Form", b"/F%d Do " % (number + 1) * 10 if number < 9 else b"q Q ")
    return pdf(objects)


def circular_tables():
    data = page(b"BT /F1 9 Tf (text) Tj ET")
    return data.replace(b"/Size", b"/Prev %d /Size" % data.index(b"xref\n0"))


def packed_in_itself():
    """A table by which object 6 is in the pack 7, which is in the pack 6; page 3 is in one of them."""
    data = broken_page()
    rows = b"".join(bytes(row) for row in ((0, 0, 0), (2, 6, 0), (2, 6, 1), (2, 7, 2), (2, 6, 0), (2, 7, 1), (2, 7, 0), (2, 6, 0)))
    table = stream(b"/Type /XRef /Size 8 /W [1 1 1] /Root 1 0 R", rows)
    return data + b"9 0 obj\n" + table + b"\nendobj\nstartxref\n%d\n%%%%EOF" % len(data)


def huge_table(count):
    data = b"%PDF-1.7\n1 0 obj << /Type /Catalog >> endobj\n"
    rows = b"xref\n0 %d\n" % count + b"0000000009 00000 n \n" * count
    return data + rows + b"trailer << /Root 1 0 R >>\nstartxref\n%d\n" % len(data)


def mapped(ranges):
    font = b"<< /Subtype /Type0 /ToUnicode 9 0 R /DescendantFonts [<< /DW 1000 /W [0 4000000000 500] >>] >>"
    return page(b"BT /F1 9 Tf <00010002> Tj ET", font=font, o9=stream(b"", ranges))


TABLE = RATIO + LIES + NAMES + LINKS + BROKEN + TAR + XML + PDF + HTML
