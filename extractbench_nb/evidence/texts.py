"""Find a text: in one piece, with its words apart, in pieces, or spelt much alike."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from extractbench_nb.benchmark.audit.nearest import nearest_span, pieces
from extractbench_nb.benchmark.audit.pdftext import squash, words_of
from extractbench_nb.evidence.hits import Hit
from extractbench_nb.evidence.index import DocumentIndex

__all__ = ["UNSPACED", "find_text"]

#: Scripts that write without spaces between words: Thai and its neighbours, Chinese, Japanese.
UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ua4cf\uf900-\ufaff]")
_LEAST_ALIKE, _LEAST_COVERED = 0.85, 0.75
_INSIDE_WORDS, _OTHER_CASE, _APART = 0.9, 0.7, 0.9
_FEWEST_INSIDE, _FEWEST_ALIKE = 7, 12
_SHORT_CODE = 4
_LONG_DIGITS = 7
_LONG_WORDS = 8
_FEWEST_APART, _MOST_APART = 2, 8
_MOST_PLACES = 200
_SLACK = 4
_LONGEST_ALIKE = 100_000
_DIGITS = re.compile(r"\d+")
_LINK = re.compile(r"(?:https?://|mailto:)?(?:www\.)?", re.IGNORECASE)


def find_text(text: str, key: str, index: DocumentIndex, *, exactly: bool) -> Iterator[Hit]:
    """Find a text whatever its case, spacing, punctuation, accents and line breaks.

    Parameters
    ----------
    text : str
        The text.
    key : str
        Its letters and digits, as `squash` returns them.
    index : DocumentIndex
        Where to look.
    exactly : bool
        Whether to leave out what is only alike.

    Yields
    ------
    Hit
        The exact ones in order; only where there is none, the best of the others.
    """
    found = False
    for hit in _exact(text, key, index):
        found = True
        yield hit
    if found or exactly or len(text) > _LONGEST_ALIKE:
        return
    linked = _LINK.sub("", text, count=1)
    hits = list(_exact(linked, squash(linked), index)) if linked != text else []
    yield from hits or _alike(text, key, index)


def _exact(text: str, key: str, index: DocumentIndex) -> Iterator[Hit]:
    runs = _DIGITS.findall(text)
    inside = len(key) >= _FEWEST_INSIDE and not key.isdigit()
    unspaced = bool(key and UNSPACED.match(key[0]) and UNSPACED.match(key[-1]))
    is_code = len(key) <= _SHORT_CODE and text.isupper()
    for start, end, is_whole in index.occurrences(key):
        stands = index.text[start:end]
        if not (is_whole or inside or unspaced) or not _same_digits(runs, stands):
            continue
        quality = 1.0 if is_whole or unspaced else _INSIDE_WORDS
        if is_code and not stands.isupper():
            quality *= _OTHER_CASE
        yield Hit(((start, end),), quality, "as_is")


def _same_digits(runs: Sequence[str], stands: str) -> bool:
    """Say whether digits are grouped alike; long ones, as of telephones, may be grouped anew."""
    if not runs or len("".join(runs)) >= _LONG_DIGITS:
        return True
    return list(runs) == _DIGITS.findall(stands)


def _alike(text: str, key: str, index: DocumentIndex) -> Iterator[Hit]:
    words = words_of(text)
    hit = _words_apart(words, index) if _FEWEST_APART <= len(words) <= _MOST_APART else None
    if hit is None and len(words) >= _LONG_WORDS:
        hit = _in_pieces(text, index)
    if hit is None and len(key) >= _FEWEST_ALIKE:
        hit = _similar(text, index)
    if hit is not None:
        yield hit


def _words_apart(words: Sequence[str], index: DocumentIndex) -> Hit | None:
    """Find all words within a few words of the rarest one; mere digits are no words."""
    wanted = set(words)
    if sum(map(str.isalpha, wanted)) < _FEWEST_APART or not wanted <= index.places.keys():
        return None
    rarest = min(words, key=lambda word: len(index.places[word]))
    for place in index.places[rarest][:_MOST_PLACES]:
        first = max(0, place - len(words) - _SLACK)
        window = index.words[first : place + len(words) + _SLACK]
        if wanted.issubset(window):
            return Hit(tuple(_nearest(wanted, window, first, place, index)), _APART, "apart")
    return None


def _nearest(
    wanted: set[str], window: Sequence[str], first: int, place: int, index: DocumentIndex
) -> Iterator[tuple[int, int]]:
    """Yield where the wanted words stand nearest to a place, neighbours in one span."""
    at = {
        min((i for i, w in enumerate(window, first) if w == word), key=lambda i: abs(i - place))
        for word in wanted
    }
    start = end = min(at)
    for i in sorted(at):
        if i > end:
            yield index.span_of_words(start, end)
            start = i
        end = i + 1
    yield index.span_of_words(start, end)


def _in_pieces(text: str, index: DocumentIndex) -> Hit | None:
    """Find a long text in pieces of four words or more, each behind the last one if it can be."""
    words, found = pieces(text, index)
    share = sum(count for _, count in found) / len(words)
    if share < _LEAST_COVERED:
        return None
    spans: list[tuple[int, int]] = []
    after = 0
    for first, count in found:
        key = "".join(words[first : first + count])
        at = index.squashed.find(key, after)
        at = index.squashed.find(key) if at < 0 else at
        spans.append(index.span(at, at + len(key)))
        after = at + len(key)
    return Hit(tuple(spans), share, "in_pieces")


def _similar(text: str, index: DocumentIndex) -> Hit | None:
    near = nearest_span(text, index)
    if near is None or near[2] < _LEAST_ALIKE:
        return None
    start, end = index.span(near[0], near[1])
    if not set(_DIGITS.findall(text)) <= set(_DIGITS.findall(index.text[start:end])):
        return None
    return Hit(((start, end),), near[2], "similar")
