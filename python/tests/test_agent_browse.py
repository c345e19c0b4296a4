"""peek(), list_dir() and the others: what they show of contexts and files."""
import os
import pickle
import unittest

from agent_case import AgentCase

DOCUMENTS = [{"title": "one", "n": 12}, "two"]


class PeekTest(AgentCase):
    def test_the_context(self):
        self.give("abcdef" * 200)
        self.assertEqual(len(self.peek()), 500)
        self.assertEqual(self.peek(3), "abc")
        self.assertEqual(self.peek(3, start=4), "efa")
        self.assertEqual(self.peek(10**30), "abcdef" * 200)
        self.assertEqual((self.peek(0), self.peek(5, start=10**30)), ("", ""))

    def test_values_behind_their_places(self):
        self.give(DOCUMENTS)
        text = "[0]['title']: one\n[0]['n']: 12\n[1]: two\n"
        self.assertEqual(self.peek(), text)
        for start in range(len(text)):
            self.assertEqual(self.peek(5, start=start), text[start : start + 5])
        self.assertEqual(self.context_len(), len(text))

    def test_files(self):
        path = self.write("notes.txt", "\ufeffäöü\n" + "x" * 600_000 + "end")
        self.assertEqual(self.peek(4, file=path), "äöü\n")
        self.assertEqual(self.peek(4, path), "äöü\n")
        self.assertEqual(self.peek(10, path, start=600_004), "end")
        self.assertEqual(self.peek(2, self.write("wide", "äö".encode("utf-16"))), "äö")
        self.assertEqual(self.peek(5, self.write("latin", b"caf\xe9!")), "caf\ufffd!")
        self.assertEqual(self.peek(5, self.write("empty", b"")), "")
        os.symlink("notes.txt", self.folder + "/link")
        self.assertEqual(self.peek(1, self.folder + "/link"), "ä")

    def test_the_wrong_order_says_the_right_one(self):
        with self.refused(TypeError, "peek(500, file='/spilled/turn_3.txt')"):
            self.peek("/spilled/turn_3.txt")
        self.give("abc")
        for n in (None, 1.5, [1], b"1"):
            with self.refused(TypeError, "n must be a whole number"):
                self.peek(n)
        for arguments in ({"n": -1}, {"start": -1}):
            with self.refused(ValueError, "must not be negative"):
                self.peek(**arguments)

    def test_what_is_no_text(self):
        os.mkfifo(self.folder + "/pipe")
        os.symlink("loop", self.folder + "/loop")
        cases = (
            ("/pipe", ValueError, "is a pipe"),
            ("/loop", OSError, "cannot read"),
            ("", IsADirectoryError, "list_dir("),
            ("/none", FileNotFoundError, "list_dir("),
            ("/no/file", FileNotFoundError, "does not exist either"),
        )
        for name, kind, text in cases:
            with self.subTest(name=name), self.refused(kind, text):
                self.peek(5, self.folder + name)
        with self.refused(ValueError, "is not text", "open(path, 'rb')"):
            self.peek(5, self.write("program", b"\x7fELF\0\0"))
        with self.refused(TypeError, "peek() takes a path as text, not int"):
            self.peek(5, 3)
        with self.refused(ValueError, "is not a path"):
            self.peek(5, "a\0b")

    def test_contexts_that_cannot_be_read(self):
        with self.refused(NameError, "there is no context", "peek()"):
            self.peek()
        self.give(b"abc")
        with self.refused(TypeError, "context.decode()", "text=text"):
            self.peek()
        self.give([object()])
        with self.refused(TypeError, "cannot read the text of a object at [0]"):
            self.peek()


