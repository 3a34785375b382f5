"""What a judge is: the verdict it gives and the one method it has."""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable


class Verdict(NamedTuple):
    """A judge's answer for one pair of texts.

    Attributes
    ----------
    score : float
        Degree of sameness in [0, 1]. The caller decides what passes: ``score >= pass_threshold``,
        0.7 by default.
    reason : str
        Short machine word for the deciding observation, such as ``date`` or ``different_number``.
    reasoning : str or None
        The judge's own words, where it has any.
    """

    score: float
    reason: str
    reasoning: str | None = None


@runtime_checkable
class Judge(Protocol):
    """Anything that can say how far two texts mean the same."""

    @property
    def name(self) -> str:
        """Name shown in results."""
        ...

    def compare(self, gold: str, predicted: str) -> Verdict:
        """Judge one pair of texts; it may be an ``async def``, whose verdicts are then awaited.

        Parameters
        ----------
        gold, predicted : str
            The two texts; any string is allowed.

        Returns
        -------
        Verdict
            Score in [0, 1] with its reason.
        """
        ...
