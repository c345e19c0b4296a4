"""XML as events, without entities: their expansion can make a small file huge."""

from __future__ import annotations

from typing import Any, Callable
from xml.parsers import expat

from ...pristine import BUILTINS as __builtins__
from ..limits import ArchiveError, shown

MOST_DEPTH = 1000


def parse(
    data: bytes,
    name: str,
    start: Callable[[str, dict[str, Any]], None],
    end: Callable[[str], None] | None = None,
    text: Callable[[str], None] | None = None,
) -> None:
    """Calls with names that have no namespace; an attribute of a namespace is prefixed with a colon."""
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    depth = 0

    def started(tag, attributes):
        nonlocal depth
        depth += 1
        if depth > MOST_DEPTH:
            raise ArchiveError(
                "{} has more than {:,} elements in each other: it is not read".format(shown(name), MOST_DEPTH)
            )
        start(_local(tag), {_key(key): value for key, value in attributes.items()})

    def ended(tag):
        nonlocal depth
        depth -= 1
        if end is not None:
            end(_local(tag))

    def entity(entity_name, *_):
        message = "{} declares the entity {}: entities are not expanded, and documents need none"
        raise ArchiveError(message.format(shown(name), shown(entity_name)))

    parser.StartElementHandler, parser.EndElementHandler = started, ended
    parser.EntityDeclHandler = entity
    if text is not None:
        parser.CharacterDataHandler = text
    try:
        # As one piece: a parser that gets a long token in pieces reads it again with each.
        parser.Parse(data, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        if type(error) is ArchiveError:
            raise
        raise ArchiveError("{} is not well-formed XML: {}".format(shown(name), error)) from None


def _local(name):
    return name.rpartition(" ")[2]


def _key(name):
    return ":" + _local(name) if " " in name else name
