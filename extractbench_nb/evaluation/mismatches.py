"""Kinds of mismatch: in what way a predicted value differs from gold.

`mismatch_kind` compares two values and what stands around gold; `reason_details` does so for the
rows of ``fields``. Both look at values after the verdict and change no score.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from datetime import date
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from functools import cached_property, partial
from math import isfinite
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb._json import json_text
from extractbench_nb.language import lexicon
from extractbench_nb.language.dates import Date, dates_equal, parse_date
from extractbench_nb.language.quantities import UNITS, read_number, read_quantity
from extractbench_nb.language.text import fold, is_placeholder
from extractbench_nb.language.tokens import aliases


class Kind(NamedTuple):
    """A kind of mismatch: its rule in words, and an example that has it."""

    name: str
    rule: str
    gold: Any
    predicted: Any


#: In order of precedence: the first rule that holds names the mismatch.
KINDS: tuple[Kind, ...] = (
    Kind("null_word", "a word for nothing on one side", "Berlin", "N/A"),
    Kind("json_type", "the same value as another JSON type", 12.5, "12.5"),
    Kind("opposite", "true for false, or yes for no", True, False),
    Kind("number_format", "the same quantity, written differently", "1,234.50", "1234.5"),
    Kind("unit_missing", "the same number, with a unit on one side only", "12 kg", "12"),
    Kind("unit_changed", "the same number with another unit", "12 kg", "12 g"),
    Kind("date_format", "the same date, written differently", "2024-03-05", "5 March 2024"),
    Kind(
        "time_of_day",
        "the same date with another time, or without one",
        "2024-03-05 09:00",
        "2024-03-05",
    ),
    Kind(
        "writing",
        "the same letters and digits; case, accents, spaces or punctuation differ",
        "ACME Corp.",
        "Acme Corp",
    ),
    Kind("sign", "the number with the other sign", -1250, 1250),
    Kind(
        "other_item",
        "gold of the same field in one or two other items of the array",
        "Alice Meyer",
        "Bob Stone",
    ),
    Kind("sibling_value", "gold of another field of the same object", "Smith", "Jonathan"),
    Kind("percent", "a fraction between 0 and 1 and its percentage", 0.125, 12.5),
    Kind(
        "power_of_ten",
        "predicted = gold * 10^n; written with n, as in `power_of_ten:3`",
        1.25,
        1250,
    ),
    Kind("off_by_one", "two whole numbers that differ by 1", 2021, 2020),
    Kind("digits_swapped", "two neighbouring digits exchanged", 1324, 1234),
    Kind(
        "rounding",
        "one is the other, rounded or cut off to fewer digits, and within 5 %",
        12.3456,
        12.35,
    ),
    Kind("digit", "one digit changed, missing or added, of at least three", 1234, 1284),
    Kind("day_month_swapped", "day and month exchanged", "2024-03-05", "2024-05-03"),
    Kind(
        "day_off_by_one",
        "the day before or after, as a time zone causes it",
        "2024-03-05",
        "2024-03-04",
    ),
    Kind("date_precision", "one date is the other without its day or month", "6 Apr 2025", "2025"),
    Kind("year_off", "only the year differs", "2024-03-05", "2023-03-05"),
    Kind("date_part", "only the month or only the day differs", "2024-03-05", "2024-03-25"),
    Kind(
        "lookalike",
        "characters exchanged that look alike, as in scans: 0 and O, 1, l and I, 5 and S, 8 and B",
        "Olsen",
        "0lsen",
    ),
    Kind("number_in_text", "the same text with another number in it", "Figure 3", "Figure 4"),
    Kind("word_order", "the same words in another order", "Smith, John", "John Smith"),
    Kind(
        "abbreviation",
        "an acronym, initials, a shortened word, or another name from the lexicon",
        "Massachusetts Institute of Technology",
        "MIT",
    ),
    Kind("truncated", "the beginning of gold", "Deutsche Bank AG", "Deutsche Bank"),
    Kind("extra_text", "gold with words added to it", "AT&T", "AT&T, Dallas, Texas"),
    Kind("partial_text", "gold with words left out", "State of Delaware", "Delaware"),
    Kind("typo", "a few letters changed, missing or added", "Schneider", "Schnieder"),
    Kind("other", "none of these", "Berlin", "Paris"),
)

#: The names in `KINDS`; those of `power_of_ten` are followed by a colon and the exponent.
KIND_NAMES = tuple(kind.name for kind in KINDS)

_SCALARS = (str, int, float)  # bool is an int
#: Longer texts are not compared.
_MAX_LENGTH = 40_000
_MAX_NUMBER_TEXT, _MAX_SPACES = 60, 4
_DIGIT = re.compile(r"\d")
_RUN = re.compile(r"[^\W_]+")
#: Larger numbers have no more digits than these.
_MAX_DIGITS, _MAX_BITS = 25, 80

#: Says of a predicted value which other value of gold it equals: `other_item`, `sibling_value`.
Elsewhere = Callable[[Any], str | None]


def mismatch_kind(
    gold: Any, predicted: Any, *, siblings: Collection[Any] = (), items: Collection[Any] = ()
) -> str:
    """Name the way in which a predicted value differs from gold.

    Parameters
    ----------
    gold, predicted : str, int, float or bool
        Two values that a metric did not accept as the same.
    siblings : collection, optional
        Gold's values of the other fields of the same object.
    items : collection, optional
        Gold's values of the same field in all items of the array.

    Returns
    -------
    str
        A name in `KIND_NAMES`; ``power_of_ten`` with its exponent.

    Examples
    --------
    >>> mismatch_kind(1.25, 1250), mismatch_kind("2024-03-05", "2024-05-03")
    ('power_of_ten:3', 'day_month_swapped')
    """

    def elsewhere(value: Any) -> str | None:
        if not _is_distinctive(value):
            return None
        wanted = _comparable(value)
        known = [_comparable(item) for item in items if isinstance(item, _SCALARS)]
        if 0 < known.count(wanted) <= _MOST_ITEMS:
            return "other_item"
        return "sibling_value" if wanted in map(_comparable, siblings) else None

    if not isinstance(gold, _SCALARS) or not isinstance(predicted, _SCALARS):
        return "other"
    return _kind(gold, predicted, elsewhere)


def _kind(gold: Any, predicted: Any, elsewhere: Elsewhere) -> str:
    if isinstance(gold, bool) or isinstance(predicted, bool):
        return _kind_of_words(gold, predicted) or "other"
    if not (_is_comparable(gold) and _is_comparable(predicted)):
        return "other"
    texts = ["", ""]
    if isinstance(gold, str) or isinstance(predicted, str):
        if kind := _kind_of_words(gold, predicted):
            return kind
        texts = [v if isinstance(v, str) else json_text(v) for v in (gold, predicted)]
    one_type = isinstance(gold, str) == isinstance(predicted, str)
    plain = all(text.isascii() and text.isdigit() for text in texts)
    if one_type or not plain:  # the text "2024" and the number are no dates
        day, other_day = parse_date(texts[0]), parse_date(texts[1])
        if day and other_day:
            kind = None
            if day.precision == other_day.precision and dates_equal(day, other_day):
                one, two = map(_CLOCK.findall, texts)
                kind = "time_of_day" if one != two else "date_format"
            return kind or elsewhere(predicted) or _kind_of_dates(day, other_day) or "other"
    if not texts[0] or any(map(_DIGIT.search, texts)):
        number, other_number = _number(gold), _number(predicted)
        if number and other_number:
            kind = _same_number(one_type, number, other_number) or elsewhere(predicted)
            return kind or _kind_of_numbers(number, other_number) or "other"
    return _kind_of_texts(texts[0], texts[1], lambda: elsewhere(predicted)) or "other"


def _is_comparable(value: Any) -> bool:
    """Say whether a value is a text or finite number of a size that can be compared."""
    if isinstance(value, int):
        return value.bit_length() <= _MAX_BITS
    return len(value) <= _MAX_LENGTH if isinstance(value, str) else isfinite(value)


# --- words ------------------------------------------------------------------------------------

_TRUTH = {True: True, "true": True, "yes": True, False: False, "false": False, "no": False}


def _kind_of_words(gold: Any, predicted: Any) -> str | None:
    """Compare words for nothing, true and false; at least one value is a text or a boolean."""
    values = [v.strip().casefold() if isinstance(v, str) else v for v in (gold, predicted)]
    if any(isinstance(value, str) and is_placeholder(value) for value in values):
        return "null_word"
    if not all(isinstance(value, str | bool) and value in _TRUTH for value in values):
        return None
    if _TRUTH[values[0]] != _TRUTH[values[1]]:
        return "opposite"
    return "json_type" if isinstance(values[0], bool) != isinstance(values[1], bool) else None


# --- numbers ----------------------------------------------------------------------------------


class _Number(NamedTuple):
    value: Decimal
    unit: str = ""


def _number(value: Any) -> _Number | None:
    """Read a JSON number, or a text that consists of one number with or without a unit."""
    if isinstance(value, int | float):
        return _Number(Decimal(repr(value)) if isinstance(value, float) else Decimal(value))
    if len(value) > _MAX_NUMBER_TEXT or value.count(" ") > _MAX_SPACES:
        return None
    found = read_number(value)
    quantity = None if found is None or not isfinite(found) else read_quantity(value)
    return None if quantity is None else _Number(Decimal(repr(found)), quantity.unit)


def _same_number(one_type: bool, a: _Number, b: _Number) -> str | None:
    if a.unit and b.unit and a.unit != b.unit:
        (base, factor), (other_base, other_factor) = UNITS[a.unit], UNITS[b.unit]
        if base == other_base:
            scaled = float(a.value) * factor, float(b.value) * other_factor
            if abs(scaled[0] - scaled[1]) <= abs(scaled[0]) * _EXACT:
                return "number_format"
        return "unit_changed" if a.value == b.value else None
    if a.value == b.value:
        if a.unit != b.unit:
            return "unit_missing"
        return "number_format" if one_type else "json_type"
    if a.value == -b.value:
        return "sign"
    return None


_EXACT = 1e-9


def _kind_of_numbers(a: _Number, b: _Number) -> str | None:
    """Compare two numbers that are not the same; with other units they are percents at most."""
    small, large = sorted((a, b), key=lambda number: abs(number.value))
    fits = not small.unit and large.unit in ("", "%") and abs(small.value) < 1
    if fits and _power_of_ten(small.value, large.value) == len("00"):
        return "percent"
    if a.unit and b.unit and a.unit != b.unit:
        return None
    if exponent := _power_of_ten(a.value, b.value):
        return f"power_of_ten:{exponent}"
    if a.value * b.value < 0:
        return None
    x, y = abs(a.value), abs(b.value)
    written = _written(x, y)
    if written is None:
        return None
    rules: _Rules = (
        ("off_by_one", lambda: abs(x - y) == 1 and x == x.to_integral_value()),
        ("digits_swapped", lambda: _are_swapped(*written)),
        ("rounding", lambda: _is_rounded(x, y) or _is_rounded(y, x)),
        ("digit", lambda: _is_digit_apart(*written)),
    )
    return _first(rules)


#: Kinds and whether their rules hold.
_Rules = Sequence[tuple[str, Callable[[], bool]]]


def _first(rules: _Rules) -> str | None:
    return next((kind for kind, holds in rules if holds()), None)


def _power_of_ten(x: Decimal, y: Decimal) -> int | None:
    """Return n where ``y = x * 10^n``, else None."""
    one, two = x.normalize().as_tuple(), y.normalize().as_tuple()
    if (one.sign, one.digits) != (two.sign, two.digits) or not x:
        return None
    return int(two.exponent) - int(one.exponent)


def _written(x: Decimal, y: Decimal) -> tuple[str, str] | None:
    """Write two numbers with the same number of decimals; None where they are too long."""
    parts = [value.normalize().as_tuple() for value in (x, y)]
    exponents = [int(part.exponent) for part in parts]
    highest = max(len(p.digits) + e for p, e in zip(parts, exponents, strict=True))
    decimals = max(0, *(-exponent for exponent in exponents))
    if highest + decimals > _MAX_DIGITS:
        return None
    return f"{x:.{decimals}f}", f"{y:.{decimals}f}"


def _are_swapped(x: str, y: str) -> bool:
    if len(x) != len(y):
        return False
    differ = [i for i, (one, two) in enumerate(zip(x, y, strict=True)) if one != two]
    if len(differ) != len("ab") or differ[1] - differ[0] != 1:
        return False
    i, j = differ
    return x[i] == y[j] and x[j] == y[i] and "." not in x[i : j + 1]


_NEAR = Decimal("0.05")
_YEARS = range(1900, 2101)


def _is_year(value: Decimal) -> bool:
    return value == value.to_integral_value() and int(value) in _YEARS


def _is_rounded(exact: Decimal, rounded: Decimal) -> bool:
    """Say whether `rounded` is `exact` with fewer significant digits."""
    if not rounded or abs(exact - rounded) > _NEAR * abs(exact):
        return False
    if _is_year(exact) and _is_year(rounded):
        return False
    quantum = Decimal(1).scaleb(int(rounded.normalize().as_tuple().exponent))
    if quantum.adjusted() <= int(exact.normalize().as_tuple().exponent):
        return False
    modes = [ROUND_HALF_UP, ROUND_HALF_EVEN]
    if exact != exact.to_integral_value():  # only decimals are cut off
        modes.append(ROUND_DOWN)
    return any(exact.quantize(quantum, mode) == rounded for mode in modes)


_MANY_DIGITS = 3


def _is_digit_apart(x: str, y: str) -> bool:
    from rapidfuzz.distance import Levenshtein

    if max(len(text) - text.count(".") for text in (x, y)) < _MANY_DIGITS:
        return False
    return bool(Levenshtein.distance(x, y, score_cutoff=1) == 1)


# --- dates ------------------------------------------------------------------------------------

_CLOCK = re.compile(r"\d{1,2}:\d\d")


def _kind_of_dates(a: Date, b: Date) -> str | None:
    one, two = (a.year, a.month, a.day), (b.year, b.month, b.day)
    if a.precision != b.precision:
        known = min(sum(part is not None for part in parts) for parts in (one, two))
        shorter = {reading[:known] for reading in a.readings}
        return "date_precision" if shorter & {r[:known] for r in b.readings} else None
    if a.day and b.day and a.month and b.month:
        if one == (b.year, b.day, b.month):
            return "day_month_swapped"
        days = date(a.year, a.month, a.day), date(b.year, b.month, b.day)
        if abs((days[0] - days[1]).days) == 1:
            return "day_off_by_one"
    differ = [name for name, x, y in zip("ymd", one, two, strict=True) if x != y]
    if len(differ) != 1:
        return None
    return "year_off" if differ == ["y"] else "date_part"


# --- texts ------------------------------------------------------------------------------------

_NUMERAL = re.compile(r"\d+(?:[.,]\d+)*")
_SIGNED = re.compile(r"(?:(?<![\w.])-)?\d+(?:[.,]\d+)*")
#: Marks that carry a meaning of their own; where they differ, two texts are not the same.
_TELLING = re.compile("[<>≤≥=%‰$€£¥~±≈+#]")
_LOOKALIKES = str.maketrans("oilsb", "01158")
_SHORTEST = 3
_FEWEST_WORDS = 2
#: A shorter word with another letter is another word: Iran and Iraq, Class A and Class B.
_FEWEST_OF_TYPO = 5
#: Texts up to a length, and how many of their letters a typo may change.
_TYPOS = ((7, 1), (19, 2), (_MAX_LENGTH, 3))


def _kind_of_texts(gold: str, predicted: str, elsewhere: Callable[[], str | None]) -> str | None:
    a, b = fold(gold), fold(predicted)
    words = _RUN.findall(a), _RUN.findall(b)
    x, y = letters = "".join(words[0]), "".join(words[1])
    numerals = [_SIGNED.findall(text) if _DIGIT.search(text) else [] for text in (a, b)]
    same_numbers = numerals[0] == numerals[1] and _TELLING.findall(a) == _TELLING.findall(b)
    if same_numbers and x == y:
        return "writing"
    if kind := elsewhere():
        return kind
    if not x or not y:
        return None
    if len(x) == len(y) and x.translate(_LOOKALIKES) == y.translate(_LOOKALIKES):
        return "lookalike" if x != y else None
    if numerals[0] != numerals[1] and _NUMERAL.sub("0", a) == _NUMERAL.sub("0", b):
        digits: _Rules = (
            ("number_in_text", lambda: not x.isdigit()),
            ("digits_swapped", lambda: _are_swapped(x, y)),
            ("digit", lambda: _is_digit_apart(x, y)),
        )
        return _first(digits)
    rules: _Rules = (
        ("word_order", lambda: _are_reordered(*words)),
        ("abbreviation", lambda: _is_abbreviated(*sorted((gold, predicted), key=len))),
        ("truncated", lambda: x.startswith(y) and len(y) >= _SHORTEST),
        # at least two letters more
        (
            "extra_text",
            lambda: (
                (y.startswith(x) and len(y) - 1 > len(x) >= _SHORTEST)
                or _lacks_words(words[1], words[0])
            ),
        ),
        ("partial_text", lambda: _lacks_words(words[0], words[1])),
        ("typo", lambda: same_numbers and _is_typo(letters, words)),
    )
    return _first(rules)


def _are_reordered(one: Sequence[str], two: Sequence[str]) -> bool:
    if not set(one) ^ set(two) <= lexicon.STOP_WORDS:
        return False
    a, b = ([w for w in words if w not in lexicon.STOP_WORDS] for words in (one, two))
    return a != b and sorted(a) == sorted(b)


def _lacks_words(full: Sequence[str], rest: Sequence[str]) -> bool:
    """Say whether `rest` is `full` without some words: a run of it, or at least half of it."""
    if not 0 < len(rest) < len(full) or not set(rest) <= set(full):
        return False
    if f" {' '.join(rest)} " in f" {' '.join(full)} ":
        return True
    if len(rest) < _FEWEST_WORDS or 2 * len(rest) < len(full):
        return False
    remaining = iter(full)
    return all(word in remaining for word in rest)


def _is_typo(letters: tuple[str, str], words: tuple[list[str], list[str]]) -> bool:
    from rapidfuzz.distance import OSA

    shorter = min(map(len, letters))
    most = next(n for length, n in _TYPOS if shorter <= length)
    if shorter <= _SHORTEST or OSA.distance(*letters, score_cutoff=most) > most:
        return False
    changed = sorted(set(words[0]) ^ set(words[1]), key=len)
    if not changed:  # the same words, some of them more often
        return False
    if len(words[0]) != len(words[1]):  # joined or split
        return len(changed[-1]) >= _FEWEST_OF_TYPO
    if any(len(word) < _FEWEST_OF_TYPO - 1 for word in changed):
        return False
    short, long = changed[0], changed[-1]
    if len(long) < _FEWEST_OF_TYPO or len(changed) != len("ab"):
        return len(long) >= _FEWEST_OF_TYPO
    negated = long.endswith(short) and long[: -len(short)] in lexicon.NEGATIVE_PREFIXES
    gendered = {short, long} == {"male", "female"}
    return not (negated or gendered or frozenset(changed) in lexicon.ANTONYMS)


_WORD = re.compile(r"[^\W_]+\.?")
_ROMAN = re.compile("[ivx]+")
#: Words of an abbreviated name.
_MOST_NAMED = 3
_LONGEST_NAME = 80


def _is_abbreviated(short: str, full: str) -> bool:
    """Say whether a text is another one with words shortened, or its acronym."""
    if len(full) > _LONGEST_NAME:
        return False
    shorts, words = spelled = _abbreviable(short), _abbreviable(full)
    if not 0 < len(shorts) <= len(words):
        return False
    while shorts and _shortens(shorts[0], words[0]):  # the words at both ends
        shorts, words = shorts[1:], words[1:]
    while shorts and _shortens(shorts[-1], words[-1]):
        shorts, words = shorts[:-1], words[:-1]
    if not shorts:
        return not words and spelled[0] != spelled[1]
    if len(shorts) > _MOST_NAMED:
        return False
    acronym = "".join(word[0] for word in words).casefold()
    if len(shorts) == 1 < len(words) and shorts[0].isupper() and shorts[0].casefold() == acronym:
        return True
    one, two = (aliases([w.rstrip(".").casefold() for w in side]) for side in (shorts, words))
    return bool(one & two)


def _abbreviable(text: str) -> list[str]:
    words = _WORD.findall(text)
    return [w for w in words if w.lower() not in lexicon.STOP_WORDS] or words


def _shortens(short: str, full: str) -> bool:
    """Say whether two words are the same, or one is the other's initial or abbreviation."""
    ended = short.endswith(".")
    if short[0] != full[0] and short[0].casefold() != full[0].casefold():
        return False
    short, full = short.rstrip(".").casefold(), full.rstrip(".").casefold()
    if not short or short == full:
        return short == full
    canonical = lexicon.SYNONYMS.get(short) or lexicon.LEGAL_SUFFIXES.get(short)
    if canonical and canonical in (full, lexicon.SYNONYMS.get(full)):
        return True
    return full.startswith(short) and (ended or len(short) == 1) and not _ROMAN.fullmatch(full)


