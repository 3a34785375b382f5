"""Kinds of mismatch: in what way a predicted value differs from gold.

Two values are compared as dates, as numbers or as texts, whichever they both are. Each comparison
asks in the same order: is it the same value, is it the gold value from elsewhere, how does it
differ? Kinds are computed from ``fields`` when they are first used, and change no score.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Mapping, Sequence
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from functools import cache
from math import isclose, isfinite
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.core import Evaluation
from extractbench_nb.core.text import (
    ANTONYMS,
    NEGATIVE_PREFIXES,
    STOP_WORDS,
    Date,
    Quantity,
    dates_equal,
    parse_date,
    read_number,
)
from extractbench_nb.core.values import PATH_STEP, json_text, step_key
from extractbench_nb.support.folding import fold, is_placeholder


class Kind(NamedTuple):
    """A kind of mismatch: its rule in words, and an example that has it."""

    name: str
    rule: str
    gold: Any
    predicted: Any


#: In order of precedence: the first rule that holds names the mismatch.
KINDS = (
    Kind("null_word", "one side is a word for an absent value", "Berlin", "N/A"),
    Kind("json_type", "the same value as another JSON type", 12.5, "12.5"),
    Kind("writing", "the same value, written differently", "2024-03-05", "5 March 2024"),
    Kind("unit", "the same number with another unit, or without one", "12 kg", "12 g"),
    Kind("sign", "the same number with the opposite sign", -1250, 1250),
    Kind("other_item", "the gold value of one or two other items", "Al Meyer", "Bob Stone"),
    Kind("misplaced", "the gold value of another field of the object", "Smith", "Jonathan"),
    Kind("power_of_ten", "predicted = gold * 10^n", 1.25, 1250),
    Kind("rounding", "one number is the other with fewer significant digits", 12.3456, 12.35),
    Kind("day_month_swapped", "day and month exchanged", "2024-03-05", "2024-05-03"),
    Kind("date", "another date, or another time on the same day", "2024-03-05", "2023-03-05"),
    Kind("order", "the same words in another order", "Smith, John", "John Smith"),
    Kind("truncated", "the gold value without some words or its end", "6 Apr 2025", "2025"),
    Kind("extra_text", "the gold value with words added", "AT&T", "AT&T, Dallas, Texas"),
    Kind("typo", "a few letters or one digit changed", "Schneider", "Schnieder"),
    Kind("other", "none of these", "Berlin", "Paris"),
)
KIND_NAMES = tuple(kind.name for kind in KINDS)

_SPEC = Evaluation.spec("mismatches")
#: The column of kinds; its ``values`` name them all.
KIND_COLUMN = _SPEC.columns[-1]

_SCALARS = (str, int, float)  # bool is an int
#: Longer texts and larger numbers are not compared.
_MAX_LENGTH, _MAX_BITS = 40_000, 80
_TRUTHS = {True: True, "true": True, "yes": True, False: False, "false": False, "no": False}
_DIGIT, _CLOCK, _WORD = re.compile(r"\d"), re.compile(r"\d{1,2}:\d\d"), re.compile(r"[^\W_]+")


def mismatch_kind(
    gold: Any, predicted: Any, *, siblings: Collection[Any] = (), items: Collection[Any] = ()
) -> str:
    """Classify the difference between a predicted value and the gold value.

    Parameters
    ----------
    gold, predicted : str, int, float or bool
        Two values that a metric did not accept as the same.
    siblings : collection, optional
        Gold values of the other fields of the same object.
    items : collection, optional
        Gold values of the same field in all items of the array.

    Returns
    -------
    str
        A name in `KIND_NAMES`.

    Examples
    --------
    >>> mismatch_kind(1.25, 1250), mismatch_kind("2024-03-05", "2024-05-03")
    ('power_of_ten', 'day_month_swapped')
    """
    if not (isinstance(gold, _SCALARS) and isinstance(predicted, _SCALARS)):
        return "other"
    in_items, in_siblings = (
        Counter(_caseless(value) for value in values if isinstance(value, _SCALARS))
        for values in (items, siblings)
    )
    return _kind(gold, predicted, _origin(predicted, in_items, in_siblings))


def _kind(gold: Any, predicted: Any, origin: str | None) -> str:
    """Name the kind of two scalars; `origin`: where gold has the predicted value."""
    plain = [v.strip().casefold() if isinstance(v, str) else v for v in (gold, predicted)]
    if any(isinstance(value, str) and is_placeholder(value) for value in plain):
        return "null_word"
    if isinstance(gold, bool) or isinstance(predicted, bool):
        truths = [_TRUTHS.get(v) if isinstance(v, str | bool) else None for v in plain]
        is_same = truths[0] is not None and truths[0] == truths[1] and gold is not predicted
        return "json_type" if is_same else "other"
    if not (_is_comparable(gold) and _is_comparable(predicted)):
        return "other"
    texts = json_text(gold), json_text(predicted)
    if isinstance(gold, str) and isinstance(predicted, str):  # JSON numbers are no dates
        day, other_day = map(parse_date, texts)
        if day and other_day:
            return _kind_of_dates(day, other_day, texts, origin)
    if any(map(_DIGIT.search, texts)):
        number, other_number = _number(gold), _number(predicted)
        if number and other_number:
            if (kind := _kind_of_equal_numbers(number, other_number)) == "writing":
                is_one_type = isinstance(gold, str) == isinstance(predicted, str)
                return "writing" if is_one_type else "json_type"
            return kind or origin or _kind_of_numbers(number, other_number) or "other"
    return _kind_of_texts(*texts, origin) or "other"


def _is_comparable(value: str | float) -> bool:
    if isinstance(value, int):
        return value.bit_length() <= _MAX_BITS
    return len(value) <= _MAX_LENGTH if isinstance(value, str) else isfinite(value)


def _kind_of_dates(a: Date, b: Date, texts: Sequence[str], origin: str | None) -> str:
    if a.precision == b.precision and dates_equal(a, b):
        clock, other_clock = map(_CLOCK.findall, texts)
        if clock == other_clock:
            return "writing"
        return "date" if clock and other_clock else "truncated" if clock else "extra_text"
    if origin:
        return origin
    if a.precision == b.precision:
        is_swapped = a.day is not None and (a.year, a.month, a.day) == (b.year, b.day, b.month)
        return "day_month_swapped" if is_swapped else "date"
    # one of them has no month or no day: are they the same as far as both go?
    depths = [1 + (d.month is not None) + (d.day is not None) for d in (a, b)]
    common, other = ({reading[: min(depths)] for reading in d.readings} for d in (a, b))
    if not common & other:
        return "date"
    return "truncated" if depths[0] > depths[1] else "extra_text"


# --- numbers ----------------------------------------------------------------------------------

_Number = tuple[Decimal, str]
_LONGEST_NUMBER, _MOST_SPACES = 60, 4
#: Numbers with more digits, written alike, are not compared digit by digit.
_MOST_DIGITS = 25
_NEAR, _YEARS = Decimal("0.05"), range(1900, 2101)
_MANY_DIGITS = 3


def _number(value: str | float) -> _Number | None:
    """Read a JSON number, or a text that is one number, and its unit if it has one."""
    if not isinstance(value, str):
        return Decimal(repr(value)), ""
    if len(value) > _LONGEST_NUMBER or value.count(" ") > _MOST_SPACES:
        return None
    number = read_number(value)
    quantity = None if number is None or not isfinite(number) else Quantity.read(value)
    return None if quantity is None else (Decimal(repr(number)), quantity.unit)


def _kind_of_equal_numbers(a: _Number, b: _Number) -> str | None:
    (x, unit), (y, other_unit) = a, b
    base, other_base = (Quantity(float(number), u).to_base() for number, u in (a, b))
    is_equal = x == y if unit == other_unit else isclose(base.value, other_base.value)
    if base.unit == other_base.unit and is_equal:
        return "writing"
    if x == y:
        return "unit"
    return "sign" if x == -y and not _has_two_units(a, b) else None


def _has_two_units(a: _Number, b: _Number) -> bool:
    return bool(a[1] and b[1] and a[1] != b[1])


def _kind_of_numbers(a: _Number, b: _Number) -> str | None:
    (small, small_unit), (large, large_unit) = sorted((a, b), key=lambda number: abs(number[0]))
    is_share = abs(small) < 1 and not small_unit and large_unit in ("", "%")
    if is_share and _power_of_ten(small, large) == len("00"):
        return "unit"
    if _has_two_units(a, b):
        return None
    if _power_of_ten(a[0], b[0]):
        return "power_of_ten"
    decimals = max(0, -_last_digit(small), -_last_digit(large))
    if small * large < 0 or large.adjusted() + 1 + decimals > _MOST_DIGITS:
        return None
    small, large = abs(small), abs(large)
    if _is_rounded(small, large) or _is_rounded(large, small):
        return "rounding"
    return "typo" if _is_digit_apart(f"{small:.{decimals}f}", f"{large:.{decimals}f}") else None


def _power_of_ten(x: Decimal, y: Decimal) -> int:
    """Return n where ``y = x * 10^n``; 0 if there is none."""
    ratio = y / x if x else x
    n = ratio.adjusted()
    return n if ratio == Decimal(1).scaleb(n) else 0


def _last_digit(value: Decimal) -> int:
    """Return the power of ten of the last digit that is not 0."""
    return int(value.normalize().as_tuple().exponent)


def _is_rounded(exact: Decimal, rounded: Decimal) -> bool:
    """Whether `rounded` is `exact` with fewer significant digits; years are not rounded.

    Three digits of a whole number must be left: 104 may as well be a misread 100.
    """
    off, last, is_whole = exact - rounded, _last_digit(rounded), _last_digit(exact) >= 0
    near = Decimal(5).scaleb(exact.adjusted() - _MANY_DIGITS) if is_whole else _NEAR * exact
    is_shorter = rounded and abs(off) <= near and last > _last_digit(exact)
    if not is_shorter or (exact in _YEARS and rounded in _YEARS):
        return False
    unit = Decimal(1).scaleb(last)
    is_cut = 0 < off < unit and not is_whole  # only decimals are cut off
    modes = (ROUND_HALF_UP, ROUND_HALF_EVEN)
    return is_cut or any(exact.quantize(unit, mode) == rounded for mode in modes)


def _is_digit_apart(x: str, y: str) -> bool:
    """Whether one digit is changed, missing or added, or two neighbours are exchanged."""
    from rapidfuzz.distance import OSA

    has_many = max(len(text) - text.count(".") for text in (x, y)) >= _MANY_DIGITS
    return has_many and bool(OSA.distance(x, y, score_cutoff=1) == 1)


# --- texts ------------------------------------------------------------------------------------

_NUMERAL = re.compile(r"\d+(?:[.,]\d+)*")
_SIGNED = re.compile(r"(?:(?<![\w.])-)?\d+(?:[.,]\d+)*")
#: Marks that carry a meaning of their own; where they differ, two texts are not the same.
_TELLING = re.compile("[<>≤≥=%‰$€£¥~±≈+#]")
#: Characters that look alike, as in scans.
_LOOKALIKES = str.maketrans("oilsb", "01158")
#: Fewest letters of what is left of a text, and fewest words that are left in several places.
_SHORTEST, _FEWEST_WORDS = 3, 2
#: A shorter word with another letter is another word: Iran and Iraq, Class A and Class B.
_FEWEST_OF_TYPO = 5
#: Texts up to a length, and how many of their letters a typo may change.
_TYPOS = ((7, 1), (19, 2), (_MAX_LENGTH, 3))


def _kind_of_texts(gold: str, predicted: str, origin: str | None) -> str | None:
    a, b = fold(gold), fold(predicted)
    words, other_words = _WORD.findall(a), _WORD.findall(b)
    x, y = "".join(words), "".join(other_words)
    same_numerals = _SIGNED.findall(a) == _SIGNED.findall(b)
    same_numbers = same_numerals and _TELLING.findall(a) == _TELLING.findall(b)
    if same_numbers and x == y:
        return "writing"
    if origin:
        return origin
    if not x or not y or x == y:
        return None
    if len(x) == len(y) and x.translate(_LOOKALIKES) == y.translate(_LOOKALIKES):
        return "typo"
    if not same_numerals and _NUMERAL.sub("0", a) == _NUMERAL.sub("0", b):
        return "typo" if x.isdigit() and _is_digit_apart(x, y) else None
    content, other_content = (
        [word for word in some if word not in STOP_WORDS] for some in (words, other_words)
    )
    if content != other_content and sorted(content) == sorted(other_content):
        return "order"
    if (x.startswith(y) and len(y) >= _SHORTEST) or _lacks_words(words, other_words):
        return "truncated"
    is_start = y.startswith(x) and len(y) - 1 > len(x) >= _SHORTEST  # at least two letters more
    if is_start or _lacks_words(other_words, words):
        return "extra_text"
    return "typo" if same_numbers and _is_typo(x, y, words, other_words) else None


def _lacks_words(full: Sequence[str], rest: Sequence[str]) -> bool:
    """Whether `rest` is `full` without some words: a run of it, or at least half of it."""
    if not 0 < len(rest) < len(full) or not set(rest) <= set(full):
        return False
    if f" {' '.join(rest)} " in f" {' '.join(full)} ":
        return True
    remaining = iter(full)
    is_enough = len(rest) >= _FEWEST_WORDS and 2 * len(rest) >= len(full)
    return is_enough and all(word in remaining for word in rest)


def _is_typo(x: str, y: str, words: Sequence[str], other_words: Sequence[str]) -> bool:
    from rapidfuzz.distance import OSA

    shorter = min(len(x), len(y))
    most = next(n for length, n in _TYPOS if shorter <= length)
    changed = sorted(set(words) ^ set(other_words), key=len)
    is_close = shorter > _SHORTEST and OSA.distance(x, y, score_cutoff=most) <= most
    if not is_close or not changed or len(changed[-1]) < _FEWEST_OF_TYPO:
        return False
    short, long = changed[0], changed[-1]
    if len(words) != len(other_words):  # joined or split
        return True
    if len(short) < _FEWEST_OF_TYPO - 1:
        return False
    # one word for another: a typing error, unless it means the opposite
    is_negated = long.endswith(short) and long[: -len(short)] in NEGATIVE_PREFIXES
    is_opposite = is_negated or frozenset(changed) in ANTONYMS
    return len(changed) != len((short, long)) or not is_opposite


# --- gold's values elsewhere ------------------------------------------------------------------

_MOST_ITEMS = 2
_YEAR = re.compile(r"19\d\d|20\d\d|2100")
_Steps = tuple[str | int, ...]


def _origin(
    value: Any, items: Mapping[Hashable, int], siblings: Collection[Hashable]
) -> str | None:
    """Return where gold has a value: in one or two items of the array, or in the same object.

    A value that may occur twice by chance has no origin: numbers of one or two digits, years, and
    texts of up to three letters.
    """
    text = value.strip() if isinstance(value, str) else repr(value).removesuffix(".0")
    letters = "".join(_WORD.findall(text))
    is_telling = len(letters) > _SHORTEST
    if letters.isdigit():
        is_telling = len(text) > _SHORTEST or not isinstance(value, str)
        is_telling &= len(letters.strip("0")) >= _MANY_DIGITS and not _YEAR.fullmatch(text)
    if is_telling and 0 < items.get(_caseless(value), 0) <= _MOST_ITEMS:
        return "other_item"
    return "misplaced" if is_telling and _caseless(value) in siblings else None


def _caseless(value: Any) -> Hashable:
    return value.casefold() if isinstance(value, str) else value


def _gold_values(golds: Mapping[str, Any]) -> dict[_Steps, Counter[Hashable]]:
    """Count the values of each object or array, and of each field of the items of an array.

    `golds` are gold values in one document, by their path in ``fields``.
    """
    values: dict[_Steps, Counter[Hashable]] = defaultdict(Counter)
    todo: list[tuple[_Steps, Any]] = []
    for path, gold in golds.items():
        steps = _steps(path)
        if isinstance(gold, _SCALARS):
            values[steps[:-1]][_caseless(gold)] += 1
        elif isinstance(gold, list) and steps == _field(steps):  # in no other array
            todo.append((steps, gold))
    while todo:
        field, value = todo.pop()
        if isinstance(value, list):
            todo.extend(((*field, "[]"), item) for item in value)
        elif isinstance(value, dict):
            todo.extend(((*field, key), inner) for key, inner in value.items())
        elif isinstance(value, _SCALARS):
            values[field][_caseless(value)] += 1
    return values


def _steps(path: str) -> _Steps:
    return tuple(map(step_key, PATH_STEP.finditer(path)))


def _field(steps: _Steps) -> _Steps:
    return tuple("[]" if isinstance(step, int) else step for step in steps)


# --- rows of fields ---------------------------------------------------------------------------

_IDS = ("run", "document", "domain", "schema")


def mismatch_frame(fields: pd.DataFrame) -> pd.DataFrame:
    """Build ``mismatches`` from ``fields``, of one evaluation or of many: one row per value."""
    ids = [name for name in _IDS if name in fields]
    kinds = pd.Series(mismatch_kinds(fields), index=fields.index, dtype=object)
    rows = fields[[*ids, "path"]].assign(kind=kinds)[kinds.notna()]
    frame = rows.drop_duplicates([*ids, "path"]).reset_index(drop=True)
    return pd.concat([frame[ids], _SPEC.from_records(frame)], axis=1)


def mismatch_kinds(fields: pd.DataFrame) -> list[str | None]:
    """Name the kind of mismatch of each row of ``fields``, of one evaluation or of many.

    It is a name in `KIND_NAMES` if two scalars are ``incorrect`` or ``structural``, or if one side
    is absent and the other contains a word for nothing (``null_word``); None in other rows.
    """
    golds = fields["gold"].tolist()
    if "accepted_as" in fields:  # the value that was scored in gold's place
        pairs = zip(golds, fields["accepted_as"], strict=True)
        golds = [json.loads(other) if isinstance(other, str) else gold for gold, other in pairs]
    ids = [fields[name].tolist() for name in _IDS if name in fields]
    documents = list(zip(*ids, strict=True)) or [()] * len(golds)
    by_document: dict[tuple[Any, ...], dict[str, Any]] = defaultdict(dict)
    for document, path, gold in zip(documents, fields["path"], golds, strict=True):
        by_document[document][path] = gold
    values_of = cache(lambda document: _gold_values(by_document[document]))
    kinds: list[str | None] = []
    columns = (fields[name] for name in ("path", "outcome", "predicted"))
    for document, gold, path, outcome, predicted in zip(documents, golds, *columns, strict=True):
        kind = None
        if outcome in ("hallucination", "omission"):
            value = predicted if outcome == "hallucination" else gold
            kind = "null_word" if isinstance(value, str) and is_placeholder(value) else None
        elif (
            outcome in ("incorrect", "structural")
            and isinstance(gold, _SCALARS)
            and isinstance(predicted, _SCALARS)
        ):
            steps, values = _steps(path), values_of(document)
            origin = _origin(predicted, values.get(_field(steps), {}), values.get(steps[:-1], ()))
            kind = _kind(gold, predicted, origin)
        kinds.append(kind)
    return kinds
