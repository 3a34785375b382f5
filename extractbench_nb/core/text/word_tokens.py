"""Texts prepared for comparison: canonical tokens and what is derived from them.

A token is a lower-case word in its canonical spelling, ``#5000m`` for a quantity in base units,
``#=1:03.28`` for a version, code or clock time, ``@2024-03-15`` for a date, or ``=a@b.org`` for an
address or a unit whose case counts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cached_property, lru_cache

from extractbench_nb.core.text import lexicon
from extractbench_nb.core.text.dates import MONTHS, Date, date_of, find_dates, parse_date, spell_out
from extractbench_nb.core.text.people import Person, read_people, read_person
from extractbench_nb.core.text.quantities import (
    CURRENCY_SIGNS,
    DATA,
    TWO_CASED_UNITS,
    VALUE_WORDS,
    Token,
    read_tokens,
)
from extractbench_nb.core.text.rewording import reword, words_of
from extractbench_nb.support.folding import fold, unify

# Addresses, in which each character counts; a host without a scheme by its ending.
_ADDRESS_END: str = DATA["host_endings"]
_HOST_END = re.compile(rf"\.(?=[A-Za-z]{{2}})(?:{_ADDRESS_END}|{_ADDRESS_END.upper()})(?!\w)")
_ADDRESS = re.compile(
    r"<?(?:(?:https?://(?:www\.)?|www\.)([^\s<>\"'()\[\],;]+)"
    r"|(?<![\w.])(10\.\d{4,9}/[^\s<>\"',;\[\]]+)"
    r"|(?:mailto:)?([\w.+%-]+@\w[\w-]*(?:\.[\w-]+)+)"
    rf"|(?<![\w@.-])(\w[\w-]*(?:\.\w[\w-]*)*\.(?:{_ADDRESS_END})(?![\w@-])"
    r"(?:[/?#][^\s<>\"'()\[\],;]*)?))>?",
    re.IGNORECASE,
)
_ID_ADDRESS = re.compile(
    r"(?:https?://)?(?:www\.|dx\.)?(?:(?:doi|orcid)(?:\.org/|:? ?)(?=10\.\d{4}|\d{4}-\d{4}-)"
    r"|(arxiv)\.org/(?:abs|pdf)/(?=\d))",
    re.IGNORECASE,
)
_DISGUISED = re.compile(r"\s*[(\[](?:(at)|dot)[)\]]\s*", re.IGNORECASE)
_ADDRESS_SIGN = "\u2180"  # not a letter, and in no name
SHORT_TEXT, MIDDLE_TEXT = 128, 1_024
MAX_LENGTH = 40_000

# Half of all values with digits; rewording does not change them. 20240305 is a date.
_PLAIN_NUMBER = re.compile(r"(?!(?:19|20)\d{6}\Z)(?:0|[1-9]\d{0,11})(?:\.\d{1,2})?", re.ASCII)
_PLAIN_DATE = re.compile(r"\d{4}-\d\d-\d\d(T[\d:.]+Z)?", re.ASCII)
_MONTHS = frozenset(name.encode() for name in MONTHS)
_DOTTED = re.compile(r"[^\W\d_]+\.")
_CAPITALS = re.compile(r"(?<!\w)[A-Z]{2,6}(?!\w)")
_CLOCK = re.compile(r"(?:(\d+):)?(\d+):(\d\d(?:\.\d+)?)")
_WHOLE_DIGITS = 1e15
_DECIMAL = re.compile(r"\d+\.\d+")
_OUTER_SEPARATOR = re.compile(r"[;|\n\u2022]")
_SEPARATOR = re.compile(r"[,/]| and | & ")
_RAISED = re.compile("(\\d)(?=[\u207a\u207b]?[\u00b9\u00b2\u00b3\u2070\u2074-\u2079])")
_OF_24_HOURS = re.compile(r"(?<!\d)(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(.*)", re.DOTALL)
_UNIVERSAL = re.compile(r"(?:z|utc|gmt)?(?:[+-]00:?00)?")
_UMLAUT_WORD = re.compile("\\w*[äöüÄÖÜøØåÅ]\\w*")
_TRANSLITERATED = str.maketrans(DATA["transliterated"])
#: What is not read in small letters: signs of currencies, and units whose case counts.
_CASED = TWO_CASED_UNITS | CURRENCY_SIGNS.keys()
_NO_MARKS = {code: None for code in range(128) if not chr(code).isalnum()}
_LAST_ZERO = re.compile(r"\d+\.\d*[1-9]0+|\d+\.0\d*0")
_CODE_BEFORE = re.compile(r"(?:[A-Za-z]-?|\d-\d{1,4}-)$")
_MIN_PADDED = 3
_TWICE = re.compile(r"([^()]{1,80}) \(([^()]{2,80})\)")


class Prepared:
    """One text with its canonical tokens; costlier parts are computed when first asked for."""

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self.unified = unify(raw if raw.isascii() else _RAISED.sub(r"\1^", raw.replace("º", "°")))
        self.folded = self.unified.casefold()
        if _PLAIN_NUMBER.fullmatch(self.unified):
            self.text = self.unified
            self.words: tuple[str, ...] = (_value_token(float(self.unified), ""),)
            self.tokens: tuple[str, ...] = self.words
        else:
            without, addresses = _take_addresses(self.unified)
            self.text, found = _read(without)
            is_shouting = self.unified.isupper()
            self.words, self.tokens = _canonical(self.text, found, addresses, is_shouting)
        self.bag = frozenset(self.tokens)

    @cached_property
    def dotted(self) -> frozenset[str]:
        """Words that a period follows."""
        words = (word[:-1].casefold() for word in _DOTTED.findall(self.text))
        return frozenset(lexicon.SYNONYMS.get(word, word) for word in words)

    @cached_property
    def capitals(self) -> frozenset[str]:
        """Short words written in capitals only, in a text that has small letters too."""
        words = () if self.unified.isupper() else _CAPITALS.findall(self.text)
        return frozenset(word.casefold() for word in words)

    @property
    def is_numbered(self) -> bool:
        """Whether the text is a list with numbers, which rewording replaced."""
        return self.text[:1] == ";"

    @cached_property
    def squashed(self) -> str:
        """All letters and digits of the reworded text in one run, lower case."""
        text = self.text.casefold()
        return text.translate(_NO_MARKS) if text.isascii() else "".join(filter(str.isalnum, text))

    @cached_property
    def transliterated(self) -> dict[str, str]:
        """Words with umlauts as in the tokens, with their transliterations."""
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
        """Rows of the alias table that contain the text."""
        return aliases(self.tokens)

    @cached_property
    def segments(self) -> tuple[tuple[str, ...], ...]:
        """The tokens of the parts of a list; what a colon or parenthesis joins stays together."""
        text = self.text if self.is_numbered else self.raw
        separator = _OUTER_SEPARATOR if _OUTER_SEPARATOR.search(text) else _SEPARATOR
        parts = [prepare(part).tokens for part in separator.split(text)]
        return tuple(part for part in parts if part)

    @cached_property
    def aliases_within(self) -> frozenset[int]:
        """Rows of the alias table that name a part of a short text."""
        found: set[int] = set()
        if len(self.tokens) <= _MAX_ALIAS_TEXT:
            lengths = _alias_lengths()
            for i, token in enumerate(self.tokens):
                for size in lengths.get(token, ()):
                    found |= aliases(self.tokens[i : i + size])
        return frozenset(found)

    @cached_property
    def halves(self) -> tuple[str, ...]:
        """What stands before and in parentheses: WD (Well Drained)."""
        match = _TWICE.fullmatch(self.unified)
        return match.groups() if match else ()

    @cached_property
    def person(self) -> Person | None:
        """The text as a person's name; None if it cannot be one."""
        if any(word[0] in "#@=" for word in self.words):
            return None
        return read_person(self.text, self.words)

    @cached_property
    def people(self) -> tuple[Person, ...]:
        """The text as a list of at least two names; empty if it is not one."""
        return read_people(self.text)


