"""Rules for the comparison of two tables: profiles, and what the texts of cells mean.

``strict`` is recommended; ``aoe`` gives the numbers of AOE's released code (commit 282e688d). Under
``strict`` a number has its exact value, and the cell holds nothing else: the readings of
`core.text` also take words, dates and other units.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from decimal import Context, Decimal, InvalidOperation
from functools import lru_cache
from typing import Any
from unicodedata import normalize

from extractbench_nb.errors import InputError, nearest
from extractbench_nb.support.folding import is_placeholder

#: The score of a judge from which two texts mean the same.
PASS_MARK = 0.7
#: Rules with few values: ways of matching rows, and of comparing cells that are not numbers.
_ALLOWED = {"rows": ("exact", "llm_assisted"), "cells": ("judge", "exact", "fuzzy")}


@dataclass(frozen=True, slots=True)
class TableRules:
    """A set of rules, made by `rules_of`, where they are described."""

    name: str
    rows: str = "optimal"
    cells: str = "judge"
    threshold: float = 90
    key_suffix: str = ""
    numeric_tolerance: float = 0.0
    failure_score: float | None = None

    @property
    def released(self) -> bool:
        """Whether rows are matched and cells scored as in AOE's released code."""
        return self.rows != "optimal"


PROFILES = {
    "strict": TableRules("strict"),
    "aoe": TableRules("aoe", rows="llm_assisted", numeric_tolerance=1e-6, failure_score=0.0),
}


def rules_of(profile: str | TableRules, **changes: Any) -> TableRules:
    """Return the rules of a profile, with some of them changed.

    Parameters
    ----------
    profile : str or TableRules
        ``strict``, ``aoe``, or rules.
    **changes : object
        ``threshold``: similarity, 0 to 100, from which keys match, and cells if they are compared
        by ``"fuzzy"``; above 100 none are similar, as in AOE's code without its optional library.
        Under ``aoe`` also ``rows``: ``"llm_assisted"`` (in the order of the file) or ``"exact"`` (a
        join of the keys); ``cells``: comparison of cells that are not numbers, ``"judge"``,
        ``"exact"`` or ``"fuzzy"``; ``numeric_tolerance``: absolute, 1e-5 of the predicted number is
        added to it; ``key_suffix``: an ending that is removed from predicted keys;
        ``failure_score``: the score of a cell whose judge fails.

    Returns
    -------
    TableRules
        The changed rules, for the option ``profile`` of `compare`.

    Raises
    ------
    InputError
        The profile or a rule is unknown, or its value is not allowed.

    Examples
    --------
    >>> rules_of("aoe", rows="exact", cells="fuzzy").threshold
    90
    """
    rules = profile if isinstance(profile, TableRules) else PROFILES.get(str(profile))
    if rules is None:
        raise InputError(f"unknown profile {profile!r}; {nearest(str(profile), PROFILES)}")
    names = [rule.name for rule in fields(TableRules)][1:] if rules.released else ["threshold"]
    for name, value in changes.items():
        if name not in names:
            raise InputError(f"{rules.name!r} has no rule {name!r}; {nearest(name, names)}")
        if value not in _ALLOWED.get(name, (value,)):
            raise InputError(f"{name} is {value!r}; expected one of {_ALLOWED[name]}")
    rules = replace(rules, **changes)
    if not isinstance(rules.threshold, int | float) or not rules.threshold >= 0:  # type: ignore[redundant-expr]
        raise InputError(f"threshold is {rules.threshold!r}; expected a number, 0 or more")
    return rules


#: Powers of ten by their names in Chinese and Japanese tables.
_SCALES = {"": 0, "千": 3, "万": 4, "萬": 4, "百万": 6, "千万": 7, "亿": 8, "億": 8, "万亿": 12}
_SIGNS = str.maketrans({"−": "-", "–": "-", "—": "-", "¥": "", "$": "", "€": "", "£": ""})
_NUMBER = re.compile(
    r"(?P<sign>[+-]?)\s*"
    r"(?P<digits>(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)(?P<power>e[+-]?\d{1,3})?"
    r"\s*(?P<scale>百万|千万|万亿|[千万萬亿億]?)\s*(?P<unit>[^\d\s].{0,30})?",
    re.IGNORECASE,
)
_LONGEST_NUMBER = 80
_LEADING_ZERO = re.compile(r"[+-]?0\d")
_YEAR = re.compile(r"[12]\d{3}")
_YEAR_UNITS = ("年", "年度")
_PERCENT = ("%", "‰")
_FEW_DIGITS = Context(prec=15)
_FILE_SUFFIX = re.compile(r"\.(?:md|txt|pdf|docx?|html?|csv|json|xlsx?)$")
_PUNCTUATION = re.compile(r"[\W_]+")
_DIGITS = re.compile(r"\d+")
_CHINESE_YEAR = re.compile(r"[〇零一二三四五六七八九]{4}(?=年)")
_CHINESE_DIGITS = str.maketrans("〇零一二三四五六七八九", "00123456789")


