"""Large contexts: every character comes through, and no text is held twice."""
import json
import os
import random
import sys
import tempfile
import unittest

from cellar_runner.context import incoming
from cellar_runner.protocol.channel import Channel
from cellar_runner.session.interrupts import Interrupts
from cellar_runner.session.service import NoCheckpoints, Service

LONG = 3 * incoming.SMALL_CHARACTERS

TEXTS = {
    "nothing": "",
    "short": "caf\u00e9",
    "ascii": "line\r\n\0" * LONG,
    "latin": "a" * LONG + "\u00e9" * LONG,
    "wide": "\u65e5\u672c\u8a9e\r\n" * LONG,
    "astral": "ab\U0001f600" * LONG,
    "late": "a" * LONG + "\u00e9" + "b" * LONG + "\U0001f600" + "c" * LONG,
    "mark": "\ufeff" + "x" * LONG,
}


def gathered(form, data, sizes, mapped_texts=None):
    """The context made of `data`, fed in pieces of the given sizes over and over."""
    made = incoming.Incoming(form, len(data), mapped_texts)
    at = turn = 0
    while at < len(data):
        size = sizes[turn % len(sizes)]
        made.feed(data[at : at + size])
        at += size
        turn += 1
    return made.finish()


def mapping_at(address):
    """Rights and name of the mapping that an address lies in."""
    with open("/proc/self/maps") as maps:
        for line in maps:
            fields = line.split()
            low, high = (int(part, 16) for part in fields[0].split("-"))
            if low <= address < high:
                return fields[1], fields[5] if len(fields) > 5 else ""
    return None


class TextTest(unittest.TestCase):
    def assert_same(self, found, text):
        """Equal, of the plain type, and of the one form that equal strings must have."""
        self.assertIs(type(found), str)
        self.assertTrue(found == text)
        self.assertEqual(hash(found), hash(text))
        self.assertEqual(sys.getsizeof(found), sys.getsizeof(text + "" if text else ""))

    def test_utf_8(self):
        for name, text in TEXTS.items():
            data = text.encode("utf-8")
            for sizes in ([len(data) or 1], [65_536, 1, 2, 3], [99_991]):
                with self.subTest(name=name, sizes=sizes):
                    self.assert_same(gathered("utf-8", data, sizes), text)

    def test_single_bytes(self):
        text = "a\u00e9\u65e5\U0001f600\r\n\0"
        self.assert_same(gathered("utf-8", text.encode("utf-8"), [1]), text)
        self.assert_same(gathered("utf-16-le", text.encode("utf-16-le"), [1]), text)

    def test_bytes_that_are_no_utf_8_can_be_had_back(self):
        for bad in (b"\xff\xfe", b"\xed\xa0\x80", b"\xc3", b"\xf0\x9f\x98"):
            data = b"x" * LONG + bad + b"y" * 10 + bad
            found = gathered("utf-8", data, [70_001, 3])
            self.assertEqual(found.encode("utf-8", "surrogateescape"), data)

    def test_lone_surrogates(self):
        text = "a\ud800b\udc00\U0001f600\udfff\ud83d" * LONG
        data = text.encode("utf-16-le", "surrogatepass")
        for sizes in ([len(data)], [65_537, 1, 2]):
            self.assert_same(gathered("utf-16-le", data, sizes), text)

    def test_more_or_less_than_announced(self):
        for size in (0, 5, LONG - 1, LONG + 1, 2 * LONG):
            made = incoming.Incoming("utf-8", size)
            made.feed(b"z" * LONG)
            self.assert_same(made.finish(), "z" * LONG)

    @unittest.skipUnless(hasattr(os, "memfd_create"), "this system has no files without a name")
    def test_mapped(self):
        from cellar_runner.context import mapped_text

        usual, mapped_text.SMALLEST = mapped_text.SMALLEST, 33 << 20
        self.addCleanup(setattr, mapped_text, "SMALLEST", usual)
        many = mapped_text.SMALLEST // 7
        for unit in ("ab\r\n\0cde", "abcdef\u00e9", "abcdef\u65e5", "abcdef\U0001f600"):
            text = "first \u00e9" * (unit != "ab\r\n\0cde") + unit * many
            data = text.encode("utf-8")
            for sizes in ([1 << 20], [99_991, 1]):
                mapped_texts = mapped_text.MappedTexts()
                found = gathered("utf-8", data, sizes, mapped_texts)
                # Lets the file go.
                mapped_texts.keep_file(None)
                with self.subTest(unit=unit, sizes=sizes):
                    self.assert_same(found, text)
                    self.assertEqual(mapping_at(id(found) + 100_000), ("r--p", "/memfd:context"))
                    self.assertTrue(found[-10:] + found[:10] == text[-10:] + text[:10])

    def test_without_the_interpreters_own_functions(self):
        usual, incoming._new = incoming._new, None
        self.addCleanup(setattr, incoming, "_new", usual)
        self.test_utf_8()

    def test_random_texts(self):
        dice = random.Random(7)
        alphabet = "ab\r\n\0\u00e9\u0416\u65e5\U0001f600"
        for _ in range(20):
            some = dice.sample(alphabet, dice.randint(1, len(alphabet)))
            text = "".join(dice.choice(some) for _ in range(dice.randint(0, 2 * incoming.SMALL_CHARACTERS)))
            sizes = [dice.randint(1, 50_000) for _ in range(5)]
            self.assert_same(gathered("utf-8", text.encode("utf-8"), sizes), text)
            self.assert_same(gathered("utf-16-le", text.encode("utf-16-le"), sizes), text)


