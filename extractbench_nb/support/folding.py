"""Text normalisation shared by metrics and judges. Pure functions that accept any ``str``.

Ligatures, width variants and superscripts are folded by Unicode NFKC; dashes, quotes and invisible
characters by the tables below; words split by a line break in a PDF are joined.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import urlsplit

_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2212\ufe58\ufe63\uff0d"
_SINGLE_QUOTES = "\u2018\u2019\u201a\u201b\u2032\u02bc\u0060\u00b4\u2039\u203a"
_DOUBLE_QUOTES = "\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb"
_INVISIBLE = "\u00ad\u200b\u200c\u200d\u2060\ufeff\u200e\u200f"
_DROPPED_MARKS = "\u00ae\u00a9\u2122\u2120"
_PLAIN_LETTERS = {
    "ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "đ": "d", "Đ": "D", "ð": "d", "Ð": "D",
    "þ": "th", "Þ": "Th", "æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe", "ı": "i", "ħ": "h",
    "ŀ": "l", "ß": "ss", "ẞ": "SS", "×": "x", "÷": "/", "\u2044": "/",
}  # fmt: skip
_VARIANTS = str.maketrans(
    dict.fromkeys(_DASHES, "-")
    | dict.fromkeys(_SINGLE_QUOTES, "'")
    | dict.fromkeys(_DOUBLE_QUOTES, '"')
    | dict.fromkeys(_INVISIBLE + _DROPPED_MARKS)
    | _PLAIN_LETTERS
)
_BROKEN_WORD = re.compile(r"(?<=[^\W\d_])-[ \t]*\r?\n\s*(?=[^\W\d_A-Z])")
_ACCENT = re.compile("[\u0300-\u0337\u0339-\u036f]+")  # the solidus of ≠ is not an accent
_FRACTION = re.compile("(\\d)(?=[\u00bc-\u00be\u2153-\u215e])")
_NOT_ASCII = re.compile("[^\x00-\x7f]")
_PUNCTUATION = re.compile(r"[^\w\s]|_")
_ASCII_PUNCTUATION = {code: " " for code in range(128) if not chr(code).isalnum()}


def any_of(words: Iterable[str]) -> str:
    """Return a pattern of `words`, grouped by first letter, so that mismatches fail quickly."""
    groups: dict[str, list[str]] = {}
    for word in sorted(words, key=len, reverse=True):
        groups.setdefault(word[0], []).append(re.escape(word[1:]))
    return "(?:" + "|".join(f"{re.escape(a)}(?:{'|'.join(b)})" for a, b in groups.items()) + ")"


def unify(text: str) -> str:
    """Unify differences in writing only: Unicode form, accents, dashes, quotes, line breaks.

    Case, punctuation and marks outside the Latin range (Japanese voicing) are kept.
    """
    if "\n" in text:
        text = _BROKEN_WORD.sub("", text)
    if not text.isascii():
        plain = {char: _unify_character(char) for char in set(_NOT_ASCII.findall(text))}
        if all(map(str.isascii, plain.values())):  # no neighbours can combine
            for char, mapped in plain.items():
                text = text.replace(char, mapped)
        else:
            text = _compose(_FRACTION.sub(r"\1 ", text))
    if "`" in text:
        text = text.replace("`", "'")
    return " ".join(text.split())


@lru_cache(maxsize=2_048)
def _unify_character(character: str) -> str:
    return character if _FRACTION.match("1" + character) else _compose(character)


def _compose(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.translate(_VARIANTS))
    return unicodedata.normalize("NFC", _ACCENT.sub("", decomposed)).translate(_VARIANTS)


def fold(text: str) -> str:
    """Return `text` unified and casefolded."""
    return unify(text).casefold()


def strip_punctuation(text: str) -> str:
    """Replace punctuation and symbols by spaces, and collapse the spaces."""
    spaced = text.translate(_ASCII_PUNCTUATION) if text.isascii() else _PUNCTUATION.sub(" ", text)
    return " ".join(spaced.split())


def normalize(text: str) -> str:
    """Return `text` folded and without punctuation, unless it is nothing but punctuation."""
    folded = fold(text)
    return strip_punctuation(folded) or folded


def normalize_value(text: str) -> str:
    """Return `text` folded and without punctuation, except for marks that make another value.

    These are signs of currency and mathematics (``$``, ``<``, ``+``), percent and degree signs,
    ``.,:/`` between digits, ``#`` after a word, and ``-`` before a digit or at the end (``-5``,
    ``BBB-``). A text of nothing but punctuation is kept.

    Examples
    --------
    >>> normalize_value("P<0.05, n=12 (state-of-the-art)")
    'p < 0.05 n = 12 state of the art'
    """
    folded = fold(text)
    return " ".join(_MARK.sub(_meant, folded).split()) or folded or text.strip()


_MARK = re.compile(
    r"(?P<attached>(?<=\d)[.,:/](?=\d)|(?<!\w)-(?=[^\w\s]?\d)|(?<=\w)-(?=[),;\]]|\Z))"
    r"|(?P<symbol>[%\u2030\u00b0]|(?<=\w)#)|[^\w\s]|_"
)


def _meant(match: re.Match[str]) -> str:
    """Keep a mark that makes another value; any other becomes a space."""
    mark = match.group()
    if match["attached"]:
        return mark
    is_symbol = match["symbol"] or (mark != "|" and unicodedata.category(mark) in ("Sc", "Sm"))
    return f" {mark} " if is_symbol else " "


_PLACEHOLDERS = frozenset(
    ("na", "n/a", "n.a.", "n.a", "none", "null", "nil", "nan", "unknown", "undefined", "tbd", "tba",
     "tbc", "todo", "not available", "not applicable", "not specified", "not provided",
     "not stated", "not mentioned", "not found", "-", "--", "---", "?", "??", "xxx",
     "lorem ipsum", "empty")
)  # fmt: skip
_LONGEST_PLACEHOLDER = 20


def is_placeholder(text: str) -> bool:
    """Say whether a text is a placeholder: ``NA``, ``unknown``, ``-``."""
    return len(text) <= _LONGEST_PLACEHOLDER and fold(text).replace("_", " ") in _PLACEHOLDERS


_DEFAULT_PORTS = {"http": 80, "https": 443}


def normal_url(text: str) -> str:
    """Return a web address without scheme, ``www.``, default port and last slash.

    Examples
    --------
    >>> normal_url("HTTPS://www.Example.com:443/a/")
    'example.com/a'
    """
    stripped = text.strip()
    has_scheme = stripped[:8].lower().startswith(("http://", "https://"))
    try:
        parts = urlsplit(stripped if has_scheme else f"http://{stripped}")
        port = parts.port
    except ValueError:
        return stripped.rstrip("/")
    host = (parts.hostname or "").removeprefix("www.")
    if port is not None and port != _DEFAULT_PORTS.get(parts.scheme):
        host = f"{host}:{port}"
    query = f"?{parts.query}" if parts.query else ""
    fragment = f"#{parts.fragment}" if parts.fragment else ""
    return f"{host}{parts.path.rstrip('/')}{query}{fragment}"
