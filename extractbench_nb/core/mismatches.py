"""Kinds of mismatch: in what way a predicted value differs from gold.

`mismatch_kind` compares two values and looks at the values around gold; `mismatch_kinds` does so
for the rows of ``fields``. Kinds are found when they are asked for, and change no score.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from functools import cached_property, partial
from math import isfinite
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.text import lexicon
from extractbench_nb.core.text.dates import Date, dates_equal, parse_date
from extractbench_nb.core.text.quantities import UNITS, Quantity, read_number
from extractbench_nb.core.values.json_values import json_text
from extractbench_nb.support.folding import fold, is_placeholder


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
    Kind(
        "writing",
        "the same value, written differently: format of a number or date, case, accents, spaces, "
        "punctuation",
        "2024-03-05",
        "5 March 2024",
    ),
    Kind(
        "unit",
        "the same number with another unit, or without one; a fraction and its percentage",
        "12 kg",
        "12 g",
    ),
    Kind("sign", "the number with the other sign", -1250, 1250),
    Kind(
        "other_item",
        "gold of the same field in one or two other items of the array",
        "Alice Meyer",
        "Bob Stone",
    ),
    Kind("misplaced", "gold of another field of the same object", "Smith", "Jonathan"),
    Kind("power_of_ten", "predicted = gold * 10^n", 1.25, 1250),
    Kind("rounding", "one number is the other with fewer digits, within 5 %", 12.3456, 12.35),
    Kind("day_month_swapped", "day and month exchanged", "2024-03-05", "2024-05-03"),
    Kind("date", "another date, or another time on the same day", "2024-03-05", "2023-03-05"),
    Kind("order", "the same words in another order", "Smith, John", "John Smith"),
    Kind("truncated", "gold without its end, or with words left out", "6 Apr 2025", "2025"),
    Kind("extra_text", "gold with words added", "AT&T", "AT&T, Dallas, Texas"),
    Kind(
        "typo",
        "a few letters or one digit changed, missing, added or exchanged",
        "Schneider",
        "Schnieder",
    ),
    Kind("other", "none of these", "Berlin", "Paris"),
)
KIND_NAMES = tuple(kind.name for kind in KINDS)

#: The column of kinds; its ``values`` name them all.
KIND_COLUMN = Column(
    "kind",
    "string",
    "kind of mismatch of two values that are not containers; no part of the verdict",
    ", ".join(KIND_NAMES),
    nullable=True,
)
MISMATCH_COLUMNS = FrameSpec(
    "mismatches",
    "one row per wrong value that has a kind",
    (Column("path", "string", "instance path, as in `fields`"), KIND_COLUMN),
)

_SCALARS = (str, int, float)  # bool is an int
#: Longer texts are not compared.
_MAX_LENGTH = 40_000
_MAX_NUMBER_TEXT, _MAX_SPACES = 60, 4
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"[^\W_]+")
#: Larger numbers are not compared, or have more digits than are compared.
_MAX_BITS, _MAX_DIGITS = 80, 25

#: Tells which other value of gold equals a predicted one: `other_item`, `misplaced`.
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
        A name in `KIND_NAMES`.

    Examples
    --------
    >>> mismatch_kind(1.25, 1250), mismatch_kind("2024-03-05", "2024-05-03")
    ('power_of_ten', 'day_month_swapped')
    """

    def elsewhere(value: Any) -> str | None:
        if not _is_distinctive(value):
            return None
        known = [_comparable(item) for item in items if isinstance(item, _SCALARS)]
        if 0 < known.count(_comparable(value)) <= _MOST_ITEMS:
            return "other_item"
        return "misplaced" if _comparable(value) in map(_comparable, siblings) else None

    if not isinstance(gold, _SCALARS) or not isinstance(predicted, _SCALARS):
        return "other"
    return _kind(gold, predicted, elsewhere) or "other"


