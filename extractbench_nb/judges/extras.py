"""Extra words that only one of two texts has, explained by where they stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from extractbench_nb.judges.lexicon import (
    DEGREES,
    GENERIC_VENUE,
    HONORIFICS,
    LABELS,
    LEGAL_SUFFIXES,
    PHONE_LABELS,
)
from extractbench_nb.judges.tokens import Prepared, aliases, is_place

SHORT_TOKENS = 14
_MAX_ROLE = 4
_MAX_CONTEXT = 3
_MAX_PLACE = 3
_COUNTRIES = frozenset(("us", "uk"))
_JURISDICTION = frozenset("state laws law commonwealth province governed republic kingdom".split())


class Block(NamedTuple):
    """A place where the texts differ: the tokens on either side and where they start."""

    gold: tuple[str, ...]
    predicted: tuple[str, ...]
    gold_at: int
    predicted_at: int


class Extra(NamedTuple):
    """Tokens that only one text has, where they start in it, and the text."""

    run: tuple[str, ...]
    at: int
    text: Prepared

    @property
    def rest(self) -> tuple[str, ...]:
        """The text's other tokens."""
        return (*self.text.tokens[: self.at], *self.text.tokens[self.at + len(self.run) :])

    @property
    def at_end(self) -> bool:
        """True if nothing follows."""
        return self.at + len(self.run) == len(self.text.tokens)


def explain_by_place(block: Block, blocks: Sequence[Block], a: Prepared, b: Prepared) -> str | None:
    """Explain extra words by where they stand: legal suffixes, titles, ``State of``."""
    if block.gold and block.predicted:
        return _explain_before_country(block, a, b)
    extra = (
        Extra(block.gold, block.gold_at, a)
        if block.gold
        else Extra(block.predicted, block.predicted_at, b)
    )
    if not extra.rest or len(extra.text.tokens) > SHORT_TOKENS:
        return None
    if _is_suffix(extra, len(blocks)):
        return "legal_suffix"
    if _is_title(extra) and (a.person and b.person):
        return "honorific"
    if _is_label(extra):
        return "label"
    return "place" if _is_around_place(extra) else None


def _explain_before_country(block: Block, a: Prepared, b: Prepared) -> str | None:
    """Explain a difference before a country that only one text names: Mass. / MA, USA."""
    gold, predicted = block.gold, block.predicted
    if len(gold) == len(predicted):
        return None
    if block.gold_at + len(gold) != len(a.tokens):
        return None
    if block.predicted_at + len(predicted) != len(b.tokens):
        return None
    if len(gold) > 1 and gold[-1] in _COUNTRIES:
        gold = gold[:-1]
    elif len(predicted) > 1 and predicted[-1] in _COUNTRIES:
        predicted = predicted[:-1]
    else:
        return None
    return "place" if aliases(gold) & aliases(predicted) else None


def _is_suffix(extra: Extra, blocks: int) -> bool:
    """Say whether the run is a legal suffix, and the only thing the other text leaves out."""
    if extra.at == 0 or blocks > 1:
        return False
    if extra.at_end and f", a {extra.run[0]}" in extra.text.folded and is_place(extra.run[:-1]):
        return extra.run[-1] in LEGAL_SUFFIXES
    return all(t in LEGAL_SUFFIXES for t in (*extra.run, *extra.rest[extra.at :]))


def _is_title(extra: Extra) -> bool:
    if len(extra.rest) == 1:
        return False
    if extra.at == 0:
        return all(t in HONORIFICS for t in extra.run)
    return extra.at_end and all(t in DEGREES for t in extra.run)


def _is_label(extra: Extra) -> bool:
    """Say whether the run names what the value is: ``Email:``, ``, as Agent``, ``Proc. of``."""
    if extra.at == 0 and all(t in LABELS for t in extra.run):
        called = extra.rest[0][0] == "#" and PHONE_LABELS.issuperset(extra.run)
        if called or ":" in extra.text.text:
            return True
    if (
        extra.run[0] == "as"
        and ", as " in extra.text.folded
        and 1 < len(extra.run) <= _MAX_ROLE
        and extra.at_end
    ):
        return True
    known = any(t in extra.text.capitals for t in extra.rest)
    return known and all(t in GENERIC_VENUE for t in extra.run)


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
    return (
        extra.at_end and len(extra.rest) > 1 and extra.run[0] in _COUNTRIES and len(extra.run) == 1
    )


def explain_with_context(block: Block, a: Prepared, b: Prepared) -> str | None:
    """Explain a difference inside two names of one thing: South Korea / Republic of Korea."""
    if not a.rows & b.rows:
        return None
    for before in range(min(block.gold_at, block.predicted_at, _MAX_CONTEXT) + 1):
        for after in range(_MAX_CONTEXT + 1):
            gold = _widened(a.tokens, block.gold_at, block.gold, before, after)
            predicted = _widened(b.tokens, block.predicted_at, block.predicted, before, after)
            if aliases(gold) & aliases(predicted):
                return "abbreviation"
    return None


def _widened(
    tokens: tuple[str, ...], at: int, run: tuple[str, ...], before: int, after: int
) -> tuple[str, ...]:
    return tokens[at - before : at + len(run) + after]
