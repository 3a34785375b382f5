"""Rewording of a text before its words are cut: phrases, marks, numbers and periods in one form.

A rule is a pattern, its replacement, and what a text must contain for it: most texts need none.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable, Set
from decimal import Decimal
from typing import Any

from extractbench_nb.core.text.lexicon import PHRASES
from extractbench_nb.core.text.quantities import UNIT_PHRASES, UNITS, phrase_replacer
from extractbench_nb.support.folding import any_of

_Replacement = str | Callable[[re.Match[str]], str]
#: One of these must be in the text: words, signs, or what stands beside a digit.
_Parts = frozenset[str] | frozenset[bytes]
_Rule = tuple[_Parts, re.Pattern[str], _Replacement]

_LETTERS_AND_DIGITS = string.ascii_letters + string.digits
_MAX_ACRONYM = 4
_MAX_EXPONENT = 12
_MONTH_NUMBERS = range(1, 13)
_NORTH_AMERICAN = 11
#: Spaces for all bytes of UTF-8 that are no letter; what is not ASCII counts as one.
_LETTERS = bytes(i if chr(i).isalpha() or i > 127 else 32 for i in range(256))  # noqa: PLR2004

#: A number in brackets behind a word.
CITATION = re.compile(r"(?<=\S)\s*\[\d{1,4}(?:\s?[-,;]\s?\d{1,4})*\]")
#: An interval that lacks an end; (5, 10) may be a list.
_INTERVAL = re.compile(r"([\[\](])( ?[+-]?[\d.]+ ?[,;] ?[+-]?(?:[\d.]+|inf\w*|∞) ?)([\[\])])")
_DEFINED_TERM = re.compile(r'\s*\((?:the|each,? an?|an?|collectively,?(?: the)?)? ?"[^"]{1,60}"\)')


_ITEM = re.compile(r"\((?<!\d\()(?:[a-h]|[ivx]{1,4}|[1-9])\)(?=\s)", re.IGNORECASE)
_NUMBERINGS = ("abcdefgh", ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii"), "12345678")


def reword(text: str, words: frozenset[bytes] | None = None) -> str:
    """Rewrite set phrases and values; drop what has no meaning: citations, defined terms.

    `words` are the words of the text in lower case, if they are known.
    """
    if "[" in text or "]" in text:
        text = CITATION.sub("", _INTERVAL.sub(_open_interval, text))
    if ") " in text:
        text = _number_items(text)
    if '")' in text:
        text = _DEFINED_TERM.sub("", text) or text
    words = words_of(text) if words is None else words
    is_slashed = "/" in text and _SLASH_LETTER.search(text) is not None
    if is_slashed or "$" in text or not _TRIGGERS.isdisjoint(words):
        text = _replace_phrases(text, text.lower())
        text = _apply(_WORDINGS, text, words_of(text))
    if "+" in text or "-" in text:
        text = _reword_dashes(text)
    if _SIGN.search(text):
        text = _apply(_SIGNS, text, frozenset(text))
    if is_slashed:
        text = _apply(_RATES, text, frozenset("/"))
    if not text.isascii():
        text = _SYMBOL.sub(_symbol, text)
    if beside := {match.lastgroup for match in _BESIDE_DIGIT.finditer(text)}:
        text = _apply(_VALUES, text, beside)
    return " ".join(text.split()) if "  " in text or text[-1:] == " " or text[:1] == " " else text


def words_of(text: str) -> frozenset[bytes]:
    """Return the words of a text in lower case, in UTF-8, which is split four times as fast."""
    return frozenset(text.lower().encode(errors="surrogatepass").translate(_LETTERS).split())


def _rule(parts: str, pattern: str, replacement: _Replacement) -> _Rule:
    return frozenset(parts.split()), re.compile(pattern, re.IGNORECASE), replacement


def _word_rule(words: str, pattern: str, replacement: _Replacement) -> _Rule:
    return words_of(words), re.compile(pattern, re.IGNORECASE), replacement


def _apply(rules: tuple[_Rule, ...], text: str, parts: Set[Any]) -> str:
    """Apply, in their order, the rules that have one of their parts in the text."""
    for needed, pattern, replacement in rules:
        if not needed.isdisjoint(parts):
            text = pattern.sub(replacement, text)
    return text


def _open_interval(match: re.Match[str]) -> str:
    """Mark the open ends of an interval with words: [5, 10) and ]5, 10]."""
    start, end = match[1] in "](", match[3] in "[)"
    if start == end and match[1] != "]":
        return match[0]
    return f"{' startopen ' if start else ''}{match[2]}{' endopen ' if end else ''}"


def _number_items(text: str) -> str:
    """Replace the labels of a list by numbers: (a), (b) and (i), (ii) become (1), (2)."""
    labels = [label[1:-1].lower() for label in _ITEM.findall(text)]
    if len(labels) < 2 or not any(labels == list(n[: len(labels)]) for n in _NUMBERINGS):  # noqa: PLR2004
        return text
    numbers = iter(range(1, len(labels) + 1))
    return _ITEM.sub(lambda _: f"({next(numbers)})", text)


# --- words --------------------------------------------------------------------------------------

_replace_phrases = phrase_replacer(UNIT_PHRASES | PHRASES)
#: In this order, by words of the text.
_WORDINGS: tuple[_Rule, ...] = (
    _word_rule("co", r"(?<!\w)(co)-(?=[a-z])", r"\1"),
    (  # the v. of a case; the V. of a person's name is an initial
        words_of("v vs"),
        re.compile(r"(?<=[\w.)]) (?:vs?|(VS?))(?:\.|(?=\s)) ?(?=[^\W\d_])"),
        lambda match: " versus " if not match[1] or match.string.isupper() else match[0],
    ),
    _word_rule(
        "t",
        r"(?<!\w)(?:(ca)|(wo)|(sha))(?=n't(?!\w))",
        lambda match: ("can", "will", "shall")[(match.lastindex or 1) - 1],
    ),
    _word_rule("t", r"(?<=[a-z])n't(?!\w)", " not"),
    _word_rule("cannot", r"(?<!\w)(can)not(?!\w)", r"\1 not"),
    _word_rule("q", r"(?<!\w)(?:([1-4])q\s?|q([1-4])\s?)'?(\d\d)(?!\w)", r"q\1\2 20\3"),
    _word_rule("fiscal", r"(?<!\w)fiscal(?= '?\d\d(?:\d\d)?(?!\w))", "fy"),
    _word_rule("fy fiscal", r"(?<!\w)FY\s?'?(\d\d)(?!\w)", r"fy 20\1"),
    _word_rule("minus negative", r"(?<!\w)(?:minus|negative) (?=[$€£¥]?\d)", "-"),
)
#: One of these words, a slash or a dollar is in every text that these and phrases are for.
_TRIGGERS = frozenset(
    max(words_of(phrase), key=len)
    for phrase in UNIT_PHRASES | PHRASES
    if "/" not in phrase and "$" not in phrase
).union(*(words for words, _, _ in _WORDINGS))

# --- plus and minus -----------------------------------------------------------------------------

# The zone of a timestamp is read with its date, and the sign of an exponent with its number.
_PLUS = re.compile(
    r"(\d{4}(?:-\d\d-\d\d)?[T ]\d\d:\d\d[\d:.]*(?: ?[A-Z]{2,4})?[+-]\d\d:?\d\d(?!\d))"
    r"|(?<![\d.][eE])(?<=[\w)%])(?: \+ |\+)(?=[\w(.$€£])"
    r"|(?<=[A-Z]{3}) ?\+(?=\d)(?!\+\d[\d ().-]{7})|(?<=:\d\d) ?\+(?=\d\d:?\d\d)"
)
#: A sign with nothing behind that it could belong to.
_FREE_SIGN = re.compile(r"[+-](?:(?<=\+)|(?<! .)|(?<=[(:=] .))(?![\w+-])")
_LONE_SIGN = re.compile(
    r"\( ?([+-]) ?\)|(?<=[:=]) ?([+-])(?=$|[,;)])|(?<=\w\))([+-])(?= ?(?:$|[,;)]))"
    r"|(?:(?<=\))|(?<=\w) )\+(?=$|[\s,;.)])"
)
_LAST_SIGN = re.compile(
    r"[+-](?<=[A-Za-z0-9].)(?![\w+-])(?:(?<=\+)|(?! ?(?:and|or|to|und|bis)\b|,))"
)
#: 1,234.56- is a negative amount; after other digits the minus is part of a code.
_MINUS_BEHIND = re.compile(r"(?<![\w.,-])(?:([$€£¥]?\d(?:[\d.,]*\d)?)|(\d[\d-]*\d))-(?=$|[,;)])")
_SIGNED_CODE = re.compile(r"(?<![^\s(])(?<!\d )-(?=[A-Za-z]{1,5}-?\d)")


def _reword_dashes(text: str) -> str:
    """Write signs as words: HER2+, CD4+CD8-, HBsAg (-), SOFR+2%."""
    if "+" in text:
        text = _PLUS.sub(lambda match: match[1] or " plus ", text)
    if text[:1] == "-" or " -" in text or "(-" in text:
        text = _SIGNED_CODE.sub("minus ", text)
    if not _FREE_SIGN.search(text):
        return text
    text = _LONE_SIGN.sub(lambda m: " positive " if "+" in m[0] else " negative ", text)
    text = _MINUS_BEHIND.sub(lambda m: f"-{m[1]}" if m[1] else f"{m[2]} minus", text)
    return _LAST_SIGN.sub(_polarity, text)


def _polarity(match: re.Match[str]) -> str:
    """Write the sign after an acronym as a word, but not the hyphen of a divided word."""
    text, sign = match.string, match[0]
    before = text[: match.start()].rstrip(_LETTERS_AND_DIGITS)
    run, joined = text[len(before) : match.start()], before[-1:]
    if (joined and (joined.isalnum() or joined in "_.+-")) or (run.isdecimal() and sign == "-"):
        return sign
    if sign == "+":
        return " plus" if run.isdecimal() else " positive"
    is_acronym = len(run) <= _MAX_ACRONYM
    if not run.isupper() or text.isupper():  # ER- or the first half of a word at a line's end
        is_acronym = is_acronym and (text.islower() or not run.islower())
        is_acronym = is_acronym and not text[match.end() :].lstrip()[:1].isalpha()
    return " negative" if is_acronym or any(map(str.isdigit, run)) else sign


# --- other signs --------------------------------------------------------------------------------


def _scaled(match: re.Match[str]) -> str:
    """Write 1.5e-3 and 1.5 x 10^-3 as decimals; large exponents are kept."""
    if abs(int(match[2])) > _MAX_EXPONENT:
        return f"{match[1] or 1} x 10 power {match[2]}"
    return f"{Decimal(match[1] or 1).scaleb(int(match[2])):f}"


def _square_or_cubic(match: re.Match[str]) -> str:
    return f" {'sq' if match[2] == '2' else 'cb'}{match[1].lower()}m"


_SIGN = re.compile("[<>=≤≥≠~≈±°^→+]")
_SLASH_LETTER = re.compile(r"/ ?[^\W\d_]")
#: In this order, by signs in the text as changed so far.
_SIGNS: tuple[_Rule, ...] = (
    (frozenset("<≤"), re.compile(r"<=|=<|≤"), " atmost "),
    (frozenset(">≥"), re.compile(r">=|≥"), " atleast "),
    (frozenset("+±"), re.compile(r"±|\+/-|\+-(?=\d)"), " plusminus "),
    (frozenset(">→"), re.compile(r"[-=]>|→"), " to "),
    (frozenset("<"), re.compile("<"), " lessthan "),
    (frozenset(">"), re.compile(">"), " morethan "),
    (frozenset("~≈"), re.compile(r"[~≈] ?(?=(?:[A-Z]{3} ?|[$€£¥])?\d)"), " approximately "),
    (
        frozenset("^"),
        re.compile(
            r"(?<![\w.,])(?:(\d+(?:\.\d+)?) ?[x*\u00b7\u22c5] ?)?10\^\+?(-?\d{1,3})(?!\w|\.\d)"
        ),
        _scaled,
    ),
    (frozenset("^"), re.compile(r"(?<=\d)\^(?=-?\d)"), " power "),
    _rule("°", r"°(?! ?[cf](?!\w)) ?", " degree "),
)
#: The same, for rates.
_RATES: tuple[_Rule, ...] = (
    (frozenset("/"), re.compile(r"(?<=[kmgKMG])(?:(b)it|([bB]))/s(?!\w)"), r"\1\2ps"),
    (frozenset("/"), re.compile(r"(\d ?(?:[A-Za-zμ]{1,4}/){1,2})d(?!\w)"), r"\1day"),
    _rule(
        "/",
        r"(?:(?<=[^\W_])|(?<=[$€£¥])) ?/ ?(?="
        + any_of([*filter(str.isalpha, UNITS), "share", "unit", "user", "person", "head", "annum"])
        + r"(?!\w))",
        " per ",
    ),
)
# Symbols that carry meaning: arrows, operators, boxes to tick, stars, sexes, suits, signals.
_SYMBOL = re.compile(
    "[\u2190-\u21ff\u2200-\u2216\u221a-\u223b\u223d-\u22c4\u22c6-\u22ff\u25a1\u25b2-\u25b5"
    "\u25bc-\u25bf\u25cb\u25ef\u2605\u2606\u2610-\u2612\u2640\u2642\u2660-\u2667\u266d-\u266f"
    "\u2705\u2713-\u2718\u274c\u274e\u27f0-\u27ff\u2900-\u297f\u2a00-\u2aff\u2b00-\u2b11"
    "\U0001f44d\U0001f44e\U0001f534\U0001f535\U0001f600-\U0001f64f\U0001f7e0-\U0001f7eb]"
)


def _symbol(match: re.Match[str]) -> str:
    """Write a symbol as a word, with a mark that no other word has."""
    name = unicodedata.name(match[0], "").lower().replace("heavy ", "")
    return f" {''.join(filter(str.isalpha, name))}# "


# --- digits -------------------------------------------------------------------------------------


def _feet_or_inches(match: re.Match[str]) -> str:
    """Write 3' and 3" in words, unless the mark closes a quotation."""
    mark, before = match[2], match.string[: match.start()]
    opened = len(re.findall(rf"(?<!\w){mark}(?=[\w$€£])", before))
    closed = len(re.findall(rf"(?<=[^\W\d]){mark}(?!\w)|[.,]{mark}", before))
    return match[0] if opened > closed else f"{match[1]} {'ft' if mark == chr(39) else 'inch'} "