def _kind(gold: Any, predicted: Any, elsewhere: Elsewhere) -> str | None:
    values = [v.strip().casefold() if isinstance(v, str) else v for v in (gold, predicted)]
    if any(isinstance(value, str) and is_placeholder(value) for value in values):
        return "null_word"
    if isinstance(gold, bool) or isinstance(predicted, bool):
        truths = [_TRUTH.get(v) if isinstance(v, str | bool) else None for v in values]
        is_same = truths[0] is not None and truths[0] == truths[1] and gold is not predicted
        return "json_type" if is_same else None
    if not (_is_comparable(gold) and _is_comparable(predicted)):
        return None
    texts = [v if isinstance(v, str) else json_text(v) for v in (gold, predicted)]
    one_type = isinstance(gold, str) == isinstance(predicted, str)
    # JSON numbers, and the text "2024" beside a number, are no dates
    if isinstance(gold, str) and isinstance(predicted, str):
        day, other_day = parse_date(texts[0]), parse_date(texts[1])
        if day and other_day:
            return _kind_of_dates(day, other_day, texts, lambda: elsewhere(predicted))
    if any(map(_DIGIT.search, texts)):
        number, other_number = _number(gold), _number(predicted)
        if number and other_number:
            kind = _same_number(one_type, number, other_number) or elsewhere(predicted)
            return kind or _kind_of_numbers(number, other_number)
    return _kind_of_texts(texts[0], texts[1], lambda: elsewhere(predicted))


_TRUTH = {True: True, "true": True, "yes": True, False: False, "false": False, "no": False}


def _is_comparable(value: Any) -> bool:
    """Say whether a value is a text or finite number of a size that can be compared."""
    if isinstance(value, int):
        return value.bit_length() <= _MAX_BITS
    return len(value) <= _MAX_LENGTH if isinstance(value, str) else isfinite(value)


# --- dates ------------------------------------------------------------------------------------

_CLOCK = re.compile(r"\d{1,2}:\d\d")


def _kind_of_dates(
    a: Date, b: Date, texts: Sequence[str], elsewhere: Callable[[], str | None]
) -> str:
    clock, other_clock = map(_CLOCK.findall, texts)
    if a.precision == b.precision and dates_equal(a, b):
        if clock == other_clock:
            return "writing"
        return "date" if clock and other_clock else "truncated" if clock else "extra_text"
    if kind := elsewhere():
        return kind
    if a.precision != b.precision:
        known = [sum(part is not None for part in (d.year, d.month, d.day)) for d in (a, b)]
        shorter = {reading[: min(known)] for reading in a.readings}
        if not shorter & {reading[: min(known)] for reading in b.readings}:
            return "date"
        return "truncated" if known[0] > known[1] else "extra_text"
    is_swapped = a.day is not None and (a.year, a.month, a.day) == (b.year, b.day, b.month)
    return "day_month_swapped" if is_swapped else "date"


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
    number = read_number(value)
    quantity = None if number is None or not isfinite(number) else Quantity.read(value)
    return None if quantity is None else _Number(Decimal(repr(number)), quantity.unit)


def _same_number(one_type: bool, a: _Number, b: _Number) -> str | None:
    if a.unit and b.unit and a.unit != b.unit:
        (base, factor), (other_base, other_factor) = UNITS[a.unit], UNITS[b.unit]
        scaled = float(a.value) * factor, float(b.value) * other_factor
        if base == other_base and abs(scaled[0] - scaled[1]) <= abs(scaled[0]) * _EXACT:
            return "writing"
        return "unit" if a.value == b.value else None
    if a.value == b.value:
        if a.unit != b.unit:
            return "unit"
        return "writing" if one_type else "json_type"
    return "sign" if a.value == -b.value else None


_EXACT = 1e-9


