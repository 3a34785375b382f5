"""Find a date in any of its written forms."""

from __future__ import annotations

from collections.abc import Iterator

from extractbench_nb.evidence.hits import Hit
from extractbench_nb.evidence.index import DocumentIndex
from extractbench_nb.metrics.dates import Date, parse_date, unshifted

__all__ = ["date_of", "find_date"]

_LONGEST = 80
_PART, _SHIFTED = 0.8, 0.9


def date_of(text: str) -> tuple[Date, float] | None:
    """Read a text that is a date and nothing else.

    Parameters
    ----------
    text : str
        Any text. A timestamp that is midnight of a zone further east is that midnight.

    Returns
    -------
    tuple of (Date, float) or None
        The date and how sure it is, in (0, 1]; None for all else.
    """
    if len(text) > _LONGEST:
        return None
    meant = unshifted(text)
    if meant is not None:
        return Date(meant.year, meant.month, meant.day), _SHIFTED
    date = parse_date(text)
    return None if date is None else (date, 1.0)


def find_date(date: Date, sure: float, index: DocumentIndex) -> Iterator[Hit]:
    """Find a date.

    Parameters
    ----------
    date : Date
        A day, month or year.
    sure : float
        What to multiply the similarities with, in (0, 1].
    index : DocumentIndex
        Where to look.

    Yields
    ------
    Hit
        In no order; some may overlap. A month is found in each of its days, and the first day of
        a month in the month, both less similar.
    """
    if date.month is None:
        for start, end, is_whole in index.occurrences(str(date.year)):
            if is_whole and end - start == len(str(date.year)):
                yield Hit(((start, end),), sure, "date")
        return
    for year, month, day in date.readings:
        for found, spans in index.dated.items():
            quality = _quality(day, found[2]) if found[:2] == (year, month) else 0.0
            for span in spans if quality else ():
                yield Hit((span,), sure * quality, "date")


def _quality(day: int | None, found: int | None) -> float:
    if day == found:
        return 1.0
    is_part = day is None or (day == 1 and found is None)
    return _PART if is_part else 0.0
