"""ZIP, TAR, 7z and packed files: listing, reading, searching, extracting."""

import bz2
import gzip
import importlib.util
import io
import lzma
import os
import pickle
import tarfile
import unittest
import zipfile
from unittest import mock

from archive_case import GOOD, ArchiveCase, tarred, zipped

from cellar_runner.archives import libraries, source
from cellar_runner.archives.archives import Archives
from cellar_runner.archives.containers import packing


def has(library):
    return importlib.util.find_spec(library) is not None


class ListingTest(ArchiveCase):
    def test_a_listing_is_short(self):
        archive = self.archives.open(self.write("data.zip", GOOD))
        self.assertEqual(repr(archive), "data.zip: zip, 2 files, 39 bytes\nnotes/a.txt  28\nb.txt  11")
        self.assertEqual(archive.names(), ["notes/a.txt", "b.txt"])
        self.assertEqual((archive[0].kind, archive[0].size, archive.total), ("file", 28, 2))
        many = self.archives.open(zipped(*[("f%d" % number, "") for number in range(500)]))
        self.assertLess(len(repr(many)), 500)
        self.assertIn("460 more", repr(many))

    def test_nothing_is_read_but_the_directory(self):
        path = self.write("big.zip", zipped(("a", os.urandom(1 << 20)), ("b", b"x"), packing=zipfile.ZIP_STORED))
        read = []
        original = source.Source.read_at

        def counted(self, position, count):
            data = original(self, position, count)
            read.append(len(data))
            return data

        with mock.patch.object(source.Source, "read_at", counted):
            archive = self.archives.open(path)
            self.assertLess(sum(read), 400_000)
            self.assertEqual(archive.file("b"), "x")
            self.assertLess(sum(read), 400_000)
        self.assertEqual(os.listdir(self.folder), ["big.zip"])

    def test_no_file_stays_open(self):
        before = set(os.listdir("/proc/self/fd"))
        archive = self.archives.open(self.write("data.zip", GOOD))
        archive.file("b.txt")
        self.archives.search("answer")
        self.assertEqual(set(os.listdir("/proc/self/fd")), before)

    def test_a_changed_file_is_told(self):
        path = self.write("data.zip", GOOD)
        self.archives.open(path)
        self.write("data.zip", GOOD + b"more")
        with self.refused("has changed since it was opened", "archive_open("):
            self.archives.file("b.txt")

    def test_what_cannot_be_opened(self):
        with self.refused("no such file", "list_dir(", kind=FileNotFoundError):
            self.archives.open("/nowhere/x.zip")
        with self.refused("is not a file"):
            self.archives.open(self.folder)
        with self.refused("takes a path or bytes, not int", kind=TypeError):
            self.archives.open(3)
        with self.refused("is none of ZIP", "begins with b'plain text'"):
            self.archives.open(b"plain text")
        with self.refused("no archive is open", "archive_open("):
            Archives(self.folder).file("a")
        os.mkfifo(self.folder + "/pipe")
        with self.refused("is not a file"):
            self.archives.open(self.folder + "/pipe")

    def test_an_archive_survives_pickling(self):
        archive = self.archives.open(self.write("data.zip", GOOD))
        for one in (archive, self.archives.open(GOOD)):
            again = pickle.loads(pickle.dumps(one))
            self.assertEqual(again.file("b.txt"), "second file")
        hits = pickle.loads(pickle.dumps(self.archives.search("answer")))
        self.assertEqual((hits[0].file, hits[0].place), ("notes/a.txt", "line 2"))


