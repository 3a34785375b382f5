"""Dates in text: reading, finding in running text, and comparing.

Only complete, plausible dates are read; ``12``, ``1.2.3``, ``May`` and ``section 4`` are not.
Numeric dates whose order is ambiguous (``04/06/2025``) keep both readings.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache, lru_cache
from typing import Literal

from extractbench_nb.core.text.quantities import DATA
from extractbench_nb.support.folding import any_of, fold

Precision = Literal["day", "month", "year"]

MONTHS: dict[str, int] = {
    fold(name): month for month, names in enumerate(DATA["months"], 1) for name in names.split()
}

_MONTH = rf"(?P<name>{any_of(MONTHS)})\b\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th|er)?\b\.?"
_YEAR = r"(?P<year>(?:1[0-9]|20|21)\d\d)\b"
_SHORT_YEAR = r"(?P<year>(?:(?:1[0-9]|20|21)\d\d|'?\d\d))\b(?:\s(?:г|года|roku|r\.)(?!\w))?"  # noqa: RUF001
_WEEKDAY = (
    r"(?:(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?"
    rf"|{any_of(' '.join(DATA['weekdays']).split())}(?:-feira)?)\b\.?,?\s+)?"
)
_TIME = (
    r"(?:(?:t|,?\s+(?:at\s+)?)\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?(?:\s*[ap]\.?m\.?)?"
    r"(?:\s*(?:z|utc|gmt|[a-z]{2,4}\b)?\s*(?:[+-]\d\d:?\d\d)?)(?:\s*\([^)]{0,60}\))?)?"
)
_PARTS = {"@month@": _MONTH, "@day@": _DAY, "@year@": _YEAR, "@short_year@": _SHORT_YEAR}
_PARTS["@weekday@"] = _WEEKDAY
_FORMS = tuple(re.sub("@[a-z_]+@", lambda part: _PARTS[part[0]], f) for f in DATA["date_forms"])
_NTH = r"(\d\d?)(?:st|nd|rd|th)?"
_NAME = rf"({any_of(MONTHS)})\b\.?"
_SIDE = rf"(?:{_NTH}\.?(?:(?: of)? {_NAME})?|{_NAME}(?: {_NTH})?)"
#: The days or months of a range, and their one year: June 2-5, 2016.
_ONE_YEAR = re.compile(
    rf"(?<![\w./-]){_SIDE} ?(?:-|&|\b(?:to|and|until|through|bis)\b) ?{_SIDE},? (\d{{4}})(?!\d)",
    re.IGNORECASE,
)
#: What every range with one year has, which is looked for quickly.
_YEAR_BEHIND = re.compile(
    r"(?:[-&]|to|and|until|through|bis) ?[\w.]{1,14}(?: [\w.]{1,14})?,? [12]\d{3}(?!\d)"
)
_YEAR_ALONE = re.compile(_YEAR + _TIME)
_PLAIN_DIGITS = re.compile(
    r"(?P<year>(?:19|20)\d\d)(?P<month>0[1-9]|1[0-2])(?P<day>[0-3]\d)" + _TIME
)
_ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_PREFIX = re.compile(r"^(?:(?:dated|made|effective)\s+)?(?:as\s+of\s+|on\s+)?(?:the\s+(?=\d))?")
_MONTH_WORD = re.compile(rf"\b{any_of(MONTHS)}\b")
_BEFORE_DIGIT = re.compile(r"\.?[\s,-]*(?:(?:of|de|the)\s+)?['\d]")
_JOINED_DIGITS = re.compile(r"\d(?:\s?[年년]|[-/.]\d\d?[-/.]\d|/[12]\d{3}|\d{3}[-/][01]\d)")
_DIGIT = re.compile(r"\d")
_CENTURY_PIVOT = 70
_FIRST_YEAR, _LAST_YEAR = 1000, 2199
_MAX_LENGTH = 120
#: More than any form has before the month and the marks in front of it.
_MOST_BEFORE_MONTH = 80


@dataclass(frozen=True, slots=True)
class Date:
    """A calendar date, known to the day, month or year.

    `swapped` marks a numeric date whose day and month may also be read the other way round.
    """

    year: int
    month: int | None = None
    day: int | None = None
    swapped: bool = False

    @property
    def precision(self) -> Precision:
        """The finest part that is known."""
        if self.month is None:
            return "year"
        return "month" if self.day is None else "day"

    @property
    def readings(self) -> frozenset[tuple[int, int | None, int | None]]:
        """All (year, month, day) that the text may mean."""
        first = (self.year, self.month, self.day)
        return frozenset((first, (self.year, self.day, self.month)) if self.swapped else (first,))

    @staticmethod
    def all_in(folded: str) -> Iterator[tuple[int, int, Date]]:
        """Find the dates within a longer text, except for years that stand alone."""
        return iter(find_dates(folded, named=True))

    @staticmethod
    def unshifted(text: str) -> datetime | None:
        """Read a timestamp that is midnight of a zone further east, as that midnight."""
        stripped = text.strip()
        match = _TIMESTAMP.fullmatch(stripped) or _SCRIPT_DATE.fullmatch(stripped)
        if match is None:
            return None
        day, hour, minute, second = match.groups()
        if int(hour) not in _EVENING or minute not in ("00", "30", "45") or int(second or 0):
            return None
        try:
            form = "%Y-%m-%d" if day[0].isdigit() else "%b %d %Y"
            return datetime.strptime(day, form) + timedelta(days=1)
        except (ValueError, OverflowError):
            return None


@lru_cache(maxsize=16_384)
def parse_date(text: str) -> Date | None:
    """Read a text that consists of one date; None for any other text."""
    if iso := _ISO.fullmatch(text):
        year, month, day = map(int, iso.groups())
        return Date(year, month, day) if _is_valid(year, month, day) else None
    if len(text) > _MAX_LENGTH or not _DIGIT.search(text):
        return None
    folded = fold(text)
    spans = find_dates(folded, named=True)
    if not spans and (alone := _YEAR_ALONE.fullmatch(_PREFIX.sub("", folded).strip(" .,;"))):
        return _from_match(alone)
    return date_of(folded, spans)


def date_of(folded: str, spans: Sequence[tuple[int, int, Date]]) -> Date | None:
    """Return the date that a text consists of, apart from marks and ``dated as of``.

    `spans` are the dates in the text; years that stand alone are not read.
    """
    if len(spans) == 1:
        start, end, date = spans[0]
        is_whole = not folded[end:].strip(" .,;")
        before = folded[:start].strip(" .,;")
        return date if is_whole and (not before or _PREFIX.fullmatch(before + " ")) else None
    plain = folded.strip(" .,;")
    match = _PLAIN_DIGITS.fullmatch(plain) if not spans and plain[:8].isdecimal() else None
    return _from_match(match) if match else None


def dates_equal(a: Date, b: Date, precision: Precision = "day") -> bool:
    """Say whether two dates agree down to `precision`.

    Dates known to different depths differ: ``2025`` is not ``6 Apr 2025`` at day precision.
    Two dates that are both less precise than `precision` are equal if their parts are.
    """
    depths = {"year": 1, "month": 2, "day": 3}
    if precision not in depths:
        raise ValueError(f"precision must be one of {sorted(depths)}, found {precision!r}")
    depth = depths[precision]
    if a.swapped and b.swapped:  # written in one order: 03/04/2024 is not 04/03/2024
        return (a.year, a.month, a.day)[:depth] == (b.year, b.month, b.day)[:depth]
    if min(depth, depths[a.precision]) != min(depth, depths[b.precision]):
        return False
    return bool({r[:depth] for r in a.readings} & {r[:depth] for r in b.readings})


@cache
def _compiled(kind: Literal["named", "numeric"]) -> tuple[re.Pattern[str], ...]:
    """Compile patterns at first use: compiling all of them would slow the import down."""
    named = kind == "named"
    forms = [form for form in _FORMS if ("?P<name>" in form) == named]
    # Chinese has no space before the digits of a date
    return tuple(
        re.compile(rf"(?:(?<![\w./-])|(?<=[\u3400-\u9fff\uac00-\ud7a3])){form}{_TIME}")
        for form in forms
    )


def find_dates(folded: str, *, named: bool) -> list[tuple[int, int, Date]]:
    """Find the dates in a text, which may have names of months if `named`."""
    found = []
    if _JOINED_DIGITS.search(folded):
        found = [match for form in _compiled("numeric") for match in form.finditer(folded)]
    if named and _DIGIT.search(folded):
        found += _with_months(folded)
    if not found:
        return []
    dates = [(*match.span(), date) for match in found if (date := _from_match(match))]
    kept: list[tuple[int, int, Date]] = []
    for start, stop, date in sorted(dates, key=lambda span: (span[0], -span[1])):
        if not kept or start >= kept[-1][1]:
            kept.append((start, stop, date))
    return kept


def spell_out(text: str) -> str:
    """Write both dates of a range in full, in a short text: 2 June 2016 to 5 June 2016."""
    is_range = len(text) <= _MAX_LENGTH and _YEAR_BEHIND.search(text)
    return _ONE_YEAR.sub(_in_full, text) if is_range else text


def _in_full(match: re.Match[str]) -> str:
    sides = match.groups("")[:4], match.groups("")[4:8]
    days, months = [side[0] or side[3] for side in sides], [side[1] or side[2] for side in sides]
    if not any(months) or bool(days[0]) is not bool(days[1]):
        return match[0]
    first, last = months[0] or months[1], months[1] or months[0]
    year = match[9]
    return f"{days[0]} {first} {year} to {days[1]} {last} {year}".strip()


def _with_months(folded: str) -> list[re.Match[str]]:
    """Match the forms with a month's name from the first one that a number stands beside."""
    for month in _MONTH_WORD.finditer(folded):
        before = folded[: month.start()].rstrip(" ,-")
        last = before[-1:]
        if last.isdecimal() or last.isspace() or _BEFORE_DIGIT.match(folded, month.end()):
            start = max(0, len(before) - _MOST_BEFORE_MONTH)
            return [m for form in _compiled("named") for m in form.finditer(folded, start)]
    return []


