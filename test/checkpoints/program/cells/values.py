# Cells that change plain values. Each is written so that it can follow any other: what it needs and
# does not find, it makes. NUM_A, NUM_B, NUM_SIZE and NUM_CELL become numbers, _SLOT becomes _0 to _2.

# %% lists
if "items_SLOT" not in globals():
    items_SLOT = []
items_SLOT.extend(range(NUM_B))
items_SLOT.append([NUM_A, [NUM_B]])
del items_SLOT[:NUM_A]
items_SLOT.reverse()

# %% list aliases
shared_SLOT = [NUM_CELL]
pairs_SLOT = [shared_SLOT, shared_SLOT, {"again": shared_SLOT}]
pairs_SLOT[0].append(NUM_B)
pairs_SLOT.append(pairs_SLOT)

# %% dicts
if "table_SLOT" not in globals():
    table_SLOT = {}
for key in range(NUM_A * 10):
    table_SLOT["key %d" % (key * NUM_B % 97)] = (key, str(key) * NUM_A)
for key in list(table_SLOT)[: NUM_A]:
    del table_SLOT[key]

# %% growing dict
if "big_SLOT" not in globals():
    big_SLOT = {}
for key in range(NUM_B * 20):
    big_SLOT[(key, NUM_A)] = key * NUM_B

# %% sets
if "members_SLOT" not in globals():
    members_SLOT = set()
members_SLOT ^= {number * NUM_A % 101 for number in range(NUM_B)}
frozen_SLOT = frozenset(members_SLOT)

# %% classes
class Account_SLOT:
    made = 0

    def __init__(self, owner):
        type(self).made += 1
        self.owner, self.entries = owner, []

    def pay(self, amount):
        self.entries.append(amount)
        return sum(self.entries)

account_SLOT = Account_SLOT("owner %d" % NUM_CELL)
balance_SLOT = [account_SLOT.pay(amount) for amount in range(NUM_A)]

# %% class attributes
if "Registry" not in globals():
    class Registry:
        entries = {}
        __slots__ = ("name", "load")

        def __init__(self, name):
            self.name, self.load = name, [0]
entry_SLOT = Registry("n%d" % NUM_CELL)
entry_SLOT.load.append(NUM_B)
Registry.entries[NUM_CELL] = entry_SLOT

# %% closures
if "counter_SLOT" not in globals():
    def make_counter_SLOT(start):
        count, seen = start, []

        def step(by):
            nonlocal count
            count += by
            seen.append(count)
            return count

        return step

    counter_SLOT = make_counter_SLOT(NUM_B)
counted_SLOT = [counter_SLOT(NUM_A) for _ in range(3)]

# %% generators
if "squares_SLOT" not in globals():
    def make_squares_SLOT(limit):
        total = 0
        for number in range(limit):
            total += number * number
            yield total

    squares_SLOT = make_squares_SLOT(5000)
taken_SLOT = [next(squares_SLOT, None) for _ in range(NUM_A)]

# %% delegating generators
if "walk_SLOT" not in globals():
    def tree_SLOT(depth):
        if depth:
            yield from tree_SLOT(depth - 1)
            got = yield depth
            while got:
                got = yield got * 2
            yield from tree_SLOT(depth - 1)

    walk_SLOT = tree_SLOT(12)
    next(walk_SLOT)
stepped_SLOT = []
for _ in range(NUM_A):
    stepped_SLOT.append(next(walk_SLOT, None))

# %% generator expression
if "lazy_SLOT" not in globals():
    lazy_SLOT = (left * right for left in range(100) for right in range(left))
first_SLOT = [next(lazy_SLOT, -1) for _ in range(NUM_B)]

# %% exceptions kept
def fail_SLOT(depth, note):
    local = [depth, note]
    if depth == 0:
        raise ValueError("kept %d" % NUM_CELL)
    return fail_SLOT(depth - 1, local)
try:
    try:
        fail_SLOT(NUM_A, None)
    except ValueError as error:
        raise KeyError("outer") from error
except KeyError as error:
    kept_error_SLOT = error

# %% uncaught error raises
before_error_SLOT = [NUM_CELL] * NUM_A
{}["missing %d" % NUM_CELL]

# %% exit raises
import sys
left_SLOT = NUM_CELL
sys.exit(NUM_A)

# %% shown value
[NUM_CELL, "shown", {"a": NUM_A}]

# %% deque
from collections import deque
if "queue_SLOT" not in globals():
    queue_SLOT = deque(maxlen=50)
queue_SLOT.extend(range(NUM_B))
queue_SLOT.rotate(NUM_A)
queue_SLOT.appendleft("left %d" % NUM_CELL)

# %% heap
import heapq
if "heap_SLOT" not in globals():
    heap_SLOT = []
