"""Other ways to write the same text: abbreviations, and dates in another format.

The words are ordinary ones of addresses, companies and references. They are not taken from what
the offline judge knows, so that it can be tried on them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping

from extractbench_nb.extraction.texts import replaced

__all__ = ["abbreviation", "date_format"]

_SHORT: Mapping[str, str] = {
    "and": "&",
    "approximately": "approx.",
    "association": "Assoc.",
    "avenue": "Ave.",
    "boulevard": "Blvd.",
    "company": "Co.",
    "conference": "Conf.",
    "corporation": "Corp.",
    "department": "Dept.",
    "doctor": "Dr.",
    "edition": "ed.",
    "figure": "Fig.",
    "government": "Govt.",
    "incorporated": "Inc.",
    "institute": "Inst.",
    "international": "Intl.",
    "journal": "J.",
    "laboratory": "Lab.",
    "limited": "Ltd.",
    "management": "Mgmt.",
    "manager": "Mgr.",
    "million": "mn",
    "billion": "bn",
    "number": "No.",
    "percent": "%",
    "proceedings": "Proc.",
    "professor": "Prof.",
    "road": "Rd.",
    "science": "Sci.",
    "street": "St.",
    "technology": "Tech.",
    "transactions": "Trans.",
    "university": "Univ.",
    "versus": "vs.",
    "volume": "vol.",
}
_LONG = re.compile(r"(?<!\w)(?:" + "|".join(_SHORT) + r")(?!\w)", re.IGNORECASE)

_MONTHS = (
    "January February March April May June July August September October November December"
).split()
_MONTH = "|".join(_MONTHS)
_DATE = re.compile(
    r"(?<!\w)(?:(?P<iso>\d{4})-(?P<month>0[1-9]|1[0-2])-(?P<day>0[1-9]|[12]\d|3[01])"
    rf"|(?P<day_first>[1-9]|[12]\d|3[01]) (?P<name>{_MONTH}) (?P<year>\d{{4}})"
    rf"|(?P<name_first>{_MONTH}) (?P<day_second>[1-9]|[12]\d|3[01]), (?P<year_last>\d{{4}}))(?!\w)"
)


def abbreviation(text: str, strength: float, rng: random.Random) -> str | None:
    """Shorten ordinary words: Street to St., University to Univ."""
    return replaced(text, _LONG, lambda word, _: _SHORT[word.lower()], strength, rng)


def date_format(text: str, strength: float, rng: random.Random) -> str | None:
    """Write dates in another format: 2031-04-06, 6 April 2031 or April 6, 2031."""
    return replaced(text, _DATE, _rewritten, strength, rng)


def _rewritten(found: str, rng: random.Random) -> str:
    year, month, day = _parts(found)
    ways = (
        f"{year}-{month:02}-{day:02}",
        f"{day} {_MONTHS[month - 1]} {year}",
        f"{_MONTHS[month - 1]} {day}, {year}",
    )
    return rng.choice([way for way in ways if way != found])


def _parts(found: str) -> tuple[str, int, int]:
    match = _DATE.fullmatch(found)
    assert match is not None  # noqa: S101 - the pattern found it
    part = match.groupdict()
    if part["iso"]:
        return part["iso"], int(part["month"]), int(part["day"])
    if part["name"]:
        return part["year"], _MONTHS.index(part["name"]) + 1, int(part["day_first"])
    return part["year_last"], _MONTHS.index(part["name_first"]) + 1, int(part["day_second"])
