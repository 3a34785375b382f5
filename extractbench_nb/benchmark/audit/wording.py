"""Words glued or broken by PDF extraction, line breaks, stray punctuation and spaces."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from extractbench_nb.benchmark.audit.kinds import Finding
from extractbench_nb.benchmark.audit.pdftext import PdfText, words_of
from extractbench_nb.benchmark.audit.places import Place, Subject
from extractbench_nb.metrics.text import unify

__all__ = ["find_wording_faults"]

_CUT = re.compile(r"\b([^\W\d_]{2,})-[ \t]+([^\W\d_A-Z][^\W\d_]+)|\b([^\W\d_]{2,})-\r?\n\s*(\w+)")
_SUSPENDED = frozenset(("and", "or", "to", "und", "oder", "et", "ou", "as", "vs", "the", "then"))
_BULLET = re.compile(r"[-*•·–]|\d+[.)]|\(?[a-z]{1,3}\)")
_LINKING = frozenset(
    ("a", "an", "and", "as", "at", "by", "for", "from", "in", "into", "its", "of", "on", "or",
     "such", "that", "the", "their", "this", "to", "with", "which", "any", "each", "be", "is")
)  # fmt: skip
_MISSING_SPACE = re.compile(r"\b[a-z]{2,}[,;][A-Za-z][a-z]{2,}\b")
_LETTERS = re.compile(r"[^\W\d_]+")
_LINK = re.compile(r"://|www\.|@|\.[a-z]{2,4}/", re.IGNORECASE)
_TAIL = re.compile(r"(?:[,;:&]+|(?<=[^\W\d_])-|(?<=\s)[.–—-]|(?<=\s)(?:and|or|&))\s*\Z")
_HEAD = re.compile(r"(?:[.&!?)\]](?!\w)|[•·▪●]|[,;:])\s*")
_SPACES = re.compile(r"\A\s|\s\Z|(?<=\S)[ \t\u00a0]{2,}(?=\S)")
_LONGEST_NAME = 120
_LONGEST_WORD = 60
_SHOWN = 40
_MIN_GLUED = 7
_MIN_PART = 2
_MIN_JOINED = 6


def find_wording_faults(subject: Subject) -> Iterator[Finding]:
    """Find what extraction from a PDF does to words, and what it leaves at the ends of a text.

    Parameters
    ----------
    subject : Subject
        The document; with a PDF, its words tell glued and broken ones from rare ones.

    Yields
    ------
    Finding
        Of kind ``glued_words``, ``broken_word``, ``line_break``, ``trailing_punctuation`` or
        ``stray_whitespace``: at most one of each kind a value.
    """
    vocabulary = _vocabulary(subject)
    for place in subject.texts():
        yield from _cut_words(place, subject.pdf, vocabulary)
        yield from _glued_words(place, subject.pdf)
        yield from _line_breaks(place)
        yield from _loose_ends(place)


def _vocabulary(subject: Subject) -> Counter[str]:
    """Count the words of the gold texts and of the PDF."""
    counts = Counter(word for place in subject.texts() for word in words_of(place.value))
    return counts + subject.pdf.counts if subject.pdf is not None else counts


def _cut_words(place: Place, pdf: PdfText | None, vocabulary: Counter[str]) -> Iterator[Finding]:
    found = [m for m in _CUT.finditer(place.value) if _second(m).lower() not in _SUSPENDED]
    if found:
        cut = [" ".join(m[0].split()) for m in found]
        better = _CUT.sub(lambda m: _rejoined(m, vocabulary), place.value)
        message = f"cut in two: {', '.join(map(repr, cut[:3]))}{_more(cut)}"
        yield Finding(place.path, place.field, "broken_word", message, place.value, better)
    elif pdf is not None and (pairs := list(_torn(place.value, pdf))):
        message = f"torn apart: {', '.join(repr(' '.join(p)) for p in pairs[:3])}{_more(pairs)}"
        better = ", ".join("".join(pair) for pair in pairs[:3])
        yield Finding(place.path, place.field, "broken_word", message, place.value, better)


def _more(found: list[object] | list[str] | list[tuple[str, str]]) -> str:
    return f" and {len(found) - 3} more" if len(found) > 3 else ""  # noqa: PLR2004 - shown above


def _first(match: re.Match[str]) -> str:
    return match[1] or match[3]


def _second(match: re.Match[str]) -> str:
    return match[2] or match[4]


def _rejoined(match: re.Match[str], vocabulary: Counter[str]) -> str:
    """Write a word that was cut at a hyphen as one, or as a compound of two that occur apart."""
    first, second = _first(match), _second(match)
    if second.lower() in _SUSPENDED:
        return match[0]
    one, two = first.casefold(), second.casefold()
    compound = min(vocabulary[one], vocabulary[two]) > 1 and not vocabulary[one + two]
    return f"{first}-{second}" if compound else first + second


def _torn(text: str, pdf: PdfText) -> Iterator[tuple[str, str]]:
    """Find two neighbours that the PDF has as one word, and never as words of their own."""
    parts = unify(text).casefold().split()
    for first, second in pairwise(parts):
        joined = first + second
        if len(joined) < _MIN_JOINED or not joined.isalpha() or joined not in pdf.counts:
            continue
        if not pdf.counts[first] or not pdf.counts[second]:
            yield first, second


def _glued_words(place: Place, pdf: PdfText | None) -> Iterator[Finding]:
    text = " ".join(part for part in place.value.split() if not _LINK.search(part))
    found = _MISSING_SPACE.findall(text)
    better = [re.sub(r"([,;])", r"\1 ", one) for one in found]
    if pdf is not None:
        words = dict.fromkeys(_LETTERS.findall(unify(text)))
        pairs = [pair for word in words if (pair := _unglue(word, pdf))]
        found += ["".join(pair) for pair in pairs]
        better += [" ".join(pair) for pair in pairs]
    if found:
        message = f"no space in {', '.join(map(repr, found[:3]))}{_more(found)}"
        near = ", ".join(better[:3])
        yield Finding(place.path, place.field, "glued_words", message, place.value, near)


def _unglue(word: str, pdf: PdfText) -> tuple[str, str] | None:
    """Part a word that the PDF does not have where the PDF has its two parts side by side.

    The second part begins with a capital, or both occur elsewhere in the PDF too.
    """
    folded = word.casefold()
    if (
        not _MIN_GLUED <= len(folded) <= _LONGEST_WORD
        or len(folded) != len(word)
        or folded in pdf.counts
    ):
        return None
    for i in range(_MIN_PART, len(word) - _MIN_PART + 1):
        pair = (folded[:i], folded[i:])
        together = pdf.pairs[pair]
        if not together:
            continue
        apart = min(pdf.counts[pair[0]], pdf.counts[pair[1]]) > together
        if apart or (word[i - 1].islower() and word[i].isupper()):
            return word[:i], word[i:]
    return None


def _line_breaks(place: Place) -> Iterator[Finding]:
    lines = [line.split() for line in place.value.splitlines()]
    ends = [(a[-1], b[0]) for a, b in pairwise(lines) if a and b]
    breaks = [(before, after) for before, after in ends if _is_within_sentence(before, after)]
    if breaks:
        count = f"{len(breaks)} line break{'s' if len(breaks) > 1 else ''}"
        before, after = breaks[0][0][-_SHOWN:], breaks[0][1][:_SHOWN]
        message = f"{count} inside a sentence, as between {before!r} and {after!r}"
        better = " ".join(place.value.split())
        yield Finding(place.path, place.field, "line_break", message, place.value, better)


def _is_within_sentence(before: str, after: str) -> bool:
    if _BULLET.fullmatch(after) or before.endswith("-"):
        return False
    linked = before.endswith(",") or before.lower() in _LINKING
    ended = before[-1] in ".:;!?"
    return linked or (after[0].islower() and not ended)


def _loose_ends(place: Place) -> Iterator[Finding]:
    text = place.value
    if _SPACES.search(text):
        better = " ".join(text.split())
        yield Finding(
            place.path, place.field, "stray_whitespace", "spaces at an end or doubled", text, better
        )
    bare = text.strip()
    if len(bare) > _LONGEST_NAME or "\n" in bare:
        return
    tail, head = _TAIL.search(bare), _HEAD.match(bare)
    if len(bare) > 1 and (tail or head):
        better = bare[head.end() if head else 0 : tail.start() if tail else len(bare)].strip()
        where = "ends" if tail else "begins"
        mark = (tail or head)[0].strip()  # type: ignore[index]
        message = f"{where} with {mark!r}"
        yield Finding(place.path, place.field, "trailing_punctuation", message, text, better)
