"""Checks of dates, and gold values looked up in the text of the PDF."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import date
from typing import Any

from extractbench_nb.core.text import Date, abbreviates, parse_date
from extractbench_nb.gold.entries import INDEX_KEYS, Place, Subject, shown
from extractbench_nb.gold.findings import Finding
from extractbench_nb.pdf import (
    Passage,
    PdfText,
    covered,
    nearest_passage,
    squash,
    tidy,
    words_of,
)
from extractbench_nb.support.folding import fold, is_placeholder

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
    """Find invalid dates, dates shifted by a time zone, and dates in an unusual format."""
    siblings: dict[str, list[Place]] = defaultdict(list)
    for place in subject.texts():
        if len(place.value) > _LONGEST_DATE:
            continue
        if (meant := Date.unshifted(place.value)) is not None:
            first = meant.day == 1
            message = "midnight in a time zone further east, written as the previous day"
            message += " and month" if first else ""
            better = f"{meant:%Y-%m} or {meant:%Y-%m-%d}" if first else f"{meant:%Y-%m-%d}"
            yield place.finding("shifted_date", message, better)
        elif is_malformed(place):
            message = "not a calendar date in a known format"
            yield place.finding("malformed_date", message)
        elif parse_date(place.value) is not None:
            siblings[place.field.rpartition(".")[0]].append(place)
            asked = _ASKED.findall(place.node.description or "") if place.node is not None else []
            if asked and not any(re.fullmatch(_SHAPES[f], place.value.strip()) for f in asked):
                message = f"the schema asks for {' or '.join(dict.fromkeys(asked))}"
                yield place.finding("odd_date_style", message, _iso(place.value))
    for group in siblings.values():
        yield from _unlike_siblings(group)


def is_malformed(place: Place) -> bool:
    """Whether a text in a date field has day, month and year, but is not a valid date."""
    if len(place.value) > _LONGEST_DATE or parse_date(place.value) is not None:
        return False
    format_ = place.node.keywords.get("format") if place.node is not None else None
    if not (format_ == "date" or _DATE_NAME.search(place.name)):
        return False
    text = fold(place.value).strip(" .,;")
    worded = _WORDED.fullmatch(text)
    if worded:
        return parse_date(f"1 {worded[1] or worded[2]} 2000") is not None
    return bool(_ALL_DIGITS.fullmatch(text)) and max(map(len, re.findall(r"\d+", text))) > 2  # noqa: PLR2004 - a year


def _iso(text: str) -> str | None:
    date = parse_date(text)
    if date is None or date.swapped:
        return None
    parts = [f"{date.year:04}"] + [f"{part:02}" for part in (date.month, date.day) if part]
    return "-".join(parts)


def _unlike_siblings(group: list[Place]) -> Iterator[Finding]:
    """Compare the formats of the dates in objects of one kind; bare years have no format."""
    styles = []
    for place in group:
        text = fold(place.value)
        style = next((name for name, pattern in _STYLES if pattern.fullmatch(text)), None)
        if style is not None:
            styles.append((place, style))
    counts = Counter(style for _, style in styles)
    if len(counts) < 2 or len(styles) < _MIN_SIBLINGS:  # noqa: PLR2004 - two styles differ
        return
    usual, count = counts.most_common(1)[0]
    if count < _MAJORITY * len(styles):
        return
    for place, style in styles:
        if style != usual:
            message = f"written as {style}, but {count} of {len(styles)} sibling dates as {usual}"
            yield place.finding("odd_date_style", message, _iso(place.value))


_LARGE, _TOO_LARGE = 1e6, 1e18
_TABLE_SCALES = (1e-3, 1e-6)
_PERCENT = 100.0
_LONG_WORDS = 12
_MOSTLY = 0.75
_NEAR = 0.8
_SHORT_WORD = 3
_ABBREVIATED = 5
_SLIGHT = frozenset(("a", "an", "the", "and", "for", "from", "of", "on", "in"))
_DIGITS_TO_COMPARE = 4
_A_YEAR = 366
_ANNIVERSARY = frozenset(("anniversary", "anniversaries"))


def is_looked_up(place: Place) -> bool:
    """Whether a value can be expected in the text of the PDF."""
    value, node = place.value, place.node
    if value is None or isinstance(value, bool | dict | list):
        return False
    parts = (node, *node.children.branches) if node is not None else ()
    if any(key in part.keywords for part in parts for key in ("enum", "const", "pattern")):
        return False
    if isinstance(value, str):
        return bool(squash(value)) and not (is_placeholder(value) or is_malformed(place))
    is_number = isinstance(value, int | float) and abs(value) < _TOO_LARGE
    return is_number and place.key not in INDEX_KEYS


def find_values(subject: Subject) -> Iterator[tuple[Place, Finding | None]]:
    """Look every value up in the PDF."""
    pdf = subject.pdf
    if pdf is not None:
        yield from ((p, _look_up(p, pdf)) for p in subject.places if is_looked_up(p))


def _look_up(place: Place, pdf: PdfText) -> Finding | None:
    value = place.value
    if not isinstance(value, str):
        return _look_up_number(place, float(value), pdf)
    if pdf.has(squash(value)):
        return None
    meant = Date.unshifted(value)
    date_ = Date(meant.year, meant.month) if meant is not None else parse_date(value)
    if date_ is not None:
        return _look_up_date(place, date_, pdf)
    words = words_of(value)
    # papers write e-mail addresses in groups: {a,b}@c.org
    is_address = "@" in value and len(value.split()) == 1
    if is_address and all(word in pdf.places for word in words):
        return None
    if len(words) >= _LONG_WORDS:
        return _look_up_long(place, pdf)
    return _look_up_short(place, words, pdf)


def _unlike(place: Place, kind: str, message: str, passage: Passage | None) -> Finding:
    """Make a finding that suggests the nearest passage."""
    finding = place.finding(kind, message)
    if passage is None:
        return finding
    return finding._replace(suggestion=passage.text, page=passage.page)


def _look_up_short(place: Place, words: list[str], pdf: PdfText) -> Finding | None:
    """Look for a name or phrase; its words may be apart, as in a table."""
    passage = nearest_passage(place.value, pdf)
    if passage is None:
        return place.finding("not_in_pdf", "nothing similar in the PDF")
    missing = _not_in(words, words_of(passage.around))
    if not missing:
        return None
    unlike = shown([word[:60] for word in missing])
    message = f"{unlike} not in the most similar text, on page {passage.page}"
    kind = "unlike_pdf" if passage.similarity >= _NEAR else "not_in_pdf"
    return _unlike(place, kind, message, passage)


def _not_in(words: list[str], passage: list[str]) -> list[str]:
    """Return the words that a passage has in no form: whole, glued, abbreviated, as initials."""
    known, glued = set(passage), "".join(passage)
    initials = "".join(word[0] for word in passage if word not in _SLIGHT)
    missing = []
    for word in words:
        is_slight = word in _SLIGHT or (len(word) < _SHORT_WORD and word.isalpha())
        if word in known or is_slight:
            continue
        if len(word) > _SHORT_WORD and word in glued:
            continue
        if len(word) >= _SHORT_WORD and word.removesuffix("s") in initials:
            continue
        if not any(_abbreviates(word, other) or _abbreviates(other, word) for other in known):
            missing.append(word)
    return missing


def _abbreviates(short: str, word: str) -> bool:
    """Whether a word abbreviates another: by its beginning, or by at most five of its letters."""
    return abbreviates(short, word) and (word.startswith(short) or len(short) <= _ABBREVIATED)


def _look_up_long(place: Place, pdf: PdfText) -> Finding | None:
    share, missing = covered(place.value, pdf)
    if not missing:
        return None
    passage = nearest_passage(place.value, pdf)
    if passage is not None:
        around = words_of(passage.around)
        missing = [word for run in missing for word in _not_in(run.split(), around)]
        if not missing:
            return None
    if share >= _MOSTLY or (passage is not None and passage.similarity >= _NEAR):
        message = f"in the PDF except for {shown([run[:60] for run in missing])}"
        return _unlike(place, "unlike_pdf", message, passage)
    message = f"{share:.0%} of its words are in the PDF, in sequences of four or more"
    return _unlike(place, "not_in_pdf", message, passage)


def _look_up_number(place: Place, value: float, pdf: PdfText) -> Finding | None:
    sought = abs(value)
    scale: Any = place.parent.get("scale") if isinstance(place.parent, dict) else None
    usable = type(scale) in (int, float) and abs(scale) < _TOO_LARGE
    scaled = tidy(sought * scale) if usable else sought
    spellings = [sought, scaled]  # in full, in thousands or millions, in percent
    if sought >= _LARGE:
        spellings += [sought * factor for factor in _TABLE_SCALES]
    elif sought < 1:
        spellings.append(sought * _PERCENT)
    if value == pdf.pages or any(tidy(number) in pdf.numbers for number in spellings):
        return None
    if sought in pdf.quantities or scaled in pdf.quantities:
        return None
    near = _misprint(sought, pdf)
    if near is not None:
        message = "not in the PDF in any spelling; one of its numbers differs by a digit"
        return place.finding("unlike_pdf", message, near)
    return place.finding("not_in_pdf", "not in the PDF in any spelling")


def _misprint(value: float, pdf: PdfText) -> str | None:
    """Find a number in the PDF that differs by one digit changed, added or dropped, or a swap."""
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    digits = f"{value:.12g}"
    if len(re.sub(r"\D", "", digits)) < _DIGITS_TO_COMPARE:
        return None
    numbers = [f"{number:.12g}" for number in pdf.numbers]
    found = process.extractOne(digits, numbers, scorer=OSA.distance, score_cutoff=1)
    return None if found is None else str(found[0])


def _look_up_date(place: Place, sought: Date, pdf: PdfText) -> Finding | None:
    depth = {"year": 1, "month": 2, "day": 3}[sought.precision]
    wanted = {reading[:depth] for reading in sought.readings}
    if any(reading[:depth] in wanted for reading in pdf.dated):
        return None
    if sought.precision == "year" and float(sought.year) in pdf.numbers:
        return None
    near = None
    if sought.month is not None and sought.day is not None:
        days = [date(y, m, d) for y, m, d in pdf.dated if m is not None and d is not None]
        # a date may be calculated: a contract's third anniversary of another date
        same_day = any((day.month, day.day) == (sought.month, sought.day) for day in days)
        if same_day and _ANNIVERSARY & pdf.counts.keys():
            return None
        target = date(sought.year, sought.month, sought.day)
        nearest = min(days, key=lambda day: (abs(day - target), day), default=target)
        near = nearest.isoformat() if 0 < abs(nearest - target).days <= _A_YEAR else None
    return place.finding("not_in_pdf", "the PDF does not have this date", near)
