"""Errors, warnings, logging and what cells write to stderr."""

# %%
1 / 0

# %%
undefined_name

# %%
[1, 2][5]

# %%
{"a": 1}["b"]

# %%
"abc" + 1

# %%
int("x")

# %%
assert False

# %%
assert 1 == 2, "they differ"

# %%
raise ValueError

# %%
raise ValueError("with text")

# %%
raise ValueError("two", "arguments")

# %%
class Own(Exception):
    def __str__(self):
        return "the text of its own"


raise Own("ignored")

# %%
class BadText(Exception):
    def __str__(self):
        raise RuntimeError("no text")


raise BadText()

# %%
try:
    1 / 0
except ZeroDivisionError as error:
    raise RuntimeError("wrapped") from error

# %%
try:
    {}["k"]
finally:
    print("finally")

# %%
print("before")
print("unfinished
print("after")

# %%
def broken(:
    pass

# %%
if True:
print("not indented")

# %%
x = = 3

# %%
for i in range(3):
    print(i)
  print("dedent")

# %%
return 5

# %%
break

# %%
await_ = 1
"unclosed

# %%
(1, 2

# %%
import no_such_module

# %%
from math import no_such_name

# %%
import math

math.no_such_attribute

# %%
None.attribute

# %%
len(5)

# %%
len(1, 2, 3)

# %%
def needs(a, *, b):
    pass


needs(1)

# %%
needs(1, c=2)

# %%
open("no/such/file.txt")

# %%
import os

os.mkdir("a/b/c")

# %%
import json

json.loads("{bad json}")

# %%
float("1,5")

# %%
"é".encode("ascii")

# %%
b"\xff".decode()

# %%
next(iter([]))

# %%
def recurse(n):
    return recurse(n + 1)


try:
    recurse(0)
except RecursionError as error:
    print("RecursionError:", str(error)[:32])

# %%
raise KeyboardInterrupt

# %%
raise ExceptionGroup("several", [ValueError(1), TypeError("two")])

# %%
raise "text"

# %%
print("out")
import sys

print("err", file=sys.stderr)

# %%
sys.stderr.write("no newline")

# %%
print("value", end="")

# %%
sys.stdout.write("written\n")

# %%
import warnings

warnings.warn("careful")

# %%
warnings.warn("old thing", DeprecationWarning)

# %%
def old():
    warnings.warn("use new()", FutureWarning, stacklevel=2)
    return 3


old()

# %%
warnings.simplefilter("ignore")
warnings.warn("nobody sees it")
warnings.resetwarnings()

# %%
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    warnings.warn("kept")
print(len(caught), caught[0].message)

# %%
import logging

logging.warning("a warning of the root logger")

# %%
logging.info("not shown")
logging.error("an error with %s", "arguments")

# %%
log = logging.getLogger("mine")
log.setLevel(logging.DEBUG)
handler = logging.StreamHandler(sys.stdout)
handler.setFormatter(logging.Formatter("%(name)s:%(levelname)s:%(message)s"))
log.addHandler(handler)
log.propagate = False
log.debug("to stdout")

# %%
try:
    1 / 0
except ZeroDivisionError:
    log.exception("caught")
print("after it")

# %%
import traceback

try:
    int("no")
except ValueError:
    print(traceback.format_exc().splitlines()[-1])

# %%
traceback.print_exception(ValueError("printed"))

# %%
print("one", "two", sep="-", end="!\n", flush=True)

# %%
print({"b": 1, "a": [1, 2]}, (1,), None, 3.0)

# %%
import pprint

pprint.pprint({"key number %d" % i: list(range(i, i + 8)) for i in range(6)})

# %%
pprint.pprint([list(range(4))] * 3, width=20)

# %%
is 3 = 4

# %%
def f():
    x += 1


f()

# %%
del never_there

# %%
class A:
    pass


A().x

# %%
A() < A()

# %%
[1] + (2,)

# %%
"abc"[1] = "x"

# %%
lambda: (yield)

# %%
1_000.5e3 is 1

# %%
sum(["a", "b"])

# %%
sys.exit(3)

# %%
sys.exit("a message")

# %%
"still here"

# %%
f"{1!x}"

# %%
nonlocal q

# %%
print "python 2"

# %%
sorted([1, "a"])

# %%
raise NotImplementedError("later")

# %%
raise StopIteration(3)

# %%
raise OSError(2, "No such file or directory", "name.txt")

# %%
raise SystemError("multi\nline\ntext")

# %%
try:
    raise ValueError("a")
except ValueError:
    raise TypeError("b")

# %%
e = ValueError("noted")
e.add_note("a note")
raise e
