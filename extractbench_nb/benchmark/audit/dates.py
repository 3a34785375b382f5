"""Dates that are malformed, shifted by a time zone, or written unlike their siblings."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from extractbench_nb.benchmark.audit.kinds import Finding
from extractbench_nb.benchmark.audit.places import Place, Subject
from extractbench_nb.metrics.dates import MONTHS, parse_date, unshifted
from extractbench_nb.metrics.text import fold

__all__ = ["find_date_faults", "is_malformed"]

_ASKED = re.compile(r"\bYYYY(?:-MM(?:-DD)?)?(?![\w-])")
_SHAPES = {"YYYY-MM-DD": r"\d{4}-\d\d-\d\d", "YYYY-MM": r"\d{4}-\d\d", "YYYY": r"\d{4}"}
_STYLES = (
    ("timestamp", re.compile(r"\d{4}-\d\d-\d\d[t ].*")),
    ("YYYY-MM-DD", re.compile(r"\d{4}-\d\d(?:-\d\d)?")),
    ("day/month/year with slashes", re.compile(r"\d{1,2}/\d{1,2}/\d{2,4}|\d{1,2}/\d{4}")),
    ("digits with dots", re.compile(r"\d{1,2}\.\d{1,2}\.\d{2,4}")),
    ("month in words", re.compile(r".*[a-z]{3,}.*")),
)
_DATE_NAME = re.compile(
    r"date|_on$|_at$|(?:^|_)(?:day|birthday|dob|deadline|expiry)(?:_|$)", re.IGNORECASE
)
_ALL_DIGITS = re.compile(r"\d{1,4}([-/.])\d{1,4}\1\d{1,4}(?:[T ].*)?")
_WORDED = re.compile(r"(?:\d{1,2}(?:st|nd|rd|th)?\s+([a-z]+)\.?,?\s+\d{4}|([a-z]+)\.?\s+\d{1,2}"
                     r"(?:st|nd|rd|th)?,?\s+\d{4})")  # fmt: skip
_LONGEST_DATE = 60
_MIN_SIBLINGS = 3
_MAJORITY = 2 / 3


def find_date_faults(subject: Subject) -> Iterator[Finding]:
    """Find dates that cannot be, that a time zone shifted, or that are written unlike others.

    Parameters
    ----------
    subject : Subject
        The document.

    Yields
    ------
    Finding
        Of kind ``malformed_date``, ``shifted_date`` or ``odd_date_style``.
    """
    siblings: dict[str, list[Place]] = defaultdict(list)
    for place in subject.texts():
        if len(place.value) > _LONGEST_DATE:
            continue
        if (finding := _shifted(place) or _malformed(place)) is not None:
            yield finding
        elif parse_date(place.value) is not None:
            siblings[place.field.rpartition(".")[0]].append(place)
            yield from _unlike_schema(place)
    for group in siblings.values():
        yield from _unlike_siblings(group)


def _shifted(place: Place) -> Finding | None:
    meant = unshifted(place.value)
    if meant is None:
        return None
    first = meant.day == 1
    message = "midnight of a zone further east: the day before is written"
    message += ", and another month" if first else ""
    better = f"{meant:%Y-%m} or {meant:%Y-%m-%d}" if first else f"{meant:%Y-%m-%d}"
    return Finding(place.path, place.field, "shifted_date", message, place.value, better)


def is_malformed(place: Place) -> bool:
    """Say whether a text wants to be a date and is none.

    Parameters
    ----------
    place : Place
        A text and where it stands: only keys and formats for dates can hold malformed ones.

    Returns
    -------
    bool
        Whether it has the shape of a date and no day, month and year of the calendar.
    """
    if len(place.value) > _LONGEST_DATE or parse_date(place.value) is not None:
        return False
    return _claims_date(place, fold(place.value).strip(" .,;"))


def _malformed(place: Place) -> Finding | None:
    if not is_malformed(place):
        return None
    message = "is no date of the calendar, nor a date in any form we know"
    return Finding(place.path, place.field, "malformed_date", message, place.value)


def _claims_date(place: Place, text: str) -> bool:
    """Say whether a text wants to be a date: day, month and year, at a place for dates."""
    format_ = place.node.keywords.get("format") if place.node is not None else None
    if not (format_ == "date" or _DATE_NAME.search(place.name)):
        return False
    worded = _WORDED.fullmatch(text)
    if worded:
        return (worded[1] or worded[2]) in MONTHS
    return bool(_ALL_DIGITS.fullmatch(text)) and max(map(len, re.findall(r"\d+", text))) > 2  # noqa: PLR2004 - a year


def _unlike_schema(place: Place) -> Iterator[Finding]:
    asked = _ASKED.findall(place.node.description or "") if place.node is not None else []
    if asked and not any(re.fullmatch(_SHAPES[form], place.value.strip()) for form in asked):
        message = f"the schema asks for {' or '.join(dict.fromkeys(asked))}"
        iso = _iso(place.value)
        yield Finding(place.path, place.field, "odd_date_style", message, place.value, iso)


def _iso(text: str) -> str | None:
    date = parse_date(text)
    if date is None or date.swapped:
        return None
    parts = [f"{date.year:04}"] + [f"{part:02}" for part in (date.month, date.day) if part]
    return "-".join(parts)


def _style(text: str) -> str | None:
    folded = fold(text)
    return next((name for name, pattern in _STYLES if pattern.fullmatch(folded)), None)


def _unlike_siblings(group: list[Place]) -> Iterator[Finding]:
    """Compare the styles of dates in one kind of object; bare years have none."""
    styles = [(place, style) for place in group if (style := _style(place.value)) is not None]
    counts = Counter(style for _, style in styles)
    if len(counts) < 2 or len(styles) < _MIN_SIBLINGS:  # noqa: PLR2004 - two styles differ
        return
    usual, count = counts.most_common(1)[0]
    if count < _MAJORITY * len(styles):
        return
    for place, style in styles:
        if style != usual:
            message = f"written as {style}, {count} of {len(styles)} dates beside it as {usual}"
            iso = _iso(place.value)
            yield Finding(place.path, place.field, "odd_date_style", message, place.value, iso)