def prepare(text: str) -> Prepared:
    """Prepare a text, with a cache; the caches of longer texts are smaller."""
    if len(text) <= SHORT_TEXT:
        return _prepare_short(text)
    return _prepare_middle(text) if len(text) <= MIDDLE_TEXT else _prepare_long(text)


_prepare_short = lru_cache(maxsize=32_768)(Prepared)
_prepare_middle = lru_cache(maxsize=4_096)(Prepared)
_prepare_long = lru_cache(maxsize=64)(Prepared)


def aliases(tokens: Sequence[str]) -> frozenset[int]:
    """Return the rows of the alias table that name `tokens`."""
    if len(tokens) > _MAX_ALIAS_WORDS:
        return _NONE
    return _alias_index().get(" ".join(tokens), _NONE)


def is_place(tokens: Sequence[str]) -> bool:
    """Say whether `tokens` name a state or a country."""
    return any(row < len(lexicon.PLACES) for row in aliases(tokens))


_NONE: frozenset[int] = frozenset()
_MAX_ALIAS_WORDS = 12
_MAX_ALIAS_TEXT = 20
#: Preparing changes these words, and phrases that contain them.
_CHANGED_WORDS = {*lexicon.SYNONYMS, *VALUE_WORDS, "sterling"}
_CHANGED_WORDS |= {max(phrase.split(), key=len) for phrase in lexicon.PHRASES}


