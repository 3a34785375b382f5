"""Names that one document spells in several ways."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from extractbench_nb.benchmark.audit.kinds import Finding
from extractbench_nb.benchmark.audit.places import Place, Subject
from extractbench_nb.judges.offline import OfflineJudge
from extractbench_nb.metrics.dates import parse_date
from extractbench_nb.metrics.text import normalize, unify

__all__ = ["find_variants"]

_LONGEST_NAME = 80
_MIN_LETTERS = 4
_ALIKE = 88
_SAME = 0.7
_MIN_WORD = 6
_MOST_NAMES = 3_000
_MOST_PAIRS = 5_000
_LETTER = re.compile(r"[^\W\d_]")
_DIGITS = re.compile(r"\d+")


def find_variants(subject: Subject) -> Iterator[Finding]:
    """Find names and short texts that the same document also spells otherwise.

    The rarer spelling is the finding, the more frequent one the suggestion; of equally frequent
    ones the first in the document is taken for right. Texts with different digits differ, and a
    spelling that the PDF has too is no finding.

    Parameters
    ----------
    subject : Subject
        The document.

    Yields
    ------
    Finding
        Of kind ``case_variant`` (capitals, marks and spaces only) or ``spelling_variant``.
    """
    names: dict[str, list[Place]] = defaultdict(list)
    for place in subject.texts():
        if _is_name(place):
            names[" ".join(place.value.split())].append(place)
    usual = _usual_forms(names)
    for name, places in names.items():
        if (better := usual[normalize(name)]) != name and not _is_quoted(name, subject):
            yield from _told(places, "case_variant", better)
    for name, better in _respelt({form: len(names[form]) for form in usual.values()}):
        if not _is_quoted(name, subject):
            yield from _told(names[name], "spelling_variant", better)


def _is_quoted(name: str, subject: Subject) -> bool:
    """Say whether the PDF has the name in just this writing."""
    return subject.pdf is not None and unify(name) in subject.pdf.text


def _is_name(place: Place) -> bool:
    text = place.value
    if len(text) > _LONGEST_NAME or len(_LETTER.findall(text)) < _MIN_LETTERS:
        return False
    return parse_date(text) is None and "@" not in text and "://" not in text


def _usual_forms(names: dict[str, list[Place]]) -> dict[str, str]:
    """Choose the most frequent writing of each name, by its normalised form."""
    forms: dict[str, Counter[str]] = defaultdict(Counter)
    for name, places in names.items():
        forms[normalize(name)][name] += len(places)
    return {form: max(counts, key=lambda n: _rank(n, counts[n])) for form, counts in forms.items()}


def _rank(name: str, count: int) -> tuple[int, bool, bool]:
    """Prefer the frequent form, then one with a proper end, then one not in capitals."""
    return count, name[-1].isalnum() or name.endswith((".", ")")), not name.isupper()


def _told(places: list[Place], kind: str, better: str) -> Iterator[Finding]:
    how = "with other capitals or marks" if kind == "case_variant" else "spelt otherwise"
    message = f"the document also has it {how}"
    for place in places:
        yield Finding(place.path, place.field, kind, message, place.value, better)


def _respelt(counts: dict[str, int]) -> Iterator[tuple[str, str]]:
    """Pair names that are alike and mean the same, the rarer one first; the most alike first."""
    import numpy as np
    from rapidfuzz import fuzz, process

    names = list(counts)[:_MOST_NAMES]
    forms = [normalize(name) for name in names]
    alike = process.cdist(forms, forms, scorer=fuzz.ratio, score_cutoff=_ALIKE, dtype=np.uint8)
    judge = OfflineJudge()
    told: set[int] = set()
    rows, columns = np.nonzero(np.triu(alike, 1))
    nearest = np.argsort(-alike[rows, columns].astype(int), kind="stable")[:_MOST_PAIRS]
    for i, j in zip(rows[nearest], columns[nearest], strict=True):
        rare, usual = (i, j) if counts[names[i]] < counts[names[j]] else (j, i)
        if rare not in told and _is_misspelt(names[rare], names[usual], judge):
            told.add(rare)
            yield names[rare], names[usual]


def _is_misspelt(name: str, other: str, judge: OfflineJudge) -> bool:
    if _DIGITS.findall(name) != _DIGITS.findall(other):
        return False
    return _is_slip(name, other) or judge.compare(other, name).score >= _SAME


def _is_slip(name: str, other: str) -> bool:
    """Say whether one long word has one letter wrong, missing, too much or out of place."""
    from rapidfuzz.distance import OSA

    ours, theirs = normalize(name).split(), normalize(other).split()
    if len(ours) != len(theirs):
        return False
    differing = [(a, b) for a, b in zip(ours, theirs, strict=True) if a != b]
    if len(differing) != 1:
        return False
    a, b = differing[0]
    plural = a.removesuffix("s") == b.removesuffix("s")
    return min(len(a), len(b)) >= _MIN_WORD and not plural and OSA.distance(a, b) == 1
