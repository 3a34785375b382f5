"""Explaining the difference between two runs of tokens.

`explain` says why two differing runs still mean the same; `conflict` says why they cannot.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from rapidfuzz.distance import OSA, Levenshtein

from extractbench_nb.core.text import lexicon
from extractbench_nb.core.text.quantities import MONEY, MONEY_SCALES, UNITS, Quantity
from extractbench_nb.core.text.word_tokens import Prepared, aliases, is_place, split_quantity

SHORT_TOKENS = 14
_MAX_ROLE = 4
_MAX_CONTEXT = 3
_MAX_PLACE = 3
_COUNTRIES = frozenset(("us", "uk"))
_JURISDICTION = frozenset("state laws law commonwealth province governed republic kingdom".split())


class Block(NamedTuple):
    """A difference between two texts: the tokens on either side and their start."""

    gold: tuple[str, ...]
    predicted: tuple[str, ...]
    gold_at: int
    predicted_at: int


class Extra(NamedTuple):
    """Tokens that only one text has, their start in it, the text, and its other tokens."""

    run: tuple[str, ...]
    at: int
    text: Prepared
    rest: tuple[str, ...]
    at_end: bool


def explain_block(block: Block, blocks: Sequence[Block], a: Prepared, b: Prepared) -> str | None:
    """Explain a difference by its words, its position, or the words around it."""
    return (
        explain(block.gold, block.predicted, a, b)
        or _explain_by_place(block, blocks, a, b)
        or _explain_with_context(block, a, b)
    )


def _explain_by_place(
    block: Block, blocks: Sequence[Block], a: Prepared, b: Prepared
) -> str | None:
    """Explain extra words by their position: legal suffixes, titles, ``State of``."""
    if block.gold and block.predicted:
        return "place" if _is_before_country(block, a, b) else None
    if block.gold:
        text, run, start = a, block.gold, block.gold_at
    else:
        text, run, start = b, block.predicted, block.predicted_at
    tokens, end = text.tokens, start + len(run)
    extra = Extra(run, start, text, (*tokens[:start], *tokens[end:]), end == len(tokens))
    if not extra.rest or len(tokens) > SHORT_TOKENS:
        return None
    if len(blocks) == 1 and start > 0 and _is_suffix(extra):
        return "legal_suffix"
    if a.person and b.person and len(extra.rest) > 1:
        titles = lexicon.HONORIFICS if start == 0 else lexicon.DEGREES
        if (start == 0 or extra.at_end) and titles.issuperset(run):
            return "honorific"
    if _is_label(extra):
        return "label"
    return "place" if _is_around_place(extra) else None


def _is_before_country(block: Block, a: Prepared, b: Prepared) -> bool:
    """Say whether a difference precedes a country that one text names: Mass. / MA, USA."""
    gold, predicted = block.gold, block.predicted
    ends = (block.gold_at + len(gold), block.predicted_at + len(predicted))
    if len(gold) == len(predicted) or ends != (len(a.tokens), len(b.tokens)):
        return False
    if len(gold) > 1 and gold[-1] in _COUNTRIES:
        gold = gold[:-1]
    elif len(predicted) > 1 and predicted[-1] in _COUNTRIES:
        predicted = predicted[:-1]
    else:
        return False
    return not aliases(gold).isdisjoint(aliases(predicted))


def _is_suffix(extra: Extra) -> bool:
    """Say whether the run is a legal suffix: Inc., ``, a Delaware corporation``."""
    if extra.at_end and f", a {extra.run[0]}" in extra.text.folded and is_place(extra.run[:-1]):
        return extra.run[-1] in lexicon.LEGAL_SUFFIXES
    return all(t in lexicon.LEGAL_SUFFIXES for t in (*extra.run, *extra.rest[extra.at :]))


def _is_label(extra: Extra) -> bool:
    """Say whether the run names what the value is: ``Email:``, ``, as Agent``, ``Proc. of``."""
    if extra.at == 0 and all(t in lexicon.LABELS for t in extra.run):
        is_phone = extra.rest[0][0] == "#" and lexicon.PHONE_LABELS.issuperset(extra.run)
        if is_phone or ":" in extra.text.text:
            return True
    has_role = extra.run[0] == "as" and ", as " in extra.text.folded and extra.at_end
    if has_role and 1 < len(extra.run) <= _MAX_ROLE:
        return True
    has_acronym = any(t in extra.text.capitals for t in extra.rest)
    return has_acronym and all(t in lexicon.GENERIC_VENUE for t in extra.run)


def _is_around_place(extra: Extra) -> bool:
    """Say whether the run goes with a place's name: ``State of``, ``City of``, ``, USA``."""
    if all(t in _JURISDICTION for t in extra.run):
        end = extra.at + len(extra.run)
        following = [extra.text.tokens[end : end + size] for size in range(1, _MAX_PLACE + 1)]
        if any(aliases((*extra.run, *name)) for name in following):
            return False
        return any(map(is_place, following)) or is_place(
            [t for t in extra.rest if t not in _JURISDICTION]
        )
    if extra.run == ("city",) and extra.at == 0:
        return " of " in extra.text.folded
    is_country = len(extra.run) == 1 and extra.run[0] in _COUNTRIES
    return is_country and extra.at_end and len(extra.rest) > 1