# --- values elsewhere in gold -----------------------------------------------------------------

_MOST_ITEMS = 2
_YEAR = re.compile(r"19\d\d|20\d\d|2100")


def _comparable(value: Any) -> Hashable:
    """Return what two values share that differ in case at most."""
    return value.casefold() if isinstance(value, str) else value


def _is_distinctive(value: Any) -> bool:
    """Say whether a value would hardly stand in two places by chance.

    That is not so of true and false, of numbers of one or two digits, of years, and of texts of up
    to three letters.
    """
    if isinstance(value, str):
        if not _SHORTEST < len(value) <= _MAX_LENGTH:
            return False
        letters = "".join(_RUN.findall(value))
        if not letters.isdigit():
            return len(letters) > _SHORTEST
        return len(letters.strip("0")) >= _MANY_DIGITS and not _YEAR.fullmatch(value.strip())
    if isinstance(value, bool) or (isinstance(value, int) and value.bit_length() > _MAX_BITS):
        return False
    return len(repr(value).strip("-0.").replace(".", "")) >= _MANY_DIGITS and value not in _YEARS


# --- rows of fields ---------------------------------------------------------------------------

_NAME = r"\.[^.\[]+|\['(?:[^'\\]|\\.)*'\]"
_INDEX = re.compile(r"\[\+?\d+\]")
_STEP = re.compile(f"{_NAME}|{_INDEX.pattern}")
#: The path of the outermost array above a value.
_ARRAY = re.compile(rf"\$(?:{_NAME})*(?={_INDEX.pattern})")
_ESCAPED = re.compile(r"\\(.)")
#: The columns that a kind is found from, in the order in which `details_of` takes them.
DETAILED = ("path", "outcome", "gold", "predicted", "accepted_as")


