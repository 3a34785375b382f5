"""Explaining the difference between two runs of tokens.

`explain` says why two differing runs still mean the same; `conflict` says why they cannot.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from rapidfuzz.distance import OSA

from extractbench_nb.core.text import lexicon
from extractbench_nb.core.text.quantities import BARE_SYMBOLS, DATA, MONEY, UNITS
from extractbench_nb.core.text.word_tokens import Prepared, aliases, is_place, split_quantity

Run = Sequence[str]

SHORT_TOKENS = 14
_MAX_ROLE = 4
_MAX_PARTS = 12
_MAX_CONTEXT = 3
_MAX_SHORT = 3
_MAX_WORD = 60
_MIN_PLURAL = 5
_MIN_MISREAD, _MIN_SLIPPED = 5, 8
_ACRONYM_LENGTHS = range(2, 11)
_COUNTRIES = frozenset(("us", "uk"))
_JURISDICTION = frozenset("state laws law commonwealth province governed republic kingdom".split())
_INFLECTIONS = frozenset("s es ed d ing er r ly y".split())
_SPELLING = tuple((re.compile(ending), other) for ending, other in lexicon.SPELLING)
_SPELLED = re.compile("|".join(pattern.pattern for pattern, _ in _SPELLING))
#: Letters that a scanner takes for one another, each in one form.
_SHAPES: list[list[str]] = DATA["shapes"]
_LABELS = lexicon.LABELS | lexicon.ID_LABELS
#: What makes of the word before a code its label.
_ID_MARK = re.compile(r"(?<!\w)(?:(?:no|nr|num)\.|number|id|code|nr)(?!\w)|[:#]")
#: A country's code, perhaps with the 0 that some numbers keep.
_COUNTRY_CODE = re.compile(DATA["country_codes"])
_MIN_PHONE = 7
_OPPOSITES = {
    word: frozenset(w for pair in lexicon.ANTONYMS if word in pair for w in pair if w != word)
    for word in frozenset().union(*lexicon.ANTONYMS)
}


class Block(NamedTuple):
    """A difference between two texts: the tokens on either side and their start."""

    gold: tuple[str, ...]
    predicted: tuple[str, ...]
    gold_at: int
    predicted_at: int


def explain_block(block: Block, is_only: bool, a: Prepared, b: Prepared) -> str | None:
    """Explain a difference by its words, its position, or the words around it."""
    if block.gold and block.predicted:
        gold = block.gold if block.gold_at else _without_label(block.gold, a)
        predicted = block.predicted if block.predicted_at else _without_label(block.predicted, b)
        reason = explain(gold, predicted, a, b)
    elif block.gold:
        reason = _explain_extra(block.gold, block.gold_at, a, b, is_only)
    else:
        reason = _explain_extra(block.predicted, block.predicted_at, b, a, is_only)
    if reason or a.aliases_within.isdisjoint(b.aliases_within):
        return reason
    # a difference inside two names of one thing: South Korea, Republic of Korea
    i, j = block.gold_at, block.gold_at + len(block.gold)
    k, m = block.predicted_at, block.predicted_at + len(block.predicted)
    is_named = any(
        aliases(a.tokens[i - before : j + after]) & aliases(b.tokens[k - before : m + after])
        for before in range(min(i, k, _MAX_CONTEXT) + 1)
        for after in range(_MAX_CONTEXT + 1)
    )
    return "abbreviation" if is_named else None


def _without_label(run: Run, text: Prepared) -> Run:
    """Return the beginning of a text without the label before a value."""
    if run[0] not in _LABELS:
        return run
    size = len(tuple(itertools.takewhile(_LABELS.__contains__, run)))
    is_label = size < len(run) and _is_label(run[:size], 0, run[size:], text)
    return run[size:] if is_label else run


def explain(a: Run, b: Run, left: Prepared, right: Prepared) -> str | None:
    """Say why two runs mean the same."""
    if len(a) == len(b) == 1:
        return _explain_word(a[0], b[0], left, right)
    if "".join(a) == "".join(b):
        values, others = ([token for token in run if token[0] in "#@="] for run in (a, b))
        if values == others:
            return "spacing"
    if max(map(len, (*a, *b))) > _MAX_WORD:
        return None
    if (len(b) == 1 and _is_same_unit(a, b)) or (len(a) == 1 and _is_same_unit(b, a)):
        return "number"
    if _names(a) & _names(b) or _is_acronym(a, b, right) or _is_acronym(b, a, left):
        return "abbreviation"
    if len(a) == len(b):
        reasons = [_explain_word(x, y, left, right) for x, y in zip(a, b, strict=True)]
        return reasons[0] if all(reasons) else None
    return _explain_parts(a, b, left, right)


def _explain_parts(a: Run, b: Run, left: Prepared, right: Prepared) -> str | None:
    """Explain runs of different lengths part by part: EVP, CFO."""
    if len(a) > len(b):
        a, b, left, right = b, a, right, left
    is_alike = a[0][0] == b[0][0] or aliases(a[:1])
    if len(a) == 1 or len(b) > _MAX_PARTS or not is_alike:
        return None
    sizes = range(1, len(b) - len(a) + 2)
    size = next((n for n in sizes if explain(a[:1], b[:n], left, right)), 0)
    return explain(a[1:], b[size:], left, right) if size else None


def _is_same_unit(a: Run, b: Run) -> bool:
    """Say whether a number with a symbol of one letter is a quantity: 12 V."""
    if len(a) != 2 or a[1] not in BARE_SYMBOLS:  # noqa: PLR2004
        return False
    number, quantity = split_quantity(a[0]), split_quantity(b[0])
    if number is None or quantity is None or number[1]:
        return False
    base, factor = UNITS[BARE_SYMBOLS[a[1]]]
    return base == quantity[1] and math.isclose(number[0] * factor, quantity[0], rel_tol=1e-14)


def conflict(a: Run, b: Run) -> str | None:
    """Say why two runs cannot mean the same: numbers, dates, negation, opposites."""
    if a and b:
        ours, theirs = {t[0] for t in a}, {t[0] for t in b}
        if "@" in ours or "@" in theirs:
            return "different_date"
        if "#" in ours and "#" in theirs:
            return "different_number"
    if lexicon.NEGATIONS.isdisjoint(a) != lexicon.NEGATIONS.isdisjoint(b):
        return "negation"
    if any(not _OPPOSITES[x].isdisjoint(b) for x in _OPPOSITES.keys() & a):
        return "opposite"
    return "negation" if _negates(a, b) or _negates(b, a) else None


def _negates(a: Run, b: Run) -> bool:
    """Say whether a word of `a` is one of `b` with a prefix: unsecured, nonresident."""
    return any(rest in b for word in a for rest in _without_prefix(word))


@lru_cache(maxsize=65_536)
def _without_prefix(word: str) -> tuple[str, ...]:
    prefixes = filter(word.startswith, lexicon.NEGATIVE_PREFIXES)
    return tuple(word[len(p) :] for p in prefixes if len(word) - len(p) > _MAX_SHORT)


def same_quantity(a: str, b: str) -> bool:
    """Compare two quantity tokens in base units; a currency, ``ord`` or ``s`` may be missing."""
    left, right = split_quantity(a), split_quantity(b)
    if left is None or right is None:
        return False
    (x, unit), (y, other) = sorted((left, right), key=lambda quantity: quantity[1])
    if (unit, other) == ("", "m"):  # EBITDA 3.1m: metres or millions
        y, other = y * 1e6, ""
    if (unit, other) == ("", "%") and 0 < x < 1:  # three-fourths, 75 %
        x, unit = x * 100, "%"
    # whole numbers may be identifiers
    is_exact = x.is_integer() and y.is_integer()
    if not (x == y if is_exact else math.isclose(x, y, rel_tol=1e-14)):
        return False
    is_optional = other == "ord" or other in MONEY or (other == "s" and not x.is_integer())
    return unit == other or (not unit and is_optional)


def same_values(a: Prepared, b: Prepared) -> bool:
    """Say whether two texts have the same quantities and dates in the same order."""
    ours, theirs = ([t for t in text.tokens if t[0] in "#@="] for text in (a, b))
    return len(ours) == len(theirs) and all(map(same_value, ours, theirs))


def same_value(x: str, y: str) -> str | None:
    """Say why two values are equal: numbers, dates, addresses."""
    if x[0] == y[0] == "=":
        return "spacing" if x == y else None
    if x[:2] == y[:2] == "#=" and _is_same_clock(x, y):
        return "number"
    if x[0] == y[0] == "#" and (x == y or same_quantity(x, y) or _is_same_phone(x, y)):
        return "number"
    if not x[0] == y[0] == "@":
        return None
    (a, _, time), (b, _, other) = x[1:].partition("T"), y[1:].partition("T")
    if time != other and time and other:
        return None
    # where both have two readings, they are written in one order
    same = a == b if "~" in a and "~" in b else not set(a.split("~")).isdisjoint(b.split("~"))
    return "date" if same else None


def _is_same_clock(x: str, y: str) -> bool:
    """Say whether 0700 is the time of the other: 7:00."""
    digits, clock = (x[2:], y[2:]) if ":" in y else (y[2:], x[2:])
    is_clock = len(digits) == len("0700") and digits.isdecimal()
    return is_clock and f"{int(digits[:2])}:{digits[2:]}" == clock


def _is_same_phone(x: str, y: str) -> bool:
    """Say whether a phone number with a country's code, after 00, is the other without it."""
    full, national = (x, y) if x.startswith("#=00") else (y, x)
    number = national.removeprefix("#").removeprefix("=").removeprefix("0")
    if not full.startswith("#=00") or len(number) < _MIN_PHONE or national.startswith("#=00"):
        return False
    code = full[4:].removesuffix(number)
    return code != full[4:] and _COUNTRY_CODE.fullmatch(code) is not None