def _kind_of_numbers(a: _Number, b: _Number) -> str | None:
    """Compare two numbers that are not the same; with other units they are percents at most."""
    small, large = sorted((a, b), key=lambda number: abs(number.value))
    fits = not small.unit and large.unit in ("", "%") and abs(small.value) < 1
    if fits and _power_of_ten(small.value, large.value) == len("00"):
        return "unit"
    if a.unit and b.unit and a.unit != b.unit:
        return None
    if _power_of_ten(a.value, b.value):
        return "power_of_ten"
    x, y = abs(a.value), abs(b.value)
    decimals = _decimals(x, y)
    if a.value * b.value < 0 or decimals is None:
        return None
    if _is_rounded(x, y) or _is_rounded(y, x):
        return "rounding"
    return "typo" if _is_digit_apart(f"{x:.{decimals}f}", f"{y:.{decimals}f}") else None


def _power_of_ten(x: Decimal, y: Decimal) -> int | None:
    """Return n where ``y = x * 10^n``, else None."""
    one, two = x.normalize().as_tuple(), y.normalize().as_tuple()
    if (one.sign, one.digits) != (two.sign, two.digits) or not x:
        return None
    return int(two.exponent) - int(one.exponent)


def _decimals(x: Decimal, y: Decimal) -> int | None:
    """Return with how many decimals two numbers are written alike; None if they are too long."""
    parts = [value.normalize().as_tuple() for value in (x, y)]
    exponents = [int(part.exponent) for part in parts]
    highest = max(len(p.digits) + e for p, e in zip(parts, exponents, strict=True))
    decimals = max(0, *(-exponent for exponent in exponents))
    return decimals if highest + decimals <= _MAX_DIGITS else None


_NEAR = Decimal("0.05")
_YEARS = range(1900, 2101)


def _is_rounded(exact: Decimal, rounded: Decimal) -> bool:
    """Say whether `rounded` is `exact` with fewer significant digits; years are not rounded."""
    if not rounded or abs(exact - rounded) > _NEAR * abs(exact):
        return False
    if exact in _YEARS and rounded in _YEARS:
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
    """Say whether one digit is changed, missing or added, or two neighbours are exchanged."""
    from rapidfuzz.distance import OSA

    if max(len(text) - text.count(".") for text in (x, y)) < _MANY_DIGITS:
        return False
    return bool(OSA.distance(x, y, score_cutoff=1) == 1)


# --- texts ------------------------------------------------------------------------------------

_NUMERAL = re.compile(r"\d+(?:[.,]\d+)*")
_SIGNED = re.compile(r"(?:(?<![\w.])-)?\d+(?:[.,]\d+)*")
#: Marks that carry a meaning of their own; where they differ, two texts are not the same.
_TELLING = re.compile("[<>≤≥=%‰$€£¥~±≈+#]")
#: Characters that look alike, as in scans.
_LOOKALIKES = str.maketrans("oilsb", "01158")
_SHORTEST = 3
_FEWEST_WORDS = 2
#: A shorter word with another letter is another word: Iran and Iraq, Class A and Class B.
_FEWEST_OF_TYPO = 5
#: Texts up to a length, and how many of their letters a typo may change.
_TYPOS = ((7, 1), (19, 2), (_MAX_LENGTH, 3))


def _kind_of_texts(gold: str, predicted: str, elsewhere: Callable[[], str | None]) -> str | None:
    a, b = fold(gold), fold(predicted)
    words = _WORD.findall(a), _WORD.findall(b)
    x, y = "".join(words[0]), "".join(words[1])
    numerals = [_SIGNED.findall(text) if _DIGIT.search(text) else [] for text in (a, b)]
    same_numbers = numerals[0] == numerals[1] and _TELLING.findall(a) == _TELLING.findall(b)
    if same_numbers and x == y:
        return "writing"
    if kind := elsewhere():
        return kind
    if not x or not y:
        return None
    if len(x) == len(y) and x.translate(_LOOKALIKES) == y.translate(_LOOKALIKES):
        return "typo" if x != y else None
    if numerals[0] != numerals[1] and _NUMERAL.sub("0", a) == _NUMERAL.sub("0", b):
        return "typo" if x.isdigit() and _is_digit_apart(x, y) else None
    if _are_reordered(*words):
        return "order"
    if (x.startswith(y) and len(y) >= _SHORTEST) or _lacks_words(words[0], words[1]):
        return "truncated"
    # at least two letters more
    is_start = y.startswith(x) and len(y) - 1 > len(x) >= _SHORTEST
    if is_start or _lacks_words(words[1], words[0]):
        return "extra_text"
    return "typo" if same_numbers and _is_typo(x, y, *words) else None


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


