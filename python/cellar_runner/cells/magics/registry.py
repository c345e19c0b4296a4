"""The magics by name: where each is done."""

from __future__ import annotations

from ...pristine import BUILTINS as __builtins__

# name: module and function; the function takes the session's commands and the rest of the line
LINES = {
    "aimport": ("autoreload", "aimport"),
    "alias": ("aliasing", "alias"),
    "alias_magic": ("aliasing", "alias_magic"),
    "automagic": ("settings", "automagic"),
    "autoreload": ("autoreload", "autoreload"),
    "cd": ("folders", "cd"),
    "colors": ("settings", "colors"),
    "conda": ("packages", "conda"),
    "config": ("settings", "config"),
    "dhist": ("folders", "dhist"),
    "dirs": ("folders", "dirs"),
    "doctest_mode": ("settings", "doctest_mode"),
    "env": ("folders", "env"),
    "gui": ("settings", "gui"),
    "hist": ("inputs", "history"),
    "history": ("inputs", "history"),
    "killbgscripts": ("scripts", "kill"),
    "less": ("inputs", "pycat"),
    "load": ("inputs", "load"),
    "load_ext": ("extensions", "load_ext"),
    "loadpy": ("inputs", "load"),
    "lsmagic": ("aliasing", "lsmagic"),
    "macro": ("inputs", "macro"),
    "magic": ("aliasing", "overview"),
    "mamba": ("packages", "mamba"),
    "matplotlib": ("settings", "matplotlib"),
    "micromamba": ("packages", "mamba"),
    "more": ("inputs", "pycat"),
    "notebook": ("inputs", "notebook"),
    "pdb": ("settings", "pdb"),
    "pdef": ("inspection", "pdef"),
    "pdoc": ("inspection", "pdoc"),
    "pfile": ("inspection", "pfile"),
    "pinfo": ("inspection", "pinfo"),
    "pinfo2": ("inspection", "pinfo2"),
    "pip": ("packages", "pip"),
    "popd": ("folders", "popd"),
    "pprint": ("settings", "pprint"),
    "precision": ("settings", "precision"),
    "psearch": ("namespaces", "psearch"),
    "psource": ("inspection", "psource"),
    "pushd": ("folders", "pushd"),
    "pwd": ("folders", "pwd"),
    "pycat": ("inputs", "pycat"),
    "pylab": ("settings", "pylab"),
    "quickref": ("aliasing", "overview"),
    "recall": ("inputs", "recall"),
    "reload_ext": ("extensions", "reload_ext"),
    "rep": ("inputs", "recall"),
    "rerun": ("inputs", "rerun"),
    "reset": ("namespaces", "reset"),
    "reset_selective": ("namespaces", "reset_selective"),
    "run": ("running", "run"),
    "save": ("inputs", "save"),
    "set_env": ("folders", "set_env"),
    "store": ("inputs", "store"),
    "sx": ("scripts", "line_of_commands"),
    "system": ("scripts", "line_of_commands"),
    "tb": ("inspection", "tb"),
    "unalias": ("aliasing", "unalias"),
    "unload_ext": ("extensions", "unload_ext"),
    "uv": ("packages", "uv"),
    "who": ("namespaces", "who"),
    "who_ls": ("namespaces", "who_ls"),
    "whos": ("namespaces", "whos"),
    "xdel": ("namespaces", "xdel"),
    "xmode": ("settings", "xmode"),
}
LINES.update(
    (name, ("settings", "nothing"))
    for name in "autocall autosave autoawait clear cls connect_info logoff logon logstart logstate "
    "logstop rehashx subshell".split()
)
# These take the names of the place where they stand, and their text as it is.
SCOPED = {"prun": ("timing", "prun"), "timeit": ("timing", "timeit")}

ALIASES = {
    "cat": "cat",
    "cp": "cp",
    "ldir": "ls -F -o %l | grep /$",
    "lf": "ls -F -o %l | grep ^-",
    "lk": "ls -F -o %l | grep ^l",
    "ll": "ls -F -o",
    # as to a terminal of 80 columns
    "ls": "ls -F -C -w 80 -T 0 --quoting-style=shell-escape",
    "lx": "ls -F -o %l | grep ^-..x",
    "man": "man",
    "mkdir": "mkdir",
    "mv": "mv",
    "rm": "rm",
    "rmdir": "rmdir",
}
# name: class of IPython and type
MIMES = {
    "html": ("HTML", "text/html"),
    "HTML": ("HTML", "text/html"),
    "javascript": ("Javascript", "application/javascript"),
    "js": ("Javascript", "application/javascript"),
    "latex": ("Latex", "text/latex"),
    "markdown": ("Markdown", "text/markdown"),
    "svg": ("SVG", "image/svg+xml"),
    "SVG": ("SVG", "image/svg+xml"),
}
CELLS = (
    frozenset(MIMES)
    | frozenset("bash sh python python2 python3 pypy perl ruby script".split())
    | frozenset("! capture file prun sx system time timeit writefile".split())
)
HOST_COMMANDS = frozenset("undo checkpoint checkpoints vars restore fork".split())
ALTERNATIVES = {
    "debug": "the debugger is not available in a sandboxed cell: print the values instead",
    "ed": "use %%writefile",
    "edit": "use %%writefile",
    "lprun": "use %prun, which tells the time of functions",
    "memit": "use tracemalloc",
    "mprun": "use tracemalloc",
    "pastebin": "there is no network here",
    "qtconsole": "there are no windows here",
    "sql": "use sqlite3 or pandas.read_sql",
    "bg": "use %%bash --bg, or subprocess.Popen",
    "bookmark": "use %cd with the folder's name",
}
REFUSED = frozenset("debug ed edit pastebin qtconsole".split())