def _explain_extra(
    run: tuple[str, ...], start: int, text: Prepared, other: Prepared, is_only: bool
) -> str | None:
    """Explain words that only `text` has, from token `start` on."""
    is_article = run == ("a",) and other.words.count("a") == text.words.count("a")
    if is_article or lexicon.DROPPABLE.issuperset(run):
        return "punctuation"
    if lexicon.COPULAS.issuperset(run) and text.words.count("by") == other.words.count("by"):
        return "punctuation"
    if run == ("negative",) and "negative" not in text.folded:
        # a letter with a sign is read as a word in lower case, but not in capitals
        one, two = (t.unified.isupper() or t.unified.islower() for t in (text, other))
        if one != two:
            return "case"
    if "(" in text.folded and _is_said_twice(run, text, other):
        return "abbreviation"
    rest = (*text.tokens[:start], *text.tokens[start + len(run) :])
    if not rest or len(text.tokens) > SHORT_TOKENS:
        return None
    at_end = start == len(rest)
    if is_only and start > 0:
        # Inc., and also: , a Delaware corporation
        is_suffix = lexicon.LEGAL_SUFFIXES.keys() >= {*run, *rest[start:]}
        described = at_end and is_place(run[:-1]) and f", a {run[0]}" in text.folded
        if is_suffix or (described and run[-1] in lexicon.LEGAL_SUFFIXES):
            return "legal_suffix"
    titles = lexicon.HONORIFICS if start == 0 else lexicon.DEGREES if at_end else frozenset()
    if titles.issuperset(run) and len(rest) > 1 and text.person and other.person:
        return "honorific"
    if _is_label(run, start, rest, text):
        return "label"
    return "place" if _is_around_place(run, start, rest, text) else None