def _is_typo(x: str, y: str, words: Sequence[str], other_words: Sequence[str]) -> bool:
    from rapidfuzz.distance import OSA

    shorter = min(len(x), len(y))
    most = next(n for length, n in _TYPOS if shorter <= length)
    if shorter <= _SHORTEST or OSA.distance(x, y, score_cutoff=most) > most:
        return False
    changed = sorted(set(words) ^ set(other_words), key=len)
    if not changed or len(changed[-1]) < _FEWEST_OF_TYPO:
        return False
    if len(words) != len(other_words):  # joined or split
        return True
    if len(changed[0]) < _FEWEST_OF_TYPO - 1:
        return False
    short, long = changed[0], changed[-1]
    if len(changed) != len((short, long)):
        return True
    # one word for another: a typing error, unless it says the opposite
    negated = long.endswith(short) and long[: -len(short)] in lexicon.NEGATIVE_PREFIXES
    gendered = {short, long} == {"male", "female"}
    return not (negated or gendered or frozenset(changed) in lexicon.ANTONYMS)


# --- values elsewhere in gold -----------------------------------------------------------------

_MOST_ITEMS = 2
_YEAR = re.compile(r"19\d\d|20\d\d|2100")


def _comparable(value: Any) -> Hashable:
    """Return what two values share that differ in case at most."""
    return value.casefold() if isinstance(value, str) else value


def _is_distinctive(value: Any) -> bool:
    """Say whether a value would hardly occur twice by chance.

    True and false may, and so may numbers of one or two digits, years, and texts of up to three
    letters.
    """
    if isinstance(value, str):
        if not _SHORTEST < len(value) <= _MAX_LENGTH:
            return False
        letters = "".join(_WORD.findall(value))
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
_IDS = ("run", "document", "domain", "schema")


def mismatch_frame(fields: pd.DataFrame) -> pd.DataFrame:
    """Build ``mismatches`` from ``fields``, of one evaluation or of many: one row per value."""
    ids = [name for name in _IDS if name in fields]
    kinds = pd.Series(mismatch_kinds(fields), index=fields.index, dtype=object)
    rows = fields[[*ids, "path"]].assign(kind=kinds)[kinds.notna()]
    frame = rows.drop_duplicates([*ids, "path"]).reset_index(drop=True)
    return pd.concat([frame[ids], MISMATCH_COLUMNS.from_records(frame)], axis=1)


def mismatch_kinds(fields: pd.DataFrame) -> list[str | None]:
    """Name the kind of mismatch of each row of ``fields``, of one evaluation or of many.

    It is a name in `KIND_NAMES` if two scalars are ``incorrect`` or ``structural``, or if one side
    is absent and the other holds a word for nothing (``null_word``); None in other rows.
    """
    missing: list[Any] = [None] * len(fields)  # frames of format 2 have no accepted_as
    names = ("path", "outcome", "gold", "predicted", "accepted_as")
    columns = [fields[name].tolist() if name in fields else missing for name in names]
    ids = [fields[name].tolist() for name in _IDS if name in fields]
    documents: dict[Hashable, list[int]] = {}
    for row, document in enumerate(zip(*ids, strict=True) if ids else [()] * len(fields)):
        documents.setdefault(document, []).append(row)
    kinds: list[str | None] = missing.copy()
    for rows in documents.values():
        parts = ([column[row] for row in rows] for column in columns)
        for row, kind in zip(rows, _kinds_of_document(*parts), strict=True):
            kinds[row] = kind
    return kinds


