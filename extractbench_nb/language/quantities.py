"""Numbers, units and quantities in text: ``$1.5 million``, ``(1,204)``, ``5 km``.

`read_tokens` splits a text into words and quantities; `read_quantity` and `read_number` read a text
that is exactly one quantity.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, NamedTuple

from extractbench_nb.language.text import any_of, unify

#: Words of numbers, scales, currencies and units.
_DATA: dict[str, Any] = json.loads(
    (files("extractbench_nb.language") / "units.json").read_text(encoding="utf-8")
)


def _numbers(ones: str, tens: str) -> dict[str, int]:
    """Read the words for 0 to 19, and for the tens from 20 on."""
    first = {word: number for number, word in enumerate(" ".join(_DATA[ones]).split())}
    return first | {w: 10 * n for n, w in enumerate(" ".join(_DATA[tens]).split(), 2)}


SMALL_NUMBERS = _numbers("ones", "tens")
ORDINALS = _numbers("ordinals", "tenths")
WHOLE_TENS = range(20, 100, 10)
WORD_SCALES: dict[str, int] = _DATA["word_scales"]
SCALES: dict[str, int] = WORD_SCALES | _DATA["scales"]
MONEY_SCALES: dict[str, int] = _DATA["money_scales"]
CURRENCY_SIGNS: dict[str, str] = _DATA["currency_signs"]
CURRENCIES: dict[str, str] = {
    **{code: code for code in " ".join(_DATA["currencies"]).split()},
    **_DATA["currency_names"],
}
#: Base unit, factor and names of each unit.
_UNIT_ROWS: list[tuple[str, float, str]] = _DATA["units"]
# Units whose letters mean something else in another case; in any other case they are read as above.
_SMALL = {"p": 1e-12, "n": 1e-9, "u": 1e-6, "μ": 1e-6, "m": 1e-3}
_LARGE = {"k": 1e3, "M": 1e6, "G": 1e9}
_SYMBOLS = {"A": "amp", "J": "joule", "V": "v", "W": "w", "Pa": "pa", "Hz": "hz", "N": "newton",
            "Ω": "ohm"}  # fmt: skip
CASED_UNITS = {
    **{p + s: (base, f) for s, base in _SYMBOLS.items() for p, f in (_SMALL | _LARGE).items()},
    **{p + s: (b, f) for s, b in (("M", "molar"), ("S", "siemens")) for p, f in _SMALL.items()},
    "Mg": ("kg", 1e3), "Mm": ("m", 1e6), "Mb": ("bit", 1e6), "Gb": ("bit", 1e9),
    "kb": ("bit", 1e3), "kB": ("byte", 1e3), "KB": ("byte", 1e3), "kBps": ("byteps", 1e3),
    "MBps": ("byteps", 1e6), "GBps": ("byteps", 1e9),
}  # fmt: skip
UNIT_NAMES = tuple(tuple(names.split()) for base, _, names in _UNIT_ROWS if base != "ord")
UNITS = {name: (base, factor) for base, factor, names in _UNIT_ROWS for name in names.split()}
UNITS |= CASED_UNITS
UNITS |= {code: (code, 1.0) for code in CURRENCIES.values()} | {
    "": ("", 1.0),
    "ord": ("ord", 1.0),
    "mm": ("m", 1e-3),
}
MONEY = frozenset(CURRENCIES.values())
_CONTINENTAL = frozenset("eur chf dkk nok sek pln czk huf brl try".split())
_POINTED = re.compile(r"[1-9]\d{0,2}\.\d{3}")
VALUE_WORDS = frozenset((*SMALL_NUMBERS, *ORDINALS, *WORD_SCALES, *CURRENCIES))


_ORDINAL_ENDINGS = frozenset(("st", "nd", "rd", "th"))

_PHRASES: dict[str, str] = _DATA["phrases"]
# Each phrase has one of these: a quick look that most texts do not pass.
_PARTS = ("per", "deg", "$", "dollar", "sq", "cubic", "basis", "sterling", "franc", "km/h", "mm hg")
_PHRASE = re.compile(
    rf"(?<!\w){any_of(_PHRASES)}(?!\w)"
    r"|(?<!\w)(?:us|u\.s\.|c|a|hk)\$",
    re.IGNORECASE,
)
_TOKEN = re.compile(
    r"(?P<number>(?=[\d.'])(?:\d{1,4} [1-7]/[2-8](?![\d/])|(?<![\w./])[1-7]/[2-8](?![\w/])"
    r"|\d{1,3}(?:'\d{3})+(?!\d)"
    r"|\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?(?![\d.]*\d)"
    r"|\d{1,3}(?:\.\d{3})+,\d+(?!\d)"
    r"|\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|[1-9]\d{0,2}(?: \d{3})+(?!\d| \d|[-.,:]\d)"
    r"|\d+(?:\.\d+){2,}|\d{1,3}(?::\d\d)+(?:\.\d+)?(?!\d)|'\d\d(?!\d)|\d+(?:[.,]\d+)?|\.\d+))"
    r"|(?P<dotted>(?=\w{1,3}\.)(?<!\w)(?:(?:[^\W\d_]\.){2,}(?:[^\W\d_](?!\w))?|(?:[A-Z][a-z]{0,2}\.){2,}))"
    r"|(?P<word>(?:(?<![\w+-])[A-D]{1,3}[+-](?![\w+-])|[qhQH][1-4](?!\w)|(?<![\w&])[A-Z]{1,3}&[A-Z]{1,3}(?![\w&])|[^\W\d_]+(?:'[^\W\d_]+)*(?:\+\+|\#(?!\w))?))"
    r"|(?P<sign>°\s?[cCfF](?!\w)|[$€£¥₹₩₽₺₪%‰])"
)
_THOUSANDS_COMMA = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_THOUSANDS_DOT = re.compile(r"\d{1,3}(?:(?:\.\d{3}){2,}(?:,\d+)?|(?:\.\d{3})+,\d+)")
_CURRENCY_GAPS = frozenset((" ", "", "(", " (", "-", " -"))
_ATTACHING_GAPS = frozenset(("", " ", "-", ")", ") ", " (", " - "))
_COMPOUND_GAPS = frozenset((" ", "", ". ", " and ", ", "))
_COMPOUND_BASES = frozenset(("s", "month", "m", "kg"))
_ATTACHED_SCALES = frozenset("kKMB")
_INNER_MARKS = str.maketrans("", "", "'.&")
_EXACT_DIGITS = 15
_TWO_DIGIT_PIVOT = 70


class Quantity(NamedTuple):
    """A number, with scale words multiplied in, and its unit as written.

    The unit is a lower-case unit, a currency code, ``%``, ``ord`` for ordinals, or empty.
    """

    value: float
    unit: str = ""

    def to_base(self) -> Quantity:
        """Convert to the base unit: 5 km to 5000 m, 50 bp to 0.5 %."""
        base, factor = UNITS[self.unit]
        return Quantity(self.value * factor, base)


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


def read_tokens(unified: str) -> tuple[str, list[Token]]:
    """Cut a text into words and quantities."""
    text = unified
    has = unified.lower().__contains__
    if not unified.isalnum() and any(map(has, _PARTS)) and any(map(has, _PHRASES)):
        text = _PHRASE.sub(lambda match: _PHRASES[match[0].lower()], unified)
    raw: list[Token] = []
    for match in _TOKEN.finditer(text):
        kind, found = match.lastgroup or "", match[0]
        if not found.isalpha() and kind in ("word", "dotted"):
            found = found.translate(_INNER_MARKS)
        # half the time of Token(...), once for each word of a text
        raw.append(tuple.__new__(Token, (found, *match.span(), kind, None)))
    return text, _merge(text, raw)


def read_quantity(text: str) -> Quantity | None:
    """Read a text that is one quantity and nothing else.

    Examples
    --------
    >>> read_quantity("USD 2.3bn")
    Quantity(value=2300000000.0, unit='usd')
    >>> read_quantity("ISO 9001") is None
    True
    """
    if len(text) > _MAX_QUANTITY_TEXT:
        return None
    tokens = read_tokens(unify(text))[1]
    return tokens[0].quantity if len(tokens) == 1 else None


def read_number(text: str) -> float | None:
    """Read a text that is one number, whatever its unit.

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
    text, tokens = read_tokens(unify(text))
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