def reason_details(fields: pd.DataFrame) -> list[str | None]:
    """Name the kind of mismatch of each row of ``fields``, of one evaluation or of many.

    It is a name in `KIND_NAMES` where two scalars are ``incorrect`` or ``structural``, or where one
    side is absent and the other holds a word for nothing (``null_word``); None in other rows.
    """
    unread: list[Any] = [None] * len(fields)  # frames of format 2 have no accepted_as
    columns = [fields[name].tolist() if name in fields else unread for name in DETAILED]
    ids = [fields[name].tolist() for name in ("run", "document") if name in fields]
    if not ids:
        return details_of(*columns)
    documents: dict[Hashable, list[int]] = {}
    for place, document in enumerate(zip(*ids, strict=True)):
        documents.setdefault(document, []).append(place)
    details: list[str | None] = [None] * len(fields)
    for places in documents.values():
        found = details_of(*([column[place] for place in places] for column in columns))
        for place, detail in zip(places, found, strict=True):
            details[place] = detail
    return details


def details_of(
    paths: Sequence[str],
    outcomes: Sequence[str],
    golds: Sequence[Any],
    predicted: Sequence[Any],
    accepted: Sequence[Any],
) -> list[str | None]:
    """Do as `reason_details`, for the columns of one evaluation."""
    golds = [
        _reading(text, gold) if isinstance(text, str) else gold
        for gold, text in zip(golds, accepted, strict=True)
    ]
    details: list[str | None] = [None] * len(paths)
    gold_values = _GoldValues(paths, golds)
    for place, outcome in enumerate(outcomes):
        if outcome in ("incorrect", "structural"):
            gold, other = golds[place], predicted[place]
            if isinstance(gold, _SCALARS) and isinstance(other, _SCALARS):
                elsewhere = partial(gold_values.place_of, paths[place])
                details[place] = _kind(gold, other, elsewhere)
        elif outcome in ("hallucination", "omission"):
            value = predicted[place] if outcome == "hallucination" else golds[place]
            if isinstance(value, str) and is_placeholder(value):
                details[place] = "null_word"
    return details


