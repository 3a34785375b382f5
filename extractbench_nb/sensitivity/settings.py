"""The options of a sensitivity analysis, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from extractbench_nb.errors import InputError, nearest
from extractbench_nb.extraction.simulate import check_share
from extractbench_nb.judges.base import Judge
from extractbench_nb.sensitivity.subjects import Subject

__all__ = ["MEASURES", "Settings"]

#: Entries of the summary that can be the score of a profile.
MEASURES = ("overall_score", "field_score", "pass_rate", "pass_rate_judged", "gold_coverage")


@dataclass(frozen=True)
class Settings:
    """What is tried, how often and how.

    Parameters
    ----------
    subjects : sequence of Subject
        Metrics and profiles.
    rates : sequence of float
        In [0, 1].
    measure : str
        The score of a profile.
    strength : float
        How much of a value in a document changes, above 0 and up to 1.
    repeats : int
        Corrupted copies of each document or value, 1 and up.
    judge : str or Judge
        Decides judged metrics.
    seed : int
        0 and up.

    Raises
    ------
    InputError
        A value is out of range.
    """

    subjects: Sequence[Subject]
    rates: Sequence[float]
    measure: str
    strength: float
    repeats: int
    judge: str | Judge
    seed: int

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        if not self.rates:
            raise InputError("rates is empty; expected numbers from 0 to 1")
        for rate in self.rates:
            check_share("rate", rate)
        check_share("strength", self.strength, above=0)
        if type(self.repeats) is not int or self.repeats < 1:
            raise InputError(f"repeats={self.repeats!r}; expected 1 or more")
        if self.measure not in MEASURES:
            raise InputError(f"measure={self.measure!r}; {nearest(self.measure, MEASURES)}")