_MAX_QUANTITY_TEXT = 200
_BEFORE_NUMBER = re.compile(r"""[\s("']*[-+]?[\s(]*""")
#: ``5,-`` is a whole amount of money.
_AFTER_NUMBER = re.compile(r"""(?:[.,]-)?[\s)"'.°]*""")


def _merge(text: str, raw: Sequence[Token]) -> list[Token]:
    """Join each number with the currency, scale and unit around it."""
    out: list[Token] = []
    i = 0
    while i < len(raw):
        token = raw[i]
        if token.kind == "word" and token.text.lower() not in VALUE_WORDS:
            out.append(token)
            i += 1
            continue
        token, i = _next_token(text, raw, i)
        if out and (repeated := _repeated(text, out[-1], token)):
            out[-1] = repeated
            continue
        last = -2 if len(out) > 1 and out[-1].text == "and" else -1
        if out and (joined := _compound(text, out[last], token)):
            out[last:] = [joined]
            continue
        _share_unit(text, out, token)
        out.append(token)
    return out


def _next_token(text: str, raw: Sequence[Token], i: int) -> tuple[Token, int]:
    """Read the token at `i`, with all that belongs to it; return it and the next position."""
    currency = _currency(raw[i])
    amount = i + 2 if currency and _is_sign_next(text, raw, i + 1) else i + 1
    if currency and amount < len(raw) and raw[amount].kind == "number":
        gap = text[raw[amount - 1].end : raw[amount].start]
        if gap in _CURRENCY_GAPS:
            return _quantity(text, raw, i, amount, currency)
    if raw[i].kind == "number":
        return _quantity(text, raw, i, i, "")
    if raw[i].kind == "word":
        return _number_words(text, raw, i)
    return raw[i], i + 1


