"""Whether values read as in IPython. Runs in a process of its own, which imports IPython."""
import collections
import datetime
import enum
import os
import random
import re
import sys
import types
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from IPython.core.formatters import PlainTextFormatter  # noqa: E402

from cellar_runner.values import pretty  # noqa: E402


class Lines:
    def __init__(self, count):
        self.count = count

    def __repr__(self):
        return "\n".join("line {}".format(number) * self.count for number in range(self.count))


class Pretty:
    def __init__(self, *items):
        self.items = items

    def _repr_pretty_(self, p, cycle):
        if cycle:
            p.text("Pretty(...)")
            return
        with p.group(2, "Pretty(", ")"):
            for number, item in enumerate(self.items):
                if number:
                    p.text(",")
                    p.breakable()
                p.pretty(item)
        with p.indent(3):
            p.break_()
            p.text("end")


class Plain:
    class Inner:
        def method(self, x):
            pass


class Listed(list):
    pass


class Named(dict):
    def __repr__(self):
        return "Named!"


class Colour(enum.Enum):
    RED = 1


Point = collections.namedtuple("Point", "x y")


def function(x, y=1, *rest, key: int = 2, **others) -> str:
    pass


def _cyclic():
    cyclic = [1, {}]
    cyclic[1]["self"] = cyclic
    return cyclic


def sample():
    """Values of all kinds that are written in a way of their own."""
    many = {index: str(index) for index in range(40)}
    return [
        None, True, 10**50, 1.5, float("nan"), 1j, "it's", "a\nb", "x" * 200, b"x", bytearray(b"x"),
        [], (), {}, set(), frozenset(), (1,), list(range(30)), list(range(1001)), tuple(range(99)),
        many, {number**2 for number in range(12)}, frozenset(range(50)), {1, "a", None},
        set(range(999)), Listed(range(40)), Listed(), Named(a=1), Point([1] * 40, 2), Colour.RED,
        int, Plain, Plain.Inner, collections.OrderedDict, [int, Plain], type(None), Colour,
        function, lambda x: x, len, print, max, [].append, "x".join, str.join, Plain.Inner.method,
        Plain.Inner().method, [ValueError("a" * 50), KeyError("b" * 50)], ValueError(), OSError(2, "no"),
        super(bool, True), re.compile("a"), re.compile(r"\d'\n\\", re.I | re.S), re.compile(b"x" * 90),
        range(3), slice(1, 2), ..., NotImplemented, datetime.datetime(2020, 1, 1), datetime.date(2020, 1, 1),
        collections.deque(range(40)), collections.deque([1], maxlen=3), collections.ChainMap({1: 2}),
        collections.defaultdict(list, many), collections.OrderedDict(many), collections.OrderedDict(),
        collections.Counter("abracadabra"), collections.UserList(range(40)), collections.UserDict(a=1),
        types.SimpleNamespace(a=1, b=list(range(40))), types.MappingProxyType(many), many.keys(),
        many.items(), Lines(3), [Lines(2), 1, Lines(3)], {"key": [Lines(2)]}, Pretty(1, 2), _cyclic(),
        [Pretty(*range(40)), Pretty(Lines(2), [3])], [["a" * 30] * 4] * 3, {"a": {"b": {"c": [1] * 40}}},
    ]  # fmt: skip


def nested(chance, depth=0):
    """A structure of any shape."""
    if depth > 4 or chance.random() < 0.45:
        return chance.choice(
            [chance.randrange(10**9), chance.random(), "s" * chance.randrange(25), None, int, function,
             Lines(chance.randrange(1, 4)), Point(1, "q" * chance.randrange(30)), re.compile("a+")]
        )  # fmt: skip
    items = [nested(chance, depth + 1) for _ in range(chance.choice([0, 1, 2, 3, 5, 9]))]
    keyed = {("k" * chance.randrange(9), number): item for number, item in enumerate(items)}
    return chance.choice(
        [items, tuple(items), keyed, collections.deque(items), collections.defaultdict(list, keyed),
         Pretty(*items), collections.OrderedDict(keyed), set(map(len, map(str, items))), ValueError(*items)]
    )  # fmt: skip


class AlikeTest(unittest.TestCase):
    def assert_alike(self, value, width=79, most=1000):
        formatter = PlainTextFormatter(max_width=width, max_seq_length=most)
        ours = pretty.text_of(value, 10**7, None, width, most)
        self.assertEqual(ours, formatter(value))

    def test_values_of_all_kinds(self):
        for value in sample():
            for width in (79, 20):
                self.assert_alike(value, width)
            self.assert_alike(value, 79, 5)
            self.assert_alike({"key": [value, value]}, 50)

    def test_structures_of_any_shape(self):
        chance = random.Random(5)
        for _ in range(150):
            self.assert_alike(nested(chance), chance.choice([79, 20, 40]), chance.choice([1000, 4]))

    def test_arrays_and_tables(self):
        try:
            import numpy
            import pandas
        except ImportError:
            self.skipTest("needs numpy and pandas")
        frame = pandas.DataFrame({"a": [1, 2]})
        for value in (numpy.eye(3), [numpy.eye(3), 1], {"k": frame}, (frame["a"], 2), numpy.float64(1)):
            self.assert_alike(value)
        self.assert_alike([numpy.int64(1)] * 30)

    def test_what_libraries_registered(self):
        from IPython.lib import pretty as library

        class Special:
            pass

        library.for_type(Special, lambda value, p, cycle: p.text("special"))
        self.addCleanup(library._type_pprinters.pop, Special)
        self.assertEqual(pretty.text_of([Special()]), "[special]")


if __name__ == "__main__":
    unittest.main()