def _from_match(match: re.Match[str]) -> Date | None:
    parts = match.groupdict()
    year = int(parts["year"].lstrip("'"))
    if len(parts["year"].lstrip("'")) < len("2025"):
        year += 1900 if year >= _CENTURY_PIVOT else 2000
    if parts.get("first"):
        return _numeric(year, int(parts["first"]), int(parts["second"]), parts.get("sep"))
    name = parts.get("name")
    month = MONTHS[name] if name else int(parts["month"]) if parts.get("month") else None
    day = int(parts["day"]) if parts.get("day") else None
    return Date(year, month, day) if _is_valid(year, month, day) else None


def _numeric(year: int, first: int, second: int, separator: str | None) -> Date | None:
    """Read d/m/y or m/d/y; with dots the day comes first."""
    month_first = _is_valid(year, first, second)
    day_first = _is_valid(year, second, first)
    if separator == "." and day_first:
        return Date(year, second, first)
    if month_first:
        return Date(year, first, second, swapped=day_first and first != second)
    return Date(year, second, first) if day_first else None


def _is_valid(year: int, month: int | None, day: int | None) -> bool:
    if not _FIRST_YEAR <= year <= _LAST_YEAR:
        return False
    if month is None:
        return day is None
    if month not in range(1, 13):
        return False
    return day is None or 1 <= day <= calendar.monthrange(year, month)[1]


_TIMESTAMP = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?(?:Z|[+]00:?00)")
_SCRIPT_DATE = re.compile(
    r"[A-Z][a-z]{2} ([A-Z][a-z]{2} \d\d \d{4}) (\d\d):(\d\d):(\d\d) GMT[+-]\d{4}(?: \(.+\))?"
)
_EVENING = range(18, 24)
