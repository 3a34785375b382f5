"""Which items a model is shown together: all at once, or in batches with their likely partners.

In batches, each gold item comes with the predicted items that are most like it, so that what is
asked grows with the number of items, not with the number of pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extractbench_nb.alignment.assignment import DENSE_PAIRS, HOPELESS
from extractbench_nb.alignment.proxy import proxy_matrix
from extractbench_nb.schema.nodes import Node

__all__ = ["Batch", "Limits", "batches", "likely_partners"]

#: Gold items that each predicted item proposes itself to, if they did not choose it.
_PROPOSALS = 2
#: Candidates that are shown in any case; others must have this share of the best one's worth.
_ALWAYS = 2
_FAR_BEHIND = 0.5

Partners = list[dict[int, float]]


class Batch(NamedTuple):
    """Items that are shown in one call, by their index in the array."""

    gold: tuple[int, ...]
    predicted: tuple[int, ...]

    def halves(self) -> tuple[Batch, Batch]:
        """Split the gold items; the predicted ones are shown to both halves."""
        middle = len(self.gold) // 2
        return Batch(self.gold[:middle], self.predicted), Batch(self.gold[middle:], self.predicted)


@dataclass(frozen=True)
class Limits:
    """What fits into one call.

    Parameters
    ----------
    tokens : int
        Tokens of all items together.
    items : int
        Items of both sides together: each is named in the answer.
    candidates : int
        Predicted items that are shown for each gold item, where not all are.
    """

    tokens: int
    items: int
    candidates: int

    @property
    def of_an_item(self) -> int:
        """Tokens of one item at most, so that it fits with its candidates."""
        return max(1, self.tokens // (2 * self.candidates + 2))


def batches(
    gold: Mapping[int, int],
    predicted: Mapping[int, int],
    partners: Mapping[int, Mapping[int, float]] | None,
    limits: Limits,
) -> list[Batch]:
    """Cut what is to be aligned into batches.

    Parameters
    ----------
    gold, predicted : mapping of int to int
        Tokens of the items by index.
    partners : mapping, optional
        For gold indices, the worth of predicted ones that may belong to them. None puts everything
        into one batch if it fits, and returns nothing if it does not.
    limits : Limits
        What fits into one.

    Returns
    -------
    list of Batch
        Gold items without partners are in none of them.
    """
    if partners is None:
        tokens = sum(gold.values()) + sum(predicted.values())
        fits = tokens <= limits.tokens and len(gold) + len(predicted) <= limits.items
        return [Batch(tuple(gold), tuple(predicted))] if fits else []
    return list(_fill(gold, predicted, partners, limits))


def _fill(
    gold: Mapping[int, int],
    predicted: Mapping[int, int],
    partners: Mapping[int, Mapping[int, float]],
    limits: Limits,
) -> Iterator[Batch]:
    """Gather gold items whose best partners stand near each other until a batch is full."""
    asked = [i for i in gold if partners.get(i)]
    asked.sort(key=lambda i: (max(partners[i], key=partners[i].__getitem__), i))
    ours: list[int] = []
    theirs: dict[int, None] = {}
    tokens = 0
    for i in asked:
        new = [j for j in partners[i] if j not in theirs]
        more = gold[i] + sum(predicted[j] for j in new)
        items = len(ours) + 1 + len(theirs) + len(new)
        if ours and (tokens + more > limits.tokens or items > limits.items):
            yield Batch(tuple(sorted(ours)), tuple(sorted(theirs)))
            ours, theirs, new = [], {}, list(partners[i])
            tokens, more = 0, gold[i] + sum(predicted[j] for j in new)
        ours.append(i)
        theirs.update(dict.fromkeys(new))
        tokens += more
    if ours:
        yield Batch(tuple(sorted(ours)), tuple(sorted(theirs)))


def likely_partners(
    node: Node, gold: Sequence[Any], predicted: Sequence[Any], count: int
) -> Partners:
    """Choose for each gold item the predicted items that are most like it.

    Parameters
    ----------
    node : Node
        The schema of the items.
    gold, predicted : sequence
        The items, n and m of them.
    count : int
        Partners to choose at most; fewer where the best one is far ahead. An item that no gold item
        has chosen proposes itself to the two that are most like it, so that up to twice as many may
        come together.

    Returns
    -------
    list of dict
        For each gold item, worth by place in `predicted`, the most worthy first. Worth is the
        similarity in [0, 1] by `proxy_matrix`, and 1 more where all fields are likely to match. An
        item that is like none comes with those that stand where it stands: lists follow their
        document. Their worth is 0.
    """
    found: Partners = []
    kept = _Proposals(len(predicted))
    step = max(1, DENSE_PAIRS // (4 * len(predicted)))
    for start in range(0, len(gold), step):
        similar, likely = proxy_matrix(node, gold[start : start + step], predicted)
        worth = similar + likely
        for place, row in enumerate(worth, start):
            found.append(_best(row, count) or _around(place / len(gold), len(predicted), count))
        kept.add(worth, start)
    proposed: list[dict[int, float]] = [{} for _ in gold]
    chosen = {column for row in found for column in row}
    for column, row, worth_of in kept:
        if column not in chosen and column not in found[row]:
            proposed[row][column] = worth_of
    return [row | _most(more, count) for row, more in zip(found, proposed, strict=True)]


def _best(row: NDArray[np.float32], count: int) -> dict[int, float]:
    count = min(count, len(row))
    best = np.argpartition(-row, count - 1)[:count]
    ranked = _most({int(j): float(row[j]) for j in best if row[j] >= HOPELESS}, count)
    mark = _FAR_BEHIND * max(ranked.values(), default=0.0)
    return {j: w for place, (j, w) in enumerate(ranked.items()) if place < _ALWAYS or w >= mark}


def _around(share: float, size: int, count: int) -> dict[int, float]:
    """Choose the items about a place in a list, given as a share of its length."""
    middle = int(share * size)
    start = max(0, min(middle - count // 2, size - count))
    return dict.fromkeys(range(start, min(size, start + count)), 0.0)


def _most(worth: Mapping[int, float], count: int) -> dict[int, float]:
    ranked = sorted(worth.items(), key=lambda entry: (-entry[1], entry[0]))
    return dict(ranked[:count])


class _Proposals:
    """The gold items that each predicted item is most like, over all chunks of gold items."""

    def __init__(self, columns: int) -> None:
        self._worth = np.full((_PROPOSALS, columns), -1.0, np.float32)
        self._rows = np.zeros((_PROPOSALS, columns), np.int64)

    def add(self, worth: NDArray[np.float32], start: int) -> None:
        """Look at the worth of more gold items, the first of which has the place `start`."""
        rows = np.broadcast_to(np.arange(start, start + len(worth))[:, None], worth.shape)
        both = np.concatenate([self._worth, worth]), np.concatenate([self._rows, rows])
        order = np.argsort(-both[0], axis=0, kind="stable")[:_PROPOSALS]
        self._worth, self._rows = (np.take_along_axis(part, order, axis=0) for part in both)

    def __iter__(self) -> Iterator[tuple[int, int, float]]:
        """Yield predicted place, gold place and worth."""
        for place in range(_PROPOSALS):
            for column, value in enumerate(self._worth[place].tolist()):
                if value >= HOPELESS:
                    yield column, int(self._rows[place, column]), value
