"""Values survive the way out and in, and hostile ones are contained."""
import collections
import datetime
import decimal
import enum
import json
import sys
import types
import unittest

from cellar_runner.values import encoding

try:
    import numpy
except ImportError:
    numpy = None
try:
    import pandas
except ImportError:
    pandas = None
try:
    import polars
except ImportError:
    polars = None


def encode(value, **options):
    """The encoded form; it must be JSON."""
    encoded = encoding.encode(value, **options)
    json.dumps(encoded, allow_nan=False)
    return encoded


def count(encoded):
    """Nodes as the host counts them: members and elements."""
    text = json.dumps(encoded)
    return text.count(",") + text.count("[") + text.count("{")


class RoundTripTest(unittest.TestCase):
    def test_plain_json_stays_plain(self):
        numbers = (0, -5, 2**53 - 1, 1.5, -0.0)
        for value in (None, True, False, "é\ud800", [], [1, [2]], {"a": {}}) + numbers:
            with self.subTest(value=value):
                self.assertEqual(encode(value), value)
                self.assertEqual(encoding.decode(encoding.encode(value)), value)

    def test_tagged_values_come_back(self):
        utc = datetime.timezone.utc
        for value in (
            2**53,
            -(2**100),
            float("inf"),
            b"\x00\xff",
            (1, (2,)),
            {1, 2},
            frozenset([3]),
            {1: "a", (2, 3): "b"},
            {"$": "tricky"},
            datetime.datetime(2024, 2, 3, 4, 5, 6, 7),
            datetime.datetime(2024, 2, 3, tzinfo=utc),
            datetime.date(2024, 2, 3),
            datetime.time(4, 5),
            datetime.timedelta(days=1, seconds=2),
            decimal.Decimal("1.10"),
            3 + 4j,
        ):
            with self.subTest(value=value):
                encoded = encode(value)
                self.assertIn("$", encoded)
                decoded = encoding.decode(json.loads(json.dumps(encoded)))
                self.assertEqual(decoded, value)
                self.assertIs(type(decoded), type(value))
        self.assertEqual(encode(float("nan")), {"$": "float", "v": "nan"})

    def test_exact_forms(self):
        self.assertEqual(encode(2**60), {"$": "int", "v": str(2**60)})
        self.assertEqual(encode((1,)), {"$": "tuple", "v": [1]})
        self.assertEqual(encode({1: 2}), {"$": "dict", "v": [[1, 2]]})
        self.assertEqual(encode(datetime.date(2024, 1, 2)), {"$": "date", "v": "2024-01-02"})

    def test_subclasses_count_as_their_base(self):
        Pair = collections.namedtuple("Pair", "a b")
        Level = enum.IntEnum("Level", "LOW HIGH")
        self.assertEqual(encode(Pair(1, 2)), {"$": "tuple", "v": [1, 2]})
        self.assertEqual(encode(Level.HIGH), 2)
        self.assertEqual(encode(collections.OrderedDict(a=1)), {"a": 1})

    def test_bad_forms_are_refused(self):
        deep = []
        for _ in range(500):
            deep = [deep]
        for tagged in (
            {"$": "object", "type": "x", "text": "y"},
            {"$": "unknown", "v": 1},
            {"$": ["int"], "v": 1},
            {"$": "int"},
            {"$": "int", "v": 5},
            {"$": "int", "v": "x"},
            {"$": "bytes", "v": "!"},
            {"$": "set", "v": [[]]},
            {"$": "dict", "v": [1]},
            {"$": "datetime", "v": 3},
            {"$": "decimal", "v": "x"},
            {"$": "timedelta", "v": 1e300},
            deep,
        ):
            with self.subTest(tagged=str(tagged)[:60]), self.assertRaises(ValueError):
                encoding.decode(tagged)


