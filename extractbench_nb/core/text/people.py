"""Names of people: initials, order, honorifics and degrees."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from extractbench_nb.core.text import lexicon

_MAX_WORDS = 7
_MAX_NAME = 120
_MAX_PARTS = 3
_MAX_LIST = 1_000
#: Words of a name with a given name and a surname and nothing else.
_GIVEN_AND_SURNAME = 2
_TITLES = lexicon.DEGREES | lexicon.HONORIFICS | lexicon.GENERATIONS
_SEPARATOR = re.compile(r",? (?:and|&) |;|, and |,? (?=etal\.?$)")
_NOT_IN_NAMES = re.compile(r"[^\w\s.,;&'-]|[\d_]")
_INITIALS = re.compile(r"(?:[A-Z]\.?[ -]?){1,4}")
_CLUSTER = re.compile("(?!L[LT][CPD])[B-DF-HJ-NP-TV-XZ]{2,3}")
_DOTTED_DEGREES = frozenset(("MD", "JD", "DDS", "MBA"))
_TITLED = re.compile(r"(?:dr|prof)\w*\.? ", re.IGNORECASE)


class Person(NamedTuple):
    """A parsed name.

    Given names come first where a comma shows the order, and the initials of a cluster (``J.R.``)
    are separate. `generation` is Jr, Sr, II and the like; `gender` is ``m`` or ``f`` if a title
    implies it. `marked`: an initial, a comma or a title shows that this is a person.
    """

    words: tuple[str, ...]
    generation: frozenset[str]
    marked: bool
    gender: str = ""

    def transliterated(self, words: Mapping[str, str], other: Person) -> Person:
        """Write words with umlauts as the other name has them: Mueller for Muller."""
        if not words:
            return self
        written = (words.get(w, w) if w not in other.words else w for w in self.words)
        return self._replace(words=tuple(written))


def read_person(text: str, canonical: Sequence[str]) -> Person | None:
    """Read a text as one person's name; None if it is not one."""
    if len(text) > _MAX_NAME or not 1 <= len(canonical) <= _MAX_WORDS or text.islower():
        return None
    groups = _name_groups(text) if lexicon.NOT_PERSONAL.isdisjoint(canonical) else None
    if not groups:
        return None
    head, *rest = groups
    words = [word for group in groups for word in group]
    folded = {word.lower() for word in words}
    if rest and not _TITLES.issuperset(word.lower() for group in rest for word in group):
        # Dr. Smith, John
        at = next((i for i, w in enumerate(head) if w.lower() not in lexicon.HONORIFICS), 0)
        words = head[:at] + rest[0] + head[at:] + [word for group in rest[1:] for word in group]
    untitled = list(words)
    while len(untitled) > 1 and untitled[0].lower() in lexicon.HONORIFICS:
        del untitled[0]
    if len(untitled) > _GIVEN_AND_SURNAME and untitled[-2:] == ["Ph", "D"]:
        del untitled[-2:]
    while len(untitled) > _GIVEN_AND_SURNAME and untitled[-1].lower() in lexicon.DEGREES:
        del untitled[-1]
    mixed = not all(map(str.isupper, untitled))
    names: list[str] = []
    for word in untitled:
        if word.lower() not in lexicon.GENERATIONS:
            # capitals without a vowel are initials, JR Okafor, unless the whole name is in capitals
            is_cluster = mixed and _CLUSTER.fullmatch(word)
            names += word.lower() if is_cluster else [word.casefold()]
    if not names:
        return None
    marked = bool(rest) or len(untitled) < len(words) or 1 in map(len, names)
    female = "" if folded.isdisjoint(lexicon.FEMALE_TITLES) else "f"
    gender = female if folded.isdisjoint(lexicon.MALE_TITLES) else "m"
    generation = lexicon.GENERATIONS.intersection(word.lower() for word in untitled)
    return Person(tuple(names), generation, marked, gender)


def _name_groups(text: str) -> list[list[str]] | None:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not 1 <= len(parts) <= _MAX_PARTS:
        return None
    if len(parts) > 1 and parts[-1] in lexicon.PLACE_CODES and not _TITLED.match(text):
        return None
    groups: list[list[str]] = []
    for written in parts:
        dotted = written.replace(".", "")
        part = dotted if groups and dotted in _DOTTED_DEGREES else written
        words = part.replace(".", " ").replace("-", " ").replace("'", "").split()
        for word in part.replace(".", " ").replace("-", "").replace("'", "").split():
            # in a part with capitals only particles are in lower case: Ludwig van Beethoven
            is_lower = word.islower() and len(word) > 1 and not part.islower()
            if not word.isalpha() or (is_lower and word not in lexicon.PARTICLES):
                return None
        if words:
            groups.append(words)
    return groups


def read_people(text: str) -> tuple[Person, ...]:
    """Read a list of names: ``Smith, J. and Doe, R.``, ``John Smith, Rita Doe``."""
    if not ("," in text or ";" in text or " and " in text) or len(text) > _MAX_LIST:
        return ()
    if _NOT_IN_NAMES.search(text):
        return ()
    parts = [part.strip() for part in _SEPARATOR.split(text) if part.strip()]
    if ";" not in text:
        parts = [piece.strip() for part in parts for piece in part.split(",") if piece.strip()]
        if len(parts) % 2 == 0 and all(map(_INITIALS.fullmatch, parts[1::2])):
            # every second part is initials: Smith, J., Doe, R.
            parts = [f"{a}, {b}" for a, b in zip(parts[::2], parts[1::2], strict=True)]
    people: list[Person] = []
    for part in parts:
        if part.rstrip(".") == "etal":
            people.append(Person(("etal",), frozenset(), marked=False))
            continue
        person = read_person(part, part.lower().split())
        if person is None or len(person.words) == 1:
            return ()
        people.append(person)
    return tuple(people) if len(people) > 1 else ()


def same_person(a: Person, b: Person) -> bool | None:
    """Say whether two names may belong to one person; None if the names alone do not decide.

    Full names must agree. An initial agrees with any name that begins with it. One side may lack a
    middle name if given name and surname agree and the text is marked as a person's name.
    """
    left, right = list(a.words), list(b.words)
    ours, theirs = ([word for word in name.words if len(word) == 1] for name in (a, b))
    if ours != theirs and sorted(ours) == sorted(theirs):  # Park, J.H. and Park, H.J.
        return False
    matched = 0
    for word in a.words:
        if len(word) > 1 and word in right:
            left.remove(word)
            right.remove(word)
            matched += 1
    if not matched:
        return None
    if a.generation != b.generation or (a.gender and b.gender and a.gender != b.gender):
        return None if left or right else False
    for word in list(left):  # an initial goes with the first name that begins with it
        initials = (o for o in right if word[0] == o[0] and 1 in (len(word), len(o)))
        if (other := next(initials, None)) is not None:
            left.remove(word)
            right.remove(other)
            matched += 1
    if left and right:
        return False
    if not left and not right:
        return True
    rest = left or right
    longer, shorter = (a.words, b.words) if left else (b.words, a.words)
    is_person = a.marked or b.marked
    if matched < _GIVEN_AND_SURNAME or len(shorter) > _GIVEN_AND_SURNAME or not is_person:
        return None
    ends = (longer[0], longer[-1])
    middle = (len(word) == 1 or word not in ends or word in lexicon.PARTICLES for word in rest)
    return True if all(middle) else None