class ReadingTest(ArchiveCase):
    def test_text_of_every_packing(self):
        text = "line of text\n" * 1000
        for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
            self.archives.open(zipped(("a.txt", text), packing=method))
            self.assertEqual(self.archives.file("a.txt"), text, method)
        for pack in ("", "gz", "bz2", "xz"):
            archive = self.archives.open(tarred(("a.txt", text.encode()), ("b.txt", b"b"), packing=pack))
            self.assertEqual(archive.kind, "tar." + pack if pack else "tar")
            self.assertEqual(self.archives.file("b.txt"), "b")
            self.assertEqual(self.archives.file("a.txt"), text)

    def test_packed_files(self):
        for name, pack in (("log.txt.gz", gzip.compress), ("log.txt.bz2", bz2.compress), ("log.txt.xz", lzma.compress)):
            archive = self.archives.open(self.write(name, pack(b"one\n") + pack(b"two\n")))
            self.assertEqual(archive.names(), ["log.txt"])
            self.assertEqual(archive.file("log.txt"), "one\ntwo\n")

    def test_zstandard(self):
        data = bytes.fromhex("28b52ffd0458190000") + b"hey" + bytes.fromhex("")
        library = libraries.library("zstandard") or libraries.library("compression.zstd")
        if library is None:
            with self.refused("needs the library zstandard (or Python 3.14)"):
                self.archives.open(data)
            return
        compress = getattr(library, "compress", None) or library.ZstdCompressor().compress
        self.archives.open(compress(tarred(("a.txt", b"hello " * 5000))))
        self.assertEqual(self.archives.file("a.txt"), "hello " * 5000)
        self.archives.open(self.write("x.txt.zst", compress(b"hello")))
        self.assertEqual(self.archives.file("x.txt"), "hello")

    def test_zip64(self):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as file:
            with file.open("big.txt", "w", force_zip64=True) as member:
                member.write(b"zip64 text")
        self.archives.open(buffer.getvalue())
        self.assertEqual(self.archives.file("big.txt"), "zip64 text")
        # More entries than the old field can count.
        many = zipped(*[("f%d" % number, "") for number in range(70_000)], packing=zipfile.ZIP_STORED)
        self.assertIn(b"PK\6\6", many)
        self.assertEqual(len(self.archives.open(many)), 70_000)

    def test_an_archive_behind_a_program(self):
        self.archives.open(b"#!/bin/sh\nexit\n" + GOOD)
        self.assertEqual(self.archives.file("b.txt"), "second file")

    def test_long_texts_are_shown_in_parts(self):
        self.archives.open(zipped(("a.txt", "é" * 120_000)))
        text = self.archives.file("a.txt")
        self.assertEqual((len(text), text.total, text.truncated, text.more), (50_000, 120_000, True, 70_000))
        self.assertIn("start=50000) goes on]", repr(text))
        rest = self.archives.file("a.txt", start=100_000)
        self.assertEqual((len(rest), rest.truncated), (20_000, False))
        self.assertEqual(self.archives.file("a.txt", start=10**9), "")

    def test_what_is_not_text(self):
        picture = b"\x89PNG\r\n\x1a\n" + bytes(100)
        self.archives.open(zipped(("a.png", picture), ("inner.zip", GOOD)))
        data = self.archives.file("a.png")
        self.assertEqual((bytes(data), isinstance(data, bytes)), (picture, True))
        self.assertEqual(repr(data), "<'a.png': 108 bytes, not text, begins with b'\\x89PNG\\r\\n\\x1a\\n'>")
        inner = self.archives.file("inner.zip")
        self.assertIn("[zip: archive_open(archive_file('inner.zip')) opens it]", repr(inner))
        self.archives.open(inner)
        self.assertEqual(self.archives.file("b.txt"), "second file")

    def test_encodings(self):
        texts = {
            "bom": ("\ufeffäö".encode(), "äö", "utf-8-sig", False),
            "wide": ("äö".encode("utf-16"), "äö", "utf-16", False),
            "wider": ("äö".encode("utf-32"), "äö", "utf-32", False),
            "utf8": ("äö€".encode(), "äö€", "utf-8", False),
            "windows": ("café “x”".encode("cp1252"), "café “x”", "cp1252", True),
            "latin": (b"a\x81\xe9 text", "a\x81é text", "latin-1", True),
        }
        self.archives.open(zipped(*[(name, data[0]) for name, data in texts.items()]))
        for name, (_, text, encoding, is_guess) in texts.items():
            found = self.archives.file(name)
            self.assertEqual((str(found), found.encoding, found.is_guess), (text, encoding, is_guess))
        self.assertIn("read as cp1252, which is a guess", repr(self.archives.file("windows")))

    def test_names_that_are_wrong(self):
        self.archives.open(GOOD)
        with self.refused("has no member 'a.tx'", "did you mean ", "'notes/a.txt'"):
            self.archives.file("a.tx")
        with self.refused("named by a str, not float", kind=TypeError):
            self.archives.file(1.5)
        self.assertEqual(self.archives.file(1), "second file")
        with self.refused("there is no number 7"):
            self.archives.file(7)

    def test_zip_crypto(self):
        self.archives.open(_zip_crypto(b"the content is secret\n" * 100, b"pass"))
        with self.refused("'a.txt' is encrypted", "password="):
            self.archives.file("a.txt")
        self.archives.open(_zip_crypto(b"the content is secret\n" * 100, b"pass"), password="pass")
        self.assertEqual(self.archives.file("a.txt"), "the content is secret\n" * 100)
        self.assertEqual(self.archives.search("SECRET").total, 100)
        self.archives.open(_zip_crypto(b"x", b"pass"), password="wrong")
        with self.refused("the password does not fit 'a.txt'"):
            self.archives.file("a.txt")

    def test_aes(self):
        if not has("pyzipper"):
            data = bytearray(_zip_crypto(b"x", b"pass"))
            for start in (data.index(b"PK\3\4") + 8, data.index(b"PK\1\2") + 10):
                data[start : start + 2] = b"\x63\0"
            self.archives.open(bytes(data), password="pass")
            with self.refused("encrypted with AES", "pyzipper"):
                self.archives.file("a.txt")
            return
        import pyzipper

        buffer = io.BytesIO()
        with pyzipper.AESZipFile(buffer, "w", compression=zipfile.ZIP_DEFLATED, encryption=pyzipper.WZ_AES) as file:
            file.setpassword(b"pass")
            file.writestr("a.txt", "strong secret")
        self.archives.open(buffer.getvalue(), password="pass")
        self.assertEqual(self.archives.file("a.txt"), "strong secret")
        self.archives.open(buffer.getvalue(), password="wrong")
        with self.refused("the password does not fit"):
            self.archives.file("a.txt")

    def test_seven_zip(self):
        if not has("py7zr"):
            with self.refused("a 7z archive, which needs the library py7zr"):
                self.archives.open(b"7z\xbc\xaf\x27\x1c" + bytes(100))
            return
        import py7zr

        for password in (None, "pass"):
            buffer = io.BytesIO()
            with py7zr.SevenZipFile(buffer, "w", password=password) as file:
                file.writestr("hello from 7z\n", "docs/a.txt")
                file.writestr("b", "b.txt")
            archive = self.archives.open(buffer.getvalue(), password=password)
            self.assertEqual(sorted(archive.names()), ["b.txt", "docs/a.txt"])
            self.assertEqual(archive.file("docs/a.txt"), "hello from 7z\n")
            self.assertEqual(self.archives.search("FROM")[0].file, "docs/a.txt")
        with self.refused("is encrypted", "password="):
            self.archives.open(buffer.getvalue()).file("b.txt")


