"""Values of table cells: absent ones, numbers, years, texts, and keys of rows.

The rules of ``strict`` are here, and beside them the numeric rule of AOE's released code
(`released_number`). Everything works on texts, as a table has them.
"""

from __future__ import annotations

import re
from decimal import Context, Decimal, InvalidOperation
from functools import lru_cache
from math import nan
from typing import Any
from unicodedata import normalize

import pandas as pd

from extractbench_nb.language.text import is_placeholder

#: What one factor of ten thousand and its multiples are called in Chinese and Japanese tables.
_SCALES = {"": 0, "千": 3, "万": 4, "萬": 4, "百万": 6, "千万": 7, "亿": 8, "億": 8, "万亿": 12}
_SIGNS = str.maketrans({"−": "-", "–": "-", "—": "-", "¥": "", "$": "", "€": "", "£": ""})
_NUMBER = re.compile(
    r"(?P<sign>[+-]?)\s*"
    r"(?P<digits>(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)(?P<power>e[+-]?\d{1,3})?"
    r"\s*(?P<scale>百万|千万|万亿|[千万萬亿億]?)\s*(?P<unit>[^\d\s].{0,30})?",
    re.IGNORECASE,
)
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
_UNIT_OF_NAME = re.compile(r"\(([^()]*)\)\s*$")


@lru_cache(maxsize=16_384)
def is_absent(text: str) -> bool:
    """Say whether a cell holds nothing, or a word for nothing.

    Parameters
    ----------
    text : str
        The text of a cell.

    Returns
    -------
    bool
        True for blanks, and for ``N/A``, ``null``, ``-`` and the like: CSV has no other null.

    Examples
    --------
    >>> [is_absent(text) for text in ("", " ", "N/A", "--", "0")]
    [True, True, True, True, False]
    """
    stripped = text.strip()
    return not stripped or is_placeholder(stripped)


@lru_cache(maxsize=16_384)
def number_of(text: str, column: str = "") -> Decimal | None:
    """Read a cell that is a number and nothing else.

    Parameters
    ----------
    text : str
        The text of a cell.
    column : str, optional
        The name of its column. A unit that it names may stand in the cell too, and where it has
        a percent sign, a percent sign in the cell adds nothing.

    Returns
    -------
    decimal.Decimal or None
        The exact value: with thousands separators, full-width digits, a currency sign, negative
        numbers in parentheses, years (``2020年``) and the scales of ten thousand (``3.6亿``). Else
        ``12.5%`` is 0.125. None for other texts, and for leading zeros, which make an identifier.

    Examples
    --------
    >>> number_of("360,382,603,000"), number_of("2020年"), number_of("(5)"), number_of("007")
    (Decimal('360382603000'), Decimal('2020'), Decimal('-5'), None)
    >>> number_of("7.65%", "growth (%)"), number_of("7.65%", "growth")
    (Decimal('7.65'), Decimal('0.0765'))
    >>> number_of("5元", "assets (元)"), number_of("5元", "assets")
    (Decimal('5'), None)
    """
    if not text or len(text) > 80:  # noqa: PLR2004
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
    r"""Return what equal texts share: Unicode forms, case and white space are folded.

    Parameters
    ----------
    text : str
        The text of a cell.

    Returns
    -------
    str
        The folded text.

    Examples
    --------
    >>> text_key("  ACME\u3000 Corp. ")
    'acme corp.'
    """
    if text.isascii():
        return " ".join(text.casefold().split())
    return " ".join(normalize("NFKC", text).casefold().split())


@lru_cache(maxsize=16_384)
def row_key(text: str) -> str:
    """Return what equal keys of rows share: also file endings and punctuation are left out.

    Parameters
    ----------
    text : str
        The text of a key.

    Returns
    -------
    str
        The folded key; of a key that is a number, its value. A key of symbols alone stays.

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

    Parameters
    ----------
    text : str
        The text of a key.

    Returns
    -------
    tuple of str
        Its runs of digits in sorted order, with leading zeros; a year in Chinese digits counts.

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
    r"""Return what equal names of columns share.

    Parameters
    ----------
    name : str
        The name of a column.

    Returns
    -------
    str
        The folded name without spaces and underscores.

    Examples
    --------
    >>> column_key("资产总额\uff08元\uff09") == column_key("资产总额 (元)")
    True
    """
    return re.sub(r"[\s_]+", "", normalize("NFKC", name).casefold())


def unit_of_column(name: str) -> tuple[str, str]:
    """Split the name of a column into its base and the unit in parentheses at its end.

    Parameters
    ----------
    name : str
        The name of a column.

    Returns
    -------
    tuple of str
        Base and unit, both folded; the unit is empty where there is none.

    Examples
    --------
    >>> unit_of_column("Net Profit (CNY)"), unit_of_column("Net Profit")
    (('netprofit', 'cny'), ('netprofit', ''))
    """
    plain = normalize("NFKC", name).casefold().strip()
    match = _UNIT_OF_NAME.search(plain)
    if match is None or not match.start():
        return column_key(plain), ""
    return column_key(plain[: match.start()]), column_key(match[1])


def released_number(value: Any) -> float:
    """Read a number as AOE's released code does (commit 282e688d).

    Parameters
    ----------
    value : object
        The value of a cell as ``pandas.read_csv`` has it.

    Returns
    -------
    float
        NaN for a missing value and for every text that is not a number.

    Notes
    -----
    Commas are left out and ``7.65%`` is 0.0765. Neither ``2020年`` nor ``(5)`` is a number.

    Examples
    --------
    >>> [released_number(text) for text in ("1,234", "7.65%", "2020年", "-")]
    [1234.0, 0.0765, nan, nan]
    """
    if isinstance(value, str):
        plain = value.replace(",", "")
        try:
            return float(plain.replace("%", "")) / 100.0 if "%" in plain else float(plain)
        except ValueError:
            return nan
    return nan if pd.isna(value) else float(value)
