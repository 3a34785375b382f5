"""Grid table similarity (GriTS) of cells, lines and whole tables."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from difflib import SequenceMatcher
from functools import cache
from importlib import import_module
from itertools import chain, pairwise, product
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, overload

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.values import canonical
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.tables.cells import EMPTY, Box, Indices, Numbers, Table
from extractbench_nb.tables.grits_result import METRICS, SIDES, GriTS, PageGriTS
from extractbench_nb.tables.reading import (
    is_list_of_tables,
    keys_of,
    objects_of,
    read_table,
    text_of,
    texts_of,
)
from extractbench_nb.tables.table_formats import check_size, tables_in


def checked_names(given: Any, known: Iterable[str], what: str = "metrics") -> list[str]:
    """Return the requested names in the order of the allowed ones."""
    names = list(known)
    if not isinstance(given, Iterable):
        raise InputError(f"{what} is {given!r}; choose among {', '.join(names)}")
    asked = [given] if isinstance(given, str) else list(given)
    for name in asked:
        if name not in names:
            raise InputError(f"{what}: no {name!r}; {nearest(str(name), names)}")
    if not asked:
        raise InputError(f"{what} is empty; choose among {', '.join(names)}")
    return [name for name in names if name in asked]


def checked_variant(given: Any, known: Iterable[str], what: str = "variant") -> str:
    """Return the name if it is one of the allowed ones."""
    names = list(known)
    if not isinstance(given, str) or given not in names:
        raise InputError(f"{what} is {given!r}; {nearest(str(given), names)}")
    return given


def dilate(table: Table) -> Table:
    """Give each cell the box of the rows and columns that it covers, without gaps in between.

    Section 5 of Smock, Pesala and Abraham, "PubTables-1M" (2021): neighbours meet halfway.
    """
    if not table.cells:
        return table
    across, down = boundaries(table, 0), boundaries(table, 1)
    cells = []
    for cell in table.cells:
        left, top, right, bottom = map(int, cell.span_from(0, 0))
        cells.append(cell._replace(box=(across[left], down[top], across[right], down[bottom])))
    return replace(table, cells=tuple(cells))


def line_extents(table: Table, axis: int) -> Numbers:
    """Return the extents of columns (axis 0) or rows (1): of the cells that span one only."""
    extents = np.full((table.grid.shape[1 - axis], 2), np.nan)
    for cell in table.cells:
        lines = cell.rows if axis else cell.columns
        if cell.box is not None and len(lines) == 1:
            line = extents[lines[0]]
            line[0] = np.fmin(line[0], cell.box[axis])
            line[1] = np.fmax(line[1], cell.box[axis + 2])
    return extents


def boundaries(table: Table, axis: int) -> list[float]:
    """Return where dilated columns (axis 0) or rows (1) start, and the end of the last.

    The paper does not define the extent of rows without cells of their own: here they share the
    space between their neighbours equally, even if there is none. The first and the last row extend
    to the edge of the box around all cells.
    """
    name = "row" if axis else "column"
    boxes = np.array([cell.box for cell in table.cells if cell.box is not None])
    if not len(boxes):
        raise InputError("the table: no cell has a bbox, so there is nothing to dilate")
    low, high = boxes[:, axis].min(), boxes[:, axis + 2].max()
    extents = line_extents(table, axis)
    known = np.flatnonzero(~np.isnan(extents[:, 0]))
    # the edges that face each other, and the rows that they belong to
    ends, starts = [low, *extents[known, 1]], [*extents[known, 0], high]
    parts = [
        np.full(after - before, (end + start) / 2)
        if after - before == 1 or start < end
        else np.linspace(end, start, after - before)
        for end, start, before, after in zip(
            ends, starts, [-1, *known], [*known, len(extents)], strict=True
        )
    ]
    found = np.concatenate(parts)
    found[0], found[-1] = low, high
    in_order = np.arange(len(found)) - 1
    for numbers, places in ((known, extents[known].mean(axis=1)), (in_order, found)):
        back = np.flatnonzero(np.diff(places) < 0)
        if len(back):
            raise InputError(
                f"the table: {name} {numbers[back[0] + 1]} is out of order; "
                f"{name}s must be in the order of their boxes"
            )
    edges: list[float] = found.tolist()
    return edges


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
#: Maximum number of similarities in memory.
_CELLS = 1 << 19


class Alignment(NamedTuple):
    """Aligned lines: indices of both sides, in order, and the score of the whole alignment."""

    true: Indices
    predicted: Indices
    score: float


def _pair_blocks(possible: _Pairs, size: int) -> Iterator[tuple[Indices, Indices]]:
    """Yield the indices of possible pairs, in order, in blocks of at most `size` pairs."""
    lines = max(1, _CELLS // max(1, possible.shape[1]))
    for first in range(0, len(possible), lines):
        true, predicted = np.nonzero(possible[first : first + lines])
        true += first
        for start in range(0, len(true), size):
            yield true[start : start + size], predicted[start : start + size]


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
    scores = alignment_scores(similarities) if scores is None else scores
    pairs = []
    true, predicted = similarities.shape
    while true and predicted:
        best = scores[true, predicted]
        paired = scores[true - 1, predicted - 1] + similarities[true - 1, predicted - 1]
        if paired == best:
            true, predicted = true - 1, predicted - 1
            pairs.append((true, predicted))
        elif scores[true - 1, predicted] == best:
            true -= 1
        else:
            predicted -= 1
    found = np.array(pairs[::-1], dtype=np.intp).reshape(-1, 2)
    return Alignment(found[:, 0], found[:, 1], float(scores[-1, -1]))


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


#: Size of the largest matrix of similarities that is kept.
_KEPT = 1 << 22
#: Up to this many boxes, all overlaps are kept.
_FEW_BOXES = 1 << 8


class Entries:
    """The entries at the positions of two grids, and how they are compared.

    ``true`` and ``predicted`` have the number of the entry at each position, ``values`` has the
    entries by number: those of the true table come first.
    """

    #: The same entries with a fast upper bound of the similarity; None if this class is fast.
    bounds: Entries | None = None

    def __init__(
        self, true: Table, predicted: Table, values_of: Callable[[Table], Iterable[Hashable]]
    ) -> None:
        numbers_of: dict[Any, int] = {}
        grids: list[Indices] = []
        for table in (true, predicted):
            numbers = [numbers_of.setdefault(v, len(numbers_of)) for v in values_of(table)]
            grids.append(np.array(numbers, dtype=np.intp).reshape(table.grid.shape))
        self.true, self.predicted = grids
        self.values = list(numbers_of)

    def similar(self, true: Indices, predicted: Indices) -> Numbers:
        """Return how similar entries are; the shapes of the indices go together."""
        raise NotImplementedError

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

    def __init__(
        self,
        true: Table,
        predicted: Table,
        values_of: Callable[[Table], Iterable[Box | None]],
        overlap: Callable[[Numbers, Numbers], Numbers],
    ) -> None:
        super().__init__(true, predicted, values_of)
        self._boxes = np.array(self.values, dtype=np.float64).reshape(-1, 4)
        self._overlap = overlap
        self._kept: Numbers | None = None
        if len(self._boxes) <= _FEW_BOXES:
            self._kept = overlap(self._boxes[:, None], self._boxes[None])

    def similar(self, true: Indices, predicted: Indices) -> Numbers:
        """Return how much boxes overlap."""
        if self._kept is not None:
            return self._kept[true, predicted]
        return self._overlap(self._boxes[true], self._boxes[predicted])

    def may_be_similar(self, true: Indices, predicted: Indices) -> _Pairs:
        """Return the pairs of lines whose bounding boxes intersect."""
        boxes, others = self._boxes[true], self._boxes[predicted]
        low, high = boxes[..., :2].min(axis=1), boxes[..., 2:].max(axis=1)
        left, right = others[..., :2].min(axis=1), others[..., 2:].max(axis=1)
        meet = (low[:, None] < right[None]) & (left[None] < high[:, None])
        return np.asarray(meet.all(axis=-1), dtype=np.bool_)


class TextEntries(Entries):
    """Entries that are texts, compared by their longest common subsequence."""

    def __init__(self, true: Table, predicted: Table) -> None:
        super().__init__(true, predicted, lambda table: chain.from_iterable(table.texts))
        self._texts = np.array(self.values, dtype=object)
        count, used = len(np.unique(self.true)), np.unique(self.predicted)
        # predicted texts get columns of their own
        self._column = np.zeros(len(self.values), dtype=np.intp)
        self._column[used] = np.arange(len(used))
        self._kept: Numbers | None = None
        if count * len(used) <= _KEPT:
            self._kept = self._between(np.arange(count), used)

    def similar(self, true: Indices, predicted: Indices) -> Numbers:
        """Return how much texts have in common."""
        if self._kept is not None:
            return self._kept[true, self._column[predicted]]
        pairs = zip(true.reshape(-1, true.shape[-1]), predicted.reshape(true.shape), strict=True)
        found = [self._between(a, b).diagonal() for a, b in pairs]
        return np.array(found).reshape(true.shape)

    def of_lines(self, true: Indices, predicted: Indices) -> Numbers:
        """Return how much texts have in common."""
        if self._kept is not None:
            return super().of_lines(true, predicted)
        found = np.empty((true.shape[1], *predicted.T.shape))
        # equal true lines follow one another: their texts are compared with many lines at once
        ends = np.flatnonzero((true[1:] != true[:-1]).any(axis=1)) + 1
        for start, end in pairwise((0, *ends.tolist(), len(true))):
            others = predicted[start:end].T
            common = self._between(true[start], others.ravel())
            found[:, :, start:end] = common.reshape(-1, *others.shape)
        return found.transpose(2, 0, 1)

    def _between(self, true: Indices, predicted: Indices) -> Numbers:
        """Compare every text with every other."""
        return text_similarity(self._texts[true].tolist(), self._texts[predicted].tolist())


class SlowTextEntries(Entries):
    """Entries that are texts, compared pair by pair by a slow method.

    Their longest common subsequence is at least as long as the longest common substring or the
    matching blocks. A pair that is in no best alignment by this bound is not compared.
    """

    bounds: TextEntries

    def __init__(self, true: Table, predicted: Table, kind: str) -> None:
        self.bounds = quick = TextEntries(true, predicted)
        self.true, self.predicted, self.values = quick.true, quick.predicted, quick.values
        self._kind = kind
        self._known: dict[int, float] = {}

    def similar(self, true: Indices, predicted: Indices) -> Numbers:
        """Return the similarity of texts; each pair is compared once."""
        count = len(self.values)
        pairs, where = np.unique(true * count + predicted, return_inverse=True)
        new = [pair for pair in pairs.tolist() if pair not in self._known]
        texts = ((self.values[pair // count], self.values[pair % count]) for pair in new)
        self._known.update(zip(new, pair_similarity(texts, self._kind), strict=True))
        found = np.array([self._known[pair] for pair in pairs.tolist()], dtype=np.float64)
        alike: Numbers = found[where.reshape(true.shape)]
        return alike

    def of_lines(self, true: Indices, predicted: Indices) -> Numbers:
        """Return how similar entries are, 0 for pairs that are in no best alignment."""
        first, second = np.broadcast_arrays(true[:, :, None], predicted[:, None, :])
        found = np.zeros(first.shape)

        def scores(pairs: _Pairs) -> Numbers:
            found[pairs] = self.similar(first[pairs], second[pairs])
            return found

        return scores(corridors(self.bounds.of_lines(true, predicted), scores))


#: What is compared: topology, content, location, and location without adjustment.
GRITS_METRICS = tuple(METRICS)
#: Metrics that need boxes.
LOCATED = GRITS_METRICS[2:]

SCORE_COLUMNS = FrameSpec(
    "scores",
    "one row per metric, its name in the index",
    (
        Column("fscore", "float64", "2 x similarity / (positions of both grids)", "0 to 1"),
        Column("precision", "float64", "similarity / positions of the predicted grid", "0 to 1"),
        Column("recall", "float64", "similarity / positions of the true grid", "0 to 1"),
        Column("upper_bound", "float64", "no alignment gives a greater fscore", "0 to 1"),
    ),
)

ALIGNED_COLUMNS = FrameSpec(
    "aligned",
    "one row per metric and pair of lines (rows, or columns), in order",
    (
        Column("metric", "string", "metric", ", ".join(GRITS_METRICS)),
        Column("true", "int64", "index in the true table", "0 and up"),
        Column("predicted", "int64", "index in the predicted table", "0 and up"),
        Column("similarity", "float64", "2 x similarity / (entries of both lines)", "0 to 1"),
    ),
)


PAIR_COLUMNS = FrameSpec(
    "pairs",
    "one row per metric and pair of tables, or table without a partner",
    (
        Column("metric", "string", "metric", ", ".join(GRITS_METRICS)),
        Column("true", "Int64", "index of the true table; NA if there is none", "0 and up", True),
        Column("predicted", "Int64", "index of the predicted table", "0 and up", True),
        Column("similarity", "float64", "sum over the aligned positions", "0 and up"),
        Column("fscore", "float64", "of the pair", "0 to 1"),
    ),
)


#: How boxes are compared, and texts: None is by their longest common subsequence.
GRITS_VARIANTS: Mapping[str, tuple[Callable[[Numbers, Numbers], Numbers], str | None]] = {
    "paper": (iou, None),
    "paper_substring": (iou, "substring"),
    "released": (hull_overlap, "blocks"),
}


_Tables: TypeAlias = list[Table] | list[str] | list[pd.DataFrame] | list[Path]


@overload
def grits(true: _Tables, predicted: list[Any], *args: Any, **options: Any) -> PageGriTS: ...
@overload
def grits(true: Any, predicted: Any, *args: Any, **options: Any) -> GriTS: ...
def grits(
    true: Any,
    predicted: Any,
    metrics: str | Sequence[str] | None = None,
    variant: str = "paper",
) -> GriTS | PageGriTS:
    r"""Score a predicted table, or the tables of a page, by grid table similarity.

    Parameters
    ----------
    true, predicted : list of dict, str, pandas.DataFrame, pathlib.Path, Table, or list of tables
        Two tables in any form that `read_table` reads: cells with ``row_nums`` and ``column_nums``,
        and if known ``text`` (or ``cell_text``), ``bbox`` (x0, y0, x1, y1) and
        ``is_column_header``; HTML, CSV or a table in Markdown; a DataFrame; a JSON array of
        objects. Or two lists of such tables, those of a page or document, in any order; beside a
        list, also a text with several tables in HTML or Markdown.
    metrics : str or sequence of str, optional
        ``top`` (topology: which positions a cell covers), ``con`` (content: its text), ``loc``
        (location: its box) and ``rawloc`` (the predicted boxes as a model gave them, against the
        true ones dilated until rows and columns meet). By default the first three, without
        ``loc`` if a cell has no box.
    variant : str, optional
        ``"paper"``: intersection over union, and the longest common subsequence.
        ``"paper_substring"``: the longest common substring, as the paper's text has it.
        ``"released"``: what the published code computes, for comparison with the literature: the
        smallest box around both in place of the union, and difflib's matching blocks.

    Returns
    -------
    GriTS, or PageGriTS for lists of tables
        Scores by metric, with the alignment of rows and columns; of lists, with the pairs of
        tables. Predicted tables of a list that cannot be read count as empty, see ``unreadable``.

    Raises
    ------
    InputError
        A table is invalid (for example, a position has no cell), a cell lacks the box that ``loc``
        needs, or a name is unknown.

    Notes
    -----
    Section 6 of Smock, Pesala and Abraham, "PubTables-1M: Towards a universal dataset and metrics
    for training and evaluating table extraction models" (2021), equations 1 and 2. The search is a
    heuristic: ``fscore`` is a lower bound of the best one, ``upper_bound`` an upper one. Among
    alignments that are equally good, one is chosen by a fixed rule, see `align`. Two empty tables
    are equal. If one table is empty, the f-score is 0, and the ratio over its positions is 1.

    Tables of lists are paired one to one so that the sum of their similarities is the greatest
    (Hungarian method), for each metric; the scores are ratios of this sum and all positions. Smock
    et al., "PubTables-v2: A new large-scale dataset for full-page and multi-page table extraction"
    (2025), as in the package grits-metric 0.7.0.

    Examples
    --------
    >>> def row(*texts):
    ...     return [{"row_nums": [0], "column_nums": [n], "text": t} for n, t in enumerate(texts)]
    >>> grits(row("Year", "Sales"), row("Year", "Sale"))
    GriTS(top 1.000, con 0.944; 1 x 2 against 1 x 2 positions, variant 'paper')
    >>> grits(["Year,Sales\n2024,10", "Town,Km\nRome,3"], ["Town,Km\nRoma,3", "no table"])
    PageGriTS(top 0.667, con 0.625; 2 against 2 tables, 1 unreadable, variant 'paper')
    """
    checked_variant(variant, GRITS_VARIANTS)
    asked = None if metrics is None else checked_names(metrics, GRITS_METRICS)
    if is_list_of_tables(true) or is_list_of_tables(predicted):
        return _page_grits(*read_lists(true, predicted), asked, variant)
    tables = read_pair(true, predicted)
    names = asked or list(GRITS_METRICS[: 3 if all(table.has_boxes for table in tables) else 2])
    for name in names:
        if name in LOCATED:
            refuse_boxless(tables, name)
    found = {name: measured(name, *tables, variant) for name in names}
    rows, columns = (
        ALIGNED_COLUMNS.from_rows(
            (name, *line) for name, result in found.items() for line in result.aligned[axis]
        )
        for axis in (0, 1)
    )
    similarities = {name: result.similarity for name, result in found.items()}
    scores = _score_frame({name: result.scores for name, result in found.items()})
    return GriTS(scores, rows, columns, *tables, variant, similarities)


def _score_frame(scores: Mapping[str, Sequence[float]]) -> pd.DataFrame:
    frame = SCORE_COLUMNS.from_rows(scores.values())
    frame.index = pd.Index(list(scores), name="metric", dtype=object)
    return frame


def _page_grits(
    true: list[Table],
    predicted: list[Table],
    unreadable: dict[int, str],
    asked: list[str] | None,
    variant: str,
) -> PageGriTS:
    located = all(table.has_boxes for table in (*true, *predicted))
    pages = {
        name: measured_page(name, true, predicted, variant)
        for name in asked or GRITS_METRICS[: 3 if located else 2]
    }
    rows = []
    for name, page in pages.items():
        for n, m in page.pairs:
            sizes = [0 if k is None else side[k].size for k, side in ((n, true), (m, predicted))]
            common = 0.0 if n is None or m is None else page.found[n, m].common
            rows.append((name, n, m, common, ratios(common, sizes[0], sizes[1])[0]))
    scores = _score_frame({name: page.total.scores for name, page in pages.items()})
    sides = tuple(true), tuple(predicted)
    return PageGriTS(scores, PAIR_COLUMNS.from_rows(rows), *sides, variant, unreadable)


class Page(NamedTuple):
    """Two lists of tables by one metric: the sum over pairs, the pairs, and all combinations.

    Pairs have the indices of both tables, those of true tables first; None is no partner.
    """

    total: Measured
    pairs: list[tuple[int | None, int | None]]
    found: dict[tuple[int, int], Measured]


def measured_page(
    name: str, true: Sequence[Table], predicted: Sequence[Table], variant: str
) -> Page:
    """Pair the tables of two lists so that the sum of their similarities is the greatest."""
    from scipy.optimize import linear_sum_assignment

    if name in LOCATED:
        for n, table in enumerate(true):
            refuse_boxless((table, EMPTY), name, f" table {n}")
        for n, table in enumerate(predicted):
            refuse_boxless((EMPTY, table), name, f" table {n}")
    shape = len(true), len(predicted)
    found = {(n, m): measured(name, true[n], predicted[m], variant) for n, m in np.ndindex(shape)}
    common, bounds = (
        np.array([getattr(result, kind) for result in found.values()]).reshape(shape)
        for kind in ("common", "bound")
    )
    rows, columns = (line.tolist() for line in linear_sum_assignment(common, maximize=True))
    bound = float(bounds[linear_sum_assignment(bounds, maximize=True)].sum())
    sizes = sum(table.size for table in true), sum(table.size for table in predicted)
    partner = dict(zip(rows, columns, strict=True))
    pairs: list[tuple[int | None, int | None]] = [(n, partner.get(n)) for n in range(shape[0])]
    pairs += [(None, m) for m in range(shape[1]) if m not in columns]
    return Page(Measured(float(common[rows, columns].sum()), bound, sizes), pairs, found)


def read_pair(true: Any, predicted: Any) -> tuple[Table, Table]:
    """Read two tables that are to be compared."""
    sides = zip((true, predicted), SIDES, strict=True)
    one, other = (read_table(table, name=side) for table, side in sides)
    return one, other


def read_lists(
    true: Any, predicted: Any, *, name: str = ""
) -> tuple[list[Table], list[Table], dict[int, str]]:
    """Read two tables, or lists of them; a predicted one that is unreadable is empty.

    Beside a list, a text may hold several tables, and one table is a list of one. The dict has the
    reasons by index.
    """
    is_page = is_list_of_tables(true) or is_list_of_tables(predicted)
    sides: tuple[list[Table], list[Table]] = [], []
    unreadable: dict[int, str] = {}
    for side, given, read in zip(SIDES, (true, predicted), sides, strict=True):
        tables = [given]
        if is_page and isinstance(given, str):
            tables = tables_in(given)
        elif (
            is_page and isinstance(given, list | tuple) and (not given or is_list_of_tables(given))
        ):
            tables = list(given)
        for n, table in enumerate(tables):
            try:
                where = f"{name}{side} table {n}" if is_page else name + side
                read.append(read_table(table, name=where))
            except InputError as error:
                if side == SIDES[0]:
                    raise
                unreadable[n] = str(error)
                read.append(EMPTY)
    return *sides, unreadable


#: Rows and columns of a substructure: each position keeps its cell with its full span.
Kept: TypeAlias = tuple[Sequence[int], Sequence[int]]


def refuse_boxless(tables: tuple[Table, Table], metric: str, which: str = "") -> None:
    """Raise `InputError` if a cell has no box."""
    for side, table in zip(SIDES, tables, strict=True):
        for number, cell in enumerate(table.cells):
            if cell.box is None:
                raise InputError(
                    f"{side}{which}, cell {number} has no bbox, which the metric {metric!r} needs"
                )


#: Up to this many pairs of entries all are compared: for slow and for fast comparisons.
_FEW, _MANY = 1 << 8, 1 << 22


class Measured(NamedTuple):
    """Two grids by one metric: sum of similarities, its upper bound, and the aligned lines."""

    common: float
    bound: float
    sizes: tuple[int, int]
    aligned: tuple[Sequence[tuple[int, int, float]], Sequence[tuple[int, int, float]]] = ((), ())
    similarity: Numbers = np.zeros((0, 0))

    @property
    def scores(self) -> tuple[float, float, float, float]:
        """F-score, precision, recall and upper bound."""
        return (*ratios(self.common, *self.sizes), ratios(self.bound, *self.sizes)[0])


def measured(
    name: str, true_table: Table, predicted_table: Table, variant: str, kept: Kept | None = None
) -> Measured:
    """Align two tables by one metric; with `kept`, a substructure of the predicted one."""
    boxes, texts = GRITS_VARIANTS[variant]
    if name == "rawloc":
        true_table = dilate(true_table)
    entries: Entries
    if name != "con":
        values_of = _spans if name == "top" else _boxes
        entries = BoxEntries(true_table, predicted_table, values_of, boxes)
    elif texts is None:
        entries = TextEntries(true_table, predicted_table)
    else:
        entries = SlowTextEntries(true_table, predicted_table, texts)
    true, predicted = entries.true, entries.predicted
    if kept is not None:
        predicted = predicted[np.ix_(*kept)]
    sizes = true.size, predicted.size
    if not all(sizes):
        return Measured(0.0, 0.0, sizes)
    rows, columns = _aligned(entries, true, predicted), _aligned(entries, true.T, predicted.T)
    common = entries.similar(
        true[np.ix_(rows.true, columns.true)],
        predicted[np.ix_(rows.predicted, columns.predicted)],
    )
    aligned = []
    for axis, lines in enumerate((rows, columns)):
        entries_of_both = true.shape[1 - axis] + predicted.shape[1 - axis]
        similarity = 2 * common.sum(axis=1 - axis) / entries_of_both
        numbers = (lines.true.tolist(), lines.predicted.tolist(), similarity.tolist())
        aligned.append(list(zip(*numbers, strict=True)))
    bound = min(rows.score, columns.score)
    return Measured(float(common.sum()), bound, sizes, (aligned[0], aligned[1]), common)


def _boxes(table: Table) -> list[Box | None]:
    return [table.cells[n].box for n in table.grid.ravel().tolist()]


def _spans(table: Table) -> list[Box]:
    """Return what the cell at each position spans, seen from there."""
    cells = ((position, table.cells[n]) for position, n in np.ndenumerate(table.grid))
    return [
        _SINGLE if len(cell.rows) == len(cell.columns) == 1 else cell.span_from(*position)
        for position, cell in cells
    ]


_SINGLE: Box = (0, 0, 1, 1)


def _aligned(entries: Entries, true: Indices, predicted: Indices) -> Alignment:
    """Align lines; equal lines are compared once."""
    lines = _Lines(entries, true, predicted)
    if lines.comparisons <= (_FEW if entries.bounds else _MANY):
        return align(lines.similarities())
    if entries.bounds:
        upper = _Lines(entries.bounds, true, predicted).similarities()
        pairs = corridors(upper[None], lambda some: lines.similarities(some[0])[None])[0]
    else:
        most = min(true.shape[1], predicted.shape[1])
        guess = likely_alignment(true, predicted)
        pairs = diagonal_corridor(guess, lines.shape, most, lines.similarities)
    return align(lines.similarities(pairs))


class _Lines:
    """The lines of two grids, with equal lines grouped."""

    def __init__(self, entries: Entries, true: Indices, predicted: Indices) -> None:
        self._entries = entries
        self.shape = len(true), len(predicted)
        self._true, which = _grouped(true)
        self._predicted, other = _grouped(predicted)
        self._places = np.ix_(which, other)
        self._possible = entries.may_be_similar(self._true, self._predicted)
        #: How many pairs of entries there are in all pairs of lines.
        self.comparisons = self._true.size * self._predicted.size

    def similarities(self, pairs: _Pairs | None = None) -> Numbers:
        """Return the similarities of the given pairs of lines at least; by default of all."""
        possible = self._possible
        if pairs is not None:
            possible = np.zeros_like(possible)
            np.logical_or.at(possible, self._places, pairs)
            possible &= self._possible
        found = np.zeros(possible.shape)
        entries = self._true.shape[1] * self._predicted.shape[1]
        for first, second in _pair_blocks(possible, max(1, _CELLS // max(1, entries))):
            rewards = self._entries.of_lines(self._true[first], self._predicted[second])
            found[first, second] = aligned_entries(rewards)
        return found[self._places]


def _grouped(lines: Indices) -> tuple[Indices, list[int]]:
    """Return the distinct lines, and which of them each line is."""
    numbers: dict[bytes, int] = {}
    which = [numbers.setdefault(line.tobytes(), len(numbers)) for line in lines]
    return np.frombuffer(b"".join(numbers), lines.dtype).reshape(-1, lines.shape[1]), which


def ratios(common: float, true: int, predicted: int) -> tuple[float, float, float]:
    """Return f-score, precision and recall; the ratio over nothing is 1."""
    precision, recall = common / predicted if predicted else 1.0, common / true if true else 1.0
    both = precision + recall
    return (2 * precision * recall / both if both else 0.0), precision, recall


def arrays_similarity(gold: Any, predicted: Any, measure: str, variant: str) -> float:
    """Return the f-score of two arrays of objects; see `field_metrics.arrays.table_grits`."""
    checked_variant(measure, ("con", "top"), "measure")
    checked_variant(variant, GRITS_VARIANTS)
    sides, columns = [], []
    for name, value in (("gold", gold), ("predicted", predicted)):
        items = [] if value is None else value if isinstance(value, list | tuple) else [value]
        side = objects_of(items)
        keys = keys_of(side)
        check_size(len(side) + 1, len(keys), name)
        columns.append({key: texts_of(item.get(key) for item in side) for key in keys})
        sides.append(side)
    sizes = [len(side) * len(texts) for side, texts in zip(sides, columns, strict=True)]
    if not all(sizes):
        return float(sizes[0] == sizes[1])
    similarities = np.zeros((len(sides[0]), len(sides[1])))
    for key in filter(columns[1].__contains__, columns[0]):
        if measure == "top":
            similarities += 1
            continue
        texts, others = columns[0][key], columns[1][key]
        kind = GRITS_VARIANTS[variant][1]
        if kind is None:
            found = text_similarity(texts, others)
        else:
            found = np.array(pair_similarity(product(texts, others), kind))
            found = found.reshape(similarities.shape)
        held = [[_leaves(item.get(key)) for item in side] for side in sides]
        for row, leaves in enumerate(held[0]):
            for column, other_leaves in enumerate(held[1]):
                if leaves is not None or other_leaves is not None:
                    found[row, column] = leaves == other_leaves
        similarities += found
    return 2.0 * align(similarities).score / sum(sizes)


def _leaves(value: Any) -> tuple[str, frozenset[tuple[str, str]]] | None:
    """Return paths and texts of all values in an object or array that are not null."""
    if not isinstance(value, dict | list | tuple):
        return None
    found: set[tuple[str, str]] = set()
    stack: list[tuple[str, Any]] = [("", value)]
    while stack:
        path, top = stack.pop()
        if isinstance(top, dict):
            stack += [(f"{path}.{canonical(key)}", inner) for key, inner in top.items()]
        elif isinstance(top, list | tuple):
            stack += [(f"{path}[{place}]", inner) for place, inner in enumerate(top)]
        elif top is not None:
            found.add((path, text_of(top)))
    return ("object" if isinstance(value, dict) else "array"), frozenset(found)