class HostileTest(unittest.TestCase):
    def test_cycles_and_depth(self):
        cycle = [1]
        cycle.append(cycle)
        self.assertEqual(encode(cycle), [1, {"$": "cycle"}])
        shared = [1]
        self.assertEqual(encode([shared, shared]), [[1], [1]])
        deep = []
        for _ in range(5000):
            deep = [deep]
        self.assertIn("truncated", json.dumps(encode(deep)))

    def test_sizes_are_bounded(self):
        for value in (
            list(range(10**6)),
            [[] for _ in range(10**6)],
            [float("nan")] * 10**6,
            {index: index for index in range(10**6)},
            {str(index): index for index in range(10**6)},
            [object()] * 100_000,
            [b"x"] * 10**6,
            ["\u1234" * 1000] * 5000,
        ):
            encoded = encode(value)
            self.assertEqual(encoded["$"], "truncated")
            self.assertEqual(encoded["length"], len(value))
            self.assertTrue(encoded["v"])
            self.assertLessEqual(count(encoded), 200_000)
            self.assertLess(len(json.dumps(encoded)), 16 * 1024 * 1024)

    def test_long_texts_and_bytes(self):
        self.assertEqual(encode("x" * 100, limit=50)["$"], "truncated")
        self.assertEqual(encode("x" * 100, limit=50)["length"], 100)
        self.assertEqual(encode(b"x" * 100, limit=50)["length"], 100)
        self.assertEqual(encode("\u1234" * 20, limit=50)["$"], "truncated")

    def test_unknown_objects_are_only_described(self):
        class Trap:
            def __iter__(self):
                raise AssertionError("iterated")

            __len__ = keys = items = __getitem__ = __iter__

        encoded = encode(Trap())
        self.assertEqual(encoded["$"], "object")
        self.assertIn("Trap", encoded["type"])

    def test_overridden_methods_of_subclasses_are_not_called(self):
        def trap(*_arguments):
            raise AssertionError("called")

        names = "__iter__ __len__ items keys __getitem__ __str__ __int__ __float__ __index__"
        members = dict.fromkeys(names.split(), trap)
        for base, value in ((list, [1]), (dict, {"a": 1}), (str, "s"), (int, 3), (float, 2.5)):
            with self.subTest(base=base):
                evil = type("Evil", (base,), members)(value)
                self.assertEqual(encode(evil), value)

    def test_failing_reprs_and_lying_classes(self):
        class Bad:
            __class__ = property(lambda self: 1 / 0)

            def __repr__(self):
                raise SystemExit

        self.assertIn("__repr__ raised SystemExit", encode([Bad()])[0]["text"])


class DescribeTest(unittest.TestCase):
    def test_variables(self):
        namespace = {"x": 1, "words": ["a"] * 3, "mod": types, "s": "y" * 500}
        namespace.update({"_private": 2, "__name__": "m"})
        described = {entry["name"]: entry for entry in encoding.describe(namespace)}
        self.assertEqual(sorted(described), ["mod", "s", "words", "x"])
        self.assertEqual(described["x"], {"name": "x", "type": "int", "text": "1"})
        self.assertEqual(described["words"]["size"], 3)
        self.assertEqual(described["mod"]["type"], "module")
        self.assertEqual(described["s"]["size"], 500)
        for entry in described.values():
            self.assertLessEqual(len(entry["text"]), encoding.SHORT_TEXT)

    def test_hostile_values_and_many_names(self):
        class Bad:
            def __repr__(self):
                raise ValueError

        self.assertIn("Bad object", encoding.describe({"b": Bad()})[0]["text"])
        many = {"v%d" % index: index for index in range(20_000)}
        self.assertEqual(len(encoding.describe(many)), encoding.VARIABLE_LIMIT)
        self.assertEqual(encoding.describe({"n" * 5000: 1, 3: 4}), [])