def _is_said_twice(run: Run, text: Prepared, other: Prepared) -> bool:
    """Say whether `run` is one half of ``Support Vector Machine (SVM)``, the rest the other."""
    plain = text.folded.replace(".", "")
    if len(run) == 1:
        rest = [word for word in text.tokens if word != run[0]]
        acronyms = [run[0]] if f"({run[0]})" in plain else []
    else:
        rest = list(run)
        acronyms = [
            token
            for token in text.bag & other.bag
            if f"({token})" in plain or f"{token} ({run[0]}" in plain
        ]
    joined, initials = "".join(rest), _initials(rest)
    for token in acronyms:
        if len(token) not in _ACRONYM_LENGTHS:
            continue
        if aliases([token]) & aliases(rest) or (len(run) == 1 and token in joined):
            return True
        letters = joined if len(run) == 1 else initials
        if token[0] in initials and _is_subsequence(token, letters):
            return True
    return False


def _is_label(run: Run, start: int, rest: Run, text: Prepared) -> bool:
    """Say whether the run names what the value is: ``Email:``, ``, as Agent``, ``Proc. of``."""
    if start == 0 and lexicon.LABELS.issuperset(run):
        is_phone = rest[0][0] == "#" and lexicon.PHONE_LABELS.issuperset(run)
        if is_phone or ":" in text.text:
            return True
    if lexicon.ID_LABELS.issuperset(run) and any(
        map(str.isdigit, "".join(rest[start : start + 2]))
    ):
        is_named = _ID_MARK.search(text.folded) or not lexicon.ID_SCHEMES.isdisjoint(run)
        if is_named and (start == 0 or rest[start][0] == "#"):
            return True
    if run[0] == "as" and 1 < len(run) <= _MAX_ROLE and start == len(rest):
        return ", as " in text.folded
    has_acronym = not text.capitals.isdisjoint(rest)
    return has_acronym and lexicon.GENERIC_VENUE.issuperset(run)


