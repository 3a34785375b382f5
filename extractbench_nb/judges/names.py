"""Names of people: initials, order, honorifics and degrees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from extractbench_nb.judges.lexicon import (
    DEGREES,
    GENERATIONS,
    HONORIFICS,
    LEGAL_SUFFIXES,
    NOT_PERSONAL,
    PARTICLES,
    PLACE_CODES,
)

_MAX_WORDS = 7


class Person(NamedTuple):
    """A name taken apart.

    Attributes
    ----------
    words : tuple of str
        Names and initials, given names first where a comma told the order; initials of a cluster
        (``J.R.``) apart.
    generation : frozenset of str
        Jr, Sr, II and their like.
    marked : bool
        True if the writing itself says that this is a person: an initial, a comma, a title.
    """

    words: tuple[str, ...]
    generation: frozenset[str]
    marked: bool


def read_person(text: str, canonical: Sequence[str]) -> Person | None:
    """Take a text apart as one person's name.

    Parameters
    ----------
    text : str
        Unified text, case kept.
    canonical : sequence of str
        Its canonical words.

    Returns
    -------
    Person or None
        None where the text cannot be one person's name.
    """
    if not 1 <= len(canonical) <= _MAX_WORDS or not NOT_PERSONAL.isdisjoint(canonical):
        return None
    parts = [part for part in text.split(",") if part.strip()]
    if not parts or len(parts) > 3:
        return None
    if (len(parts) > 1 and parts[-1].strip() in PLACE_CODES) or text.islower():
        return None
    groups = [_words(part) for part in parts]
    if any(group is None for group in groups):
        return None
    found = [group for group in groups if group]
    words, marked = _in_order(found)
    kept = _strip_titles(words)
    generation = frozenset(word.lower() for word in kept if word.lower() in GENERATIONS)
    names = tuple(w for word in kept if word.lower() not in GENERATIONS for w in _split(word, kept))
    if not names or any(name in LEGAL_SUFFIXES and len(name) > 2 for name in names):
        return None
    initials = any(len(name) == 1 for name in names)
    return Person(names, generation, marked or len(kept) < len(words) or initials)


def same_person(a: Person, b: Person) -> bool | None:
    """Say whether two names can be one person's; None where the names alone don't tell.

    Full names must agree; an initial stands for any name that begins with it; a middle name may be
    left out where two other names agree.
    """
    left, right = list(a.words), list(b.words)
    common = [word for word in left if len(word) > 1 and word in right]
    for word in common:
        if word in left and word in right:
            left.remove(word)
            right.remove(word)
    if not common:
        return None
    matched = len(common)
    if a.generation != b.generation:
        return False if not left and not right else None
    matched += _match_initials(left, right)
    if left and right:
        return False
    if not left and not right:
        return True
    rest = left or right
    longer = a.words if left else b.words
    if matched >= 2 and (a.marked or b.marked) and all(_is_middle(w, longer) for w in rest):
        return True
    return None


def _match_initials(left: list[str], right: list[str]) -> int:
    """Pair initials with names, first come first; paired words leave the lists."""
    pairs = 0
    for word in list(left):
        other = next((o for o in right if _fits(word, o)), None)
        if other is not None:
            left.remove(word)
            right.remove(other)
            pairs += 1
    return pairs


def _fits(a: str, b: str) -> bool:
    return a[0] == b[0] and (len(a) == 1 or len(b) == 1)


def _is_middle(word: str, words: tuple[str, ...]) -> bool:
    return len(word) == 1 or word not in (words[0], words[-1]) or word in PARTICLES


def _words(part: str) -> list[str] | None:
    """Split a part of a name; None if something in it is not a name."""
    words = part.replace(".", " . ").replace("-", " ").replace("'", "").split()
    cluster = _join_initials(words)
    for word in cluster:
        if not word.isalpha():
            return None
        if word.islower() and word not in PARTICLES and len(word) > 1 and not part.islower():
            return None
    return cluster


def _join_initials(words: list[str]) -> list[str]:
    return [word for word in words if word != "."]


def _in_order(groups: list[list[str]]) -> tuple[list[str], bool]:
    """Put given names first: ``Smith, John`` has the surname before the comma."""
    head, *rest = groups
    extra = [word for group in rest for word in group]
    titles = all(word.lower() in DEGREES | HONORIFICS | GENERATIONS for word in extra)
    if not extra or titles:
        return head + extra, bool(extra)
    given, *after = rest
    return given + head + [word for group in after for word in group], True


def _strip_titles(words: list[str]) -> list[str]:
    start, end = 0, len(words)
    while start < end - 1 and words[start].lower() in HONORIFICS:
        start += 1
    while end - 1 > start + 1 and words[end - 1].lower() in DEGREES:
        end -= 1
    if words[end - 2 : end] == ["Ph", "D"] and end - 2 > start:
        end -= 2
    return words[start:end]


def _split(word: str, words: list[str]) -> tuple[str, ...]:
    """Take a cluster of capitals apart (``JR Okafor``) unless the whole name is in capitals."""
    if len(word) in (2, 3) and word.isupper() and len(words) > 1:
        if any(not other.isupper() for other in words) and not set(word) & set("AEIOUY"):
            return tuple(word.lower())
    return (word.casefold(),)
