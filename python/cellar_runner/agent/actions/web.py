"""web_fetch(), web_search() and batch_web_search(): tools of the host, with their answers as an agent reads them."""

from __future__ import annotations

import base64
from typing import Any, Callable

from ...archives.archives import Archives
from ...pristine import BUILTINS as __builtins__
from ..results import Output, Result

_decoded = base64.b64decode


class Page(Output):
    """The text of a page. `url` is where it was found in the end."""

    url: str = ""
    page_title: str | None = None
    is_truncated = False


class Found(Result):
    """Results of a search: dicts with title, url and excerpt."""

    def __init__(self, items=()):
        super().__init__(items)
        self.total = len(self)

    def __reduce__(self):
        return Found, (list(self),)

    def __repr__(self):
        shown = "{}. {}\n   {}\n   {}"
        lines = [shown.format(at, one["title"], one["url"], one["excerpt"]) for at, one in enumerate(self, 1)]
        return "\n".join(lines) or "nothing found"


def fetched(told: dict, max_chars: int) -> Any:
    """A page or a text as text, JSON as a value, a PDF as the text of its pages."""
    if told["kind"] == "json":
        return told["value"]
    if told["kind"] == "pdf":
        return _page(told, _pdf_text(_decoded(told["base64"]), max_chars))
    page = _page(told, (told["text"], told["is_truncated"]))
    page.page_title = told["title"]
    return page


def _page(told, content):
    text, is_truncated = content
    page = Page(text + ("\n[\u2026 cut: max_chars gives more]" if is_truncated else ""))
    page.url, page.is_truncated = told["url"], is_truncated
    return page


def _pdf_text(data, max_chars):
    archives, parts, length = Archives(), [], 0
    for name in archives.open(data):
        if length > max_chars:
            break
        part = str(archives.file(str(name)))
        parts.append(part)
        length += len(part)
    text = "\n\n".join(parts)
    return text[:max_chars], len(text) > max_chars


def searched(ask: Callable[[], Any]) -> Found:
    return Found(ask())