def _explain_with_context(block: Block, a: Prepared, b: Prepared) -> str | None:
    """Explain a difference inside two names of one thing: South Korea / Republic of Korea."""
    if a.outline[0].isdisjoint(b.outline[0]):
        return None
    i, j = block.gold_at, block.gold_at + len(block.gold)
    k, m = block.predicted_at, block.predicted_at + len(block.predicted)
    named = any(
        aliases(a.tokens[i - before : j + after]) & aliases(b.tokens[k - before : m + after])
        for before in range(min(i, k, _MAX_CONTEXT) + 1)
        for after in range(_MAX_CONTEXT + 1)
    )
    return "abbreviation" if named else None


Run = Sequence[str]

_INFLECTIONS = frozenset("s es ed d ing er r ly y".split())
_SPELLING = (
    (re.compile(r"isation(s?)$"), r"ization\1"),
    (re.compile(r"(?<=..)is(e|es|ed|ing)$"), r"iz\1"),
    (re.compile(r"(?<=..)ys(e|es|ed|ing)$"), r"yz\1"),
    (re.compile(r"(?<=[a-z]{2})our(s|ed|ing|al|able|ite)?$"), r"or\1"),
    (re.compile(r"(?<=[a-z]{2})(t|b)re(s|d)?$"), r"\1er\2"),
    (re.compile(r"ogue(s?)$"), r"og\1"),
    (re.compile(r"(?<=[a-z])ll(ed|ing|er|ers)$"), r"l\1"),
    (re.compile(r"(?<=..)ence$"), "ense"),
    (re.compile(r"icence"), "icense"),
    (re.compile(r"programme"), "program"),
    (re.compile(r"ae|oe"), "e"),
)  # fmt: skip
_SPELLED = re.compile("|".join(pattern.pattern for pattern, _ in _SPELLING))
_OPPOSITES = {
    word: frozenset(w for pair in lexicon.ANTONYMS if word in pair for w in pair if w != word)
    for word in frozenset().union(*lexicon.ANTONYMS)
}
_LETTER_A = re.compile(
    rf"(?:\d[ -]?|(?<!\w)(?:{'|'.join(sorted(lexicon.DESIGNATORS))})[ -])a(?!\w)|(?<!\w)a$"
)
_ROMAN = re.compile("[ivx]+")
_UMLAUT = re.compile("(?<=[aou])e")
_OCR = (("rn", "m"), ("nn", "rm"), ("m", "rn"), ("vv", "w"), ("cl", "d"), ("1", "i"), ("l", "i"),
        ("0", "o"), ("c", "e"), ("v", "y"))  # fmt: skip
_MAX_SHORT = 3
_MIN_ACRONYM, _MAX_ACRONYM = 2, 10
_MAX_WORD = 60
_MIN_PLURAL = 5
_MIN_GLUED = 2
_MAX_SPLIT = 8
_MAX_CROSSED = 200
_MIN_OCR = 5
_MIN_TYPO = 8
_GLUED_STOPS = lexicon.STOP_WORDS - {"a"}
_CASELESS = frozenset("lw")
_UNIT_LETTERS = 2


def explain(a: Run, b: Run, left: Prepared, right: Prepared) -> str | None:
    """Say why two runs mean the same."""
    if max(map(len, (*a, *b))) > _MAX_WORD:
        return _same_joined(a, b)
    if not a or not b:
        texts = (left, right) if a else (right, left)
        return _explain_extra(a or b, *texts)
    if len(a) == len(b) == 1:
        return _explain_word(a[0], b[0], left, right)
    return (
        _same_joined(a, b)
        or _same_values(a, b)
        or _same_unit_letter(a, b, left, right)
        or ("abbreviation" if aliases(a) & aliases(b) else None)
        or _acronym(a, b, left, right)
        or _pairwise(a, b, left, right)
        or _split_in_two(a, b, left, right)
    )


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
    crossed = len(a) * len(b) <= _MAX_CROSSED and (_has_negated(a, b) or _has_negated(b, a))
    return "negation" if crossed else None


