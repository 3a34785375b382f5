"""Numbers, units and quantities in text: ``$1.5 million``, ``(1,204)``, ``5 km``.

`read_tokens` splits a text into words and quantities; `Quantity.read` and `read_number` read a text
that is exactly one quantity.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from importlib.resources import files
from typing import Any, NamedTuple

from extractbench_nb.support.folding import any_of, unify

#: Words of numbers, scales, currencies, units and months.
DATA: dict[str, Any] = json.loads(
    (files("extractbench_nb.core.text") / "units.json").read_text(encoding="utf-8")
)


def _numbers(ones: str, tens: str) -> dict[str, int]:
    """Read the words for 0 to 19, and for the tens from 20 on."""
    first = {word: number for number, word in enumerate(" ".join(DATA[ones]).split())}
    return first | {w: 10 * n for n, w in enumerate(" ".join(DATA[tens]).split(), 2)}


SMALL_NUMBERS = _numbers("ones", "tens")
ORDINALS = _numbers("ordinals", "tenths")
WHOLE_TENS = range(20, 100, 10)
WORD_SCALES: dict[str, int] = DATA["word_scales"]
SCALES: dict[str, int] = WORD_SCALES | DATA["scales"]
MONEY_SCALES: dict[str, int] = DATA["money_scales"]
CURRENCY_SIGNS: dict[str, str] = DATA["currency_signs"]
CURRENCIES: dict[str, str] = {
    **{code: code for code in " ".join(DATA["currencies"]).split()},
    **DATA["currency_names"],
}
#: The other codes of ISO 4217, which are words in small letters; without ALL, TOP and the like.
CODES_IN_CAPITALS = frozenset(" ".join(DATA["codes_in_capitals"]).split())
#: Units with SI prefixes: base unit, factor, symbol and names.
_PREFIXED = [
    (base, factor, prefix + symbol, " ".join(name + word for word in names.split()))
    for base, symbol, prefixes, names in DATA["prefixed"]
    for prefix, (name, factor) in DATA["prefixes"].items()
    if prefix in prefixes
]
#: Base unit, factor and names of each unit.
_UNIT_ROWS: list[tuple[str, float, str]] = [
    *DATA["units"],
    *(
        (base, 1.0, names if len(symbol) == 1 else f"{symbol.lower()} {names}")
        for base, symbol, _, names in DATA["prefixed"]
    ),
    *((base, factor, names) for base, factor, _, names in _PREFIXED),
]
#: Units whose letters mean something else in another case; in any other they are read as above.
CASED_UNITS: dict[str, tuple[str, float]] = {
    name: (base, factor) for base, factor, names in DATA["cased_units"] for name in names.split()
} | {symbol: (base, factor) for base, factor, symbol, _ in _PREFIXED}
#: Symbols of one letter, which are read as units only beside the same value with a unit.
BARE_SYMBOLS: dict[str, str] = DATA["bare_symbols"]
UNIT_NAMES = tuple(tuple(names.split()) for base, _, names in _UNIT_ROWS if base != "ord")
UNITS = {name: (base, factor) for base, factor, names in _UNIT_ROWS for name in names.split()}
MONEY = frozenset((*CURRENCIES.values(), *map(str.lower, CODES_IN_CAPITALS)))
UNITS |= CASED_UNITS | {code: (code, 1.0) for code in ("", "ord", *MONEY)} | {"mm": ("m", 1e-3)}
#: Units in two cases that mean something else in capitals or in small letters: mW, nM, Gb.
TWO_CASED_UNITS = frozenset(
    written
    for written, meaning in CASED_UNITS.items()
    if not written.isupper()
    and not written.islower()
    and UNITS.get(written.upper(), UNITS.get(written.lower(), meaning)) != meaning
)
_CONTINENTAL = frozenset("eur chf dkk nok sek pln czk huf brl try".split())
_POINTED = re.compile(r"[1-9]\d{0,2}\.\d{3}")
VALUE_WORDS = frozenset(
    (*SMALL_NUMBERS, *ORDINALS, *WORD_SCALES, *CURRENCIES, *map(str.lower, CODES_IN_CAPITALS))
)
_MAX_NUMBER_WORDS = 40
_ORDINAL_ENDINGS = frozenset(("st", "nd", "rd", "th"))

#: Names of units and currencies of several words, or with marks, and how they are read.
UNIT_PHRASES: dict[str, str] = DATA["phrases"]
_SIGNS = "".join(CURRENCY_SIGNS) + "%‰"
# A slash between other digits is part of a code: Room 4/2.
_FRACTION = r"(?:1/[2-8]|2/[357]|3/[4578]|4/[57]|5/[678]|6/7|7/8)"
_NUMBER = "|".join(DATA["number_forms"]).replace("@fraction@", _FRACTION)
_TOKEN = re.compile(
    r"(?=[^\W\d_])(?:"
    r"(?P<dotted>(?=\w{1,3}\.)(?<!\w)(?:(?:[^\W\d_]\.){2,}(?:[^\W\d_](?!\w))?|(?:[A-Z][a-z]{0,2}\.){2,}))"
    r"|(?P<word>(?<![\w+-])[A-D]{1,3}[+-](?![\w+-])|[qhQH][1-4](?!\w)"
    r"|(?<![\w&])[A-Z]{1,3}&[A-Z]{1,3}(?![\w&])|[^\W\d_]+(?:'[^\W\d_]+)*(?:\+\+|\#(?!\w))?))"
    rf"|(?=[\d.'])(?P<number>{_NUMBER})"
    rf"|(?P<sign>°\s?[cCfF](?!\w)|[{_SIGNS}])"
)
_THOUSANDS_COMMA = re.compile(r"\d{1,3}(?:,\d\d)*(?:,\d{3})+(?:\.\d+)?")
_THOUSANDS_DOT = re.compile(r"\d{1,3}(?:(?:\.\d{3}){2,}(?:,\d+)?|(?:\.\d{3})+,\d+)")
_CURRENCY_GAPS = frozenset((" ", "", "(", " (", "-", " -"))
_ATTACHING_GAPS = frozenset(("", " ", "-", ")", ") ", " (", " - "))
_COMPOUND_GAPS = frozenset((" ", "", ". ", " and ", ", "))
_COMPOUND_BASES = frozenset(("s", "month", "m", "kg", "usd", "gbp"))
_ATTACHED_SCALES = frozenset("kKMB")
_INNER_MARKS = str.maketrans("", "", "'.&")
_SCALE_FACTORS = frozenset(float(factor) for factor in SCALES.values())
_FIRST_NUMBER = re.compile(r"\d[\d.,]*")
#: A letter before a number, but not the x of 2x5g or the k of 80k-95k.
_CODE_LETTER = re.compile(r"(?<!\d)[^\W\d_](?<![xX])-?\Z")
_EXACT_DIGITS = 15
_TWO_DIGIT_PIVOT = 70


class Quantity(NamedTuple):
    """A number, with scale words multiplied in, and its unit as written.

    The unit is a lower-case unit, a currency code, ``%``, ``ord`` for ordinals, or empty.
    """

    value: float
    unit: str = ""

    @property
    def is_money(self) -> bool:
        """Whether the unit is a currency."""
        return self.unit in MONEY

    def to_base(self) -> Quantity:
        """Convert to the base unit: 5 km to 5000 m, 50 bp to 0.5 %."""
        base, factor = UNITS[self.unit]
        return Quantity(self.value * factor, base)

    @staticmethod
    def read(text: str) -> Quantity | None:
        """Read a text that consists of one quantity, such as ``USD 2.3bn``; None for any other."""
        if len(text) > _MAX_QUANTITY_TEXT:
            return None
        tokens = read_tokens(_with_unit_words(unify(text)))
        return tokens[0].quantity if len(tokens) == 1 else None

    @staticmethod
    def sizes_in(unified: str) -> frozenset[float]:
        """Return the sizes of all quantities in a text, with their scale words multiplied in."""
        tokens = read_tokens(_with_unit_words(unified))
        return frozenset(abs(token.quantity.value) for token in tokens if token.quantity)

    @staticmethod
    def scale_of(word: str) -> float:
        """Return the factor that a word such as ``million`` or ``bn`` stands for; 1 for others."""
        return float(SCALES.get(word) or MONEY_SCALES.get(word, 1))


class Token(NamedTuple):
    """A piece of text: a word or, where `quantity` is set, a number with its unit.

    `text` is the word as written (apostrophes and inner periods removed), or the number's text. The
    kind is ``number``, ``dotted`` (an abbreviation like U.S.), ``word``, ``sign`` or ``date``;
    versions and clock times are numbers without a quantity.
    """

    text: str
    start: int
    end: int
    kind: str
    quantity: Quantity | None = None


def phrase_replacer(phrases: Mapping[str, str]) -> Callable[[str, str], str]:
    """Return a function that replaces `phrases` in a text, given the text in lower case too."""
    dollars = [phrase for phrase in phrases if phrase[-1] == "$"]  # digits follow
    pattern = re.compile(rf"(?<!\w)(?:{any_of(phrases)}(?!\w)|{any_of(dollars)})")

    def replace(text: str, lower: str) -> str:
        pieces: list[str] = []
        end = 0
        for match in pattern.finditer(lower):  # ten times as fast as in any case
            pieces += text[end : match.start()], phrases[match[0]]
            end = match.end()
        return "".join((*pieces, text[end:])) if end else text

    return replace


_replace_units = phrase_replacer(UNIT_PHRASES)


def _with_unit_words(text: str) -> str:
    """Replace phrases such as ``miles per hour`` by units of one word."""
    return _replace_units(text, text.lower())


def read_tokens(text: str, dates: Sequence[Token] = ()) -> list[Token]:
    """Split a text, in which units have one word, into words and quantities around its dates."""
    pieces: list[Token] = []
    values: list[int] = []  # the pieces that may begin a value, or end what came before
    position = 0
    for date in dates:
        _split(text[position : date.start], position, pieces, values)
        values.append(len(pieces))
        pieces.append(date)
        position = date.end
    _split(text[position:] if dates else text, position, pieces, values)
    return _Reader(text, pieces).read(values) if values else pieces


def _split(text: str, offset: int, pieces: list[Token], values: list[int]) -> None:
    """Cut a stretch of a text, which begins at `offset`, into words, numbers and signs."""
    for match in _TOKEN.finditer(text):
        kind, piece = match.lastgroup or "", match[0]
        first, last = match.span()
        is_word = kind in ("word", "dotted")
        if is_word and not piece.isalpha():
            piece = piece.translate(_INNER_MARKS)
        if not is_word or piece.lower() in VALUE_WORDS:
            values.append(len(pieces))
        # twice as fast as Token(...), which matters for each word of a text
        pieces.append(_new(Token, (piece, first + offset, last + offset, kind, None)))


_new = tuple.__new__


class _Reader:
    """Joins each number of a text with the sign, currency, scale and unit around it."""

    def __init__(self, text: str, pieces: list[Token]) -> None:
        self.text, self.pieces = text, pieces
        self.at = 0  # the next piece

    def read(self, values: Sequence[int]) -> list[Token]:
        """Read all tokens; at `values` are pieces that are more than words."""
        out: list[Token] = []
        for i in values:
            if i < self.at:
                continue
            out += self.pieces[self.at : i]
            self.at = i
            token = self._value()
            # only a number before this one, perhaps behind "and" or "to", can belong to it
            if token[4] and out and (out[-1][4] or out[-1][0].lower() in ("and", "to")):
                self._join(out, token)
            else:
                out.append(token)
        return out + self.pieces[self.at :] if self.at < len(self.pieces) else out

    def _gap(self, i: int) -> str:
        """Return the text between a piece and the one before it; ``.`` after the last piece."""
        return self.text[self.pieces[i - 1][2] : self.pieces[i][1]] if i < len(self.pieces) else "."

    def _currency(self, i: int) -> str:
        """Return the currency whose sign or code a piece is; empty if it is neither."""
        if i >= len(self.pieces):
            return ""
        written, _, _, kind, _ = self.pieces[i]
        if kind == "sign":
            return CURRENCY_SIGNS.get(written, "")
        if kind != "word" or len(written) > len("usd"):
            return ""
        code = written.lower()
        return code if written in CODES_IN_CAPITALS else CURRENCIES.get(code, "")

    def _value(self) -> Token:
        """Read the piece at the cursor with the pieces that belong to it."""
        start, token = self.at, self.pieces[self.at]
        if token[3] == "number":
            return self._amount(start, start, "")
        self.at = amount = start + 1
        if currency := self._currency(start):
            doubled = token.kind == "word" and self._gap(amount) in ("", " ")  # USD $5
            if doubled and self.pieces[amount].kind == "sign" and self._currency(amount):
                amount += 1
            if self._gap(amount) in _CURRENCY_GAPS and self.pieces[amount].kind == "number":
                return self._amount(start, amount, currency)
        return self._number_words(start) if token.kind == "word" else token

    def _amount(self, start: int, i: int, currency: str) -> Token:
        """Read the number at `i`, whose currency is at `start`."""
        number, first = self.pieces[i], self.pieces[start][1]
        value = _literal(number[0])
        self.at = i + 1
        marks = self.text[max(0, first - 2) : number[1]]
        if "-" in marks or "(" in marks:
            before = marks[-2:].rstrip()[-1:]
            opening = self.text[max(0, first - 2) : first].rstrip()[-1:] if start < i else before
            is_signed = "-" in (before, opening) and self._is_minus(start if opening == "-" else i)
            if value is None:
                return number._replace(text="-" + number.text) if is_signed else number
            if is_signed or ("(" in (before, opening) and self._is_in_parentheses(start, i)):
                value = -value
        elif value is None:
            return number
        token = self._with_unit(start, value, currency)
        unit = token[4].unit if token[4] and not currency and self.at == i + 2 else ""
        if unit in _CONTINENTAL and _POINTED.fullmatch(number.text):  # 2.500 €
            token = token._replace(quantity=Quantity(value * 1_000, unit))
        return token

    def _is_minus(self, i: int) -> bool:
        """Say whether the dash before piece `i` is a minus and not a hyphen or a range."""
        start = self.pieces[i].start
        dash = self.text.rfind("-", 0, start)
        if dash == 0:
            return True
        if start - dash > 1 and i > 0:  # "up - 5": a space after the dash
            return False
        before = self.text[dash - 1]
        if before.isalnum() or before in ")-":
            return False
        previous = self.pieces[i - 1]
        return not (before == " " and i and previous.kind == "number" and previous.end == dash - 1)

    def _is_in_parentheses(self, start: int, i: int) -> bool:
        """Say whether parentheses make the number at `i` negative: an amount, or the whole text."""
        number = self.pieces[i]
        if not self.text[number.end : number.end + 3].lstrip(" %").startswith(")"):
            return False
        if start < i or [piece.text for piece in self.pieces[1:3]] in ([], ["%"]):
            return True
        return not number.text.isdigit() and (i == 0 or self.text.startswith(")", number.end))

    def _number_words(self, start: int) -> Token:
        """Read a run of number words: ``one hundred and twenty``, ``twenty-fifth``."""
        words = [piece.text.lower() for piece in self.pieces[start : start + _MAX_NUMBER_WORDS]]
        total, current, end, unit = 0, 0, 0, ""
        for j, word in enumerate(words):
            number = SMALL_NUMBERS.get(word, ORDINALS.get(word))
            tens = current % 100
            room = 100 if tens == 0 else 10 if tens in WHOLE_TENS else 0
            if number is not None and (current == 0 or 0 < number < room):  # twenty + five
                current += number
                if word in ORDINALS:
                    unit, end = "ord", j + 1
                    break
            elif word in WORD_SCALES and j > 0:
                scaled = max(current, 1) * WORD_SCALES[word]
                total, current = (total, scaled) if word == "hundred" else (total + scaled, 0)
            elif not (  # one hundred and twenty
                word == "and"
                and 0 < j < len(words) - 1
                and words[j - 1] in WORD_SCALES
                and words[j + 1] in SMALL_NUMBERS
            ):
                break
            end = j + 1
        if end == 0:
            return self.pieces[start]
        self.at = start + end
        return self._with_unit(start, float(total + current), unit)

    def _with_unit(self, start: int, value: float, unit: str) -> Token:
        """Multiply by the scale words that follow, and read the unit or currency."""
        first = self.pieces[start][1]
        before = self.text[max(0, first - 3) : first]
        while unit != "ord" and (gap := self._gap(self.at)) in _ATTACHING_GAPS:
            following = self.pieces[self.at]
            written, kind = following.text, following.kind
            if kind == "number":
                break
            if not gap and _CODE_LETTER.search(before):  # the g of KH-1736g is not grams
                break
            is_before = kind == "sign" and written != "%" and self._gap(self.at + 1) == ""
            if is_before and self.pieces[self.at + 1].kind == "number":
                break  # 5 $6: the sign is the next number's
            word = written.lower()
            is_scale = not gap and written in _ATTACHED_SCALES
            is_money = bool(unit or is_scale or self._currency(self.at + 1))
            scale = None if word == "mm" and not is_money else SCALES.get(word)
            if scale is None and is_money:
                scale = MONEY_SCALES.get(word)
            if scale and unit != "%":
                value *= scale
            elif not unit and (found := self._unit(following, not gap)):
                unit = found
            elif not (unit in MONEY and self._currency(self.at) == unit):
                break
            self.at += 1
            if unit and unit not in MONEY:
                break
        end = self.pieces[self.at - 1][2]
        quantity = _new(Quantity, (value, unit))
        return _new(Token, (self.text[first:end], first, end, "number", quantity))

    def _unit(self, token: Token, is_attached: bool) -> str:
        written = token.text
        if written in CASED_UNITS:
            return written
        word = written.lower()
        if word == "in" and self.text[token.end : token.end + 1] in ("", "."):
            return "inch"
        if word in _ORDINAL_ENDINGS:
            return "ord" if is_attached else ""
        if written in CODES_IN_CAPITALS or word in CURRENCIES or word in CURRENCY_SIGNS:
            return CURRENCIES.get(word) or CURRENCY_SIGNS.get(word) or word
        word = word.replace(" ", "")  # ° C
        if word in UNITS and (len(word) > 1 or not written.isupper() or word == "l"):
            return word
        return ""

    def _join(self, out: list[Token], token: Token) -> None:
        """Add a quantity to `out`; it may belong to the quantity before it."""
        word = "" if out[-1][4] else out[-1][0].lower()
        i = -2 if word and len(out) > 1 else -1
        before, (value, unit) = out[i], token.quantity or Quantity(0.0)
        if before.quantity:
            large, large_unit = before.quantity
            gap = self.text[before.end : token.start]
            if gap == " (" and _is_repeated(before.quantity, Quantity(value, unit)):
                # said twice: five (5) years, ten dollars ($10)
                kept = before.quantity if large_unit else Quantity(large, unit)
                token = token._replace(start=before.start, quantity=kept)
                del out[i:]
            elif gap in _COMPOUND_GAPS and UNITS[unit][0] in _COMPOUND_BASES:  # 2 min 5 s
                (base, factor), (small_base, small_factor) = UNITS[large_unit], UNITS[unit]
                is_whole = base == small_base and large.is_integer()
                if is_whole and 0 <= value * small_factor < factor > small_factor:
                    quantity = Quantity(large * factor / small_factor + value, unit)
                    text = self.text[before.start : token.end]
                    token = Token(text, before.start, token.end, "number", quantity)
                    del out[i:]
            elif gap.strip().lower() in ("-", "to") and not token.text[-1].isdigit():
                # a range has one unit and scale: 10-15%, 5 to 10 km, $5-10 million
                number = _FIRST_NUMBER.search(token.text)
                scale = value / (_literal(number[0]) or 1) if number else 1.0
                is_plain = before.text[-1].isdigit()
                if is_plain and scale in _SCALE_FACTORS and abs(large) * scale < abs(value):
                    large *= scale
                shared = large_unit or unit.replace("ord", "")
                out[i] = before._replace(quantity=Quantity(large, shared))
        out.append(token)


def _is_repeated(a: Quantity, b: Quantity) -> bool:
    """Say whether `b`, in parentheses, is `a` again; its unit may be missing before."""
    a = (a if a.unit else Quantity(a.value, b.unit)).to_base()
    value, unit = b.to_base()
    return unit == a.unit and abs(value) == abs(a.value)


def _literal(text: str) -> float | None:
    """Read digits with separators; None for versions, clock times and very long digit strings."""
    if text.isdecimal():
        return float(text) if len(text) <= _EXACT_DIGITS else None
    if text.startswith("'"):
        short = int(text[1:])
        return float(short + (1900 if short >= _TWO_DIGIT_PIVOT else 2000))
    if "/" in text:
        *whole, numerator, denominator = map(int, re.split("[ /]", text))
        return sum(whole) + numerator / denominator
    text = text.replace(" ", "").replace("'", "")
    if _THOUSANDS_COMMA.fullmatch(text):
        text = text.replace(",", "")
    elif _THOUSANDS_DOT.fullmatch(text):
        text = text.replace(".", "").replace(",", ".")
    text = text.replace(",", ".")
    if ":" in text or text.count(".") > 1 or len(text) > _EXACT_DIGITS:
        return None
    return float(text)


# --- texts of one number ------------------------------------------------------------------------

_NUMBER_WORDS = {number: word for word, number in SMALL_NUMBERS.items()}
_HUNDRED = 100


def other_writings(value: float | str) -> list[str]:
    """Return other ways to write a whole number below 100 (words) or a currency code (signs).

    Examples
    --------
    >>> other_writings(21), other_writings("usd"), other_writings(0.5)
    (['twenty-one'], ['$'], [])
    """
    if isinstance(value, str):
        return [sign for sign, name in CURRENCY_SIGNS.items() if name == value]
    if not 0 <= value < _HUNDRED or value != int(value):
        return []
    whole = int(value)
    if whole in _NUMBER_WORDS:
        return [_NUMBER_WORDS[whole]]
    ones = whole % WHOLE_TENS.step
    return [f"{_NUMBER_WORDS[whole - ones]}-{_NUMBER_WORDS[ones]}"]


def read_number(text: str) -> float | None:
    """Read a text that consists of one number, whatever its unit; None for any other text.

    Thousands separators, currency signs, percent, scale words and parentheses for negatives are
    understood; the unit is dropped, not converted (``5 km`` is 5, ``12.5%`` is 12.5). A text with
    any other mark, such as a comparator, ``~`` or a minus after the number, is not a number.

    Examples
    --------
    >>> read_number("$ (1,204.50)")
    -1204.5
    >>> read_number("33-37"), read_number("<5"), read_number("5-")
    (None, None, None)
    """
    if len(text) > _MAX_QUANTITY_TEXT:
        return None
    text = _with_unit_words(unify(text))
    tokens = read_tokens(text)
    if len(tokens) != 1 or tokens[0].quantity is None:
        return None
    before, after = text[: tokens[0].start], text[tokens[0].end :]
    if not (_BEFORE_NUMBER.fullmatch(before) and _AFTER_NUMBER.fullmatch(after)):
        return None
    value, unit = tokens[0].quantity
    if "(" in before and (unit in ("", "%") or unit in MONEY):
        value = -abs(value)
    if text.count("(") != text.count(")") or ("-" in before and value > 0):
        return None
    return value


_PLAIN = re.compile(r"\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d{1,4})?\s*\Z", re.ASCII)
_LONGEST_NUMBER = 4000


def as_number(value: Any, parse: str = "plain") -> int | float | None:
    """Read a value as a number; None for what is not one, such as ``"<5"``, ``"~5"`` or ``True``.

    ``plain`` reads texts as JSON writes numbers: ``"5"``, ``"-5.0"``, ``"1e3"``. ``lenient`` also
    reads what `read_number` does: thousands separators, currency signs, percent, units, scale
    words, and parentheses for negatives.

    Examples
    --------
    >>> as_number("1e3"), as_number("1,000"), as_number("(1,000)", "lenient"), as_number(True)
    (1000.0, None, -1000.0, None)
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    if not isinstance(value, str) or len(value) > _LONGEST_NUMBER:
        return None
    if _PLAIN.match(value):
        text = value.strip()
        if text.lstrip("+-").isdigit():
            return int(text)
        number = float(text)
        return number if math.isfinite(number) else int(Decimal(text))
    return read_number(value) if parse == "lenient" else None


_MAX_QUANTITY_TEXT = 200
_BEFORE_NUMBER = re.compile(r"""[\s("']*[-+]?[\s(]*""")
#: ``5,-`` is a whole amount of money.
_AFTER_NUMBER = re.compile(r"""(?:[.,]-)?[\s)"'.°]*""")
