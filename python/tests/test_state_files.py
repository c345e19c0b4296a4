"""A snapshot that is cut off, damaged or of another kind is refused as a whole."""
import builtins
import os
import random
import struct
import sys
import tempfile
import unittest
import zlib
from unittest import mock

from snapshot_case import PLAIN, SnapshotCase, missing

from cellar_runner.state import file_reader, file_writer, pickling, restore, snapshot

ROUNDS = 400


def pack(compression, limit=1 << 30):
    pieces = []
    return pieces, file_writer.FileWriter(lambda piece: pieces.append(bytes(piece)), limit, compression)


def unpack(pieces):
    file = tempfile.TemporaryFile()
    file.write(b"".join(pieces))
    file.flush()
    return file, file_reader.FileReader(file.fileno())


class BlockTest(unittest.TestCase):
    compression = "zlib"

    def test_views_and_tapes_come_back(self):
        pieces, writer = pack(self.compression)
        pickle_writer = file_writer.PickleWriter(writer)
        noise = os.urandom(2_500_000)
        views = [b"", b"x", b"ab" * 3_000_000, noise]
        entries = [writer.send_view(memoryview(view)) for view in views]
        pickle_writer.begin()
        pickle_writer.write(b"first ")
        pickle_writer.keep()
        pickle_writer.begin()
        pickle_writer.write(b"gone " * 400_000)
        pickle_writer.write(noise)
        pickle_writer.roll_back()
        pickle_writer.begin()
        pickle_writer.write(bytearray(noise))
        pickle_writer.write(b" last")
        pickle_writer.keep()
        pickle_writer.finish()
        writer.finish({"views": entries, "pickle_writer": pickle_writer.entries})
        file, reader = unpack(pieces)
        with file:
            for view, entry in zip(views, reader.index["views"]):
                self.assertEqual(bytes(reader.buffer(entry)), view)
            pickle_reader = file_reader.PickleReader(reader, reader.index["pickle_writer"])
            self.assertEqual(pickle_reader.read(1 << 40), b"first " + noise + b" last")
            self.assertEqual(pickle_reader.read(5), b"")
            pickle_reader.position = 4
            target = bytearray(4)
            self.assertEqual(pickle_reader.readinto(target), 4)
            self.assertEqual(bytes(target), b"t " + noise[:2])

    def test_what_does_not_shrink_is_not_copied(self):
        handed = []
        writer = file_writer.FileWriter(handed.append, 1 << 30, self.compression)
        noise = os.urandom(3_000_000)
        writer.send_view(memoryview(noise))
        self.assertEqual([type(piece) for piece in handed[1:]], [memoryview] * 3)
        self.assertTrue(all(piece.obj is noise for piece in handed[1:]))
        before = writer.sent
        writer.send_view(memoryview(bytes(3_000_000)))
        self.assertLess(writer.sent - before, 50_000)

    def test_the_limit(self):
        pieces, writer = pack(self.compression, 1_000_000)
        with self.assertRaises(file_writer.LimitExceeded):
            writer.send_view(memoryview(os.urandom(5_000_000)))
        self.assertLessEqual(len(b"".join(pieces)), 1_000_000)
        pickle_writer = file_writer.PickleWriter(writer)
        pickle_writer.begin()
        with self.assertRaises(file_writer.LimitExceeded):
            pickle_writer.write(os.urandom(5_000_000))


@unittest.skipIf(missing("lz4"), missing("lz4"))
class Lz4BlockTest(BlockTest):
    compression = "lz4"


