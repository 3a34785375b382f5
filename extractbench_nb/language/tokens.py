"""Texts prepared for comparison: canonical tokens and what is derived from them.

A token is a lower-case word in its canonical spelling, ``#5000m`` for a quantity in base units,
``#=1:03.28`` for a version, code or clock time, ``@2024-03-15`` for a date, or ``=a@b.org`` for an
address.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import cache, cached_property, lru_cache

from extractbench_nb.language.dates import MONTHS, Date, find_dates, parse_date
from extractbench_nb.language.lexicon import (
    CITIES,
    DEGREES,
    DROPPABLE,
    GIVER_OR_TAKER,
    HONORIFICS,
    LEGAL_SUFFIXES,
    NUMBERED,
    PHRASES,
    PLACES,
    STOP_WORDS,
    SYNONYMS,
    TERMS,
    UNIVERSITIES,
)
from extractbench_nb.language.names import Person, read_people, read_person
from extractbench_nb.language.quantities import CURRENCY_SIGNS, ORDINALS, UNITS, Token, read_tokens
from extractbench_nb.language.text import any_of, fold, unify

# Phrases by a part that many of them share, so that most texts are searched for few.
_SHARED = ("quarter", "half", "limited", "united", " than", "year", "national", "vennootschap", "")
_PHRASES = {
    part: [
        phrase
        for phrase in sorted(PHRASES, key=len, reverse=True)
        if part == next(p for p in _SHARED if p in phrase)
    ]
    for part in _SHARED
}
_OF_WORDS = re.compile("[ ./-]")
_GLUED_ARTICLE = re.compile(r"A(?<!\wA)(?=[A-Z][a-z]{2})")
_CITATION = re.compile(r"(?<=\S)\s*\[\d{1,4}(?:\s?[-,;]\s?\d{1,4})*\]")
# The zone of a timestamp is read with its date, and the sign of an exponent with its number.
_PLUS = re.compile(
    r"(\d{4}(?:-\d\d-\d\d)?[T ]\d\d:\d\d[\d:.]*(?: ?[A-Z]{2,4})?[+-]\d\d:?\d\d(?!\d))"
    r"|(?<![\d.][eE])(?<=[\w)%])(?: \+ |\+)(?=[\w(.$€£])"
    r"|(?<=[A-Z]{3}) ?\+(?=\d)(?!\+\d[\d ().-]{7})|(?<=:\d\d) ?\+(?=\d\d:?\d\d)"
)
_CHAIN = re.compile(r"(?<![\w+-])(?=[\w-]*\+)(?:[A-Z][A-Za-z0-9]*[+-]){2,}(?![\w+-])")
_LONE_SIGN = re.compile(
    r"\( ?([+-]) ?\)|(?<=[:=]) ?([+-])(?=$|[,;)])|(?<=\w\))([+-])(?= ?(?:$|[,;)]))"
    r"|(?:(?<=\))|(?<=\w) )\+(?=$|[\s,;.)])"
)
_LONE_MINUS = ("(-)", ")-", ": -", ":-", "=-")
# An interval that lacks an end; (5, 10) may be a list.
_INTERVAL = re.compile(r"([\[\](])( ?[+-]?[\d.]+ ?[,;] ?[+-]?(?:[\d.]+|inf\w*|∞) ?)([\[\])])")
_VERSUS = re.compile(r"(?<=[\w.)]) (?:vs?|(VS?))(?:\.|(?=\s)) ?(?=[^\W\d_])")
_NEGATED = re.compile(r"(?<=[a-z])n't(?!\w)|(?<!\w)(can)not(?!\w)", re.IGNORECASE)
_IRREGULAR = re.compile(r"(?<!\w)(?:(ca)|(wo)|(sha))(?=n't(?!\w))", re.IGNORECASE)
# Symbols that carry meaning: arrows, operators, boxes to tick, stars, sexes, suits, signals.
_SYMBOL = re.compile(
    "[\u2190-\u21ff\u2200-\u2216\u221a-\u223b\u223d-\u22c4\u22c6-\u22ff\u25a1\u25b2-\u25b5"
    "\u25bc-\u25bf\u25cb\u25ef\u2605\u2606\u2610-\u2612\u2640\u2642\u2660-\u2667\u266d-\u266f"
    "\u2705\u2713-\u2718\u274c\u274e\u27f0-\u27ff\u2900-\u297f\u2a00-\u2aff\u2b00-\u2b11"
    "\U0001f44d\U0001f44e\U0001f534\U0001f535\U0001f600-\U0001f64f\U0001f7e0-\U0001f7eb]"
)
# Addresses, in which each character counts; a host without a scheme by its ending.
_ADDRESS_END = (
    "com|org|net|edu|gov|mil|int|info|biz|io|ai|dev|app|tech|cloud|online|site|xyz|example"
    "|de|uk|fr|eu|ch|nl|es|pt|ie|cz|hu|ro|gr|fi|dk|se|pl|ru|ua|jp|cn|kr|tw|hk|sg|br|mx|ca|au|nz|za"
)
_HOST_END = re.compile(rf"\.(?:{_ADDRESS_END}|{_ADDRESS_END.upper()})(?!\w)")
_ADDRESS = re.compile(
    r"<?(?:(?:https?://(?:www\.)?|www\.)([^\s<>\"'()\[\],;]+)"
    r"|(?:mailto:)?([\w.+%-]+@\w[\w-]*(?:\.[\w-]+)+)"
    rf"|(?<![\w@.-])(\w[\w-]*(?:\.\w[\w-]*)*\.(?:{_ADDRESS_END})(?![\w@-])"
    r"(?:[/?#][^\s<>\"'()\[\],;]*)?))>?",
    re.IGNORECASE,
)
_PLACE_OF_ADDRESS = "\u2180"  # a sign that is no letter, and part of no name
_NUMBER_LABEL = re.compile(r"\b(?:no|nr|num|number)\.?\s?(?=\d)|#(?=\d)", re.IGNORECASE)
_DEFINED_TERM = re.compile(r'\s*\((?:the|each,? an?|an?|collectively,?(?: the)?)? ?"[^"]{1,60}"\)')
_COMPANION = re.compile(r"(?<!\w)(co)-(?=[a-z])", re.IGNORECASE)

_QUARTER = re.compile(r"(?<!\w)(?:([1-4])[qQ]\s?|[qQ]([1-4])\s?)'?(\d\d)(?!\w)")
_QUARTERS = ("quarter", "q1", "q2", "q3", "q4", "1q", "2q", "3q", "4q")
_FISCAL_YEAR = re.compile(r"(?<!\w)FY\s?'?(\d\d)(?!\w)", re.IGNORECASE)
_FISCAL = re.compile(r"(?<!\w)fiscal(?= '?\d\d(?:\d\d)?(?!\w))", re.IGNORECASE)
_FISCAL_QUARTER = re.compile(
    r"(?<!\w)(?:(first|1st)|(second|2nd)|(third|3rd)|fourth|4th) fiscal quarter(?!\w)",
    re.IGNORECASE,
)

_MONTHS = any_of(MONTHS)
_TENS = {"twenty": 20, "thirty": 30}
_BETWEEN = re.compile(r"(?<!\w)between (\S*\d[^ ]*) (?:and|&) (?=\S*\d)", re.IGNORECASE)
_CUT_RANGE = re.compile(r"(\d(?<![\w.,/:-]\d)\d{2,4}) ?- ?(\d{2,4})(?![\w/:-]|[.,]\d)")
_FEET = re.compile(r"""(?<![\w'])(\d{1,2})' ?(?:- ?)?(\d{1,2}(?:\.\d+)?)(?:"|'')""")
_PRIME = re.compile(r"""(?<![\w'])(\d+(?:\.\d+)?)(['"])(?!\w)""")

# Marks that are part of a value or of a name, written as words.
_MARKS = frozenset("<>=≤≥≠~≈±°/^→←+")
_AFTER_DIGIT = re.compile(r"""\d(?:['"]| ?(?:[ap]\.?m|k?m[23]|e[+-]?\d|h ?\d))""", re.IGNORECASE)
_LAST_HYPHEN = re.compile(r"-(?<=[A-Za-z0-9]-)(?![\w+-])")
_TAG = re.compile(r"</?[A-Za-z][A-Za-z0-9]*/?>")
_OF_COMPARATORS = frozenset("<>=≤≥≠~≈±→←+")
_COMPARATORS = (
    (re.compile(r"<=|=<|≤"), " atmost "),
    (re.compile(r">=|≥"), " atleast "),
    (re.compile(r"≠|!="), " unequal "),
    (re.compile(r"±|\+/-|\+-(?=\d)"), " plusminus "),
    (re.compile(r"[-=]>|→"), " to "),
    (re.compile(r"<-(?!\d)|←"), " from "),
    (re.compile(r"(?<=%)\+(?!\w)"), " plus "),
    (re.compile("<"), " lessthan "),
    (re.compile(">"), " morethan "),
    (re.compile(r"[~≈] ?(?=(?:[A-Z]{3} ?|[$€£¥])?\d)"), " approximately "),
)
_POWER = re.compile(r"(?<=\d)\^(?=-?\d)")
_EXPONENT = re.compile(
    r"(?<![\w.])(\d+(?:\.\d+(?=e\d)|(?=e[+-])|\.\d+))e\+?(-?\d{1,3})(?!\w|\.\d)",
    re.IGNORECASE,
)
_POWER_OF_TEN = re.compile(
    r"(?<![\w.,])(?:(\d+(?:\.\d+)?) ?[x*\u00b7\u22c5] ?)?10\^\+?(-?\d{1,3})(?!\w|\.\d)"
)
_MAX_EXPONENT = 12
_DEGREE = re.compile(r"° ?(?![cf](?!\w))", re.IGNORECASE)
_AREA = re.compile(r"(?:(?<=\d)|(?<=\d )|(?<=/)|(?<=per )) ?(k?)m([23])(?!\w)", re.IGNORECASE)
_DATA_RATE = re.compile(r"(?<=[kmgKMG])(?:(b)it|([bB]))/s(?!\w)")
_PER_DAY = re.compile(r"(\d ?(?:[A-Za-zμ]{1,4}/){1,2})d(?!\w)")
_HOURS = re.compile(r"(?<![\w.,:])(\d{1,3}) ?h ?(\d{1,2}) ?m(?![\w/²³^])")
_PER = re.compile(
    r"(?:(?<=[^\W_])|(?<=[$€£¥])) ?/ ?(?="
    + any_of([*filter(str.isalpha, UNITS), "share", "unit", "user", "person", "head", "annum"])
    + r"(?!\w))",
    re.IGNORECASE,
)
_AFTER_UNIT = re.compile(r"(\d ?(?:sq|cb)?[A-Za-zμ%]{1,4}) ?/ ?(?=[A-Za-z])")
_HELD_TO_BE_ONE = re.compile(r"(?<!\w)(?:km/h|a/s|n/a|c/o|w/o|and/or)(?!\w)", re.IGNORECASE)
_POLARITY = re.compile(r"(?<![\w.+-])([A-Za-z0-9]+)(\+|-(?! ?(?:and|or|to|und|bis)\b|,))(?![\w+-])")
_GRADE = re.compile(r"[A-D]{1,3}")
_AFTERNOON = re.compile(
    r"(?<![\w:.])(1[0-2]|0?[1-9])(?:[:.]([0-5]\d))?(:[0-5]\d)? ?"
    r"([ap])(?:\.m\.|(?-i:m|(?<![ap])M))(?!\w)",
    re.IGNORECASE,
)
_MAX_ACRONYM = 4
_ITEM = re.compile(r"\((?<!\d\()(?:[a-h]|[ivx]{1,4}|[1-9])\)(?=\s)", re.IGNORECASE)
_NUMBERINGS = ("abcdefgh", ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii"), "12345678")

_DAY_SPAN = re.compile(r"\d ?(?:-|to) ?\d\d?,? (?:[A-Za-z]+\.?,? )?\d{4}(?!\d)")
_LABELLED = re.compile(r"[oOrRmM#]\.?\s?\d")
_PHONE_GAP = re.compile(r"[\d)][ .-]\d{3}")
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
_NORTH_AMERICAN = 11
_MONTH_NUMBERS = range(1, 13)


def reword(text: str) -> str:
    """Rewrite set phrases and values; drop what has no meaning: citations, defined terms."""
    text = _drop_asides(text)
    if "+" in text:
        text = _PLUS.sub(lambda match: match[1] or " plus ", _CHAIN.sub(_polarities, text))
    if "A" in text:
        text = _GLUED_ARTICLE.sub("A ", text)
    lower = text.lower()
    if _OF_WORDS.search(text):
        if " of " in lower:
            text = _day_word().sub(_day_number, text)
        if " of 1" in lower or " of one" in lower:
            text = _SHARE_OF_ONE.sub(_share, text)
        text = _reword_phrases(text, lower)
    if "co-" in lower:
        text = _COMPANION.sub(r"\1", text)
    if " v. " in lower or " vs" in lower or " v " in lower:
        text = _VERSUS.sub(_versus, text)
    if "n't" in lower or "cannot" in lower:
        text = _NEGATED.sub(r"\1 not", _IRREGULAR.sub(_whole_verb, text))
    text = _reword_marks(_reword_periods(text, lower))
    return _reword_digits(text) if _MARKED_DIGITS.search(text) or "'" in text else text


def _drop_asides(text: str) -> str:
    """Drop citations and defined terms, and number the items of lists."""
    if "[" in text or "]" in text:
        text = _CITATION.sub("", _INTERVAL.sub(_open_interval, text))
    if ") " in text:
        text = _number_items(text)
    return _DEFINED_TERM.sub("", text) or text if '")' in text else text


def _reword_phrases(text: str, lower: str) -> str:
    for part in filter(lower.__contains__, _SHARED):
        for phrase in filter(lower.__contains__, _PHRASES[part]):
            text = _phrase(phrase).sub(PHRASES[phrase], text)
    return text


def _reword_marks(text: str) -> str:
    """Write marks that carry meaning as words: HER2+, p < 0.05, 5 mg/kg, 2:30 PM, 3' - 0"."""
    if "+" in text or ("-" in text and any(map(text.__contains__, _LONE_MINUS))):
        text = _LONE_SIGN.sub(_lone_sign, text)
    if "+" in text or ("-" in text and _LAST_HYPHEN.search(text)):
        text = _POLARITY.sub(_polarity, text)
    if not _MARKS.isdisjoint(text):
        text = _reword_signs(text)
    if not text.isascii():
        text = _SYMBOL.sub(_symbol, text)
    if _AFTER_DIGIT.search(text):
        text = _PRIME.sub(_feet_or_inches, _FEET.sub(r"\1 ft \2 inch", text))
        text = _EXPONENT.sub(_scaled, _AREA.sub(_square_or_cubic, _HOURS.sub(r"\1 h \2 min", text)))
        text = _AFTERNOON.sub(_of_24_hours, text)
    return " ".join(text.split()) if "  " in text or text[-1:] == " " or text[:1] == " " else text


def _reword_signs(text: str) -> str:
    if "<" in text or ">" in text:
        text = _TAG.sub(" ", text)
    if not _OF_COMPARATORS.isdisjoint(text):
        for pattern, words in _COMPARATORS:
            text = pattern.sub(words, text)
    if "^" in text:
        text = _POWER.sub(" power ", _POWER_OF_TEN.sub(_scaled, text))
    if "°" in text:
        text = _DEGREE.sub(" degree ", text)
    if "/" in text:
        text = _AREA.sub(_square_or_cubic, _DATA_RATE.sub(_per_second, text))
        if "/d" in text:
            text = _PER_DAY.sub(r"\1day", text)
        if not _HELD_TO_BE_ONE.search(text):
            text = _AFTER_UNIT.sub(r"\1 per ", _PER.sub(" per ", text))
    return text


def _scaled(match: re.Match[str]) -> str:
    """Write 1.5e-3 and 1.5 x 10^-3 as decimals; a large exponent is kept as one."""
    if abs(int(match[2])) > _MAX_EXPONENT:
        return f"{match[1] or 1} x 10 power {match[2]}"
    return f"{Decimal(match[1] or 1).scaleb(int(match[2])):f}"


def _per_second(match: re.Match[str]) -> str:
    return f"{match[1] or match[2]}ps"


def _lone_sign(match: re.Match[str]) -> str:
    """Write a sign that is a value of its own as a word: HBsAg (+), Test: -, Rh(D)+."""
    return " positive " if "+" in match[0] else " negative "


def _polarities(match: re.Match[str]) -> str:
    """Write the signs of CD4+CD8- as words."""
    return match[0].replace("+", " positive ").replace("-", " negative ").rstrip()


def _open_interval(match: re.Match[str]) -> str:
    """Write as words which end of an interval does not belong to it: [5, 10) and ]5, 10]."""
    start, end = match[1] in "](", match[3] in "[)"
    if start == end and match[1] != "]":
        return match[0]
    return f"{' startopen ' if start else ''}{match[2]}{' endopen ' if end else ''}"


def _versus(match: re.Match[str]) -> str:
    """Write the v. of a case in full; the V. of a person's name is an initial."""
    return " versus " if not match[1] or match.string.isupper() else match[0]


def _whole_verb(match: re.Match[str]) -> str:
    return ("can", "will", "shall")[(match.lastindex or 1) - 1]


def _symbol(match: re.Match[str]) -> str:
    """Write a symbol as a word that no other word is like."""
    name = unicodedata.name(match[0], "").lower().replace("heavy ", "")
    return f" {''.join(filter(str.isalpha, name))}# "


def _square_or_cubic(match: re.Match[str]) -> str:
    return f" {'sq' if match[2] == '2' else 'cb'}{match[1].lower()}m"


def _number_items(text: str) -> str:
    """Write the items of a list in one way: (a), (b) and (i), (ii) become (1), (2)."""
    labels = [label[1:-1].lower() for label in _ITEM.findall(text)]
    if len(labels) < 2 or not any(labels == list(n[: len(labels)]) for n in _NUMBERINGS):  # noqa: PLR2004
        return text
    numbers = iter(range(1, len(labels) + 1))
    return _ITEM.sub(lambda _: f"({next(numbers)})", text)


def _of_24_hours(match: re.Match[str]) -> str:
    hour = int(match[1]) % 12 + (12 if match[4] in "pP" else 0)
    return f"{hour}:{match[2] or '00'}{match[3] or ''}"


def _polarity(match: re.Match[str]) -> str:
    """Write the sign after an acronym as a word; the hyphen of a cut word is none."""
    run, sign = match[1], match[2]
    if _GRADE.fullmatch(run) or (run.isdecimal() and sign == "-"):
        return match[0]
    if sign == "+":
        return f"{run} {'plus' if run.isdecimal() else 'positive'}"
    known = any(map(str.isdigit, run)) or _is_acronym(match)
    return f"{run} negative" if known else match[0]


def _is_acronym(match: re.Match[str]) -> bool:
    """Tell ER- from the first half of a word that is cut at the end of a line."""
    run, whole = match[1], match.string
    if run.isupper() and not whole.isupper():
        return len(run) <= _MAX_ACRONYM
    if whole[match.end() :].lstrip()[:1].isalpha():
        return False
    return len(run) <= _MAX_ACRONYM and not (run.islower() and not whole.islower())


def _feet_or_inches(match: re.Match[str]) -> str:
    """Write 3' and 3" in words, unless the mark closes a quotation."""
    mark, before = match[2], match.string[: match.start()]
    opened = len(re.findall(rf"(?<!\w){mark}(?=[\w$€£])", before)) - len(
        re.findall(rf"(?<=[^\W\d]){mark}(?!\w)|[.,]{mark}", before)
    )
    if opened > 0:
        return match[0]
    return f"{match[1]} {'ft' if mark == chr(39) else 'inch'}"


@cache
def _phrase(phrase: str) -> re.Pattern[str]:
    before = r"(?<!\w)" if phrase[0].isalpha() else ""
    after = r"(?!\w)" if phrase[-1].isalpha() else ""
    return re.compile(before + re.escape(phrase) + after, re.IGNORECASE)


def _reword_periods(text: str, lower: str) -> str:
    if "q" in lower and any(map(lower.__contains__, _QUARTERS)):
        text = _QUARTER.sub(r"q\1\2 20\3", text)
    if "fiscal" in lower:
        text = _FISCAL.sub("fy", text)
        text = _FISCAL_QUARTER.sub(lambda match: f"q{match.lastindex or 4} fy", text)
    if "fy" in lower or "fiscal" in lower:
        text = _FISCAL_YEAR.sub(r"fy 20\1", text)
    if _LABELLED.search(text):
        text = _NUMBER_LABEL.sub("", text)
    if "no. of " in lower:
        text = _COUNT_OF.sub("number ", text)
    if lower.startswith("since ") and (since := _SINCE.fullmatch(text)):
        text = f"{since[1]} - present"
    if "minus " in lower or "negative " in lower:
        text = _MINUS.sub("-", text)
    return _BETWEEN.sub(r"\1 to ", text) if "between" in lower else text


def _reword_digits(text: str) -> str:
    if "+" in text or _PHONE_GAP.search(text):
        text = _PHONE.sub(_phone_digits, text)
    if _DAY_SPAN.search(text):
        after_month, before_month = _day_spans()
        text = after_month.sub(r"\1 \2, \4 - \1 \3, \4", text)
        text = before_month.sub(r"\3 \1, \4 - \3 \2, \4", text)
    return _CUT_RANGE.sub(_full_range, text) if "-" in text else text


@cache
def _day_word() -> re.Pattern[str]:
    """Compile the pattern of ``twenty-first day of June`` when it is first needed."""
    return re.compile(
        rf"(?<!\w)(?:(twenty|thirty)[ -])?({any_of(ORDINALS)})"
        rf"(?=(?: day)?(?: of)? {_MONTHS}(?!\w))",
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


SHORT_TEXT, MIDDLE_TEXT = 128, 1_024
_MAX_CAPITALS = 6
MAX_LENGTH = 40_000

_CLOCK = re.compile(r"(?:(\d+):)?(\d+):(\d\d(?:\.\d+)?)")
_ZERO_HOURS = re.compile(r"^(?:0+:)+(?=\d\d[.:])")
_WHOLE_DIGITS = 1e15
_DECIMAL = re.compile(r"\d+\.\d+")
_OUTER_SEPARATOR = re.compile(r"[;|\u2022]")
_SEPARATOR = re.compile(r"[,/]| and | & ")
_SUPERSCRIPT = re.compile("(\\d)(?=[\u207a\u207b]?[\u00b9\u00b2\u00b3\u2070\u2074-\u2079])")
_OF_24_HOURS = re.compile(r"(?<!\d)(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(.*)", re.DOTALL)
_UNIVERSAL = re.compile(r"(?:z|utc|gmt)?(?:[+-]00:?00)?")
_UMLAUT_WORD = re.compile("\\w*[äöüÄÖÜøØåÅ]\\w*")
_TRANSLITERATED = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ø": "oe", "Ø": "Oe",
     "å": "aa", "Å": "Aa"}
)  # fmt: skip
_NO_MARKS = {code: None for code in range(128) if not chr(code).isalnum()}
_POINTED = re.compile(r"(?<![\w.,])[1-9]\d{0,2}\.\d{3}(?![.,]?\w)")
_DECIMAL_COMMA = re.compile(r",(?<=\d,)\d{1,2}(?![.,]?\w)")
_JOINED = re.compile(r"(\w+) ?- ?(?=(\w+))")
_PAIR = re.compile(r"(?<![\w/])([a-z]{2,3})/([a-z]{2,3})(?![\w/])")
_LAST_ZERO = re.compile(r"\d+\.\d*[1-9]0+|\d+\.0\d*0")
_NUMBERED_A = re.compile(r"\d[ -]a(?:\W*$|[,;.)]|\W ?\W)")
_PADDED = re.compile(r"0\d+")
_CODE_BEFORE = re.compile(r"(?:[A-Za-z]-?|\d-\d{1,4}-)$")
_MIN_PADDED = 3
_OPTIONAL = frozenset((*LEGAL_SUFFIXES, *HONORIFICS, *DEGREES, *DROPPABLE))


class Prepared:
    """One text with its canonical tokens; costlier parts are computed when first asked for.

    Attributes
    ----------
    raw : str
        The text as given.
    folded : str
        The unified text, casefolded.
    text : str
        Unified text (see `text.unify`), phrases shortened; case kept.
    words : tuple of str
        Canonical tokens in order, stop words included.
    tokens : tuple of str
        The same without stop words, unless nothing would be left.
    bag : frozenset of str
        The distinct tokens.
    dotted : frozenset of str
        Words that a period follows.
    capitals : frozenset of str
        Short words written in capitals only, in a text that has small letters too.
    """

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self.unified = unify(raw if raw.isascii() else _SUPERSCRIPT.sub(r"\1^", raw))
        self.folded = self.unified.casefold()
        without, addresses = _take_addresses(self.unified)
        self.text, found = _read(without)
        text, shouting, has_periods = self.text, self.unified.isupper(), "." in self.text
        words: list[str] = []
        kept, dotted, capitals = [], [], []
        for token in found:
            if token.kind == "word":
                word = token.text.casefold()
                word = SYNONYMS.get(word, word)
                if addresses and word == _PLACE_OF_ADDRESS:
                    word = "=" + addresses.pop(0)
            else:
                word = _canonical(token)
                if token.kind == "number":
                    word = _identifier(token, text) or word
                    if words and words[-1] in NUMBERED:
                        word = _numbered(word, token.text)
            words.append(word)
            if word not in STOP_WORDS or not _is_stop(word, token, text, shouting):
                kept.append(word)
            if has_periods and text.startswith(".", token.end):
                dotted.append(word)
            if token.text.isupper() and not shouting and 1 < len(token.text) <= _MAX_CAPITALS:
                capitals.append(word)
        self.words = tuple(words)
        self.tokens = tuple(kept) or self.words
        self.bag = frozenset(self.tokens)
        self.dotted = frozenset(dotted)
        self.capitals = frozenset(capitals)

    @cached_property
    def squashed(self) -> str:
        """All letters and digits of the reworded text in one run, lower case."""
        text = self.text.casefold()
        return text.translate(_NO_MARKS) if text.isascii() else "".join(filter(str.isalnum, text))

    @cached_property
    def has_one_case(self) -> bool:
        """True if the text is in capitals, or in small letters only."""
        return self.unified.isupper() or self.unified.islower()

    @cached_property
    def values(self) -> tuple[str, ...]:
        """Quantity, date and address tokens, in order."""
        return tuple(t for t in self.tokens if t[0] in "#@=")

    @cached_property
    def directions(self) -> tuple[str, ...]:
        """The words that tell a giver from a taker, in order."""
        if GIVER_OR_TAKER.isdisjoint(self.words):
            return ()
        return tuple(word for word in self.words if word in GIVER_OR_TAKER)

    @cached_property
    def joined(self) -> frozenset[tuple[str, str]]:
        """Words beside a dash, and codes beside a slash, in order."""
        if "-" not in self.text and "/" not in self.unified:
            return frozenset()
        found = _JOINED.findall(self.text.casefold()) + _PAIR.findall(self.unified.casefold())
        return frozenset(found)

    @cached_property
    def pointed(self) -> frozenset[str]:
        """Numbers whose point may stand before decimals or thousands: 1.250."""
        return frozenset(_POINTED.findall(self.unified))

    @cached_property
    def cited(self) -> tuple[str, ...]:
        """Digits of what stands in brackets like a citation: [5, 10]."""
        if "[" not in self.unified:
            return ()
        return tuple(
            "".join(filter(str.isdigit, found)) for found in _CITATION.findall(self.unified)
        )

    @cached_property
    def has_decimal_comma(self) -> bool:
        """True if a comma stands before decimals: 1,25."""
        return "," in self.unified and _DECIMAL_COMMA.search(self.unified) is not None

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """What stands between dashes, letters and digits only."""
        parts = self.text.casefold().split("-")
        return tuple("".join(filter(str.isalnum, part)) for part in parts)

    @cached_property
    def transliterated(self) -> dict[str, str]:
        """Words with umlauts as in the tokens, and with letters written for the dots."""
        if self.raw.isascii():
            return {}
        found = _UMLAUT_WORD.findall(unicodedata.normalize("NFC", self.raw))
        return {fold(word): fold(word.translate(_TRANSLITERATED)) for word in found}

    @cached_property
    def ordered(self) -> tuple[str, ...]:
        """The tokens, sorted."""
        return tuple(sorted(self.tokens))

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """Quantity and date tokens and single letters, in order."""
        return tuple(t for t in self.tokens if t[0] in "#@" or len(t) == 1)

    @cached_property
    def aliases(self) -> frozenset[int]:
        """Rows of the alias table in which the whole text stands."""
        return aliases(self.tokens)

    @cached_property
    def segments(self) -> tuple[tuple[str, ...], ...]:
        """The tokens of the parts of a list; what a colon or parenthesis joins stays together."""
        outer = _OUTER_SEPARATOR.search(self.unified)
        separator = _OUTER_SEPARATOR if outer else _SEPARATOR
        parts = [Prepared(part).tokens for part in separator.split(self.unified)]
        return tuple(part for part in parts if part)

    @cached_property
    def rows(self) -> frozenset[int]:
        """Rows of the alias table that name any part of the text; only for short texts."""
        found: set[int] = set()
        if len(self.tokens) <= _MAX_ALIAS_TEXT:
            first = _alias_first_words()
            for i, token in enumerate(self.tokens):
                for size in first.get(token, ()):
                    found |= aliases(self.tokens[i : i + size])
        return frozenset(found)

    @cached_property
    def letters(self) -> int:
        """First letters of the tokens that must be matched, as a bit mask."""
        mask = 0
        for token in self.bag - _OPTIONAL:
            mask |= 1 << (ord(token[0]) & 63)
        return mask

    @cached_property
    def plain(self) -> bool:
        """True if nothing in the text may stand for more than it says: initials, periods."""
        return not self.dotted and not any(len(t) == 1 for t in self.bag)

    @cached_property
    def person(self) -> Person | None:
        """The text as a person's name; None if it cannot be one."""
        return read_person(self.text, self.words)

    @cached_property
    def people(self) -> tuple[Person, ...]:
        """The text as a list of at least two names; empty if it is none."""
        return read_people(self.text)

    @cached_property
    def initials(self) -> str:
        """First letters of the tokens."""
        return "".join(token[0] for token in self.tokens)


def prepare(text: str) -> Prepared:
    """Prepare a text, or take it from a cache; the longer the texts, the fewer are kept."""
    if len(text) <= SHORT_TEXT:
        return _prepare_short(text)
    return _prepare_middle(text) if len(text) <= MIDDLE_TEXT else _prepare_long(text)


_prepare_short = lru_cache(maxsize=32_768)(Prepared)
_prepare_middle = lru_cache(maxsize=4_096)(Prepared)
_prepare_long = lru_cache(maxsize=64)(Prepared)


def aliases(tokens: Sequence[str]) -> frozenset[int]:
    """Return the rows of the alias table that name `tokens`."""
    if not tokens or len(tokens) > _MAX_ALIAS_WORDS:
        return frozenset()
    return _alias_index().get(" ".join(tokens), frozenset())


def is_place(tokens: Sequence[str]) -> bool:
    """Say whether `tokens` name a state or a country."""
    return any(row < len(PLACES) for row in aliases(tokens))


_MAX_ALIAS_WORDS = 12
_MAX_ALIAS_TEXT = 20


@lru_cache(maxsize=1)
def _alias_index() -> dict[str, frozenset[int]]:
    index: dict[str, set[int]] = {}
    for row, names in enumerate((*PLACES, *TERMS, *CITIES, *UNIVERSITIES)):
        for name in names.split("|"):
            key = name if name[0] == "#" else " ".join(Prepared(name.replace("+", "plus")).tokens)
            index.setdefault(key, set()).add(row)
    return {key: frozenset(rows) for key, rows in index.items()}


@lru_cache(maxsize=1)
def _alias_first_words() -> dict[str, frozenset[int]]:
    """Map the first word of every alias to the lengths of the aliases that begin with it."""
    sizes: dict[str, set[int]] = {}
    for key in _alias_index():
        words = key.split(" ")
        sizes.setdefault(words[0], set()).add(len(words))
    return {word: frozenset(found) for word, found in sizes.items()}


def _take_addresses(unified: str) -> tuple[str, list[str]]:
    """Replace e-mail and web addresses by a sign, so that nothing in them is reworded."""
    if "." not in unified and "://" not in unified:
        return unified, []
    if "@" not in unified and "://" not in unified and not _HOST_END.search(unified):
        return unified, []
    found: list[str] = []

    def take(match: re.Match[str]) -> str:
        address = match[match.lastindex or 0]
        kept = address.rstrip(".:!?*")
        found.append(kept.rstrip("/").casefold())
        return f" {_PLACE_OF_ADDRESS} {address[len(kept) :]}"

    return " ".join(_ADDRESS.sub(take, unified).split()), found


def _read(unified: str) -> tuple[str, list[Token]]:
    """Cut the text into tokens, dates first."""
    text = reword(unified)
    whole = parse_date(text)
    if whole and whole.precision != "year":
        return text, [Token(date_token(whole) + _time_of_day(text), 0, len(text), "date")]
    lower = text.lower()
    spans = list(find_dates(lower)) if len(lower) == len(text) else []
    if not spans:
        return read_tokens(text)
    return text, list(_between(text, spans))


def _between(text: str, spans: Sequence[tuple[int, int, Date]]) -> Iterator[Token]:
    position = 0
    for start, end, date in spans:
        yield from _segment(text, position, start)
        yield Token(date_token(date) + _time_of_day(text[start:end]), start, end, "date")
        position = end
    yield from _segment(text, position, len(text))


def _segment(text: str, start: int, end: int) -> Iterator[Token]:
    for token in read_tokens(text[start:end])[1]:
        yield token._replace(start=token.start + start, end=token.end + start)


def date_token(date: Date) -> str:
    """Write a date as a token; both readings where there are two, month first."""
    readings = [(date.year, date.month, date.day)]
    if date.swapped:
        readings.append((date.year, date.day, date.month))
    return "@" + "~".join("-".join(f"{n:02d}" for n in reading if n) for reading in readings)


def _time_of_day(text: str) -> str:
    """Write the time that stands with a date, and its zone; empty for none and for midnight."""
    match = _OF_24_HOURS.search(text)
    if match is None:
        return ""
    zone = match[5].partition("(")[0].strip(" .,;").casefold()
    zone = "" if _UNIVERSAL.fullmatch(zone) else zone
    time = f"{int(match[1]):02d}:{match[2]}:{match[3] or '00'}{(match[4] or '').rstrip('0')}"
    return "" if time == "00:00:00" else f"T{time}{zone}"


def _canonical(token: Token) -> str:
    if token.kind == "date":
        return token.text
    if token.quantity is not None:
        return _value_token(*token.quantity.to_base())
    if token.kind == "number":
        return _written_number(token.text)
    if token.text in CURRENCY_SIGNS:
        return CURRENCY_SIGNS[token.text]
    word = token.text.casefold()
    return SYNONYMS.get(word, word)


def _numbered(word: str, text: str) -> str:
    """Keep the zeros of a version or section: 3.10 is not 3.1."""
    return f"#={text}" if _LAST_ZERO.fullmatch(text) and word[1] != "-" else word


def _identifier(token: Token, text: str) -> str | None:
    """Keep the zeros of a code: 00501, A-007, 50-00-0."""
    if token.text[0] != "0" or not _PADDED.fullmatch(token.text):
        return None
    inside = text.startswith("-", token.end) and text[token.start - 1 : token.start] == "-"
    if len(token.text) < _MIN_PADDED and not inside:
        before = text[max(0, token.start - 6) : token.start]
        if not _CODE_BEFORE.search(before):
            return None
    return f"#={token.text}"


def _value_token(value: float, unit: str) -> str:
    if value.is_integer() and abs(value) < _WHOLE_DIGITS:
        return f"#{int(value)}{unit}"
    return f"#{value:.15g}{unit}"


def _written_number(text: str) -> str:
    """Write a number that is no plain value: a running time in seconds, a version as it stands."""
    if ":" in text:
        text = _ZERO_HOURS.sub("", text)
        text = text[1:] if text[0] == "0" and text[1:2].isdigit() else text
    clock = _CLOCK.fullmatch(text)
    if clock and (clock[1] or "." in clock[3]):
        seconds = 3600 * int(clock[1] or 0) + 60 * int(clock[2]) + float(clock[3])
        return _value_token(seconds, "s")
    return _value_token(float(text), "") if _DECIMAL.fullmatch(text) else "#=" + text


def _is_stop(word: str, token: Token, text: str, shouting: bool) -> bool:
    """Say whether a stop word is meant as one, and not as an initial, in an acronym or a number."""
    if text[max(0, token.start - 1) : token.start].isdigit():
        return False
    if token.kind == "dotted":
        return False
    if len(word) == 1 and text[token.end : token.end + 1] == ".":
        return False
    if word == "a" and _NUMBERED_A.search(text[max(0, token.start - 2) : token.end + 2]):
        return False
    if word == "a":
        return token.text == "a" or (token.start == 0 and text[1:2] == " ")
    return shouting or not token.text.isupper() or len(token.text) == 1


def split_quantity(token: str) -> tuple[float, str] | None:
    """Take a quantity token apart; None for other tokens.

    Examples
    --------
    >>> split_quantity("#5000m")
    (5000.0, 'm')
    """
    match = _QUANTITY.fullmatch(token)
    return (float(match[1]), match[2]) if match else None


_QUANTITY = re.compile(r"#(-?[\d.]+(?:e[+-]?\d+)?)(?!=)(\D*)")
