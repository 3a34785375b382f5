"""Counts for a number of documents from shares, exactly as many as there are documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from extractbench_nb.extraction.draws import generator

__all__ = ["assigned", "quotas"]

T = TypeVar("T")


def quotas(shares: Mapping[str, float], total: int) -> dict[str, int]:
    """Divide a number by shares, by the method of the largest remainder.

    Parameters
    ----------
    shares : mapping of str to float
        Weights of 0 and up, not all 0. Counts that sum to `total` come out as they are.
    total : int
        What is divided, 0 and up.

    Returns
    -------
    dict of str to int
        Whole numbers that sum to `total`; of equal remainders the first is served first.

    Notes
    -----
    The method is Hamilton's: every share is rounded down, and what is left goes to the largest
    remainders.

    Examples
    --------
    >>> quotas({"none": 5, "trailing_comma": 2}, 4)
    {'none': 3, 'trailing_comma': 1}
    """
    whole = sum(shares.values())
    exact = {name: share * total / whole for name, share in shares.items()}
    counts = {name: int(part) for name, part in exact.items()}
    largest = sorted(exact, key=lambda name: counts[name] - exact[name])
    for name in largest[: total - sum(counts.values())]:
        counts[name] += 1
    return counts


def assigned(shares: Mapping[str, float], to: Sequence[T], seed: str) -> dict[T, str]:
    """Draw without replacement: who gets what, so that the counts are the quotas.

    Parameters
    ----------
    shares : mapping of str to float
        Weights of what there is to get.
    to : sequence
        Who gets it; hashable.
    seed : str
        The same seed gives the same result.

    Returns
    -------
    dict
        What each gets, in the order of `to`.

    Examples
    --------
    >>> sorted(assigned({"none": 1, "timeout": 1}, ["a", "b"], "0").values())
    ['none', 'timeout']
    """
    lots = [name for name, count in quotas(shares, len(to)).items() for _ in range(count)]
    generator(seed).shuffle(lots)
    return dict(zip(to, lots, strict=True))