@lru_cache(maxsize=1)  # built once; benchmarks clear larger caches between rounds
def _alias_index() -> dict[str, frozenset[int]]:
    index: dict[str, set[int]] = {}
    for row, names in enumerate(lexicon.ALIASES):
        for name in names.split("|"):
            words: Sequence[str] = name.split(" ")
            if not name.replace(" ", "").isalpha() or not _CHANGED_WORDS.isdisjoint(words):
                words = [name] if name[0] == "#" else Prepared(name.replace("+", "plus")).tokens
            elif len(words) > 1:
                words = [word for word in words if word not in lexicon.STOP_WORDS]
            index.setdefault(" ".join(words), set()).add(row)
    return {key: frozenset(rows) for key, rows in index.items()}


@lru_cache(maxsize=1)
def _alias_lengths() -> dict[str, frozenset[int]]:
    """Map the first word of each alias to the word counts of the aliases that begin with it."""
    lengths: dict[str, set[int]] = {}
    for key in _alias_index():
        words = key.split(" ")
        lengths.setdefault(words[0], set()).add(len(words))
    return {word: frozenset(counts) for word, counts in lengths.items()}


def _take_addresses(unified: str) -> tuple[str, list[str]]:
    """Replace e-mail and web addresses by a sign, so that they are not reworded."""
    if "at)" in unified or "at]" in unified:
        unified = _DISGUISED.sub(lambda match: "@" if match[1] else ".", unified)
    if "." not in unified and "://" not in unified:
        return unified, []
    lower = unified.lower()
    if "doi" in lower or "orcid" in lower or "arxiv.org" in lower:
        unified = _ID_ADDRESS.sub(r"\1 ", unified)  # the address of a DOI is the DOI
    marked = "@" in unified or "://" in unified or ("/" in unified and "10." in unified)
    if not marked and not _HOST_END.search(unified):
        return unified, []
    found: list[str] = []

    def take(match: re.Match[str]) -> str:
        address = match[match.lastindex or 0]
        bare = address.rstrip(".:!?*")
        found.append(bare.rstrip("/").casefold())
        return f" {_ADDRESS_SIGN} {address[len(bare) :]}"

    chunks = (  # an address has no space, and a period or :// within
        _ADDRESS.sub(take, chunk) if "." in chunk[:-1] or "://" in chunk else chunk
        for chunk in unified.split(" ")
    )
    return " ".join(" ".join(chunks).split()), found


def _read(unified: str) -> tuple[str, list[Token]]:
    """Cut the text into tokens, dates first."""
    text, named = unified, False
    if plain := _PLAIN_DATE.fullmatch(unified):
        if not plain[1] and (date := parse_date(unified)):
            return text, [Token(date_token(date), 0, len(text), "date")]
    else:
        words = words_of(unified)
        text, named = reword(unified, words), not _MONTHS.isdisjoint(words)
        text = spell_out(text) if named else text
    lower = text.lower()
    spans = find_dates(lower, named=named) if len(lower) == len(text) else []
    if len(spans) <= 1 and (date := date_of(lower, spans)):
        return text, [Token(date_token(date) + _time_of_day(text), 0, len(text), "date")]
    dates = [
        Token(date_token(date) + _time_of_day(text[start:end]), start, end, "date")
        for start, end, date in spans
    ]
    return text, read_tokens(text, dates)