class SearchTest(ArchiveCase):
    def test_hits_say_where(self):
        self.archives.open(self.write("data.zip", GOOD))
        hits = self.archives.search("ANSWER")
        self.assertEqual(
            repr(hits), "1 hit for 'ANSWER' in data.zip (2 searched)\nnotes/a.txt, line 2: The Answer is 42"
        )
        self.assertEqual((hits[0], hits[0].file, hits[0].line), ("The Answer is 42", "notes/a.txt", 2))
        self.assertEqual(repr(self.archives.search("nothing")), "no hits for 'nothing' in data.zip (2 searched)")

    def test_literal_unless_asked(self):
        self.archives.open(zipped(("a", "a.c\nabc\n")))
        self.assertEqual(list(self.archives.search("a.c")), ["a.c"])
        self.assertEqual(list(self.archives.search("A.C", regex=True)), ["a.c", "abc"])
        with self.refused("bad pattern '('", "without regex=True", kind=ValueError):
            self.archives.search("(", regex=True)
        with self.refused("the query is empty", kind=ValueError):
            self.archives.search("")
        with self.refused("must be a str, not bytes", kind=TypeError):
            self.archives.search(b"a")

    def test_at_most_fifty(self):
        for data in (zipped(("a", "hit\n" * 500)), tarred(("a", b"hit\n" * 250), ("b", b"hit\n" * 250), packing="gz")):
            self.archives.open(data)
            hits = self.archives.search("hit")
            self.assertEqual((len(hits), hits.total, hits.more), (50, 500, 450))
            self.assertIn("450 more: narrow the query", repr(hits))

    def test_long_lines_are_cut(self):
        self.archives.open(zipped(("a", "x" * 100_000 + "needle" + "y" * 100_000)))
        (hit,) = self.archives.search("needle")
        self.assertLess(len(hit), 310)
        self.assertIn("needle", hit)

    def test_what_is_not_searched_is_told(self):
        self.archives.open(zipped(("a.txt", "word"), ("inner.zip", zipped(("b", "word")))))
        hits = self.archives.search("word")
        self.assertEqual((hits.total, hits.searched), (1, 1))
        self.assertIn("1 member is not text and not searched: 'inner.zip'", repr(hits))

    def test_a_packed_tar_is_read_once(self):
        data = tarred(*[("f%d" % number, b"text %d\n" % number * 100) for number in range(50)], packing="gz")
        archive = self.archives.open(data)
        made = []
        original = packing.Unpacked._begin
        with mock.patch.object(packing.Unpacked, "_begin", lambda self: made.append(1) or original(self)):
            self.assertEqual(self.archives.search("text 49").total, 100)
            self.archives.extract(to="out", archive=archive)
        self.assertEqual(len(made), 2)

    def test_a_search_has_limits(self):
        from cellar_runner.archives import search

        self.archives.open(zipped(*[("f%d" % number, "word " * 1000) for number in range(5)]))
        with mock.patch.object(search, "SEARCH_BYTES", 9000):
            hits = self.archives.search("word")
        self.assertEqual((hits.total, hits.searched), (2, 2))
        self.assertIn("3 members are not searched", repr(hits))


