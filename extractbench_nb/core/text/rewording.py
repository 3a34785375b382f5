"""Rewording of a text before its words are cut: phrases, marks, numbers and periods in one form.

A rule is a pattern, its replacement, and what a text must contain for it: most texts need none.
The rules are in ``rewording_rules.tsv``.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable, Set
from decimal import Decimal
from importlib.resources import files
from typing import Any

from extractbench_nb.core.text.dates import MONTHS
from extractbench_nb.core.text.lexicon import PHRASES
from extractbench_nb.core.text.quantities import (
    ORDINALS,
    SMALL_NUMBERS,
    UNIT_PHRASES,
    UNITS,
    phrase_replacer,
)
from extractbench_nb.support.folding import any_of

_Replacement = str | Callable[[re.Match[str]], str]
#: One of these must be in the text: words, signs, or what stands beside a digit.
_Parts = frozenset[str] | frozenset[bytes]
_Rule = tuple[_Parts, re.Pattern[str], _Replacement]

_ALWAYS = frozenset("*")
_LETTERS_AND_DIGITS = string.ascii_letters + string.digits
_MAX_ACRONYM = 4
_MAX_EXPONENT = 12
#: Characters before a mark of feet or inches in which a quotation may have begun.
_QUOTATION = 1_000
_MONTH_NUMBERS = range(1, 13)
_NORTH_AMERICAN, _NATIONAL = 11, range(9, 13)
_TENS = {"twenty": 20, "thirty": 30}
_PARTS = {"half": 2, "quarter": 4} | ORDINALS
#: Spaces for all bytes of UTF-8 that are no letter; what is not ASCII counts as one.
_LETTERS = bytes(i if chr(i).isalpha() or i > 127 else 32 for i in range(256))  # noqa: PLR2004

#: A number in brackets behind a word.
CITATION = re.compile(r"(?<=\S)\s*\[\d{1,4}(?:\s?[-,;]\s?\d{1,4})*\]")
_DEFINED_TERM = re.compile(r'\s*\((?:the|each,? an?|an?|collectively,?(?: the)?)? ?"[^"]{1,60}"\)')
ITEM = re.compile(
    r"(?:\((?<!\d\()(?:[a-h]|[ivx]{1,4}|[1-9])\)|(?:(?<!\S)(?:[1-9][.)]|[a-h]\))))(?=\s)",
    re.IGNORECASE,
)
_NUMBERINGS = ("abcdefgh", ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii"), "12345678")


def reword(text: str, words: frozenset[bytes] | None = None) -> str:
    """Rewrite set phrases and values; drop what has no meaning: citations, defined terms.

    `words` are the words of the text in lower case, if they are known.
    """
    if "[" in text or "]" in text:
        text = CITATION.sub("", _apply(_RULES["brackets"], text, _ALWAYS))
    if ") " in text or text[:2] == "1.":
        text = _number_items(text)
    if '")' in text:
        text = _DEFINED_TERM.sub("", text) or text
    words = words_of(text) if words is None else words
    is_slashed = "/" in text and _SLASH_LETTER.search(text) is not None
    if is_slashed or "$" in text or not _PHRASE_WORDS.isdisjoint(words):
        text = _replace_phrases(text, text.lower())
        words = words_of(text)
    if "'t" in text or "'T" in text:
        text = _apply(_RULES["not"], text, _ALWAYS)
    if not _WORDING_WORDS.isdisjoint(words):
        text = _apply(_RULES["words"], text, words)
    has_digits = _DIGIT.search(text) is not None
    if has_digits and not _COUNTING_WORDS.isdisjoint(words):
        text = _apply(_RULES["counts"], text, words)
    if "+" in text or "-" in text:
        text = _reword_dashes(text, has_digits)
    if _SIGN.search(text):
        text = _apply(_RULES["signs"], text, frozenset(text))
    if is_slashed:
        text = _apply(_RULES["rates"], text, frozenset("/"))
    if not text.isascii():
        text = _apply(_RULES["symbols"], text, {*text, "*"})
    if ".." in text or " of 1" in text or "/100" in text:
        text = _apply(_RULES["parts"], text, _ALWAYS)
    if beside := {match.lastgroup for match in _BESIDE_DIGIT.finditer(text)}:
        text = _apply(_RULES["values"], text, beside)
    return " ".join(text.split()) if "  " in text or text[-1:] == " " or text[:1] == " " else text


def words_of(text: str) -> frozenset[bytes]:
    """Return the words of a text in lower case, in UTF-8, which is split four times as fast."""
    return frozenset(text.lower().encode(errors="surrogatepass").translate(_LETTERS).split())


def _apply(rules: tuple[_Rule, ...], text: str, parts: Set[Any]) -> str:
    """Apply, in their order, the rules that have one of their parts in the text."""
    for needed, pattern, replacement in rules:
        if not needed.isdisjoint(parts):
            text = pattern.sub(replacement, text)
    return text


def _number_items(text: str) -> str:
    """Replace the labels of a list by numbers: (a), (b) become (1), (2).

    A text that begins with a label is the list, and its labels are separators.
    """
    labels = [label.strip("().").lower() for label in ITEM.findall(text)]
    if len(labels) < 2 or not any(labels == list(n[: len(labels)]) for n in _NUMBERINGS):  # noqa: PLR2004
        return text
    if ITEM.match(text):
        return ITEM.sub(";", text)
    numbers = iter(range(1, len(labels) + 1))
    return ITEM.sub(lambda _: f"({next(numbers)})", text)


# --- words --------------------------------------------------------------------------------------


def _versus(match: re.Match[str]) -> str:
    return " versus " if not match[1] or match.string.isupper() else match[0]


def _day_number(match: re.Match[str]) -> str:
    tens, word = match[1], match[2].lower()
    return str(_TENS.get(tens.lower() if tens else "", 0) + ORDINALS[word])


def _fraction(match: re.Match[str]) -> str:
    """Write two and three-quarters as 2 3/4."""
    whole, count, part = (word.lower() if word else "" for word in match.group(1, 2, 3))
    number = whole if whole.isdecimal() else str(SMALL_NUMBERS.get(whole, ""))
    of_percent = " of 1%" if match[4] else ""
    return f"{number} {SMALL_NUMBERS.get(count, 1)}/{_PARTS[part]}{of_percent}".lstrip()


# --- plus and minus -----------------------------------------------------------------------------

#: A sign with nothing behind that it could belong to, but not the hyphen of a divided word.
_FREE_SIGN = re.compile(r"[+-](?:(?<=\+)|(?<! .)|(?<=[(:=] .))(?![\w+-])(?!(?<=[a-z][a-z]-) [a-z])")
_DIGIT = re.compile(r"\d")
_DASH_BEFORE_DIGIT = re.compile(r"-(?: ?\d|[A-Za-z]{1,5}-?\d|(?<=\d[:.,]-))")


def _reword_dashes(text: str, has_digits: bool) -> str:
    """Write signs as words: HER2+, CD4+CD8-, HBsAg (-), SOFR+2%."""
    parts = frozenset("+-" if "+" in text else "-")
    if has_digits and _DASH_BEFORE_DIGIT.search(text):
        parts |= {"0"}
    text = _apply(_RULES["hyphens"], text, parts)
    return _apply(_RULES["dashes"], text, parts) if _FREE_SIGN.search(text) else text


def _plus(match: re.Match[str]) -> str:
    return match[1] or " plus "


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


_SIGN = re.compile("[<>=≤≥≠~≈±°^→+]")
_SLASH_LETTER = re.compile(r"/ ?[^\W\d_]|w/", re.IGNORECASE)


def _symbol(match: re.Match[str]) -> str:
    """Write a symbol as a word, with a mark that no other word has."""
    name = unicodedata.name(match[0], "").lower().replace("heavy ", "")
    return f" {''.join(filter(str.isalpha, name))}# "


# --- digits -------------------------------------------------------------------------------------


def _feet_or_inches(match: re.Match[str]) -> str:
    """Write 3' and 3" in words, unless the mark closes a quotation."""
    start = match.start()
    mark, before = match[2], match.string[max(0, start - _QUOTATION) : start]
    opened = len(re.findall(rf"(?<!\w){mark}(?=[\w$€£])", before))
    closed = len(re.findall(rf"(?<=[^\W\d]){mark}(?!\w)|[.,]{mark}", before))
    return match[0] if opened > closed else f"{match[1]} {'ft' if mark == chr(39) else 'inch'} "


