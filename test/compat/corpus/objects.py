"""Objects of classes that people write, and those of the standard library."""

# %%
from dataclasses import dataclass, field


@dataclass
class Item:
    name: str
    price: float = 1.0
    tags: list = field(default_factory=list)


Item("pen")

# %%
[Item(f"item number {i}", i * 1.5, ["tag", "other tag"]) for i in range(4)]

# %%
@dataclass(frozen=True, order=True)
class Version:
    major: int
    minor: int = 0


sorted([Version(2), Version(1, 5), Version(1)])

# %%
Version(1).major = 3

# %%
from enum import Enum, IntEnum, Flag, auto


class Colour(Enum):
    RED = 1
    GREEN = 2


Colour.RED, Colour["GREEN"], Colour(1), list(Colour)

# %%
Colour.RED

# %%
Colour

# %%
class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Right(Flag):
    READ = auto()
    WRITE = auto()


Level.LOW, Right.READ | Right.WRITE

# %%
Colour(7)

# %%
from typing import Any, Callable, Dict, List, Optional, TypeVar, Union, NamedTuple, TypedDict, Protocol

List[int], Optional[str], Union[int, str], Dict[str, Any], Callable[[int], str]

# %%
T = TypeVar("T")
T

# %%
int | None, list[int], dict[str, list[int]]

# %%
class Employee(NamedTuple):
    name: str
    id: int = 3


Employee("Guido")

# %%
class Movie(TypedDict):
    title: str
    year: int


Movie(title="Metropolis", year=1927)

# %%
class Pretty:
    def __init__(self, *parts):
        self.parts = parts

    def _repr_pretty_(self, p, cycle):
        if cycle:
            p.text("Pretty(...)")
            return
        with p.group(7, "Pretty(", ")"):
            for index, part in enumerate(self.parts):
                if index:
                    p.text(",")
                    p.breakable()
                p.pretty(part)


Pretty(1, "two", [3])

# %%
Pretty(*[list(range(8)) for _ in range(6)])

# %%
[Pretty(1), {"k": Pretty(2)}]

# %%
class Vector:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __repr__(self):
        return f"Vector({self.x!r}, {self.y!r})"

    def __str__(self):
        return f"<{self.x}, {self.y}>"

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __eq__(self, other):
        return (self.x, self.y) == (other.x, other.y)


print(Vector(1, 2))
Vector(1, 2) + Vector(3, 4)

# %%
Vector(1, 2) == Vector(1, 2)

# %%
class Meta(type):
    def __repr__(cls):
        return f"<the class {cls.__name__}>"


class WithMeta(metaclass=Meta):
    pass


WithMeta

# %%
class Outer:
    class Inner:
        pass


Outer.Inner

# %%
from pathlib import Path, PurePosixPath

Path("a/b") / "c.txt", PurePosixPath("/x")

# %%
from decimal import Decimal, getcontext
from fractions import Fraction

Decimal("0.1") + Decimal("0.2"), Fraction(3, 6), Fraction("0.125")

# %%
getcontext().prec

# %%
import datetime as dt

dt.date(2024, 2, 29), dt.datetime(2024, 1, 2, 3, 4, 5), dt.timedelta(days=1, hours=2)

# %%
dt.datetime(2024, 1, 2, tzinfo=dt.timezone.utc).isoformat()

# %%
import re

re.compile(r"(\w+)@(\w+)\.com", re.I)

# %%
re.search(r"(?P<user>\w+)@", "mail ann@example.com")

# %%
re.findall(r"\d+", "1 and 22 and 333")

# %%
re.compile("(")

# %%
import uuid, ipaddress

uuid.UUID(int=5), ipaddress.ip_network("10.0.0.0/30")

# %%
list(ipaddress.ip_network("10.0.0.0/30"))

# %%
import array, struct

array.array("i", [1, 2, 3]), struct.pack(">hh", 1, 2)

# %%
import itertools, functools, operator

itertools.count(3), itertools.chain([1], [2]), itertools.repeat("x", 3)

# %%
list(itertools.permutations("abc", 2))

# %%
functools.partial(int, base=2), operator.itemgetter(1)

# %%
@functools.lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


fib(30), fib.cache_info()

# %%
@functools.singledispatch
def show(value):
    return "other"


@show.register
def _(value: int):
    return "int"


show(1), show("a")

# %%
from contextlib import contextmanager, suppress, ExitStack


@contextmanager
def tag(name):
    print(f"<{name}>")
    yield name
    print(f"</{name}>")


with tag("h1") as t, suppress(ZeroDivisionError):
    1 / 0

# %%
def gen():
    received = yield 1
    print("received", received)
    yield 2


g = gen()
next(g), g.send("hello")

# %%
next(g)

# %%
class Counter2:
    def __init__(self, low, high):
        self.low, self.high = low, high

    def __iter__(self):
        return iter(range(self.low, self.high))

    def __len__(self):
        return self.high - self.low


list(Counter2(3, 6)), len(Counter2(3, 6)), bool(Counter2(1, 1))

# %%
class Property:
    @property
    def value(self):
        """The value."""
        return 3

    @staticmethod
    def static():
        return "static"

    @classmethod
    def make(cls):
        return cls()


Property.value, Property.static, Property().value

# %%
Property.make

# %%
class Slots:
    __slots__ = ("a",)


s = Slots()
s.b = 1

# %%
from abc import ABC, abstractmethod


class Shape(ABC):
    @abstractmethod
    def area(self): ...


Shape()

# %%
import copy, pickle

items = [Item("a"), Item("b", 2.0)]
pickle.loads(pickle.dumps(items)) == items, copy.deepcopy(items)[1].price

# %%
import textwrap

print(textwrap.fill("the quick brown fox jumps over the lazy dog " * 4, width=40))

# %%
import string

string.Template("$who likes $what").substitute(who="tim", what="kung pao")

# %%
f"{3.14159:.2f} {1234567:,} {'x':>5}|{'y':^5}|{255:#x} {0.5:%} {dt.date(2024, 1, 2):%d %b %Y} {3 + 4 = }"

# %%
"%s has %d items costing %.2f" % ("Ann", 3, 2.5)

# %%
"{:>8}{:<8}{!r}".format("a", "b", "c")

# %%
match {"kind": "circle", "r": 2}:
    case {"kind": "circle", "r": r}:
        print("circle of", r)

# %%
(n := 10) + n

# %%
import statistics, random

random.seed(42)
statistics.mean([1, 2, 3, 4]), random.randint(1, 100), random.sample(range(100), 5)

# %%
import heapq, bisect

heapq.nsmallest(3, [5, 1, 4, 2]), bisect.bisect([1, 2, 3], 2)

# %%
help(fib)

# %%
fib.__wrapped__

# %%
import inspect

inspect.signature(Item), inspect.getdoc(Property.value)

# %%
print(inspect.getsource(Vector.__add__))