def _of_24_hours(match: re.Match[str]) -> str:
    hour = int(match[1]) % 12 + (12 if match[4] in "pP" else 0)
    return f"{hour}:{match[2] or '00'}{match[3] or ''}"


def _phone_digits(match: re.Match[str]) -> str:
    """Write a phone number in digits only, without the country code of North America."""
    digits = "".join(filter(str.isdigit, match[0].replace("(0)", "")))
    return digits[1:] if digits[0] == "1" and len(digits) == _NORTH_AMERICAN else digits


def _full_range(match: re.Match[str]) -> str:
    """Write a range's end in full: 233-51, 2015-16. A year with a month is not a range."""
    start, end = match[1], match[2]
    shared = len(start) - len(end)
    if shared <= 0 or end <= start[shared:]:
        return match[0]
    if len(start) == len("2015") and int(end) in _MONTH_NUMBERS:
        return match[0]
    return f"{start}-{start[:shared]}{end}"


def _joined_code(match: re.Match[str]) -> str:
    """Write an IBAN or ISBN without spaces, if its check digit is right."""
    code = match[2].replace(" ", "").replace("-", "")
    if code[0].isalpha():
        turned = "".join(str(int(char, 36)) for char in code[4:] + code[:4])
        return code if int(turned) % 97 == 1 else match[0]
    digits = [10 if char == "X" else int(char) for char in code]
    is_right = False
    if len(code) == len("0306406152") and (match[1] or 3 in map(match[2].count, "- ")):  # noqa: PLR2004
        is_right = sum(digit * (10 - i) for i, digit in enumerate(digits)) % 11 == 0
    elif len(code) == len("9783161484100") and code.startswith(("978", "979")):
        is_right = sum(digits[::2], 3 * sum(digits[1::2])) % 10 == 0
    return code if is_right else match[0]


