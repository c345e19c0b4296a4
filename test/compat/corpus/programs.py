"""Programs in cells: asyncio, threads, processes, tests, signals, input."""

# %%
import asyncio


async def work(n):
    await asyncio.sleep(0.01)
    return n * 2


await work(4)

# %%
await asyncio.gather(*(work(n) for n in range(4)))

# %%
results = []
async for_loop = None

# %%
async def numbers():
    for n in range(3):
        yield n


[n async for n in numbers()]

# %%
async for n in numbers():
    print(n)

# %%
async with asyncio.timeout(5):
    print(await work(1))

# %%
work(3).close()

# %%
coroutine = work(1)
try:
    asyncio.run(coroutine)
finally:
    coroutine.close()

# %%
task = asyncio.create_task(work(5))
await task

# %%
asyncio.get_event_loop().is_running()

# %%
await asyncio.wait_for(asyncio.sleep(10), 0.05)

# %%
import threading, queue

q = queue.Queue()
threads = [threading.Thread(target=q.put, args=(i,)) for i in range(3)]
for t in threads:
    t.start()
for t in threads:
    t.join()
sorted(q.get() for _ in range(3))

# %%
def speak():
    print("from a thread")


t = threading.Thread(target=speak)
t.start()
t.join()

# %%
from concurrent.futures import ThreadPoolExecutor

with ThreadPoolExecutor(2) as pool:
    print(list(pool.map(lambda n: n * n, range(5))))

# %%
import multiprocessing


def square(n):
    return n * n


with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(square, range(5)))

# %%
import doctest


def add(a, b):
    """
    >>> add(1, 2)
    3
    >>> add(1, 1)
    3
    """
    return a + b


doctest.run_docstring_examples(add, globals())

# %%
doctest.testmod(verbose=False)

# %%
import unittest


class TestAdd(unittest.TestCase):
    def test_right(self):
        self.assertEqual(add(1, 2), 3)

    def test_other(self):
        self.assertTrue(add(0, 1))


result = unittest.TextTestRunner(stream=open("log.txt", "w")).run(
    unittest.defaultTestLoader.loadTestsFromTestCase(TestAdd)
)
result

# %%
input("name? ")

# %%
import sys, io

sys.stdin = io.StringIO("3\n4\n")
int(input()) + int(input())

# %%
sys.stdin = sys.__stdin__

# %%
import signal, os, time

try:
    signal.raise_signal(signal.SIGINT)
    time.sleep(0.2)
except KeyboardInterrupt:
    print("interrupted")

# %%
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.2)
except KeyboardInterrupt:
    print("interrupted again")

# %%
import _thread

try:
    _thread.interrupt_main()
    time.sleep(0.2)
except KeyboardInterrupt:
    print("by a thread")

# %%
def handler(number, frame):
    raise TimeoutError("too slow")


signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.05)
try:
    time.sleep(2)
except TimeoutError as error:
    print(error)

# %%
class Noisy:
    def __del__(self):
        print("deleted")


n = Noisy()
del n

# %%
global_counter = 0


def bump():
    global global_counter
    global_counter += 1
    return global_counter


bump(), bump()

# %%
exec("made = 3")
made

# %%
eval("made + 1")

# %%
compile("1 +", "file", "eval")

# %%
[name for name in ("made", "bump") if name in globals()]

# %%
import argparse

parser = argparse.ArgumentParser(prog="tool")
parser.add_argument("--n", type=int, default=3)
parser.parse_args(["--n", "5"])

# %%
parser.parse_args(["--n", "x"])

# %%
parser.parse_args([])

# %%
import time

start = time.perf_counter()
time.perf_counter() - start < 5

# %%
from collections import deque

window = deque(maxlen=3)
for n in range(5):
    window.append(n)
window

# %%
import urllib.request

try:
    urllib.request.urlopen("http://127.0.0.1:9/", timeout=1)
except OSError as error:
    print(type(error).__name__)

# %%
import http.server, socketserver


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


server = socketserver.TCPServer(("127.0.0.1", 0), Quiet)
threading.Thread(target=server.serve_forever, daemon=True).start()
status = urllib.request.urlopen(f"http://127.0.0.1:{server.server_address[1]}/").status
server.shutdown()
status

# %%
import gc, weakref


class Node:
    pass


node = Node()
ref = weakref.ref(node)
del node
gc.collect() >= 0, ref() is None

# %%
import locale, calendar

print(calendar.month(2024, 2))

# %%
import contextlib

with contextlib.redirect_stdout(io.StringIO()) as out:
    print("redirected")
out.getvalue()

# %%
import code

code.InteractiveInterpreter({}).runsource("print(1)")

# %%
print("\r10%", end="\r")
print("20%")

# %%
print("\x1b[31mred\x1b[0m")

# %%
print("tab\tand\bbackspace")

# %%
print(*range(300))

# %%
import getpass

getpass.getpass()

# %%
breakpoint.__name__, callable(exit), quit

# %%
copyright.__class__.__name__, license.__class__.__name__

# %%
"\N{GREEK SMALL LETTER ALPHA}", "\u00e9", "😀"

# %%
print("😀 漢字 é")

# %%
sys.getrecursionlimit() >= 1000, sys.byteorder, sys.maxsize

# %%
sys.displayhook(5)

# %%
sys.displayhook.__class__.__name__

# %%
import builtins

builtins.print is print, "display" in dir(builtins)

# %%
dir()[:3] is not None, isinstance(locals(), dict), globals() is locals()

# %%
vars().get("made")

# %%
class Tree(dict):
    def __missing__(self, key):
        value = self[key] = type(self)()
        return value


tree = Tree()
tree["a"]["b"]["c"] = 1
tree

# %%
isinstance(3, int) and "yes" or "no"

# %%
a, *rest = range(5)
rest

# %%
assert isinstance(rest, list), "a list"

# %%
with open("no.txt") as f:
    pass

# %%
raise SystemExit

# %%
exit_code = 0
exit_code