@lru_cache(maxsize=16_384)
def is_absent(text: str) -> bool:
    """Return whether a cell is blank or a null word: CSV has no other null.

    Examples
    --------
    >>> [is_absent(text) for text in ("", " ", "N/A", "--", "0")]
    [True, True, True, True, False]
    """
    stripped = text.strip()
    return not stripped or is_placeholder(stripped)


@lru_cache(maxsize=16_384)
def number_of(text: str, column: str = "") -> Decimal | None:
    """Read a cell that is a number and nothing else; None for other texts.

    Thousands separators, full-width digits, a currency sign, negative numbers in parentheses, years
    (``2020年``) and the scales of ten thousand (``3.6亿``) are read. A unit that the name of the
    column has may stand in the cell too; a percent sign counts only where the name has none.
    Leading zeros make an identifier.

    Examples
    --------
    >>> number_of("360,382,603,000"), number_of("2020年"), number_of("(5)"), number_of("007")
    (Decimal('360382603000'), Decimal('2020'), Decimal('-5'), None)
    >>> number_of("7.65%", "growth (%)"), number_of("7.65%", "growth")
    (Decimal('7.65'), Decimal('0.0765'))
    >>> number_of("5元", "assets (元)"), number_of("5元", "assets")
    (Decimal('5'), None)
    """
    if not text or len(text) > _LONGEST_NUMBER:
        return None
    plain = normalize("NFKC", text).translate(_SIGNS).strip()
    negative = plain.startswith("(") and plain.endswith(")")
    if negative:
        plain = plain[1:-1].strip()
    match = _NUMBER.fullmatch(plain)
    if match is None or _LEADING_ZERO.match(plain):
        return None
    sign, digits, power, scale, unit = match.groups()
    unit = (unit or "").strip()
    shift = _SCALES[scale or ""]
    if unit in _PERCENT:
        if unit not in normalize("NFKC", column):
            shift -= 2 if unit == "%" else 3
    elif unit in _YEAR_UNITS:
        if not _YEAR.fullmatch(digits) or sign or scale:
            return None
    elif unit and unit.casefold() not in normalize("NFKC", column).casefold():
        return None
    try:
        value = Decimal(f"{sign}{digits.replace(',', '')}{power or ''}").scaleb(shift)
    except InvalidOperation:
        return None
    value = -value if negative else value
    is_whole = value == value.to_integral_value()
    return value if is_whole else _FEW_DIGITS.plus(value)


@lru_cache(maxsize=16_384)
def text_key(text: str) -> str:
    """Return what equal texts share: Unicode forms, case and white space are folded."""
    if text.isascii():
        return " ".join(text.casefold().split())
    return " ".join(normalize("NFKC", text).casefold().split())


@lru_cache(maxsize=16_384)
def row_key(text: str) -> str:
    """Return what equal keys of rows share: also file endings and punctuation are left out.

    A key that is a number becomes its value; one of symbols alone stays.

    Examples
    --------
    >>> row_key("Annual Report-2020.md"), row_key("2020年"), row_key("2,020.0"), row_key("007")
    ('annual report 2020', '2020', '2020', '007')
    """
    number = number_of(text.strip())
    if number is not None:
        return str(int(number)) if number == number.to_integral_value() else str(number)
    folded = text_key(text)
    return _PUNCTUATION.sub(" ", _FILE_SUFFIX.sub("", folded)).strip() or folded


@lru_cache(maxsize=16_384)
def protected(text: str) -> tuple[str, ...]:
    """Return the numbers and years of a text, which no similarity may override.

    Examples
    --------
    >>> protected("Report 2020, part 07"), protected("二〇二〇年年报")
    (('07', '2020'), ('2020',))
    """
    plain = normalize("NFKC", text)
    if "年" in plain:
        plain = _CHINESE_YEAR.sub(lambda match: match[0].translate(_CHINESE_DIGITS), plain)
    return tuple(sorted(_DIGITS.findall(plain)))


def column_key(name: str) -> str:
    r"""Return what equal names of columns share: also spaces and underscores are left out.

    Examples
    --------
    >>> column_key("资产总额\uff08元\uff09") == column_key("资产总额 (元)")
    True
    """
    return re.sub(r"[\s_]+", "", normalize("NFKC", name).casefold())
