"""Entries of two grids compared, and their lines (rows, or columns) aligned."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from difflib import SequenceMatcher
from functools import cache
from importlib import import_module
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from extractbench_nb.tables.cells import Indices, Numbers, Table

#: A mask of pairs of lines, or of entries.
_Pairs: TypeAlias = npt.NDArray[np.bool_]


def iou(a: Numbers, b: Numbers) -> Numbers:
    """Return the intersection over the union of boxes."""
    common = _intersection(a, b)
    return _ratio(common, _area(a) + _area(b) - common)


def hull_overlap(a: Numbers, b: Numbers) -> Numbers:
    """Return the intersection of boxes over the smallest box around both.

    At most `iou`, and equal to it if one box contains the other. The published code computes this,
    in single precision.
    """
    low, high = np.minimum(a[..., :2], b[..., :2]), np.maximum(a[..., 2:], b[..., 2:])
    return _ratio(_intersection(a, b), (high - low).prod(axis=-1))


def _area(boxes: Numbers) -> Numbers:
    """Return areas; an inverted box has none."""
    return np.asarray(np.maximum(boxes[..., 2:] - boxes[..., :2], 0).prod(axis=-1))


def _intersection(a: Numbers, b: Numbers) -> Numbers:
    low, high = np.maximum(a[..., :2], b[..., :2]), np.minimum(a[..., 2:], b[..., 2:])
    have_area = (_area(a) > 0) & (_area(b) > 0)
    return np.where(have_area, np.maximum(high - low, 0).prod(axis=-1), 0)


def _ratio(part: Numbers, whole: Numbers) -> Numbers:
    return np.divide(part, whole, out=np.zeros(part.shape), where=part > 0)


def text_similarity(true: Sequence[str], predicted: Sequence[str]) -> Numbers:
    """Return the longest common subsequences of texts, over their mean lengths."""
    from rapidfuzz.distance import LCSseq
    from rapidfuzz.process import cdist

    lengths, others = (np.array([*map(len, side)], dtype=float) for side in (true, predicted))
    similarities: Numbers = cdist(true, predicted, scorer=LCSseq.similarity, dtype=np.float64)
    means = np.add.outer(lengths / 2, others / 2)
    empty = np.ix_(lengths == 0, others == 0)
    means[empty] = similarities[empty] = 1
    similarities /= means
    return similarities


def _blocks(matcher: SequenceMatcher[str], most: int) -> int:
    """Return the size of all of difflib's matching blocks, which is at most `most`.

    As `get_matching_blocks` finds them; it would go on to look between blocks where nothing is.
    """
    common = 0
    ranges: list[tuple[int, int | None, int, int | None]] = [(0, None, 0, None)]
    while ranges and common < most:
        low, high, other_low, other_high = ranges.pop()
        at, other_at, size = matcher.find_longest_match(low, high, other_low, other_high)
        if size:
            common += size
            ranges.append((low, at, other_low, other_at))
            ranges.append((at + size, high, other_at + size, other_high))
    return common


def pair_similarity(pairs: Iterable[tuple[str, str]], kind: str) -> list[float]:
    """Return the common characters of two texts over their mean length, for each pair.

    By their longest common ``substring``, or all of difflib's matching ``blocks``.
    """
    from rapidfuzz.distance import LCSseq

    new: type[SequenceMatcher[str]] = SequenceMatcher
    with suppress(ImportError):  # the same results in a third of the time
        new = import_module("cydifflib").SequenceMatcher
    # difflib caches its analysis of the second text
    matcher_of = cache(lambda second: new(None, "", second, kind == "blocks"))
    similarities = []
    for true, predicted in pairs:
        if not true or not predicted:
            similarities.append(float(true == predicted))
            continue
        common = LCSseq.similarity(true, predicted)
        # one common character, or all, are a block, unless difflib leaves out frequent ones
        if (common > 1 and true != predicted) or len(predicted) >= _FREQUENT:
            matcher = matcher_of(predicted)
            matcher.set_seq1(true)
            is_one = kind == "substring"
            common = matcher.find_longest_match().size if is_one else _blocks(matcher, common)
        similarities.append(2 * common / (len(true) + len(predicted)))
    return similarities


#: Length from which on difflib leaves out frequent characters.
_FREQUENT = 200


class Alignment(NamedTuple):
    """Aligned lines: indices of both sides, in order, and the score of the whole alignment."""

    true: Indices
    predicted: Indices
    score: float


def aligned_entries(rewards: Numbers) -> Numbers:
    """Return the scores of the best alignments of the last two axes, for all pairs at once.

    Antidiagonal by antidiagonal, because the entries of one do not depend on each other. Fastest if
    the pairs are last in memory, as in `Entries.of_lines`.
    """
    pairs, first, second = rewards.shape
    entries = np.ascontiguousarray(rewards.transpose(1, 2, 0)).reshape(-1, pairs)
    # indexed by the position in the first line; the one in the second follows from the antidiagonal
    before = np.zeros((first + 1, pairs))
    last = np.zeros_like(before)
    for diagonal in range(2, first + second + 1):
        low, high = max(1, diagonal - second), min(first, diagonal - 1)
        start = (low - 1) * second + diagonal - low - 1
        on_diagonal = entries[start : (high - 1) * second + diagonal - high : max(1, second - 1)]
        best = on_diagonal + before[low - 1 : high]
        np.maximum(best, last[low - 1 : high], out=best)
        np.maximum(best, last[low : high + 1], out=before[low : high + 1])
        before, last = last, before
    return last[first].copy()


def alignment_scores(similarities: Numbers) -> Numbers:
    """Return the score of the best alignment of the first lines of either side."""
    *many, lines, others = similarities.shape
    scores = np.zeros((*many, lines + 1, others + 1))
    for line in range(lines):
        before = scores[..., line, :]
        best = np.maximum(before[..., :-1] + similarities[..., line, :], before[..., 1:])
        np.maximum.accumulate(best, axis=-1, out=scores[..., line + 1, 1:])
    return scores


def align(similarities: Numbers, scores: Numbers | None = None) -> Alignment:
    """Align lines by their similarities; scores are those of `alignment_scores`, if known.

    Of equal alignments, the one that pairs two lines from the end, else leaves out the true one.
    """
    best = (alignment_scores(similarities) if scores is None else scores).tolist()
    alike, pairs = similarities.tolist(), []
    true, predicted = similarities.shape
    while true and predicted:
        if best[true - 1][predicted - 1] + alike[true - 1][predicted - 1] == best[true][predicted]:
            true, predicted = true - 1, predicted - 1
            pairs.append((true, predicted))
        elif best[true - 1][predicted] == best[true][predicted]:
            true -= 1
        else:
            predicted -= 1
    found = np.array(pairs[::-1], dtype=np.intp).reshape(-1, 2)
    return Alignment(found[:, 0], found[:, 1], best[-1][-1])


#: Scores are sums of floats.
_MARGIN = 1e-6


def diagonal_corridor(
    guess: Alignment, shape: tuple[int, int], most: float, scores: Callable[[_Pairs], Numbers]
) -> _Pairs:
    """Return which pairs of lines may be in a best alignment, where one bound holds for all pairs.

    The best alignment is worth what the guess is worth, at least. An alignment through a pair
    leaves out as many lines as the pair is away from the diagonal.
    """
    guessed = np.zeros(shape, dtype=np.bool_)
    guessed[guess.true, guess.predicted] = True
    reached = float(scores(guessed)[guessed].sum())
    lines, others = shape
    i, j = np.arange(lines, dtype=np.int32)[:, None], np.arange(others, dtype=np.int32)[None]
    pairs = np.minimum(i, j)
    pairs += np.minimum(lines - i, others - j)
    possible: _Pairs = pairs >= (reached - _MARGIN) / most
    return possible


def corridors(upper: Numbers, scores: Callable[[_Pairs], Numbers]) -> _Pairs:
    """Return which entries may be paired in the best alignments of many lines with each other.

    `upper` has bounds of their similarities: pairs of lines x entries x entries. The best alignment
    by the bounds is a guess, and an alignment through a pair of entries that even by the bounds is
    worth less than the guess is not the best one.
    """
    guessed = np.zeros(upper.shape, dtype=np.bool_)
    before = alignment_scores(upper)
    for pair, similarities in enumerate(upper):
        guess = align(similarities, before[pair])
        guessed[pair, guess.true, guess.predicted] = True
    reached = np.where(guessed, scores(guessed), 0).sum(axis=(1, 2))
    after = alignment_scores(upper[..., ::-1, ::-1])[..., ::-1, ::-1]
    through = before[..., :-1, :-1] + upper + after[..., 1:, 1:]
    possible: _Pairs = through >= reached[:, None, None] - _MARGIN
    return possible


def likely_alignment(true: Indices, predicted: Indices) -> Alignment:
    """Align lines by the entries that they share, weighted by rarity."""
    from scipy.sparse import csr_array

    count = int(max(true.max(), predicted.max())) + 1
    sides: list[Any] = []
    for lines in (true, predicted):
        positions = np.repeat(np.arange(len(lines)), lines.shape[1]), lines.ravel()
        held = csr_array((np.ones(lines.size), positions), shape=(len(lines), count))
        held.data[:] = 1
        sides.append(held)
    often: Numbers = sides[0].sum(axis=0) * sides[1].sum(axis=0)
    rare = np.divide(1.0, often, out=np.zeros(count), where=often > 0)
    shared: Numbers = ((sides[0] * rare[None]) @ sides[1].T).toarray()
    return align(shared + _LITTLE)


#: Less than what lines share, so that it only fills gaps.
_LITTLE = 1e-9


#: Maximum number of similarities in memory beside these.
_CELLS = 1 << 19
#: Up to this many pairs of entries all lines are compared: by slow and by fast comparisons.
_FEW, _MANY = 1 << 8, 1 << 22

#: Compares every value of one list with every value of another.
Compare: TypeAlias = Callable[[list[Any], list[Any]], Numbers]


class Entries:
    """The entries at the positions of two grids, and how they are compared.

    ``true`` and ``predicted`` have the number of the entry at each position: those of each table
    are counted on their own.
    """

    #: The same entries with a fast upper bound of the similarity; None if this class is fast.
    bounds: Entries | None = None
    #: Up to this many similarities of different entries are kept.
    most_kept = 1 << 22

    def __init__(
        self,
        tables: Sequence[Table],
        values_of: Callable[[Table], Iterable[Hashable]],
        compare: Compare,
    ) -> None:
        grids, self.values = list[Indices](), list[list[Any]]()
        for table in tables:
            numbers: dict[Any, int] = {}
            places = [numbers.setdefault(value, len(numbers)) for value in values_of(table)]
            grids.append(np.array(places, dtype=np.intp).reshape(table.grid.shape))
            self.values.append(list(numbers))
        self.true, self.predicted = grids
        self._compare = compare
        self._kept: Numbers | None = None
        if len(self.values[0]) * len(self.values[1]) <= self.most_kept:
            self._kept = compare(*self.values)

    def similar(self, true: Indices, predicted: Indices) -> Numbers:
        """Return how similar entries are; the shapes of the indices go together."""
        if self._kept is not None:
            return self._kept[true, predicted]
        sides = [np.unique(side, return_inverse=True) for side in (true, predicted)]
        if (
            len(sides[0][0]) * len(sides[1][0]) > self.most_kept
        ):  # the first axis goes through lines
            pairs = zip(*np.broadcast_arrays(true, predicted), strict=True)
            return np.stack([self.similar(*pair) for pair in pairs])
        found = self._compare(
            *(
                [values[n] for n in used]
                for values, (used, _) in zip(self.values, sides, strict=True)
            )
        )
        (_, which), (_, other) = sides
        return found[which.reshape(true.shape), other.reshape(predicted.shape)]

    def of_lines(self, true: Indices, predicted: Indices) -> Numbers:
        """Return how similar the entries of pairs of lines are: pairs x entries x entries.

        In memory, the pairs are last.
        """
        return self.similar(true.T[:, None], predicted.T[None]).transpose(2, 0, 1)

    def may_be_similar(self, true: Indices, predicted: Indices) -> _Pairs:
        """Return the pairs of lines that may have a similarity above 0."""
        return np.ones((len(true), len(predicted)), dtype=np.bool_)


class BoxEntries(Entries):
    """Entries that are boxes: the positions of cells on the page, or their spans in the grid."""

    most_kept = 1 << 14

    def __init__(
        self,
        tables: Sequence[Table],
        values_of: Callable[[Table], Iterable[Hashable]],
        overlap: Callable[[Numbers, Numbers], Numbers],
    ) -> None:
        def boxes(values: list[Any]) -> Numbers:
            return np.array(values, dtype=np.float64).reshape(-1, 4)

        super().__init__(tables, values_of, lambda a, b: overlap(boxes(a)[:, None], boxes(b)[None]))
        self._boxes = list(map(boxes, self.values))
        self._overlap = overlap

    def similar(self, true: Indices, predicted: Indices) -> Numbers:
        """Return how much boxes overlap."""
        if self._kept is not None:
            return self._kept[true, predicted]
        return self._overlap(self._boxes[0][true], self._boxes[1][predicted])

    def may_be_similar(self, true: Indices, predicted: Indices) -> _Pairs:
        """Return the pairs of lines whose bounding boxes intersect."""
        boxes, others = self._boxes[0][true], self._boxes[1][predicted]
        low, high = boxes[..., :2].min(axis=1), boxes[..., 2:].max(axis=1)
        left, right = others[..., :2].min(axis=1), others[..., 2:].max(axis=1)
        meet = (low[:, None] < right[None]) & (left[None] < high[:, None])
        return np.asarray(meet.all(axis=-1), dtype=np.bool_)


def text_entries(tables: Sequence[Table], kind: str | None) -> Entries:
    """Return entries that are texts, compared by subsequences or as `pair_similarity` does."""
    quick = Entries(tables, lambda table: chain.from_iterable(table.texts), text_similarity)
    return quick if kind is None else SlowEntries(quick, kind)


class SlowEntries(Entries):
    """Entries that are texts, compared pair by pair by a slow method.

    Their longest common subsequence is at least as long as the longest common substring or the
    matching blocks. A pair that is in no best alignment by this bound is not compared.
    """

    def __init__(self, quick: Entries, kind: str) -> None:
        self.bounds: Entries = quick
        self.true, self.predicted, self.values = quick.true, quick.predicted, quick.values
        self._kind = kind
        self._known: dict[tuple[int, int], float] = {}

    def similar(self, true: Indices, predicted: Indices) -> Numbers:
        """Return the similarity of texts; each pair is compared once."""
        pairs = list(zip(true.ravel().tolist(), predicted.ravel().tolist(), strict=True))
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._known]
        texts = ((self.values[0][a], self.values[1][b]) for a, b in new)
        self._known.update(zip(new, pair_similarity(texts, self._kind), strict=True))
        return np.array([self._known[pair] for pair in pairs]).reshape(true.shape)

    def of_lines(self, true: Indices, predicted: Indices) -> Numbers:
        """Return how similar entries are, 0 for pairs that are in no best alignment."""
        first, second = np.broadcast_arrays(true[:, :, None], predicted[:, None, :])
        found = np.zeros(first.shape)

        def scores(pairs: _Pairs) -> Numbers:
            found[pairs] = self.similar(first[pairs], second[pairs])
            return found

        return scores(corridors(self.bounds.of_lines(true, predicted), scores))


class _Lines:
    """The lines of two grids, with equal lines grouped."""

    def __init__(self, entries: Entries, true: Indices, predicted: Indices) -> None:
        self._entries = entries
        self.shape = len(true), len(predicted)
        self._true, which = _grouped(true)
        self._predicted, other = _grouped(predicted)
        self._places = which[:, None], other
        #: How many pairs of entries there are in all pairs of lines.
        self.comparisons = self._true.size * self._predicted.size

    def similarities(self, pairs: _Pairs | None = None) -> Numbers:
        """Return the similarities of the given pairs of lines at least; by default of all."""
        true, predicted = self._true, self._predicted
        possible = np.ones((len(true), len(predicted)), dtype=np.bool_)
        if self.comparisons > _SMALL:
            possible = self._entries.may_be_similar(true, predicted)
        if pairs is not None:
            given = np.zeros_like(possible)
            np.logical_or.at(given, self._places, pairs)
            possible &= given
        found = np.zeros(possible.shape)
        entries = true.shape[1] * predicted.shape[1]
        for first, second in _pair_blocks(possible, max(1, _CELLS // max(1, entries))):
            rewards = self._entries.of_lines(true[first], predicted[second])
            found[first, second] = aligned_entries(rewards)
        return found[self._places]


#: Up to this many pairs of entries it is faster to compare lines than to rule some out.
_SMALL = 1 << 10


def _grouped(lines: Indices) -> tuple[Indices, Indices]:
    """Return the distinct lines, and which of them each line is."""
    numbers: dict[bytes, int] = {}
    which = [numbers.setdefault(line.tobytes(), len(numbers)) for line in lines]
    if len(numbers) < len(lines):
        lines = np.frombuffer(b"".join(numbers), lines.dtype).reshape(-1, lines.shape[1])
    return lines, np.array(which)


def _pair_blocks(possible: _Pairs, size: int) -> Iterator[tuple[Indices, Indices]]:
    """Yield the indices of possible pairs, in order, in blocks of at most `size` pairs."""
    lines = max(1, _CELLS // max(1, possible.shape[1]))
    for first in range(0, len(possible), lines):
        true, predicted = np.nonzero(possible[first : first + lines])
        true += first
        for start in range(0, len(true), size):
            yield true[start : start + size], predicted[start : start + size]


def aligned_lines(entries: Entries, true: Indices, predicted: Indices) -> Alignment:
    """Align the lines of two grids by the similarities of their entries."""
    lines = _Lines(entries, true, predicted)
    if lines.comparisons <= (_FEW if entries.bounds else _MANY):
        return align(lines.similarities())
    if entries.bounds:
        upper = _Lines(entries.bounds, true, predicted).similarities()
        pairs = corridors(upper[None], lambda some: lines.similarities(some[0])[None])[0]
    else:
        numbers = {value: n for n, value in enumerate(entries.values[0])}
        shared = np.array([numbers.setdefault(v, len(numbers)) for v in entries.values[1]])
        most = min(true.shape[1], predicted.shape[1])
        guess = likely_alignment(true, shared[predicted])
        pairs = diagonal_corridor(guess, lines.shape, most, lines.similarities)
    return align(lines.similarities(pairs))
