"""How telling it is that a value stands in a document: how seldom it would by chance."""

from __future__ import annotations

import math
from functools import lru_cache

from extractbench_nb._tokens import gpt2
from extractbench_nb.evidence.amounts import amount_of, spellings
from extractbench_nb.evidence.days import date_of
from extractbench_nb.evidence.index import DocumentIndex
from extractbench_nb.evidence.numbers import shape_of
from extractbench_nb.evidence.texts import UNSPACED
from extractbench_nb.metrics.dates import Date

__all__ = ["expected_by_chance", "telling"]

#: A document of some twenty pages: a shorter one is taken to be as long.
_WORDS, _NUMBERS, _DATES = 10_000, 1_000, 10
_YEARS_IN_USE, _MONTHS, _DAYS = 20, 12, 365
_YEARS_OF_DATES = 10
#: What each token after the first one tells, as a share: words do not come independently.
_FOLLOWING = 0.5
_BYTES, _RANK_OF_BYTE = 256, 100
_HARMONIC = math.log(50_000) + 0.5772
#: Chinese characters carry some 9.6 bits each.
_NATS_OF_CHARACTER = 6.6
_LONGEST = 400


def telling(value: str | float, index: DocumentIndex) -> float:
    r"""Say how telling it is that a value stands in a document.

    Parameters
    ----------
    value : str, int or float
        The value.
    index : DocumentIndex
        The document.

    Returns
    -------
    float
        In (0, 1]; near 0 for what stands in any document.

    Notes
    -----
    :math:`1 / (1 + \lambda)`, where :math:`\lambda` is how often the value would stand by chance
    in another document like this one (see `expected_by_chance`). If the value truly stands there
    once, this is the share of places that are not chance.
    """
    return 1 / (1 + expected_by_chance(value, index))


def expected_by_chance(value: str | float, index: DocumentIndex) -> float:
    r"""Estimate how often a value would stand by chance in another document like this one.

    Parameters
    ----------
    value : str, int or float
        The value.
    index : DocumentIndex
        The document.

    Returns
    -------
    float
        0 and up.

    Notes
    -----
    Nothing is learned from any dataset. All counts are those of the document, but at least 10,000
    words, 1,000 numbers and 10 dates.

    *Numbers.* Numbers with the same count of significant digits and the same order of magnitude
    are taken to be equally likely: of :math:`n` numbers with :math:`k` digits, :math:`n / (81
    \cdot 10^{k-2})` would have these very digits (:math:`n / 9` where :math:`k = 1`). Zeros at the
    end are not significant, so round numbers tell less. Years are one class, of twenty years in
    use. The scales in which a number may be written (`spellings`) are added up.

    *Dates.* The dates of a document are taken to be spread over ten years; years over twenty.

    *Texts.* The words :math:`N` of the document, times the probability of the text by Zipf's law
    (Zipf 1949): a token of rank :math:`r` has :math:`1 / ((r + 1) H)`, :math:`H` the harmonic
    number that makes them add up to 1. Ranks are those of GPT-2's vocabulary (Radford et al.
    2019), which is ordered much by how often a word is merged. The rarest token counts in full,
    the logarithms of the others by half, because words come together. Common words of other
    languages than English tell too much by this measure; each Chinese character counts 6.6 nats.
    """
    if not isinstance(value, str):
        return _of_number(value, index)
    date = date_of(value)
    if date is not None:
        return _of_date(date[0], index)
    amount = amount_of(value)
    if amount is not None:
        return _of_number(amount[0], index)
    return max(_WORDS, len(index.words)) * _probability(value[:_LONGEST])


def _of_number(value: float, index: DocumentIndex) -> float:
    if isinstance(value, int) and abs(value) > 2**53:
        value = float(2**53)
    many = max(1.0, _NUMBERS / max(1, index.shapes.total()))
    shapes = [shape_of(number) for number, _ in spellings(value)]
    return sum((index.shapes[shape] * many + 1) / _kinds(shape[0]) for shape in shapes)


def _kinds(digits: int) -> float:
    """Return how many numbers have as many significant digits; 0 stands for years."""
    if digits == 0:
        return _YEARS_IN_USE
    return 9 if digits == 1 else 81.0 * 10 ** (digits - 2)


def _of_date(date: Date, index: DocumentIndex) -> float:
    if date.month is None:
        return _of_number(date.year, index)
    many = max(_DATES, sum(map(len, index.dated.values())))
    return many / (_YEARS_OF_DATES * (_DAYS if date.day is not None else _MONTHS))


@lru_cache(maxsize=16_384)
def _probability(text: str) -> float:
    """Return the probability of the likeliest of the forms that the search takes for one."""
    shortest = min(map(_nats, {text, text.lower(), text.title()}))
    return math.exp(-shortest)


def _nats(text: str) -> float:
    characters = UNSPACED.findall(text)
    rest = UNSPACED.sub(" ", text).strip()
    told = [_NATS_OF_CHARACTER] * len(characters)
    if rest:
        ranks = gpt2().encode_ordinary(f" {rest}")
        told += [math.log((_rank(token) + 1) * _HARMONIC) for token in ranks]
    strongest = max(told, default=0.0)
    return strongest + _FOLLOWING * (sum(told) - strongest)


def _rank(token: int) -> int:
    return token - _BYTES if token >= _BYTES else _RANK_OF_BYTE