def _has_negated(a: Run, b: Run) -> bool:
    """Say whether a word of `a` is one of `b` with a negating prefix."""
    prefixes = lexicon.NEGATIVE_PREFIXES
    prefixed = [word for word in a if word.startswith(prefixes)]
    rests = [w[len(p) :] for w in prefixed for p in prefixes if w.startswith(p)]
    return any(len(rest) > _MAX_SHORT and rest in b for rest in rests)


def _is_negated(a: str, b: str) -> bool:
    """Say whether one word is the other with a negating prefix: (un)secured."""
    if a[-1] != b[-1]:
        return False
    short, long = (a, b) if len(a) < len(b) else (b, a)
    prefix = long.removesuffix(short)
    return len(short) > _MAX_SHORT and prefix in lexicon.NEGATIVE_PREFIXES and prefix != long


def same_quantity(a: str, b: str) -> bool:
    """Compare two quantity tokens in base units; a currency, ``ord`` or ``s`` may be missing."""
    left, right = split_quantity(a), split_quantity(b)
    if left is None or right is None:
        return False
    if {left[1], right[1]} == {"", "m"}:  # EBITDA 3.1m: metres or millions
        metres, number = (left[0], right[0]) if left[1] else (right[0], left[0])
        return _is_close(metres * 1e6, number)
    if not _is_close(left[0], right[0]):
        return False
    if left[1] == right[1]:
        return True
    unit = left[1] or right[1]
    if "" not in (left[1], right[1]):
        return False
    return unit == "ord" or unit in MONEY or (unit == "s" and not left[0].is_integer())


def same_values(a: Prepared, b: Prepared) -> bool:
    """Say whether two texts have the same quantities and dates in the same order."""
    ours, theirs = _values(a.tokens), _values(b.tokens)
    return ours == theirs or (len(ours) == len(theirs) and all(map(_same_value, ours, theirs)))


def _is_close(x: float, y: float) -> bool:
    """Compare two values; whole numbers exactly, because they may be identifiers."""
    if x.is_integer() and y.is_integer():
        return x == y
    return math.isclose(x, y, rel_tol=1e-14)


def _explain_extra(run: Run, text: Prepared, other: Prepared) -> str | None:
    """Explain words that only `text` has: fillers, repetitions, its own acronym."""
    if all(_is_filler(token, text, other) for token in run):
        return "punctuation"
    if tuple(run) == ("negative",) and "negative" not in text.folded:
        # a letter with a sign is read as a word in lower case, but not in capitals
        one, two = (t.unified.isupper() or t.unified.islower() for t in (text, other))
        if one != two:
            return "case"
    if all(map(_is_glued_stops, run)):
        return "spacing"
    is_acronym = len(run) == 1 and _is_own_acronym(run[0], text)
    return "abbreviation" if is_acronym or _is_spelled_out(run, text, other) else None


def _is_filler(token: str, text: Prepared, other: Prepared) -> bool:
    """Say whether a word may be left out, or repeats one that both texts have."""
    if token in lexicon.DROPPABLE and not (token == "a" and _LETTER_A.search(text.folded)):
        return True
    if len(token) <= _MAX_SHORT or not token.isalpha() or token in lexicon.MEANINGFUL:
        return False
    return 1 <= other.tokens.count(token) < text.tokens.count(token)


def _is_own_acronym(token: str, text: Prepared) -> bool:
    """Say whether `token` in parentheses abbreviates the text: Support Vector Machine (SVM)."""
    if "(" not in text.folded or not _MIN_ACRONYM <= len(token) <= _MAX_ACRONYM:
        return False
    if f"({token})" not in text.folded.replace(".", ""):
        return False
    rest = [word for word in text.tokens if word != token]
    joined = "".join(rest)
    if token in joined or aliases([token]) & aliases(rest):
        return True
    return token[0] in _initials(rest) and _is_subsequence(token, joined)