def _quantity(
    text: str, raw: Sequence[Token], start: int, i: int, currency: str
) -> tuple[Token, int]:
    value = _literal(raw[i].text)
    if value is None:
        return raw[i], i + 1
    if _is_negative(text, raw, start, i):
        value = -value
    token, end = _with_unit(text, raw, start, i + 1, value, currency)
    amount = token.quantity
    if not currency and end == i + 2 and amount and amount.unit in _CONTINENTAL:  # noqa: SIM102
        if _POINTED.fullmatch(raw[i].text):  # 2.500 €: the sign behind tells that it is thousands
            token = token._replace(quantity=amount._replace(value=amount.value * 1_000))
    return token, end


def _number_words(text: str, raw: Sequence[Token], i: int) -> tuple[Token, int]:
    """Read a run of number words: ``one hundred and twenty``, ``twenty-fifth``."""
    total, current, end, unit = 0, 0, i, ""
    for j in range(i, len(raw)):
        word = raw[j].text.lower()
        if word in SMALL_NUMBERS and _extends(current, SMALL_NUMBERS[word], j > i):
            current += SMALL_NUMBERS[word]
        elif word in WORD_SCALES and j > i:
            scaled = max(current, 1) * WORD_SCALES[word]
            total, current = (total, scaled) if word == "hundred" else (total + scaled, 0)
        elif word in ORDINALS and _extends(current, ORDINALS[word], j > i):
            current, unit, end = current + ORDINALS[word], "ord", j + 1
            break
        elif not (  # one hundred and twenty
            word == "and"
            and i < j < len(raw) - 1
            and raw[j - 1].text.lower() in WORD_SCALES
            and raw[j + 1].text.lower() in SMALL_NUMBERS
        ):
            break
        end = j + 1
    if end == i:
        return raw[i], i + 1
    if unit:
        token = Token(raw[i].text, raw[i].start, raw[end - 1].end, "number",
                      Quantity(float(total + current), unit))  # fmt: skip
        return token, end
    return _with_unit(text, raw, i, end, float(total + current), "")


def _extends(current: int, value: int, started: bool) -> bool:
    """Say whether `value` may follow `current` in one number: twenty + five, hundred + twelve."""
    if not started or current == 0:
        return True
    tens = current % 100
    room = 100 if tens == 0 else 10 if tens in WHOLE_TENS else 0
    return 0 < value < room


def _with_unit(
    text: str, raw: Sequence[Token], start: int, i: int, value: float, unit: str
) -> tuple[Token, int]:
    """Multiply scale words in and take the unit or currency that follows."""
    # the g of KH-1736g is not grams
    before = text[max(0, raw[start].start - 2) : raw[start].start].removesuffix("-")[-1:]
    in_code = before.isalpha() and before not in "xX"
    while (following := _following(text, raw, i)) is not None:
        if in_code and following.start == raw[i - 1].end:
            break
        word = following.text.lower()
        attached = following.start == raw[i - 1].end and following.text in _ATTACHED_SCALES
        money = unit or attached or (i + 1 < len(raw) and _currency(raw[i + 1]))
        scale = None if word == "mm" and not money else SCALES.get(word)
        if scale is None and money:
            scale = MONEY_SCALES.get(word)
        if scale and unit != "%":
            value *= scale
        elif not unit and (found := _unit(following, text, raw, i)):
            unit = found
        elif unit in MONEY and _currency(following) == unit:
            pass
        else:
            break
        i += 1
        if unit and unit not in MONEY:
            break
    first, last = raw[start], raw[i - 1]
    return Token(text[first.start : last.end], first.start, last.end, "number",
                 Quantity(value, unit)), i  # fmt: skip


def _following(text: str, raw: Sequence[Token], i: int) -> Token | None:
    if i == len(raw) or raw[i].kind == "number":
        return None
    if i + 1 < len(raw) and raw[i].kind == "sign" and raw[i].text != "%":
        after = raw[i + 1]
        if after.kind == "number" and after.start == raw[i].end:
            return None
    return raw[i] if text[raw[i - 1].end : raw[i].start] in _ATTACHING_GAPS else None