def _of_24_hours(match: re.Match[str]) -> str:
    hour = int(match[1]) % 12 + (12 if match[4] in "pP" else 0)
    return f"{hour}:{match[2] or '00'}{match[3] or ''}"


def _phone_digits(match: re.Match[str]) -> str:
    """Write a phone number in digits, 00 for the plus; North America has no country code."""
    number, extension = match[1], f" ext {match[2]}" if match[2] else ""
    digits = "".join(filter(str.isdigit, number.replace("(0)", "")))
    is_foreign = number[0] == "+"
    if digits.startswith("00"):
        is_foreign, digits = True, digits[2:]
    elif number.lstrip("(")[0] == "0" and len(digits) not in _NATIONAL:
        return match[0]
    if digits[0] == "1" and len(digits) == _NORTH_AMERICAN:
        return digits[1:] + extension
    return ("00" if is_foreign else "") + digits + extension


def _percent(match: re.Match[str]) -> str:
    """Write 1 1/4 of 1% as 1.25%."""
    return f"{int(match[1] or 0) + int(match[2]) / int(match[3]):.10g}%"


def _full_range(match: re.Match[str]) -> str:
    """Write a range's end in full: 233-51, 2015-16. A year with a month is not a range."""
    start, end = match[1], match[2]
    shared = len(start) - len(end)
    if shared <= 0 or end <= start[shared:]:
        return match[0]
    if len(start) == len("2015") and int(end) in _MONTH_NUMBERS:
        return match[0]
    return f"{start}-{start[:shared]}{end}"