def _is_around_place(run: Run, start: int, rest: Run, text: Prepared) -> bool:
    """Say whether the run goes with a place's name: ``State of``, ``City of``, ``, USA``."""
    if _JURISDICTION.issuperset(run):
        following = [rest[start : start + size] for size in range(1, _MAX_CONTEXT + 1)]
        if any(aliases((*run, *name)) for name in following):
            return False
        named = [token for token in rest if token not in _JURISDICTION]
        return any(map(is_place, following)) or is_place(named)
    if run == ("city",) and start == 0:
        return " of " in text.folded
    if start < len(rest) or len(rest) < 2:  # noqa: PLR2004
        return False
    # behind a postal code or a state any country may be missing
    numbers = [token for token in rest if token[0] == "#"]
    has_code = (len(numbers) > 1 or numbers == [rest[0]]) and max(map(len, numbers)) >= len("#3011")
    return _COUNTRIES.issuperset(run) or ((has_code or is_place(rest[-1:])) and is_place(run))


def _names(run: Run) -> frozenset[int]:
    """Return the rows of the alias table that name `run`, with or without its country."""
    without = run[:-1] if len(run) > 1 and run[-1] in _COUNTRIES else ()
    return aliases(run) | aliases(without)


def _is_acronym(a: Run, b: Run, right: Prepared) -> bool:
    """Match an acronym with its words; generic words of a venue's name may be missing in it."""
    # single letters are joined: r, d (from R&D) to rd
    short = "".join(a) if len(a) == 1 or all(len(token) == 1 for token in a) else ""
    if len(b) == 1 or len(short) not in _ACRONYM_LENGTHS or not short.isalpha():
        return False
    named = [word for word in b if word not in lexicon.LEGAL_SUFFIXES]
    words = [word for word in named if word not in lexicon.GENERIC_VENUE]
    if short in map(_initials, (b, named, words, right.words)) and not is_place([short]):
        return True
    return bool(aliases([short]) & (aliases(words) | aliases(b)))