@unittest.skipIf(numpy is None, "needs numpy")
class NumpyTest(unittest.TestCase):
    def test_arrays_and_scalars(self):
        encoded = encode(numpy.arange(6, dtype="int32").reshape(2, 3))
        items = [[0, 1, 2], [3, 4, 5]]
        self.assertEqual(
            encoded, {"$": "ndarray", "dtype": "int32", "shape": [2, 3], "v": items}
        )
        self.assertEqual(encode(numpy.float64(1.5)), 1.5)
        self.assertEqual(encode(numpy.int64(3)), 3)
        self.assertEqual(encode(numpy.bool_(True)), True)
        self.assertEqual(encode(numpy.longdouble(1))["$"], "object")
        self.assertEqual(encoding.decode(encoded).tolist(), [[0, 1, 2], [3, 4, 5]])

    def test_large_arrays_are_cut(self):
        encoded = encode(numpy.zeros((10**6, 2)))
        self.assertTrue(encoded["truncated"])
        self.assertEqual(encoded["shape"], [10**6, 2])
        self.assertTrue(0 < len(encoded["v"]) < 10**6)
        self.assertLessEqual(count(encoded), 200_000)

    def test_size_in_describe(self):
        self.assertEqual(encoding.describe({"a": numpy.zeros((4, 2))})[0]["size"], 4)


@unittest.skipIf(pandas is None, "needs pandas")
class PandasTest(unittest.TestCase):
    def test_tables(self):
        frame = pandas.DataFrame({"a": [1, 2], "b": ["x", None]})
        encoded = encode(frame)
        self.assertEqual(encoded["$"], "dataframe")
        self.assertEqual(encoded["columns"], ["a", "b"])
        self.assertEqual(encoded["rows"][0], [1, "x"])
        self.assertEqual(encoded["shape"], [2, 2])
        self.assertFalse(encoded["truncated"])
        encoded = encode(pandas.DataFrame({"a": range(5000)}))
        self.assertTrue(encoded["truncated"])
        self.assertEqual(encoded["shape"], [5000, 1])

    def test_series_and_times(self):
        encoded = encode(pandas.Series([1.5, 2.5], index=["p", "q"], name="s"))
        self.assertEqual(encoded["v"], [1.5, 2.5])
        self.assertEqual((encoded["index"], encoded["name"]), (["p", "q"], "s"))
        stamp = encode(pandas.Timestamp("2024-01-02T03:04:05"))
        self.assertEqual(stamp, {"$": "datetime", "v": "2024-01-02T03:04:05"})
        self.assertEqual([encode(pandas.NaT), encode(pandas.NA)], [None, None])


@unittest.skipIf(polars is None, "needs polars")
class PolarsTest(unittest.TestCase):
    def test_tables_and_series(self):
        encoded = encode(polars.DataFrame({"a": [1, None], "b": ["x", "y"]}))
        self.assertEqual(encoded["rows"], [[1, "x"], [None, "y"]])
        self.assertEqual((encoded["columns"], encoded["shape"]), (["a", "b"], [2, 2]))
        self.assertTrue(encode(polars.DataFrame({"a": range(5000)}))["truncated"])
        encoded = encode(polars.Series("s", [1.5, None]))
        self.assertEqual((encoded["v"], encoded["index"], encoded["name"]), ([1.5, None], [0, 1], "s"))


class LossTest(unittest.TestCase):
    def test_what_cannot_be_sent_as_it_is_is_told(self):
        def loss(value, limit=encoding.CHARACTER_LIMIT):
            encoder = encoding.Encoder(limit)
            encoder.encode(value, 0)
            return encoder.loss

        cyclic = []
        cyclic.append(cyclic)
        nested = []
        for _ in range(30):
            nested = [nested]
        for whole in ({"a": [1, (2, {3}), b"x", 2**80, float("nan")]}, "text", None):
            self.assertIsNone(loss(whole))
        for value in (cyclic, nested, object(), [len], "x" * 200, b"x" * 200, list(range(200))):
            self.assertIsNotNone(loss(value, 100), value)


class WithoutLibrariesTest(unittest.TestCase):
    def test_arrays_decode_to_lists_without_numpy(self):
        saved = sys.modules.pop("numpy", None)
        try:
            self.assertEqual(encoding.decode({"$": "ndarray", "v": [[1], [2]]}), [[1], [2]])
        finally:
            if saved is not None:
                sys.modules["numpy"] = saved


if __name__ == "__main__":
    unittest.main()