def _is_spelled_out(run: Run, text: Prepared, other: Prepared) -> bool:
    """Say whether `run` spells out an acronym that both texts have, next to it in parentheses."""
    if len(run) == 1 or "(" not in text.folded:
        return False
    letters, plain = _initials(run), text.folded.replace(".", "")
    return any(
        (f"({token})" in plain or f"{token} ({run[0]}" in plain) and not _ROMAN.fullmatch(token)
        for token in text.bag & other.bag
        if _MIN_ACRONYM <= len(token) <= _MAX_ACRONYM and _is_subsequence(token, letters)
    )


def _is_subsequence(short: str, long: str) -> bool:
    rest = iter(long)
    return all(letter in rest for letter in short)


def _is_glued_stops(token: str) -> bool:
    places = range(_MIN_GLUED, len(token) - _MIN_GLUED + 1)
    return any(token[:i] in lexicon.STOP_WORDS and token[i:] in lexicon.STOP_WORDS for i in places)


def _same_unit_letter(a: Run, b: Run, left: Prepared, right: Prepared) -> str | None:
    """Read 3 H as hours, and 12B not as billions, if only one text is in capitals."""
    if len(a) < len(b):
        a, b = b, a
    if len(a) != 2 or len(b) != 1:  # noqa: PLR2004
        return None
    one, other = left.unified, right.unified
    # more than one letter must show that just one text is in capitals
    cased = one.isupper() != other.isupper() and sum(map(str.isalpha, one)) > _UNIT_LETTERS
    if not (cased or a[1] in _CASELESS):
        return None
    number, joined = split_quantity(a[0]), split_quantity(b[0])
    if number is None or joined is None or number[1]:
        return None
    readings = [Quantity(number[0] * MONEY_SCALES.get(a[1], 1))]
    if a[1] in UNITS:
        readings.append(Quantity(number[0], a[1]).to_base())
    return "case" if joined in readings else None


def _same_joined(a: Run, b: Run) -> str | None:
    x, y = "".join(a), "".join(b)
    if x != y:
        short, long = (x, y) if len(x) < len(y) else (y, x)
        if len(a) == len(b) or len(short) <= _MAX_SHORT:
            return None
        # one run glued a stop word to a word: ofthe proceeds, policyis
        starts = long.startswith(short) and long[len(short) :] in _GLUED_STOPS
        if not starts and not (long.endswith(short) and long[: -len(short)] in _GLUED_STOPS):
            return None
    return "spacing" if _values(a) == _values(b) else None


def _values(run: Run) -> list[str]:
    return [token for token in run if token[0] in "#@="]


def _same_values(a: Run, b: Run) -> str | None:
    if len(a) != len(b):
        return None
    last = _same_value(a[-1], b[-1])
    return last if last and all(map(_same_value, a, b)) else None


def _same_value(x: str, y: str) -> str | None:
    if x[0] == y[0] == "=":
        return "spacing" if x == y else None
    if x[0] == y[0] == "#" and (x == y or same_quantity(x, y)):
        return "number"
    if not x[0] == y[0] == "@":
        return None
    (a, _, time), (b, _, other) = x[1:].partition("T"), y[1:].partition("T")
    if time != other and time and other:
        return None
    # where both have two readings, they are written in one order
    same = a == b if "~" in a and "~" in b else not set(a.split("~")).isdisjoint(b.split("~"))
    return "date" if same else None


def _acronym(a: Run, b: Run, left: Prepared, right: Prepared) -> str | None:
    """Match an acronym with its words; generic words of a venue's name may be missing in it."""
    if len(a) > 1 < len(b) and len(a[0]) > 1 < len(b[0]):
        return None
    # single letters are joined: r, d (from R&D) to rd
    a, b = ((["".join(run)] if all(len(t) == 1 for t in run) else run) for run in (a, b))
    if len(b) == 1:
        a, b, right = b, a, left
    if len(a) != 1 or len(b) == 1 or not a[0].isalpha():
        return None
    if not _MIN_ACRONYM <= len(a[0]) <= _MAX_ACRONYM:
        return None
    named = [word for word in b if word not in lexicon.LEGAL_SUFFIXES]
    words = [word for word in named if word not in lexicon.GENERIC_VENUE]
    by_letters = (_initials(b), _initials(named), _initials(words), _initials(right.words))
    if a[0] in by_letters and not is_place(a):
        return "abbreviation"
    return "abbreviation" if aliases(a) & (aliases(words) | aliases(b)) else None


def _initials(words: Run) -> str:
    return "".join(word[0] for word in words)


