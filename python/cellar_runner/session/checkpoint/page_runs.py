"""Runs of pages: ranges of addresses, sorted, each from a start to an end."""

from __future__ import annotations

from ...linux.write_tracking import PAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterable, Iterator

    from ...linux.write_tracking import Run


def pages_of(runs: Iterable[Run]) -> list[int]:
    return [page for low, high in runs for page in range(low, high, PAGE)]


def joined(addresses: Iterable[int]) -> list[Run]:
    """Pages that follow each other, as runs."""
    runs: list[Run] = []
    start = end = -1
    for address in addresses:
        if address != end:
            if end >= 0:
                runs.append((start, end))
            start = address
        end = address + PAGE
    if end >= 0:
        runs.append((start, end))
    return runs


def count(runs: Iterable[Run]) -> int:
    return sum(end - start for start, end in runs) // PAGE


def within(runs: Iterable[Run], allowed: list[Run]) -> Iterator[Run]:
    """The parts of sorted runs that lie in sorted ranges."""
    at = 0
    for start, end in runs:
        while at < len(allowed) and allowed[at][1] <= start:
            at += 1
        while start < end and at < len(allowed):
            low, high = allowed[at]
            if end <= low:
                break
            yield max(start, low), min(end, high)
            start = high
            if end > high:
                at += 1
