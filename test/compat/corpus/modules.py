"""Modules beside the notebook, packages, reloading, files of the folder."""

# %%
import neighbour

neighbour.double(4)

# %%
from neighbour import CONSTANT, double as d

CONSTANT, d("ab")

# %%
neighbour

# %%
import toolkit
from toolkit.shapes import Square

toolkit.__all__, Square(3).area()

# %%
Square(3)

# %%
with open("fresh.py", "w") as file:
    file.write("value = 1\n\ndef get():\n    return value\n")
import fresh

fresh.get()

# %%
import importlib, time, os

with open("fresh.py", "w") as file:
    file.write("value = 2222\n\ndef get():\n    return value\n")
fresh.get(), importlib.reload(fresh).get()

# %%
import sys

os.path.abspath(sys.path[0]) == os.getcwd() or sys.path[0] == ""

# %%
os.path.basename(neighbour.__file__), neighbour.__name__

# %%
neighbour.fail()

# %%
with open("bad_syntax.py", "w") as file:
    file.write("def f(:\n")
import bad_syntax

# %%
with open("raises.py", "w") as file:
    file.write("x = 1\nraise RuntimeError('at import')\n")
import raises

# %%
os.makedirs("pkg", exist_ok=True)
open("pkg/__init__.py", "w").close()
with open("pkg/inner.py", "w") as file:
    file.write("from . import __name__ as parent\nname = parent\n")
from pkg import inner

inner.name

# %%
import pkg.nothing

# %%
__name__, __name__ == "__main__"

# %%
import __main__

hasattr(__main__, "neighbour")

# %%
__file__

# %%
open("data.csv").read()

# %%
import csv

with open("data.csv", newline="") as file:
    rows = list(csv.DictReader(file))
rows

# %%
import json
from pathlib import Path

Path("made.json").write_text(json.dumps({"a": [1, 2]}, indent=1))

# %%
print(Path("made.json").read_text())
json.load(open("made.json"))

# %%
sorted(p.name for p in Path(".").glob("*.csv"))

# %%
Path("made.json").exists(), Path("made.json").stat().st_size, Path("made.json").suffix

# %%
%%writefile by_magic.py
def greet():
    return "hello from a file"

# %%
from by_magic import greet

greet()

# %%
!echo "shell = 'made'" > by_shell.py
import by_shell

by_shell.shell

# %%
import pickle

pickle.dump(Square(2), open("square.pkl", "wb"))
pickle.load(open("square.pkl", "rb"))

# %%
import inspect

print(inspect.getsource(neighbour.double))

# %%
help(neighbour.double)

# %%
dir(neighbour)[-3:]

# %%
import tempfile, shutil

folder = tempfile.mkdtemp()
shutil.copy("data.csv", folder)
print(sorted(os.listdir(folder)))
shutil.rmtree(folder)

# %%
import sqlite3

db = sqlite3.connect(":memory:")
db.execute("create table t (a, b)")
db.executemany("insert into t values (?, ?)", [(1, "x"), (2, "y")])
db.execute("select * from t").fetchall()

# %%
db.execute("select * from missing")

# %%
import zipfile, io

buffer = io.BytesIO()
with zipfile.ZipFile(buffer, "w") as archive:
    archive.writestr("a.txt", "text")
zipfile.ZipFile(buffer).namelist()

# %%
import glob

sorted(glob.glob("toolkit/*.py"))