class ExtractTest(ArchiveCase):
    def test_into_a_folder(self):
        path = self.write("data.zip", GOOD)
        self.archives.open(path)
        result = self.archives.extract()
        target = self.folder + "/data"
        self.assertEqual(list(result), [target + "/notes/a.txt", target + "/b.txt"])
        self.assertEqual(repr(result), "2 files, 39 bytes, in {}\nnotes/a.txt\nb.txt".format(target))
        with open(target + "/notes/a.txt") as file:
            self.assertEqual(file.read(), "first line\nThe Answer is 42\n")
        self.assertEqual(list(self.archives.extract("b.txt", to="other")), [self.folder + "/other/b.txt"])
        self.assertEqual(len(self.archives.extract(["b.txt", "notes/a.txt"], to=self.folder + "/third")), 2)
        # Again: files are replaced.
        self.assertEqual(len(self.archives.extract()), 2)

    def test_copies_of_a_name_are_all_there(self):
        data = tarred(("a.txt", b"one"), ("a.txt", b"two"))
        archive = self.archives.open(data)
        self.assertEqual(archive.names(), ["a.txt", "a.txt#2"])
        self.assertEqual(
            [archive.file("a.txt"), archive.file("a.txt#2"), archive.file(archive[1])], ["one", "two", "two"]
        )
        result = self.archives.extract(to="out")
        self.assertEqual([os.path.basename(path) for path in result], ["a.txt", "a (2).txt"])

    def test_modes_are_those_of_plain_files(self):
        info = tarfile.TarInfo("run.sh")
        info.mode, info.size = 0o6777, 0
        self.archives.open(tarred(info))
        (path,) = self.archives.extract(to="out")
        self.assertEqual(os.stat(path).st_mode & 0o7000 | os.stat(path).st_mode & 0o111, 0)

    def test_a_folder_that_cannot_be_made(self):
        self.archives.open(self.write("data", GOOD))
        with self.refused("cannot be made", "to=..."):
            self.archives.extract()

    def test_the_amount_is_limited(self):
        from cellar_runner.archives import extraction

        self.archives.open(tarred(("a", b"x" * 5000), ("b", b"y" * 5000), packing="gz"))
        with mock.patch.object(extraction, "EXTRACT_BYTES", 6000), self.refused("at most 5.859 KB are extracted"):
            self.archives.extract(to="out")


def _zip_crypto(content, password):
    """A ZIP archive with one member a.txt that is encrypted as zipfile can only decrypt it."""
    import zlib

    table = [_crc_step(number) for number in range(256)]
    keys = [0x12345678, 0x23456789, 0x34567890]

    def update(byte):
        keys[0] = keys[0] >> 8 ^ table[(keys[0] ^ byte) & 255]
        keys[1] = ((keys[1] + (keys[0] & 255)) * 134775813 + 1) & 0xFFFFFFFF
        keys[2] = keys[2] >> 8 ^ table[(keys[2] ^ keys[1] >> 24) & 255]

    for byte in password:
        update(byte)
    machine = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = machine.compress(content) + machine.flush()
    plain = bytes(11) + bytes((zlib.crc32(content) >> 24,)) + packed
    secret = bytearray()
    for byte in plain:
        key = keys[2] | 2
        secret.append(byte ^ (key * (key ^ 1) >> 8) & 255)
        update(byte)
    data = bytearray(zipped(("a.txt", content)))
    place, end = data.index(b"PK\1\2"), data.index(b"PK\5\6")
    head, directory, tail = data[: 30 + 5], data[place:end], data[end:]
    size = len(secret).to_bytes(4, "little")
    head[6] |= 1
    directory[8] |= 1
    head[18:22] = directory[20:24] = size
    tail[16:20] = (len(head) + len(secret)).to_bytes(4, "little")
    return bytes(head + secret + directory + tail)


def _crc_step(number):
    for _ in range(8):
        number = number >> 1 ^ (0xEDB88320 if number & 1 else 0)
    return number


if __name__ == "__main__":
    unittest.main()