class RefusalTest(SnapshotCase):
    def refused(self, data, words=""):
        """Asserts that nothing of it is read."""
        before = self.interpreter
        with self.assertRaisesRegex(snapshot.Refused, words):
            self.restore(data)
        self.assertIs(self.interpreter, before)

    def sample(self):
        self.value(
            "import os, pickle\na = [1, 'x', {'k': (2, 3)}]\ndef f(): return a\n"
            "b = os.urandom(200_000)"
        )
        self.value(
            "class Apart(bytearray):\n"
            "    def __reduce_ex__(self, p): return bytearray, (pickle.PickleBuffer(self),)\n"
            "apart = Apart(os.urandom(200_000))\nc = 'abc' * 50_000"
        )
        return self.save()[0]

    def test_truncated_files(self):
        data = self.sample()
        for length in [0, 1, 8, 12, 40] + [random.randrange(len(data)) for _ in range(60)]:
            with self.subTest(length=length):
                self.refused(data[:length])
        self.refused(data + b"x")

    def test_every_changed_byte_is_noticed(self):
        data = self.sample()
        places = list(range(12)) + list(range(len(data) - 400, len(data)))
        places += [random.randrange(len(data)) for _ in range(ROUNDS)]
        for place in places:
            with self.subTest(place=place):
                changed = bytearray(data)
                changed[place] ^= 1 << random.randrange(8)
                self.refused(bytes(changed))

    def test_nothing_is_left_of_a_damaged_one(self):
        self.value("import os\nfirst = [1]\ndef f(): pass\nlast = os.urandom(3_000_000)")
        data = bytearray(self.save()[0])
        data[2_000_000] ^= 1
        namespace = {}

        def remember(reader, interpreter):
            namespace.update(interpreter=interpreter)
            return original(reader, interpreter)

        original = restore._Restore
        with mock.patch.object(restore, "_Restore", remember):
            self.refused(bytes(data), "checksum")
        self.assertNotIn("first", namespace["interpreter"].namespace)

    def test_other_files_and_formats(self):
        data = self.sample()
        self.refused(b"no snapshot at all, but long enough for one", "not a snapshot")
        newer = data[:8] + struct.pack("<I", 7) + data[12:]
        self.refused(newer, "format 7")

    def forged(self, change):
        """A snapshot whose index was changed, with checksums that fit."""
        data = self.sample()
        file, reader = unpack([data])
        with file:
            index = reader.index
        place = file_writer.TAIL.unpack(data[-file_writer.TAIL.size :])[0]
        change(index)
        pieces = [data[:place]]
        writer = file_writer.FileWriter(lambda piece: None, 1 << 30, "zlib")
        writer.sent = place
        writer._sink = lambda piece: pieces.append(bytes(piece))
        writer.finish(index)
        return b"".join(pieces)

    def test_another_python(self):
        self.refused(self.forged(lambda index: index.update(python="3.1")), "3.1.*{}".format(restore._PYTHON))
        self.refused(self.forged(lambda index: index.update(implementation="other")), "other")
        self.refused(self.forged(lambda index: index.update(codec="x+y")), r"x\+y")

    def test_an_index_that_lies(self):
        changes = [
            lambda index: index.clear(),
            lambda index: index.update(stream=5),
            lambda index: index.update(stream=[[0, 1]]),
            lambda index: index.update(stream=[[1 << 50, 5, 5, 0, 0]]),
            lambda index: index.update(stream=[[12, 5, 1 << 60, 1, 0]]),
            lambda index: index.update(stream=[[-4, 5, 5, 0, 0]]),
            lambda index: index["stream"][0].__setitem__(3, 9),
            lambda index: index.update(variables=[["a", 1]]),
            lambda index: index.update(variables=5, states=None),
            lambda index: index.update(end=None),
            lambda index: index.update(anchors=7),
            lambda index: index.update(places={}),
            lambda index: index.update(sources=[1]),
            lambda index: index.update(lost=[["a"]]),
        ]
        for number, change in enumerate(changes):
            with self.subTest(number=number):
                self.refused(self.forged(change))

    def test_records_that_lie_cost_only_their_variables(self):
        def change(index):
            records = dict(index["variables"])
            records["a"][0] += 1
            records["b"][2] = 1 << 40

        report = self.restore(self.forged(change))
        self.assertIn("f", report["restored"])
        self.assertIn("a", [entry["name"] for entry in report["lost"]])

    def test_random_streams_never_end_the_runner(self):
        # No byte of this is an instruction that asks for gigabytes.
        self.value(
            "a = [1, 'x', {'k': (2, 3)}, 2.5]\nb = [a, 'next', {5, 6}]\n"
            "c = {'b': b, 'd': b'bytes'}"
        )
        data = self.save()[0]
        file, reader = unpack([data])
        with file:
            index = reader.index
            stream = file_reader.PickleReader(reader, index["stream"]).read(1 << 30)
        # Of its own: restoring puts the state of the random module back each time.
        chance = random.Random(7)
        outcomes = set()
        end = index["states"][0][1][0]
        for _ in range(ROUNDS):
            changed = bytearray(stream)
            for _ in range(chance.randrange(1, 4)):
                changed[chance.randrange(end)] = chance.choice(b"(0123NT.)}]abchqJKU\x80\x85\x88\x94\x95")
            pieces, writer = pack("zlib")
            index["stream"] = [writer.send((file_writer.RAW, bytes(changed), len(changed)))]
            writer.finish(index)
            try:
                report = self.restore(b"".join(pieces))
                outcomes.add("lost" if report["lost"] else "whole")
            except (snapshot.Refused, MemoryError):
                outcomes.add("refused")
        self.assertLessEqual({"lost", "whole"}, outcomes)

    def test_a_planted_pickle_costs_only_its_variable(self):
        self.value(
            "good = 1\nclass P:\n"
            "    def __reduce__(self): return (exec, (\"raise SystemExit('planted')\",))\n"
            "bad = P()\nlast = [good]"
        )
        report = self.restore(self.save()[0])
        self.assertEqual(report["restored"], ["good", "P", "last"])
        self.assertIn("planted", report["lost"][0]["reason"])

    def test_interrupts_and_lack_of_memory_pass(self):
        for kind in (KeyboardInterrupt, MemoryError):
            code = "class P:\n    def __reduce__(self): return (exec, ('raise {}',))\nbad = P()"
            self.value(code.format(kind.__name__))
            data = self.save()[0]
            limit = sys.getrecursionlimit()
            with self.assertRaises(kind):
                self.restore(data)
            self.assertEqual(sys.getrecursionlimit(), limit)