class ChunkTest(AgentCase):
    def test_every_character_is_there(self):
        for length in (0, 1, 5, 100, 1000, 9999):
            text = "".join("line {}\n".format(number) for number in range(length))[:length]
            self.give(text)
            for n in (1, 2, 4, 7, 20):
                chunks = self.chunk_context(n, overlap=0)
                with self.subTest(length=length, n=n):
                    self.assertEqual("".join(chunks), text)
                    self.assertLessEqual(len(chunks), n)
                    self.assertTrue(all(chunks))

    def test_ends_stand_at_lines(self):
        self.give("".join("line {}\n".format(number) for number in range(5000)))
        chunks = self.chunk_context()
        self.assertEqual(len(chunks), 4)
        self.assertTrue(all(chunk.endswith("\n") for chunk in chunks))
        for (_, end), (start, _), before, after in zip(chunks.spans, chunks.spans[1:], chunks, chunks[1:]):
            self.assertEqual(end - start, 200)
            self.assertEqual(before[-200:], after[:200])
        self.assertIn("[0] characters 0:", repr(chunks))
        self.assertEqual(pickle.loads(pickle.dumps(chunks)).spans, chunks.spans)

    def test_a_line_break_too_far_away(self):
        text = "x" * 1000 + "\n" + "y" * 3000
        self.give(text)
        self.assertEqual(self.chunk_context(2, overlap=0).spans, [(0, 2001), (2001, 4001)])

    def test_numbers_out_of_range(self):
        self.give("abc" * 1000)
        for n in (0, 21, -1, 10**30):
            with self.refused(ValueError, "n must be from 1 to 20", "chunk_text(context, size)"):
                self.chunk_context(n)
        with self.refused(ValueError, "overlap must be from 0 to 749"):
            self.chunk_context(12 // 3, overlap=750)

    def test_values(self):
        self.give(DOCUMENTS)
        self.assertEqual("".join(self.chunk_context(2, overlap=0)), self.peek())


class FolderTest(AgentCase):
    def test_folders_come_first(self):
        self.write("b.txt", "x" * 1234)
        self.write("a.txt", "")
        os.mkdir(self.folder + "/z")
        os.symlink("nowhere", self.folder + "/link")
        listing = self.list_dir()
        self.assertEqual([entry.name for entry in listing], ["z", "a.txt", "b.txt", "link"])
        self.assertEqual([entry.kind for entry in listing], ["folder", "file", "file", "link"])
        rows = ["{}: 4 entries".format(self.folder), "z/", "a.txt  0", "b.txt  1,234", "link  (link)"]
        self.assertEqual(repr(listing).split("\n"), rows)

    def test_the_rest_is_counted(self):
        for number in range(105):
            self.write("file {:03}".format(number), "")
        listing = self.list_dir(self.folder)
        self.assertEqual((len(listing), listing.total, listing.more), (100, 105, 5))
        self.assertIn("\u2026 5 more", repr(listing))

    def test_names_that_are_no_utf_8(self):
        with open(os.fsencode(self.folder) + b"/\xff", "wb"):
            pass
        self.assertEqual(self.list_dir()[0].name, "\\udcff")

    def test_an_empty_folder_and_what_is_none(self):
        self.assertIn("empty", repr(self.list_dir()))
        with self.refused(NotADirectoryError, "file_info("):
            self.list_dir(self.write("file", ""))
        with self.refused(FileNotFoundError, "no such file"):
            self.list_dir(self.folder + "/none")

    def test_file_info(self):
        info = self.file_info(self.write("a", "x\ny"))
        self.assertEqual((info.kind, info.size, info.encoding, info.lines), ("file", 3, "utf-8", 2))
        self.assertRegex(repr(info), r"kind: file, size: 3, modified: \d{4}-")
        self.assertEqual(self.file_info(self.write("b", b"\0")).encoding, "binary")
        self.assertEqual(self.file_info(self.folder).kind, "folder")
        os.mkfifo(self.folder + "/pipe")
        self.assertEqual(self.file_info(self.folder + "/pipe").kind, "pipe")
        os.symlink("nowhere", self.folder + "/link")
        self.assertEqual(self.file_info(self.folder + "/link").kind, "link to nowhere")
        with self.refused(FileNotFoundError, "no such file"):
            self.file_info(self.folder + "/none")


if __name__ == "__main__":
    unittest.main()
