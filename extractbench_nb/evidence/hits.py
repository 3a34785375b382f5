"""What a search finds: spans of the text of a PDF."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["WRITTEN", "Hit", "without_overlaps"]

#: How a hit stands in the PDF, each with its meaning.
WRITTEN = {
    "as_is": "the same letters and digits",
    "number": "the same number, in digits or words; the sign of a currency for its code",
    "date": "the same date",
    "apart": "the same words close together, in another order or with others between them",
    "in_pieces": "a long text in pieces of four words or more",
    "similar": "a text that is spelt much alike",
}


class Hit(NamedTuple):
    """One place where a value stands.

    Attributes
    ----------
    spans : tuple of (int, int)
        Start and end in the text of the index; several for a text in pieces.
    similarity : float
        In (0, 1].
    written : str
        A key of `WRITTEN`.
    """

    spans: tuple[tuple[int, int], ...]
    similarity: float
    written: str

    @property
    def start(self) -> int:
        """Where it begins."""
        return self.spans[0][0]

    @property
    def end(self) -> int:
        """Where its first piece ends."""
        return self.spans[0][1]


def without_overlaps(hits: Iterable[Hit]) -> list[Hit]:
    """Keep the best hit of those that overlap.

    Parameters
    ----------
    hits : iterable of Hit
        In any order.

    Returns
    -------
    list of Hit
        The most similar first, then in the order of the text.
    """
    by_place = sorted(hits, key=lambda hit: (hit.start, -hit.similarity))
    kept: list[Hit] = []
    for hit in by_place:
        if kept and hit.start < kept[-1].spans[-1][1]:
            if hit.similarity > kept[-1].similarity:
                kept[-1] = hit
        else:
            kept.append(hit)
    return sorted(kept, key=lambda hit: (-hit.similarity, hit.start))