def _reading(text: str, gold: Any) -> Any:
    """Return the accepted value that scored; gold's own where a file has been altered."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return gold


class _GoldValues:
    """Gold's values around a mismatch, from the rows of one evaluation."""

    def __init__(self, paths: Sequence[str], golds: Sequence[Any]) -> None:
        self._paths, self._golds = paths, golds
        self._siblings: dict[str, dict[Hashable, str | None]] = {}
        self._items: dict[tuple[str, str], Mapping[Hashable, int]] = {}

    @cached_property
    def _rows(self) -> dict[str, list[int]]:
        """The rows of the values in each object or array, by its path."""
        rows: dict[str, list[int]] = {}
        for row, path in enumerate(self._paths):
            rows.setdefault(_parent(path), []).append(row)
        return rows

    @cached_property
    def _arrays(self) -> dict[str, list[Any]]:
        rows = zip(self._paths, self._golds, strict=True)
        return {path: gold for path, gold in rows if isinstance(gold, list)}

    def place_of(self, path: str, value: Any) -> str | None:
        """Say where around a path gold has a value that is predicted there."""
        if not _is_distinctive(value):
            return None
        wanted = _comparable(value)
        if 0 < self._of_items(path).get(wanted, 0) <= _MOST_ITEMS:
            return "other_item"
        return None if self._beside(path).get(wanted, path) == path else "sibling_value"

    def _beside(self, path: str) -> Mapping[Hashable, str | None]:
        """Return where each value of the same object stands; None if in several places."""
        parent = _parent(path)
        places = self._siblings.get(parent)
        if places is None:
            places = self._siblings[parent] = {}
            for row in self._rows[parent]:
                other, gold = self._paths[row], self._golds[row]
                if isinstance(gold, _SCALARS):
                    key = _comparable(gold)
                    places[key] = other if places.get(key, other) == other else None
        return places

    def _of_items(self, path: str) -> Mapping[Hashable, int]:
        """Count the values of the same field in all items of the outermost array."""
        match = _ARRAY.match(path)
        if match is None:
            return {}
        array, steps = match[0], _INDEX.sub("[0]", path[match.end() :])
        if (array, steps) not in self._items:
            values = _values_at(self._arrays.get(array), _STEP.findall(steps))
            folded = [v.casefold() if isinstance(v, str) else v for v in values]  # `_comparable`
            self._items[array, steps] = Counter(folded)
        return self._items[array, steps]


def _parent(path: str) -> str:
    """Return the path of the object or array that holds a value."""
    if path[-1] != "]":
        return path.rpartition(".")[0]
    if path[-2] != "'":
        return path.rpartition("[")[0]
    steps = _STEP.findall(path)
    return path[: -len(steps[-1])] if steps else path


def _values_at(value: Any, steps: Sequence[str]) -> list[Any]:
    """Return the scalars at a path, in all items where the path has an index."""
    found = [value]
    for step in steps:
        if _INDEX.fullmatch(step):
            found = [item for array in found if isinstance(array, list) for item in array]
            continue
        name = step[1:] if step[0] == "." else _ESCAPED.sub(r"\1", step[2:-2])
        found = [box[name] for box in found if isinstance(box, dict) and name in box]
    return [value for value in found if isinstance(value, _SCALARS)]
