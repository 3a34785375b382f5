"""How samples are drawn, and in which portions.

What is drawn depends on the seed and the number of documents alone, so no result depends on the
order of documents or on what else is computed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from extractbench_nb.errors import InputError

__all__ = ["DIGITS", "EQUAL", "Drawing", "Numbers", "by_size", "chunks"]

Numbers = npt.NDArray[np.float64]

#: Sums of equal values in another order differ in the last digits; these digits are kept.
DIGITS, EQUAL = 12, 1e-12

#: How many cells of a resampling matrix are in memory at once, and how many means share one pass.
_CELLS, _TOGETHER = 1 << 20, 512
_FEWEST = 100


@dataclass(frozen=True, slots=True)
class Drawing:
    """How samples are drawn.

    Parameters
    ----------
    confidence : float
        Of intervals, between 0 and 1.
    resamples : int
        Number of bootstrap resamples and of sign flips, 100 and up.
    seed : int
        0 and up.

    Raises
    ------
    InputError
        A value is out of range.
    """

    confidence: float
    resamples: int
    seed: int

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        known = isinstance(self.confidence, float | int | np.number)
        if not known or not 0 < self.confidence < 1:
            raise InputError(f"confidence={self.confidence!r}; it lies between 0 and 1, as 0.95")
        for name, least in (("resamples", _FEWEST), ("seed", 0)):
            value = getattr(self, name)
            whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
            if not whole or value < least:
                raise InputError(f"{name}={value!r}; it is a whole number from {least} up")

    @property
    def tails(self) -> tuple[float, float]:
        """The two quantiles that enclose the confidence."""
        return (1 - self.confidence) / 2, (1 + self.confidence) / 2

    @property
    def quantile(self) -> float:
        """The standard normal quantile of the upper one, 1.96 for a confidence of 0.95."""
        from scipy.special import ndtri

        return float(ndtri(self.tails[1]))

    @property
    def alpha(self) -> float:
        """The error that is accepted, 0.05 for a confidence of 0.95."""
        return round(1 - self.confidence, DIGITS)

    def generator(self, size: int, purpose: str) -> np.random.Generator:
        """Return the generator for samples of one size.

        Parameters
        ----------
        size : int
            Number of documents.
        purpose : str
            ``"bootstrap"`` or ``"flips"``.

        Returns
        -------
        numpy.random.Generator
            The same for the same seed, size and purpose.
        """
        return np.random.default_rng([self.seed, size, ("bootstrap", "flips").index(purpose)])


def by_size(samples: Sequence[Numbers], which: Sequence[int]) -> Iterator[list[int]]:
    """Group samples of one length, so many at a time that their resamples fit into memory.

    Parameters
    ----------
    samples : sequence of ndarray
        The samples.
    which : sequence of int
        Which of them to group.

    Yields
    ------
    list of int
        Places of samples of one length.
    """
    sizes = defaultdict(list)
    for i in which:
        sizes[len(samples[i])].append(i)
    for same in sizes.values():
        for start in range(0, len(same), _TOGETHER):
            yield same[start : start + _TOGETHER]


def chunks(total: int, size: int) -> Iterator[int]:
    """Yield numbers that add up to `total`, each small enough for a matrix of `size` columns."""
    step = max(1, _CELLS // size)
    for start in range(0, total, step):
        yield min(step, total - start)