def _initials(words: Run) -> str:
    return "".join(word[0] for word in words)


def _is_subsequence(short: str, long: str) -> bool:
    rest = iter(long)
    return all(letter in rest for letter in short)


def _explain_word(x: str, y: str, left: Prepared, right: Prepared) -> str | None:
    if x == y:
        return "identical"
    if x[0] in "#@=" or y[0] in "#@=":
        return same_value(x, y) or ("abbreviation" if aliases([x]) & aliases([y]) else None)
    if max(len(x), len(y)) > _MAX_WORD:
        return None
    suffixes = lexicon.LEGAL_SUFFIXES
    if suffixes.get(x, x) == suffixes.get(y, y):
        return "legal_suffix"
    if _abbreviates(x, y, left) or _abbreviates(y, x, right) or aliases([x]) & aliases([y]):
        return "abbreviation"
    if left.person and right.person and y in (x + "s", x[:-1]) and "s" in (x[-1], y[-1]):
        return None
    if left.transliterated.get(x) == y or right.transliterated.get(y) == x:
        return "spelling"
    if spelling(x) == spelling(y):
        return "spelling"
    if _has_glued_stop(x, y, right) or _has_glued_stop(y, x, left):
        return "spacing"
    is_long = min(len(left.words), len(right.words)) >= SHORT_TOKENS
    return "typo" if is_long and is_damaged(x, y) else None


def _has_glued_stop(glued: str, word: str, text: Prepared) -> bool:
    """Say whether `text` has a stop word before `word` that is glued to it in the other."""
    stop = glued.removesuffix(word)
    is_stop = stop != glued and stop in lexicon.STOP_WORDS
    return is_stop and f" {stop} {word} " in f" {' '.join(text.words)} "


def _abbreviates(short: str, word: str, text: Prepared) -> bool:
    """Say whether `short` abbreviates `word`: by the table, or with a period in `text`."""
    if word in lexicon.AMBIGUOUS.get(short, ()):
        return True
    if short not in text.dotted or not abbreviates(short, word):
        return False
    return short != text.tokens[-1] or word[len(short) :] not in _INFLECTIONS


def abbreviates(short: str, word: str) -> bool:
    """Say whether a word with a period shortens `word`: a prefix, or a contraction (mfg, dept)."""
    if not 1 <= len(short) < len(word) or short[0] != word[0]:
        return False
    if word.startswith(short):
        return word[len(short) :] != "s"
    return len(short) >= _MAX_SHORT and short[-1] == word[-1] and _is_subsequence(short, word)


@lru_cache(maxsize=65_536)
def spelling(word: str) -> str:
    """Reduce a word to a key that British, American and plural spellings share."""
    if len(word) <= _MAX_SHORT or not word.isalpha():
        return word
    if _SPELLED.search(word):
        for pattern, replacement in _SPELLING:
            word = pattern.sub(replacement, word)
    if word.endswith("ies") and len(word) > _MIN_PLURAL:
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) >= _MIN_PLURAL:
        return word[:-1]
    return word


def is_damaged(x: str, y: str) -> bool:
    """Say whether two words of running text are one, with misread or slipped letters.

    Many words of the language differ by one letter (*contact*, *contract*), so this is no rule for
    short texts.
    """
    if min(len(x), len(y)) < _MIN_MISREAD or y in _OPPOSITES.get(x, ()):
        return False
    if _shape(x) == _shape(y):
        return True
    if min(len(x), len(y)) < _MIN_SLIPPED or x[:2] != y[:2] or x[-1] != y[-1]:
        return False
    return OSA.distance(x, y, score_cutoff=1) <= 1


def _shape(word: str) -> str:
    for letters, shape in _SHAPES:
        word = word.replace(letters, shape)
    return word
