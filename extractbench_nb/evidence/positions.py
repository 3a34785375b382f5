"""Which character of a page each character of its normalised text comes from."""

from __future__ import annotations

import re
from collections.abc import Sequence

from extractbench_nb.benchmark.audit.pdftext import LINE_HYPHEN
from extractbench_nb.metrics.text import unify

__all__ = ["positions"]

_TOKEN = re.compile(r"\S+")


def positions(page: str) -> tuple[str, list[int]]:
    r"""Normalise the text of a page and keep where each character comes from.

    Parameters
    ----------
    page : str
        The text as the PDF has it.

    Returns
    -------
    tuple of (str, list of int)
        The text as `PdfText` has it, and for each of its characters an index in `page`; never
        falling.

    Examples
    --------
    >>> positions("ﬁrst  re-\nsult")
    ('first result', [0, 0, 1, 2, 3, 5, 6, 7, 10, 11, 12, 13])
    """
    text, places = _without(page, range(len(page)), LINE_HYPHEN)
    words: list[str] = []
    found: list[int] = []
    for match in _TOKEN.finditer(text):
        word = unify(match[0])
        if not word:
            continue
        if words:
            found.append(places[match.start() - 1])
        found += _inside(word, match[0], places[match.start() : match.end()])
        words.append(word)
    return " ".join(words), found


def _without(
    text: str, places: Sequence[int], pattern: re.Pattern[str]
) -> tuple[str, Sequence[int]]:
    """Cut every match out of a text."""
    kept: list[int] = []
    pieces: list[str] = []
    end = 0
    for match in pattern.finditer(text):
        pieces.append(text[end : match.start()])
        kept += places[end : match.start()]
        end = match.end()
    if not end:
        return text, places
    return "".join((*pieces, text[end:])), [*kept, *places[end:]]


def _inside(word: str, original: str, places: Sequence[int]) -> Sequence[int]:
    if original.isascii():
        return places
    found: list[int] = []
    for place, character in zip(places, original, strict=True):
        part = unify(character)
        if part and word.startswith(f" {part}", len(found)):  # 1½ becomes 1 1/2
            part = f" {part}"
        found += [place] * len(part)
    if len(found) == len(word):
        return found
    return [places[index * len(places) // len(word)] for index in range(len(word))]
