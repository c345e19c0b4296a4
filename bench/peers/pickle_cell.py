"""One cell in its own process: reads its state from one pickle file and writes it to another."""

import contextlib
import io
import os
import pickle
import sys

folder = sys.argv[1]
namespace = {}
if os.path.exists(folder + "/in.pkl"):
    with open(folder + "/in.pkl", "rb") as source:
        namespace.update(pickle.load(source))
with open(folder + "/code.py") as source:
    code = source.read()
printed = io.StringIO()
with contextlib.redirect_stdout(printed):
    exec(compile(code, "<cell>", "exec"), namespace)
kept = {}
for name, value in namespace.items():
    if not name.startswith("__"):
        try:
            pickle.dumps(value)
        except Exception:
            continue
        kept[name] = value
with open(folder + "/out.pkl", "wb") as target:
    pickle.dump(kept, target)
with open(folder + "/out.txt", "w") as target:
    target.write(printed.getvalue())
