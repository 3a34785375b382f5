"""Set phrases, quarters, phone numbers and their like, rewritten before a text is cut into tokens.

Each pattern is tried only where a plain look says that it may match: this is what preparing a text
costs most.
"""

from __future__ import annotations

import re
from functools import cache

from extractbench_nb.judges.lexicon import PHRASES
from extractbench_nb.metrics.dates import MONTHS
from extractbench_nb.metrics.units import ORDINALS

_PHRASE = re.compile(
    "|".join(
        (r"(?<!\w)" if phrase[0].isalpha() else "") + re.escape(phrase)
        + (r"(?!\w)" if phrase[-1].isalpha() else "")
        for phrase in sorted(PHRASES, key=len, reverse=True)
    ),
    re.IGNORECASE,
)  # fmt: skip
_OF_WORDS = re.compile("[ ./-]")
_GLUED_ARTICLE = re.compile(r"\bA(?=[A-Z][a-z]{2})")
_CITATION = re.compile(r"(?<=\S)\s*\[\d{1,4}(?:\s?[-,;]\s?\d{1,4})*\]")
_PLUS = re.compile(r"(?<=\w) \+ (?=\w)")
_NUMBER_LABEL = re.compile(r"\b(?:no|nr|num|number)\.?\s?(?=\d)|#(?=\d)", re.IGNORECASE)
_DEFINED_TERM = re.compile(r'\s*\((?:the|each,? an?|an?|collectively,?(?: the)?)? ?"[^"]{1,60}"\)')
_COMPANION = re.compile(r"(?<!\w)(co)-(?=[a-z])", re.IGNORECASE)

_QUARTER = re.compile(r"(?<!\w)(?:([1-4])[qQ]\s?|[qQ]([1-4])\s?)'?(\d\d)(?!\w)")
_FISCAL_YEAR = re.compile(r"(?<!\w)FY\s?'?(\d\d)(?!\w)", re.IGNORECASE)
_FISCAL = re.compile(r"(?<!\w)fiscal(?= '?\d\d(?:\d\d)?(?!\w))", re.IGNORECASE)
_FISCAL_QUARTER = re.compile(
    r"(?<!\w)(?:(first|1st)|(second|2nd)|(third|3rd)|fourth|4th) fiscal quarter(?!\w)",
    re.IGNORECASE,
)

_MONTHS = "|".join(sorted(MONTHS, key=len, reverse=True))
_TENS = {"twenty": 20, "thirty": 30}
_BETWEEN = re.compile(r"(?<!\w)between (\S*\d[^ ]*) and (?=\S*\d)", re.IGNORECASE)
_CUT_RANGE = re.compile(r"(?<![\w.,/:-])(\d{3,5}) ?- ?(\d{2,4})(?![\w/:-]|[.,]\d)")
_FEET = re.compile(r"""(?<![\w'])(\d{1,2})' ?(\d{1,2}(?:\.\d+)?)(?:"|'')""")

_DAY_SPAN = re.compile(r"(?<!\d)\d{1,2} ?(?:-|to) ?\d{1,2}(?!\d)")
_COUNT_OF = re.compile(r"(?<!\w)no\. (?=of )", re.IGNORECASE)
_SINCE = re.compile(r"since (\S.{0,20}\d{4})", re.IGNORECASE)
_MINUS = re.compile(r"(?<!\w)(?:minus|negative) (?=[$€£¥]?\d)", re.IGNORECASE)
_SHARE_OF_ONE = re.compile(
    r"(?<![\w/])(?:([1-9])/([2-9]|1\d)|one[ -](half|third|quarter|fourth|eighth)) of "
    r"(?:1|one)(?:\.0+)? ?(?=%|per ?cent)",
    re.IGNORECASE,
)
_NAMED_PARTS = {"half": 2, "third": 3, "quarter": 4, "fourth": 4, "eighth": 8}
_MARKED_DIGITS = re.compile(r"[+(]\d|\d(?:[ .)-]{1,3}| to )\d")
_PHONE = re.compile(
    r"(?<![\w.+/-])(?:\+\d(?:[ .()-]{0,2}\d){8,13}"
    r"|(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}"
    r"|\(?0\d{1,4}\)?[ -]\d{3,4}[ -]?\d{3,4})(?![\w-]|\.\d)"
)
_MIN_PHONE, _NORTH_AMERICAN = 10, 11
_MONTH_NUMBERS = range(1, 13)


