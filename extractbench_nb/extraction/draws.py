"""Draws that depend on a seed and a place alone, so that no draw moves another."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TypeVar

__all__ = ["Draws", "generator", "some"]

T = TypeVar("T")

_BYTES = 8
_ALL = 2.0 ** (8 * _BYTES)


@dataclass(frozen=True, slots=True)
class Draws:
    """Which places are corrupted: each independently of all others.

    Parameters
    ----------
    seed : str
        The same seed gives the same draws.
    rate : float
        Probability of each place, in [0, 1]. A place that is drawn at one rate is drawn at every
        higher one: each place has one uniform number, which is compared with the rate.
    """

    seed: str
    rate: float

    def hits(self, path: str) -> bool:
        """Say whether the place at a path is drawn."""
        return _number(f"{self.seed}\x1f{path}") < self.rate * _ALL

    def generator(self, path: str) -> random.Random:
        """Return a generator of the place's own, for how it is changed."""
        return generator(f"{self.seed}\x1f{path}\x1fhow")


def generator(text: str) -> random.Random:
    """Return a generator that is seeded with a text; any text, lone surrogates included."""
    return random.Random(_number(text))


def _number(text: str) -> int:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_BYTES)
    return int.from_bytes(digest.digest())


def some(found: Sequence[T], share: float, rng: random.Random) -> list[T]:
    """Choose a share of what was found, at least one, in order.

    Parameters
    ----------
    found : sequence
        Not empty.
    share : float
        In [0, 1].
    rng : random.Random
        One in the same state chooses at a higher share all that it chose at a lower one.

    Returns
    -------
    list
        The chosen ones.
    """
    order = rng.sample(range(len(found)), len(found))
    count = max(1, round(share * len(found)))
    return [found[i] for i in sorted(order[:count])]
