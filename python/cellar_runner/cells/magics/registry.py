"""The magics by name: where each is done."""

from __future__ import annotations

from ...pristine import BUILTINS as __builtins__

# By module of `commands`, as `magic=function` where the names differ. The functions take the commands and the line.
_LINES = {
    "aliasing": "alias alias_magic lsmagic magic=overview quickref=overview unalias",
    "autoreload": "aimport autoreload",
    "extensions": "load_ext reload_ext unload_ext",
    "folders": "cd dhist dirs env popd pushd pwd set_env",
    "inputs": (
        "hist=history history less=pycat load loadpy=load macro more=pycat notebook pycat recall rep=recall rerun "
        "save store"
    ),
    "inspection": "pdef pdoc pfile pinfo pinfo2 psource tb",
    "namespaces": "psearch reset reset_selective who who_ls whos xdel",
    "packages": "conda mamba micromamba=mamba pip uv",
    "running": "run",
    "scripts": "killbgscripts=kill sx=lines system=lines",
    "settings": (
        "automagic colors config gui matplotlib pdb pprint precision pylab xmode autocall=nothing "
        "autosave=nothing autoawait=nothing clear=nothing cls=nothing connect_info=nothing logoff=nothing "
        "logon=nothing logstart=nothing logstate=nothing logstop=nothing rehashx=nothing subshell=nothing"
    ),
}
LINES = {
    name.partition("=")[0]: (module, name.rpartition("=")[2])
    for module, names in _LINES.items()
    for name in names.split()
}
# These get the caller's names, and their text without expansion.
SCOPED = {"prun": ("timing", "prun"), "timeit": ("timing", "timeit")}
LINE_NAMES = frozenset(LINES) | frozenset(SCOPED) | {"time"}

ALIASES = {
    **{name: name for name in "cat cp man mkdir mv rm rmdir".split()},
    "ldir": "ls -F -o %l | grep /$",
    "lf": "ls -F -o %l | grep ^-",
    "lk": "ls -F -o %l | grep ^l",
    "ll": "ls -F -o",
    # as to a terminal of 80 columns
    "ls": "ls -F -C -w 80 -T 0 --quoting-style=shell-escape",
    "lx": "ls -F -o %l | grep ^-..x",
}
# name: class of IPython and type
MIMES = {
    **dict.fromkeys(("html", "HTML"), ("HTML", "text/html")),
    **dict.fromkeys(("javascript", "js"), ("Javascript", "application/javascript")),
    **dict.fromkeys(("svg", "SVG"), ("SVG", "image/svg+xml")),
    "latex": ("Latex", "text/latex"),
    "markdown": ("Markdown", "text/markdown"),
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
    "lprun": "use %prun, which measures the time of functions",
    "memit": "use tracemalloc",
    "mprun": "use tracemalloc",
    "pastebin": "there is no network here",
    "qtconsole": "there are no windows in a sandbox",
    "sql": "use sqlite3 or pandas.read_sql",
    "bg": "use %%bash --bg, or subprocess.Popen",
    "bookmark": "use %cd with the folder's name",
}
REFUSED = frozenset("debug ed edit pastebin qtconsole".split())