class ValueTest(unittest.TestCase):
    def test_tagged_values(self):
        form = {"a": [1, None, "\ud83d\ude00"], "b": {"$": "int", "v": str(2**70)}}
        found = gathered("json", json.dumps(form).encode(), [7])
        self.assertEqual(found, {"a": [1, None, "\U0001f600"], "b": 2**70})

    def test_what_is_no_json(self):
        with self.assertRaises(ValueError):
            gathered("json", b"[1, 2", [3])


@unittest.skipUnless(hasattr(os, "preadv"), "this system cannot read at a place into a buffer")
class FileTest(unittest.TestCase):
    def setUp(self):
        self.file = tempfile.TemporaryFile()
        self.addCleanup(self.file.close)

    def read(self, data, size=None):
        self.file.write(data)
        self.file.flush()
        size = len(data) if size is None else size
        return incoming.read(self.file.fileno(), "utf-8", size)

    def test_from_the_start_wherever_the_file_stands(self):
        self.assertEqual(self.read(b"0123456789" * LONG), "0123456789" * LONG)
        self.assertEqual(os.lseek(self.file.fileno(), 0, os.SEEK_CUR), 10 * LONG)

    def test_no_more_than_it_had_and_no_less_than_is_there(self):
        self.assertEqual(self.read(b"abcdef" * LONG, 6), "abcdef")
        self.assertEqual(incoming.read(self.file.fileno(), "utf-8", 9 * LONG), "abcdef" * LONG)


class Answers(list):
    """A channel that keeps the answers, and a refusal as its text."""

    def answer(self, _identifier, result):
        self.append(result)

    def refuse(self, _identifier, _code, text):
        self.append(text)

    report_error = Channel.report_error


class Holder(Service):
    """A service with a namespace and nothing that runs."""

    class _Shell:
        def __init__(self):
            self.namespace = {}

    class _Checkpoints(NoCheckpoints):
        def plan(self, params):
            return {"planned": params["checkpoint"] == "always"}

    def __init__(self):
        super().__init__(Interrupts(int), self._Checkpoints("for a test"))
        self._channel = Answers()
        self.interpreter = self._Shell()

    def ask(self, method, **params):
        self._handle({"id": 1, "method": method, "params": params})
        return self._channel.pop()

    def part(self, offset, piece, total=6, form="utf-8"):
        return self.ask("context_part", format=form, total=total, offset=offset, attachments=[piece])

    def load(self, total=6):
        return self.ask("load_context", step=1, total=total, checkpoint="always")


class PartsTest(unittest.TestCase):
    def setUp(self):
        self.holder = Holder()
        self.namespace = self.holder.interpreter.namespace

    def test_parts_in_order(self):
        self.assertEqual(self.holder.part(0, b"abc"), {})
        self.assertNotIn("context", self.namespace)
        self.assertEqual(self.holder.part(3, b"def"), {})
        self.assertEqual(self.holder.load(), {"checkpoint": {"planned": True}})
        self.assertEqual(self.namespace["context"], "abcdef")
        self.assertIsNotNone(self.holder.given_step())

    def test_a_start_drops_what_was_begun(self):
        self.holder.part(0, b"abc")
        self.holder.part(0, b"xyz")
        self.holder.part(3, b"xyz")
        self.holder.load()
        self.assertEqual(self.namespace["context"], "xyzxyz")

    def test_gaps_and_missing_ends_are_refused_and_leave_what_was_there(self):
        self.namespace["context"] = "kept"
        self.holder.part(0, b"abc")
        self.assertIn("ValueError", self.holder.part(4, b"ef"))
        self.assertIn("ValueError", self.holder.part(3, b"def"))
        self.assertIn("ValueError", self.holder.load())
        self.holder.part(0, b"abc")
        self.assertIn("ValueError", self.holder.load())
        self.assertIn("ValueError", self.holder.load())
        self.assertEqual(self.namespace["context"], "kept")
        self.assertIsNone(self.holder.given_step())


if __name__ == "__main__":
    unittest.main()
