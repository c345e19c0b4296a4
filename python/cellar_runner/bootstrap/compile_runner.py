"""Compiles the runner, so that the next interpreter of this version need not: that takes longer than its imports.

The arguments are the folder of the runner and the file that says that all is done. Bytecode is tied to the content
of its source, not to its time: all files of an npm package have the same.
"""

import importlib.util
import os
import py_compile
import sys

# Where bytecode has the hash of its source.
HASH = slice(8, 16)


def _is_compiled(source, target):
    try:
        with open(source, "rb") as file, open(target, "rb") as compiled:
            header = compiled.read(HASH.stop)
            return header[:4] == importlib.util.MAGIC_NUMBER and header[HASH] == importlib.util.source_hash(file.read())
    except OSError:
        return False


def main() -> None:
    runner, done = sys.argv[1:]
    os.nice(10)
    for folder, _, names in os.walk(runner):
        for name in names:
            source = os.path.join(folder, name)
            if not name.endswith(".py") or _is_compiled(source, importlib.util.cache_from_source(source)):
                continue
            py_compile.compile(source, doraise=True, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
    open(done, "w").close()


if __name__ == "__main__":
    main()