def _pairwise(a: Run, b: Run, left: Prepared, right: Prepared) -> str | None:
    """Explain word by word, or by a space and a misread letter."""
    if len(a) == len(b):
        first = _explain_word(a[0], b[0], left, right)
        rest = zip(a[1:], b[1:], strict=True)
        return first if first and all(_explain_word(x, y, left, right) for x, y in rest) else None
    x, y = "".join(a), "".join(b)
    if min(len(x), len(y)) < _MIN_TYPO or _values(a) != _values(b):
        return None
    return same_word(x, y)


def _split_in_two(a: Run, b: Run, left: Prepared, right: Prepared) -> str | None:
    """Explain two short runs part by part, where each part begins with the same letter."""
    if len(a) + len(b) > _MAX_SPLIT or min(len(a), len(b)) == 1:
        return None
    reasons = (
        explain(a[i:], b[j:], left, right)
        for i in range(1, len(a))
        for j in range(1, len(b))
        if a[i][0] == b[j][0] and explain(a[:i], b[:j], left, right)
    )
    return next(filter(None, reasons), None)


def _explain_word(x: str, y: str, left: Prepared, right: Prepared) -> str | None:
    if x == y:
        return "identical"
    if x[0] in "#@=" or y[0] in "#@=":
        return _same_value(x, y) or ("abbreviation" if aliases([x]) & aliases([y]) else None)
    suffixes = lexicon.LEGAL_SUFFIXES
    if suffixes.get(x, x) == suffixes.get(y, y):
        return "legal_suffix"
    if _abbreviates(x, y, left) or _abbreviates(y, x, right) or aliases([x]) & aliases([y]):
        return "abbreviation"
    if left.person and right.person and y in (x + "s", x[:-1]) and "s" in (x[-1], y[-1]):
        return None
    reason = same_word(x, y)
    if left.transliterated.get(x) == y or right.transliterated.get(y) == x:
        reason = "spelling"
    elif _has_glued_stop(x, y, right) or _has_glued_stop(y, x, left):
        reason = "spacing"
    return reason


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
def same_word(x: str, y: str) -> str | None:
    """Say whether two words are one: spelling variants, plurals, misread or slipped letters."""
    if spelling(x) == spelling(y):
        return "spelling"
    if _is_negated(x, y) or y in _OPPOSITES.get(x, ()):
        return None
    if min(len(x), len(y)) >= _MIN_OCR and _misread(x, y):
        return "typo"
    if min(len(x), len(y)) >= _MIN_TYPO - 1 and _slipped(x, y):
        return "typo"
    return None


@lru_cache(maxsize=65_536)
def spelling(word: str) -> str:
    """Reduce a word to a key that British, American and plural spellings share."""
    if len(word) <= _MAX_SHORT or not word.isalpha():
        return word
    if _SPELLED.search(word):
        for pattern, replacement in _SPELLING:
            word = pattern.sub(replacement, word)
    word = _UMLAUT.sub("", word)
    if word.endswith("ies") and len(word) > _MIN_PLURAL:
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) >= _MIN_PLURAL:
        return word[:-1]
    return word


def garbled(x: str, y: str) -> bool:
    """Say whether one inner letter of a long word was misread."""
    if min(len(x), len(y)) < _MIN_TYPO or _is_negated(x, y) or y in _OPPOSITES.get(x, ()):
        return False
    same_ends = x[:2] == y[:2] and x[-1] == y[-1]
    return same_ends and Levenshtein.distance(x, y, score_cutoff=1) <= 1


def _misread(x: str, y: str) -> bool:
    """Say whether two words differ by one confusion of similar letter shapes, in either way."""
    if Levenshtein.distance(x, y, score_cutoff=2) > 2:  # noqa: PLR2004
        return False
    return any(
        one[:i] + new + one[i + len(old) :] == other
        for old, new in _OCR
        for one, other in ((x, y), (y, x))
        for i in range(len(one))
        if one.startswith(old, i)
    )


def _slipped(x: str, y: str) -> bool:
    """Say whether one inner letter was dropped, doubled or swapped with its neighbour."""
    if x[:2] != y[:2] or x[-2:] != y[-2:]:
        return False
    if len(x) == len(y):
        return OSA.distance(x, y, score_cutoff=1) == 1 < Levenshtein.distance(x, y)
    return abs(len(x) - len(y)) == 1 and Levenshtein.distance(x, y, score_cutoff=1) == 1