def _kinds_of_document(
    paths: list[str],
    outcomes: list[str],
    golds: list[Any],
    predicted: list[Any],
    accepted: list[Any],
) -> list[str | None]:
    for row, text in enumerate(accepted):
        if isinstance(text, str):  # the value that was scored in place of gold's
            golds[row] = _parsed(text, golds[row])
    kinds: list[str | None] = [None] * len(paths)
    gold_values = _GoldValues(paths, golds)
    for row, outcome in enumerate(outcomes):
        gold, other = golds[row], predicted[row]
        if outcome in ("incorrect", "structural"):
            if isinstance(gold, _SCALARS) and isinstance(other, _SCALARS):
                elsewhere = partial(gold_values.place_of, paths[row])
                kinds[row] = _kind(gold, other, elsewhere) or "other"
        elif outcome in ("hallucination", "omission"):
            value = other if outcome == "hallucination" else gold
            if isinstance(value, str) and is_placeholder(value):
                kinds[row] = "null_word"
    return kinds


def _parsed(text: str, gold: Any) -> Any:
    """Return the accepted value that was scored; gold's own if a file has been altered."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return gold


class _GoldValues:
    """Gold's values around a mismatch, from the rows of one evaluation."""

    def __init__(self, paths: Sequence[str], golds: Sequence[Any]) -> None:
        self._rows = list(zip(paths, golds, strict=True))
        self._items: dict[tuple[str, str], Mapping[Hashable, int]] = {}

    @cached_property
    def _siblings(self) -> dict[tuple[str, Hashable], set[str]]:
        """The paths of each value by the path of its object or array."""
        siblings: dict[tuple[str, Hashable], set[str]] = defaultdict(set)
        for path, gold in self._rows:
            if isinstance(gold, _SCALARS):
                siblings[_parent(path), _comparable(gold)].add(path)
        return siblings

    @cached_property
    def _arrays(self) -> dict[str, list[Any]]:
        return {path: gold for path, gold in self._rows if isinstance(gold, list)}

    def place_of(self, path: str, value: Any) -> str | None:
        """Say where around a path gold has a value that is predicted there."""
        if not _is_distinctive(value):
            return None
        wanted = _comparable(value)
        if 0 < self._of_items(path).get(wanted, 0) <= _MOST_ITEMS:
            return "other_item"
        others = self._siblings.get((_parent(path), wanted), set()) - {path}
        return "misplaced" if others else None

    def _of_items(self, path: str) -> Mapping[Hashable, int]:
        """Count the values of the same field in all items of the outermost array."""
        match = _ARRAY.match(path)
        if match is None:
            return {}
        array, steps = match[0], _INDEX.sub("[0]", path[match.end() :])
        if (array, steps) not in self._items:
            values: list[Any] = [self._arrays.get(array)]
            for step in _STEP.findall(steps):
                if step == "[0]":
                    values = [item for inner in values if isinstance(inner, list) for item in inner]
                    continue
                name = step[1:] if step[0] == "." else _ESCAPED.sub(r"\1", step[2:-2])
                values = [box[name] for box in values if isinstance(box, dict) and name in box]
            scalars = (value for value in values if isinstance(value, _SCALARS))
            self._items[array, steps] = Counter(map(_comparable, scalars))
        return self._items[array, steps]


def _parent(path: str) -> str:
    """Return the path of the object or array that holds a value."""
    if path[-1] != "]":
        return path.rpartition(".")[0]
    if path[-2] != "'":
        return path.rpartition("[")[0]
    steps = _STEP.findall(path)
    return path[: -len(steps[-1])] if steps else path