def _unit(token: Token, text: str, raw: Sequence[Token], i: int) -> str:
    if token.text in CASED_UNITS:
        return token.text
    word = token.text.lower().replace(" ", "")
    if word == "in" and (token.end == len(text) or text[token.end] == "."):
        return "inch"
    attached = raw[i - 1].end == token.start
    if word in _ORDINAL_ENDINGS:
        return "ord" if attached else ""
    if word in CURRENCIES or word in CURRENCY_SIGNS:
        return CURRENCIES.get(word) or CURRENCY_SIGNS[word]
    if word in UNITS and (len(word) > 1 or not word.isalpha() or not token.text.isupper()):
        return word
    return ""


def _currency(token: Token) -> str:
    if token.kind == "sign":
        return CURRENCY_SIGNS.get(token.text, "")
    if token.kind == "word" and len(token.text) == len("usd"):
        return CURRENCIES.get(token.text.lower(), "")
    return ""


def _is_sign_next(text: str, raw: Sequence[Token], i: int) -> bool:
    """Say whether a currency sign follows a currency code: USD $5."""
    if i >= len(raw) or raw[i].kind != "sign" or not _currency(raw[i]):
        return False
    return raw[i - 1].kind == "word" and text[raw[i - 1].end : raw[i].start] in ("", " ")


def _is_negative(text: str, raw: Sequence[Token], start: int, i: int) -> bool:
    before, opening = _char_before(text, raw[i].start), _char_before(text, raw[start].start)
    if "-" in (before, opening):
        return _is_minus(text, raw, start if opening == "-" else i)
    if "(" not in (before, opening) or not text[raw[i].end : raw[i].end + 3].lstrip(
        " %"
    ).startswith(")"):
        return False
    if start < i or len(raw) == 1:
        return True
    amount = not raw[i].text.isdigit() and _literal(raw[i].text) is not None
    return amount and (i == 0 or text.startswith(")", raw[i].end))


def _char_before(text: str, position: int) -> str:
    return text[max(0, position - 2) : position].rstrip()[-1:]


def _is_minus(text: str, raw: Sequence[Token], i: int) -> bool:
    """Say whether the dash before token `i` is a minus and not a hyphen or a range."""
    dash = text.rfind("-", max(0, raw[i].start - 3), raw[i].start)
    if dash == 0:
        return True
    if raw[i].start - dash > 1 and i > 0:  # "up - 5": a space after the dash
        return False
    before = text[dash - 1]
    if before.isalnum() or before in ")-":
        return False
    after_number = i > 0 and raw[i - 1].kind == "number" and raw[i - 1].end == dash - 1
    return not (before == " " and after_number)


def _literal(text: str) -> float | None:
    """Read digits with separators; None for versions, clock times and over-long digit strings."""
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


def _repeated(text: str, before: Token, token: Token) -> Token | None:
    """Join a number with its repetition in parentheses: five (5) years, ten dollars ($10)."""
    one, two = before.quantity, token.quantity
    if one is None or two is None or text[before.end : token.start] != " (":
        return None
    if one.unit not in ("", two.unit) or abs(one.value) != abs(two.value):
        return None
    return token._replace(start=before.start, quantity=Quantity(one.value, two.unit))


def _compound(text: str, before: Token, token: Token) -> Token | None:
    """Join two parts of one measure, the smaller unit after the larger: 2 min 5 s, 6 ft 2 in."""
    large, small = before.quantity, token.quantity
    if large is None or small is None or text[before.end : token.start] not in _COMPOUND_GAPS:
        return None
    (base, factor), (small_base, small_factor) = UNITS[large.unit], UNITS[small.unit]
    if base != small_base or base not in _COMPOUND_BASES or not large.value.is_integer():
        return None
    if not 0 <= small.value * small_factor < factor:
        return None
    value = large.value * factor / small_factor + small.value
    return Token(text[before.start : token.end], before.start, token.end, "number",
                 Quantity(value, small.unit))  # fmt: skip


def _share_unit(text: str, out: list[Token], token: Token) -> None:
    """Give the start of a range the unit of its end: 10-15%, 5 to 10 km."""
    worded = len(out) > 1 and out[-1].text.lower() == "to"
    at = len(out) - (2 if worded else 1)
    if at < 0 or token.quantity is None or token.quantity.unit in ("", "ord"):
        return
    start = out[at]
    if start.quantity is None or start.quantity.unit:
        return
    if text[start.end : token.start].strip().lower() in ("-", "to"):
        out[at] = start._replace(quantity=start.quantity._replace(unit=token.quantity.unit))