for number in range(NUM_B):
    heapq.heappush(heap_SLOT, (number * 37 % 61, number))
smallest_SLOT = [heapq.heappop(heap_SLOT) for _ in range(NUM_A)]

# %% dataclasses
from dataclasses import dataclass, field, replace
@dataclass
class Point_SLOT:
    x: int
    y: int = NUM_A
    tags: list = field(default_factory=list)
point_SLOT = replace(Point_SLOT(NUM_B), tags=[NUM_CELL])

# %% enum
import enum
class Colour_SLOT(enum.IntFlag):
    RED = 1
    GREEN = 2
    BLUE = 4
colour_SLOT = Colour_SLOT(NUM_A % 8)
palette_SLOT = {colour_SLOT: [member.name for member in Colour_SLOT]}

# %% collections
from collections import ChainMap, Counter, OrderedDict, defaultdict, namedtuple
if "words_SLOT" not in globals():
    words_SLOT, groups_SLOT = Counter(), defaultdict(list)
words_SLOT.update("abracadabra %d" % NUM_CELL)
groups_SLOT[NUM_A].append(NUM_B)
order_SLOT = OrderedDict(sorted(words_SLOT.items()))
order_SLOT.move_to_end(next(iter(order_SLOT)))
Pair_SLOT = namedtuple("Pair_SLOT", "left right")
pair_SLOT = Pair_SLOT(NUM_A, ChainMap({"x": NUM_A}, {"y": NUM_B}))

# %% itertools
import itertools
if "cycle_SLOT" not in globals():
    cycle_SLOT = itertools.cycle([1, 2, 3, 5, 8])
    chain_SLOT = itertools.chain.from_iterable(range(n) for n in itertools.count(2))
    tee_SLOT, other_tee_SLOT = itertools.tee(itertools.accumulate(range(2000)))
drawn_SLOT = list(itertools.islice(cycle_SLOT, NUM_A)) + list(itertools.islice(chain_SLOT, NUM_B))
drawn_SLOT += list(itertools.islice(tee_SLOT, NUM_A))

# %% regular expressions
import re
pattern_SLOT = re.compile(r"(?P<word>[a-z]+)-(\d{1,%d})" % NUM_A, re.I)
match_SLOT = pattern_SLOT.search("Cell-NUM_CELL then more")
scanner_SLOT = pattern_SLOT.finditer("a-1 b-2 c-3 d-4 e-5")
scanned_SLOT = next(scanner_SLOT).span()

# %% caches
import functools
if "fib_SLOT" not in globals():
    @functools.lru_cache(maxsize=64)
    def fib_SLOT(n):
        return n if n < 2 else fib_SLOT(n - 1) + fib_SLOT(n - 2)
known_SLOT = [fib_SLOT(n) for n in range(0, NUM_B, NUM_A)]
power_SLOT = functools.partial(pow, NUM_A, mod=NUM_B)
cached_SLOT = power_SLOT(NUM_CELL)

# %% array module
import array
if "numbers_SLOT" not in globals():
    numbers_SLOT = array.array("d", [0.0]) * NUM_SIZE
for index in range(0, len(numbers_SLOT), 64):
    numbers_SLOT[index] += NUM_A / NUM_B
numbers_SLOT.append(NUM_CELL)

# %% bytearray in place
if "bytes_SLOT" not in globals():
    bytes_SLOT = bytearray(NUM_SIZE * 8)
for index in range(NUM_A, len(bytes_SLOT), 4096):
    bytes_SLOT[index] = (bytes_SLOT[index] + NUM_B) % 256
view_SLOT = bytes(memoryview(bytes_SLOT)[::997])

# %% strings
text_SLOT = "é€😀%d" % NUM_CELL * NUM_B
interned_SLOT = [__import__("sys").intern("name %d" % number) for number in range(NUM_A)]
joined_SLOT = "".join(chr(97 + number * NUM_A % 26) for number in range(NUM_SIZE))

# %% numbers
big_number_SLOT = 3 ** (NUM_B * 10) + NUM_CELL
from fractions import Fraction
fraction_SLOT = sum((Fraction(1, number) for number in range(1, NUM_B)), Fraction(0))
complex_SLOT = complex(NUM_A, NUM_B) ** 3

# %% random numbers
import random
rolled_SLOT = [random.randint(0, 1000) for _ in range(NUM_A)]
own_random_SLOT = random.Random(NUM_CELL)
own_random_SLOT.gauss(0, 1)

# %% seeded again
import random
random.seed(NUM_CELL)
shuffled_SLOT = list(range(NUM_B))
random.shuffle(shuffled_SLOT)

# %% forgetting
for name in [name for name in list(globals()) if name.endswith("_SLOT")][:: 3]:
    del globals()[name]
