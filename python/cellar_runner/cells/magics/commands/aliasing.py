"""Names for commands and for magics: %alias, %alias_magic, %lsmagic."""

from __future__ import annotations

from ....pristine import BUILTINS as __builtins__
from ..dispatch import Commands
from ..errors import UsageError
from ..options import parse_options
from ..registry import CELLS, LINE_NAMES
from . import settings


def command(text: str, rest: str) -> str:
    """The shell command of an alias with its arguments: %s takes one, %l all of them."""
    if "%l" in text:
        return text.replace("%l", rest)
    wanted = text.replace("%%s", "").count("%s")
    if not wanted:
        return "{} {}".format(text, rest).strip()
    words = rest.split(None, wanted)
    if len(words) < wanted:
        raise UsageError("Alias <{}> requires {} arguments, {} given.".format(text, wanted, len(words)))
    for word in words[:wanted]:
        text = text.replace("%s", word, 1)
    return " ".join([text] + words[wanted:])


def alias(commands: Commands, rest: str) -> list[tuple[str, str]] | None:
    """%alias; %alias name command"""
    name, _, text = rest.strip().partition(" ")
    if not name:
        print("Total number of aliases: {}".format(len(commands.aliases)))
        return sorted(commands.aliases.items())
    if not text:
        if name in commands.aliases:
            return [(name, commands.aliases[name])]
        raise UsageError("%alias needs a name and a command: %alias {} command".format(name))
    commands.aliases[name] = text.strip()
    commands.automatic.add(name)
    return None


def unalias(commands: Commands, rest: str) -> None:
    """%unalias name"""
    if commands.aliases.pop(rest.strip(), None) is None:
        raise ValueError("{} is not an alias".format(rest.strip()))


def alias_magic(commands: Commands, rest: str) -> None:
    """%alias_magic [-l] [-c] name magic"""
    options, rest = parse_options(rest, "lcp:", ("line", "cell", "params="))
    words = rest.split()
    if len(words) != 2:
        raise UsageError("the following arguments are required: name, target")
    name, target = (word.lstrip("%") for word in words)
    found = [kind for kind in ("line", "cell") if commands.has(kind, target)]
    wanted = [kind for kind in ("line", "cell") if kind in options or kind[0] in options]
    if not found and not wanted:
        raise UsageError("No line or cell magic with name `{}` found.".format(target))
    start = options.get("params", options.get("p", "")).strip("'\"")
    for kind in wanted or found:
        marks = "%" if kind == "line" else "%%"
        if kind not in found:
            text = "{} magic function `{}{}` not found."
            raise UsageError(text.format(kind.capitalize(), marks, target))
        commands.register(kind, _aliased(commands, kind, target, start), name)
        print("Created `{0}{1}` as an alias for `{0}{2}`.".format(marks, name, target))


def _aliased(commands, kind, target, start):
    def run_line(line, local_ns=None):
        scope = commands.namespace, commands.namespace if local_ns is None else local_ns
        return commands.run_line_magic(target, (start + " " + line).strip(), scope)

    def run_cell(line, cell):
        return commands.run_cell_magic(target, (start + " " + line).strip(), cell)

    run_line.needs_local_scope = True  # type: ignore[attr-defined]
    return run_line if kind == "line" else run_cell


def lsmagic(commands: Commands, _rest: str) -> str:
    """%lsmagic: the names of all magics"""
    lines = LINE_NAMES.union(commands.aliases, commands.functions["line"])
    cells = CELLS.union(commands.functions["cell"])
    return "Available line magics:\n{}\n\nAvailable cell magics:\n{}\n\n{}".format(
        "  ".join("%" + name for name in sorted(lines)),
        "  ".join("%%" + name for name in sorted(cells)),
        settings.automagic_state(commands),
    )


def overview(commands: Commands, rest: str) -> None:
    """%magic and %quickref: the names of all magics, printed"""
    print(lsmagic(commands, rest))
