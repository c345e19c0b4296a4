"""A little of everything: the part of the corpus that every test run compares."""

# %%
import math, os, sys
import neighbour
from IPython.display import HTML, Markdown, clear_output, display, update_display

neighbour.double(21)

# %%
_ + 1, __name__

# %%
_2, Out[2], In[1][:11]

# %%
{n**2 for n in range(12)}

# %%
list(range(100))

# %%
{f"a rather long key number {i}": list(range(i, i + 6)) for i in range(6)}

# %%
type(4), len, math

# %%
print("one")
display(HTML("<b>two</b>"))
print("three")

# %%
Markdown("*text*")

# %%
display("a", display_id="place");

# %%
update_display("b", display_id="place")

# %%
print("gone")
clear_output()
print("stays")

# %%
class Card:
    def _repr_html_(self):
        return "<i>card</i>"

    def __repr__(self):
        return "Card()"


Card()

# %%
class Own:
    def _ipython_display_(self):
        print("by itself")


Own()

# %%
class Broken:
    def __repr__(self):
        raise ValueError("no repr")


Broken()

# %%
1 / 0

# %%
assert False

# %%
raise KeyError("missing")

# %%
print("unfinished

# %%
x = = 3

# %%
import no_such_module

# %%
import warnings

warnings.warn("careful")

# %%
print("err", file=sys.stderr)

# %%
%%capture timed
%time total = sum(range(10)) # a comment

# %%
total, "Wall time" in timed.stdout

# %%
%%capture kept
print("hidden")

# %%
kept.stdout

# %%
from IPython.core.magic import register_cell_magic, register_line_magic


@register_line_magic
def shout(line):
    return line.upper()


@register_cell_magic
def count(line, cell):
    print(line, len(cell.splitlines()))


%shout hello

# %%
%%count lines
a
b

# %%
get_ipython().run_line_magic("shout", "by call")

# %%
get_ipython().user_ns["total"]

# %%
%%writefile written.py
value = 5
print("written ran")

# %%
%run written.py
value

# %%
from written import value as again

again

# %%
%run other_notebook.ipynb

# %%
from_other_notebook(2)

# %%
%precision 2
math.pi

# %%
%precision

# %%
!echo hello

# %%
lines = !printf 'a\nb\n'
lines

# %%
!python -c "print(6 * 7)"

# %%
%%bash
echo from bash

# %%
import signal, time

try:
    signal.raise_signal(signal.SIGINT)
    time.sleep(0.2)
except KeyboardInterrupt:
    print("interrupted")

# %%
import asyncio

await asyncio.sleep(0.01, "awaited")

# %%
import dataclasses


@dataclasses.dataclass
class Item:
    name: str
    size: int = 1


[Item("a"), Item("b", 2)]

# %%
def broken():
    raise RuntimeError("inside")


broken()

# %%
import pandas as pd

df = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
df

# %%
display(df.head(1))
df["a"]

# %%
import numpy as np

np.arange(6).reshape(2, 3)

# %%
import matplotlib.pyplot as plt

plt.plot([1, 2])
plt.title("a title")

# %%
plt.plot([1, 3]);

# %%
plt.figure()

# %%
plt.plot([1, 2])
1 / 0

# %%
plt.rcParams["savefig.dpi"] = 150
plt.plot([2, 1])
plt.show()
print("shown")

# %%
fig, ax = plt.subplots(figsize=(2, 2))
ax.bar(["a", "b"], [1, 2]);

# %%
fig

# %%
def limited():
    try:
        return limited()
    except RecursionError:
        return "too deep"


limited()

# %%
"still here"