def reword(text: str) -> str:
    """Rewrite set phrases and values, and drop what carries no meaning: citations, defined terms.

    Parameters
    ----------
    text : str
        Text as `text.unify` returns it.

    Returns
    -------
    str
        The text in the words in which it is compared.
    """
    if "[" in text:
        text = _CITATION.sub("", text)
    if '")' in text:
        text = _DEFINED_TERM.sub("", text) or text
    if " + " in text:
        text = _PLUS.sub(" plus ", text)
    if "A" in text:
        text = _GLUED_ARTICLE.sub("A ", text)
    lower = text.lower()
    if _OF_WORDS.search(text):
        if " of " in lower:
            text = _SHARE_OF_ONE.sub(_share, _day_word().sub(_day_number, text))
        if any(map(lower.__contains__, PHRASES)):
            text = _PHRASE.sub(lambda match: PHRASES[match[0].lower()], text)
    if "co-" in lower:
        text = _COMPANION.sub(r"\1", text)
    text = _reword_periods(text, lower)
    return _reword_digits(text) if _MARKED_DIGITS.search(text) or "'" in text else text


def _reword_periods(text: str, lower: str) -> str:
    if "q" in lower or "fy" in lower or "fiscal" in lower:
        text = _FISCAL.sub("fy", _QUARTER.sub(r"q\1\2 20\3", text))
        text = _FISCAL_QUARTER.sub(lambda match: f"q{match.lastindex or 4} fy", text)
        text = _FISCAL_YEAR.sub(r"fy 20\1", text)
    if "no" in lower or "num" in lower or "nr" in lower or "#" in lower:
        text = _COUNT_OF.sub("number ", _NUMBER_LABEL.sub("", text))
    if lower.startswith("since ") and (since := _SINCE.fullmatch(text)):
        text = f"{since[1]} - present"
    if "minus " in lower or "negative " in lower:
        text = _MINUS.sub("-", text)
    return _BETWEEN.sub(r"\1 to ", text) if "between" in lower else text


def _reword_digits(text: str) -> str:
    if len(text) >= _MIN_PHONE:
        text = _PHONE.sub(_phone_digits, text)
    if _DAY_SPAN.search(text):
        after_month, before_month = _day_spans()
        text = after_month.sub(r"\1 \2, \4 - \1 \3, \4", text)
        text = before_month.sub(r"\3 \1, \4 - \3 \2, \4", text)
    if "'" in text:
        text = _FEET.sub(r"\1 ft \2 inch", text)
    return _CUT_RANGE.sub(_full_range, text) if "-" in text else text


@cache
def _day_word() -> re.Pattern[str]:
    """Compile the pattern of ``twenty-first day of June`` when it is first needed."""
    return re.compile(
        rf"(?<!\w)(?:(twenty|thirty)[ -])?({'|'.join(ORDINALS)})"
        rf"(?=(?: day)?(?: of)? (?:{_MONTHS})(?!\w))",
        re.IGNORECASE,
    )


@cache
def _day_spans() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compile the patterns of ``June 2-5, 2016`` and ``2-5 June 2016``."""
    span = r"(\d{1,2}) ?(?:-|to) ?(\d{1,2})"
    return (
        re.compile(rf"(?<!\w)({_MONTHS})\.? {span},? (\d{{4}})(?!\d)", re.IGNORECASE),
        re.compile(rf"(?<![\w-]){span} ({_MONTHS})\.?,? (\d{{4}})(?!\d)", re.IGNORECASE),
    )


def _day_number(match: re.Match[str]) -> str:
    tens, word = match[1], match[2].lower()
    return str(_TENS.get(tens.lower() if tens else "", 0) + ORDINALS[word])


def _share(match: re.Match[str]) -> str:
    """Write a share of one percent as a decimal: 1/2 of 1% is 0.5%."""
    part = 1 / _NAMED_PARTS[match[3].lower()] if match[3] else int(match[1]) / int(match[2])
    return f"{part:.6g}"


def _phone_digits(match: re.Match[str]) -> str:
    """Write a phone number in digits only, without the country code of North America."""
    digits = "".join(filter(str.isdigit, match[0].replace("(0)", "")))
    return digits[1:] if digits[0] == "1" and len(digits) == _NORTH_AMERICAN else digits


def _full_range(match: re.Match[str]) -> str:
    """Write a range's end in full: 233-51, 2015-16. A year with a month is none."""
    start, end = match[1], match[2]
    kept = len(start) - len(end)
    if kept <= 0 or end <= start[kept:]:
        return match[0]
    if len(start) == len("2015") and int(end) in _MONTH_NUMBERS:
        return match[0]
    return f"{start}-{start[:kept]}{end}"