class CodecTest(SnapshotCase):
    def without(self, *names):
        """As if these modules were not installed."""
        hidden = {name: None for name in names}
        for name in list(sys.modules):
            if name.partition(".")[0] in names:
                hidden[name] = None
        return mock.patch.dict(sys.modules, hidden)

    def test_the_best_that_there_is(self):
        with self.without("cloudpickle", "lz4"):
            self.assertEqual(snapshot.codec_here(), PLAIN)
            self.travel("a = 1\nf = lambda: a\nclass C: pass\nc = C()")
            self.assertEqual(self.manifest["codec"], PLAIN)
            self.holds("f() == 1 and type(c) is C")

    @unittest.skipIf(missing("cloudpickle", "lz4"), missing("cloudpickle", "lz4"))
    def test_a_codec_that_is_missing_now(self):
        self.assertEqual(snapshot.codec_here(), "cloudpickle+lz4")
        self.value("a = 1")
        data, manifest = self.save()
        self.assertEqual(manifest["codec"], "cloudpickle+lz4")
        for name in ("cloudpickle", "lz4"):
            with self.without(name), self.assertRaisesRegex(snapshot.Refused, "cellar install " + name):
                self.restore(data)
        self.codec = PLAIN
        data, _ = self.save()
        with self.without("cloudpickle", "lz4"):
            self.restore(data)

    def test_anchors_that_are_gone(self):
        self.interpreter.builtins = {"tool": lambda: 1}
        vars(builtins)["tool"] = self.interpreter.builtins["tool"]
        report = self.travel("t = tool\nholder = [tool]\nother = [1]")
        self.assertEqual(report["restored"], ["other"])
        self.assertEqual(pickling.external_objects(self.interpreter)["namespace"], self.interpreter.namespace)

    def test_checksums_are_those_of_zlib(self):
        pieces, writer = pack("zlib")
        entry = writer.send((file_writer.RAW, b"abc", 3))
        self.assertEqual(entry[4], zlib.crc32(b"abc"))


if __name__ == "__main__":
    unittest.main()