def _canonical(
    text: str, found: Sequence[Token], addresses: list[str], is_shouting: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Write all tokens in one form; also without stop words, unless nothing would be left."""
    synonyms, stop_words = lexicon.SYNONYMS, lexicon.STOP_WORDS
    words: list[str] = []
    tokens: list[str] = []
    for token in found:
        written, _, end, kind, _ = token
        if kind == "number":
            word = _number(token, text, bool(words) and words[-1] in lexicon.NUMBERED)
        elif kind == "date":
            word = written
        else:
            word = written.casefold()
            word = synonyms.get(word, word)
            if written in _CASED and not (kind == "word" and text[end : end + 1] == "-"):
                word = CURRENCY_SIGNS.get(written) or f"={written}"
            elif addresses and word == _ADDRESS_SIGN:
                word = "=" + addresses.pop(0)
        words.append(word)
        if word not in stop_words or not _is_stop(word, token, text, is_shouting):
            tokens.append(word)
    return tuple(words), tuple(tokens or words)


def date_token(date: Date) -> str:
    """Write a date as a token; both readings where there are two, month first."""
    readings = [(date.year, date.month, date.day)]
    if date.swapped:
        readings.append((date.year, date.day, date.month))
    return "@" + "~".join("-".join(f"{n:02d}" for n in reading if n) for reading in readings)


def _time_of_day(text: str) -> str:
    """Write the time after a date, with its zone; empty for none and for midnight."""
    match = _OF_24_HOURS.search(text)
    if match is None:
        return ""
    zone = match[5].partition("(")[0].strip(" .,;").casefold()
    zone = "" if _UNIVERSAL.fullmatch(zone) else zone
    time = f"{int(match[1]):02d}:{match[2]}:{match[3] or '00'}{(match[4] or '').rstrip('0')}"
    return "" if time == "00:00:00" else f"T{time}{zone}"


def _number(token: Token, text: str, numbered: bool) -> str:
    """Write a number as a token; `numbered`: the word before it has numbered parts."""
    written, start, end, _, quantity = token
    if written[0] == "0" and written.isdecimal() and len(written) > 1:
        before = text[max(0, start - 6) : start]
        inside = before.endswith("-") and text.startswith("-", end)
        if len(written) >= _MIN_PADDED or inside or _CODE_BEFORE.search(before):
            minus = "-" if quantity and quantity.value < 0 else ""
            return f"#={minus}{written}"  # with its zeros: 00501, A-007, 50-00-0
    if quantity is None:
        word = _written_number(written)
    else:
        word = _value_token(*(quantity.to_base() if quantity[1] else quantity))
    # as a version or section, 3.10 is not 3.1
    keeps_zeros = numbered and _LAST_ZERO.fullmatch(written) and word[1] != "-"
    return f"#={written}" if keeps_zeros else word


def _value_token(value: float, unit: str) -> str:
    if value.is_integer() and abs(value) < _WHOLE_DIGITS:
        return f"#{int(value)}{unit}"
    return f"#{value:.15g}{unit}"


def _written_number(text: str) -> str:
    """Write a number that is not a plain value: durations in seconds, versions unchanged."""
    if clock := _CLOCK.fullmatch(text):
        seconds = 3600 * int(clock[1] or 0) + 60 * int(clock[2]) + float(clock[3])
        if clock[1] or "." in clock[3]:
            return _value_token(seconds, "s" if seconds >= 60 else "")  # noqa: PLR2004
        return f"#={int(clock[2])}:{clock[3]}"
    return _value_token(float(text), "") if _DECIMAL.fullmatch(text) else "#=" + text


def _is_stop(word: str, token: Token, text: str, is_shouting: bool) -> bool:
    """Say whether a stop word is not an initial, or part of an acronym or a number."""
    if text[max(0, token.start - 1) : token.start].isdigit():
        return False
    if token.kind == "dotted":
        return False
    if len(word) == 1 and text[token.end : token.end + 1] == ".":
        return False
    if word == "a":
        return token.text == "a" or (token.start == 0 and text[1:2] == " ")
    return is_shouting or not token.text.isupper() or len(token.text) == 1


def split_quantity(token: str) -> tuple[float, str] | None:
    """Take a quantity token apart, ``#5000m`` into 5000.0 and ``m``; None for other tokens."""
    match = _QUANTITY.fullmatch(token)
    return (float(match[1]), match[2]) if match else None


_QUANTITY = re.compile(r"#(-?[\d.]+(?:e[+-]?\d+)?)(?!=)(\D*)")