#: What the rules for values need beside a digit, which is looked for quickly.
_BESIDE_DIGIT = re.compile(
    r"""\d(?:(?=(?P<prime>['"])|(?P<unit> ?(?:[ap]\.?m|k?m[23]|e[+-]?\d|h ?\d))"""
    r"|(?<!\d\d)(?:(?P<code>(?:[ -]?\d){8}|\d\d(?:\) ?|[ .-])\d{3}[ .-]\d{4}"
    r"|(?<=\+.)[ .()-]{0,2}\d|(?<=0)\d{1,4}\)?[ -]\d{3,4}[ -]?\d{3})"
    r"|(?P<range>\d{2,4} ?- ?\d\d)))"
    r"|(?P<label>(?<=[orm#].)|(?<=[orm#][. ].)|(?<=[orm]\. .)))",
    re.IGNORECASE,
)
_VALUES: tuple[_Rule, ...] = (
    _rule("label", r"\b(?:no|nr|num|number)\.?\s?(?=\d)|#(?=\d)", ""),
    _rule("prime", r"""(?<![\w'])(\d+(?:\.\d+)?)(['"])(?:(?!\w)|(?=\d\d?"))""", _feet_or_inches),
    _rule("unit", r"(?<![\w.,:])(\d{1,3}) ?h ?(\d{1,2}) ?m(?![\w/²³^])", r"\1 h \2 min"),
    _rule("unit", r"(?:(?<=\d)|(?<=\d )|(?<=/)|(?<=per )) ?(k?)m([23])(?!\w)", _square_or_cubic),
    _rule(
        "unit",
        r"(?<![\w.])(\d+(?:\.\d+(?=e\d)|(?=e[+-])|\.\d+))e\+?(-?\d{1,3})(?!\w|\.\d)",
        _scaled,
    ),
    _rule(
        "unit",
        r"(?<![\w:.])(1[0-2]|0?[1-9])(?:[:.]([0-5]\d))?(:[0-5]\d)? ?"
        r"([ap])(?:\.m\.|(?-i:m|(?<![ap])M))(?!\w)",
        _of_24_hours,
    ),
    _rule(
        "code",
        r"(\b(?:ISBN(?:-1[03])?|IBAN):? ?)?(?<![\w-])(?-i:((?:\d[\d -]{8,20}"
        r"|[A-Z]{2}\d\d[ ]?[A-Z\d](?:[A-Z\d]| (?=[A-Z\d]{2})){9,38})[\dX]))(?![\w-])",
        _joined_code,
    ),
    _rule(
        "code",
        r"(?<![\w.+/-])(?:\+\d(?:[ .()-]{0,2}\d){8,13}"
        r"|(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}"
        r"|\(?0\d{1,4}\)?[ -]\d{3,4}[ -]?\d{3,4})(?![\w-]|\.\d)",
        _phone_digits,
    ),
    _rule(
        "range code", r"(\d(?<![\w.,/:-]\d)\d{2,4}) ?- ?(\d{2,4})(?![\w/:-]|[.,]\d)", _full_range
    ),
)
