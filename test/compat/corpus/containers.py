"""How IPython prints values: containers, long ones, nested ones, and the types of the standard library."""

# %%
[1, 2, 3]

# %%
list(range(100))

# %%
{n**2 for n in range(12)}

# %%
{"banana", "apple", "cherry"}

# %%
frozenset({3, 1, 2})

# %%
type(4), type("x"), int

# %%
type(4)

# %%
{"name": "Ada", "born": 1815, "fields": ["mathematics", "computing"], "notes": {"a": 1, "b": [1, 2, 3]}}

# %%
{f"a rather long key number {i}": f"a rather long value number {i}" for i in range(8)}

# %%
[[i * j for j in range(8)] for i in range(6)]

# %%
[{"id": i, "label": "row " * 3, "values": list(range(5))} for i in range(6)]

# %%
tuple("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz")

# %%
(1,)

# %%
()

# %%
set()

# %%
list(range(2000))

# %%
"a" * 200

# %%
"line one\nline two\ttabbed \\ 'quoted' \"double\" é ü 漢字"

# %%
b"bytes \x00\xff"

# %%
[None, True, False, ..., NotImplemented]

# %%
None

# %%
3.0, 1e100, 1e-7, float("inf"), float("nan"), -0.0, 2 + 3j

# %%
10**60

# %%
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple, ChainMap, UserDict, UserList

Counter("the quick brown fox jumps over the lazy dog")

# %%
OrderedDict([("one", 1), ("two", 2), ("three", 3)])

# %%
d = defaultdict(list)
for word in "one two three four five six seven eight nine ten eleven twelve".split():
    d[len(word)].append(word)
d

# %%
deque(range(40), maxlen=50)

# %%
Point = namedtuple("Point", "x y")
Point(1, 2)

# %%
[Point(i, i * i) for i in range(12)]

# %%
ChainMap({"a": 1}, {"b": 2})

# %%
UserDict(a=1), UserList([1, 2])

# %%
defaultdict(int, {"a": 1}), Counter(), OrderedDict()

# %%
range(10), slice(1, 10, 2), enumerate, zip

# %%
a = [1, 2]
a.append(a)
a

# %%
d = {}
d["self"] = d
d

# %%
len, print, sum, [].append, str.upper, dict.items

# %%
def area(radius):
    return 3 * radius**2


area

# %%
lambda x: x + 1

# %%
class Plain:
    pass


Plain

# %%
Plain()

# %%
[Plain(), Plain]

# %%
class Quiet:
    def __repr__(self):
        return "Quiet(one,\n      two)"


Quiet()

# %%
[Quiet(), Quiet()]

# %%
{"k": Quiet()}

# %%
import types

types.SimpleNamespace(a=1, b="two", c=[1, 2, 3])

# %%
import math, json

math, json

# %%
{}.keys(), {"a": 1}.values(), {"a": 1}.items()

# %%
dict(zip(range(30), "abcdefghijklmnopqrstuvwxyzabcd"))

# %%
class MyList(list):
    pass


class MyDict(dict):
    pass


class Named(list):
    def __repr__(self):
        return f"Named of {len(self)}"


MyList(range(3)), MyDict(a=1), Named([1, 2])

# %%
MyList(range(60))

# %%
super

# %%
class Base:
    def who(self):
        return super()


Base().who()

# %%
object()

# %%
iter([1]), iter({}), reversed([1]), map(str, []), filter(None, [])

# %%
(i for i in range(3))

# %%
memoryview(b"abc")

# %%
bytearray(b"abc")

# %%
["x" * 30, "y" * 30, "z" * 30]

# %%
{"nested": {"deeper": {"deepest": list(range(30))}}}

# %%
{(1, 2): "pair", "text": (1, (2, (3, (4,))))}

# %%
{3: "c", 1: "a", 2: "b"}

# %%
[{"a", "b"}, frozenset("xyz")]

# %%
["multi\nline", "strings"]

# %%
Exception("a value, not raised"), ValueError(1, 2), KeyError("k")

# %%
1; 2

# %%
x = 5; x

# %%
5;

# %%
x = y = 3
x, y