# --- the rules ----------------------------------------------------------------------------------

_ONES = any_of(("a", *(word for word, number in SMALL_NUMBERS.items() if 0 < number < 10)))  # noqa: PLR2004
#: What the rules name in their patterns; an amount is a number, perhaps with its currency.
_NAMED = {
    "@ones@": _ONES,
    "@months@": any_of(MONTHS),
    "@units@": any_of(filter(str.isalpha, UNITS)),
    "@amount@": rf"(?=(?:[A-Z]{{3}} ?|[$€£¥] ?)?\d|{any_of(SMALL_NUMBERS)}(?!\w))",
}


def _read_rules() -> dict[str, tuple[_Rule, ...]]:
    """Read the rules by what they are for."""
    path = files("extractbench_nb.core.text") / "rewording_rules.tsv"
    rules: dict[str, list[_Rule]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line[0] == "#":
            continue
        kind, needed, pattern, replacement = line.split("\t")
        needed = needed.replace("@ordinals@", " ".join(ORDINALS))
        pattern = pattern.replace("@ordinals@", any_of(ORDINALS))
        for name, words in _NAMED.items():
            pattern = pattern.replace(name, words)
        parts = words_of(needed) if kind in ("words", "counts") else frozenset(needed.split())
        change = globals()["_" + replacement[1:]] if replacement[:1] == "=" else replacement
        rules.setdefault(kind, []).append((parts, re.compile(pattern, re.IGNORECASE), change))
    return {kind: tuple(found) for kind, found in rules.items()}


_RULES = _read_rules()
_BESIDE_DIGIT = _RULES["beside"][0][1]
_WORDING_WORDS, _COUNTING_WORDS = (
    frozenset[bytes]().union(*(words for words, _, _ in _RULES[kind]))
    for kind in ("words", "counts")
)
_replace_phrases = phrase_replacer(UNIT_PHRASES | PHRASES)
#: One of these words, a slash or a dollar is in every text with a phrase.
_PHRASE_WORDS = frozenset(
    max(sorted(words_of(phrase), reverse=True), key=len)
    for phrase in UNIT_PHRASES | PHRASES
    if "/" not in phrase and "$" not in phrase
)
