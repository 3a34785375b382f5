"""The edit distance of the trees of two tables, as TEDS defines them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from extractbench_nb.tables.cells import Cell, Indices, Numbers
from extractbench_nb.tables.grid_similarity import (
    aligned_entries,
    alignment_scores,
    likely_alignment,
)

#: ``"thead"`` or ``"tbody"``, and for each of its rows the cells that begin there.
Section: TypeAlias = tuple[str, list[list[Cell]]]

#: Up to this many pairs of nodes, all are considered.
_FEW = 1 << 13
#: Number of pairs of nodes, or of cells of rows, in memory.
_MANY = 1 << 21
_LEAST = 64
_FEW_ROWS = 8
#: Distances are sums of floats.
_MARGIN = 1e-6


_Jumps: TypeAlias = defaultdict[int, list[tuple[int, int, float]]]


class _Part(NamedTuple):
    """The head or body: its tag, its first node, itself, and its rows."""

    tag: str
    first: int
    node: int
    rows: slice


class _Tree(NamedTuple):
    """A tree without its root, by the numbers of its nodes in postorder."""

    size: int
    parts: list[_Part]
    #: By row: its node, its first cell's, or its own if it has none.
    rows: Indices
    first: Indices
    #: By cell: its node, and the numbers of its text and its spans.
    cells: Indices
    texts: Indices
    spans: Indices


def _tree(sections: list[Section], texts: dict[str, int], spans: dict[object, int]) -> _Tree:
    rows: list[int] = []
    first: list[int] = []
    cells: list[Cell] = []
    nodes: list[int] = []
    parts = []
    size = 0
    for tag, lines in sections:
        start, count = size, len(rows)
        for line in lines:
            first.append(size)
            nodes += range(size, size + len(line))
            cells += line
            size += len(line) + 1
            rows.append(size - 1)
        parts.append(_Part(tag, start, size, slice(count, len(rows))))
        size += 1
    of_texts = [texts.setdefault(cell.text, len(texts)) for cell in cells]
    covered = (cell.span_from(cell.rows[0], cell.columns[0]) for cell in cells)
    of_spans = [spans.setdefault(span, len(spans)) for span in covered]
    found = (np.array(n, dtype=np.intp) for n in (rows, first, nodes, of_texts, of_spans))
    return _Tree(size, parts, *found)


class TreePair:
    """The trees of two tables, and the best mapping of their nodes.

    A mapping keeps order and ancestors. Leaving a node out costs 1, so a pair of nodes that costs
    `c` gains `2 - c`, from 1 to 2, and the distance is the number of nodes less the most that a
    mapping gains. Zhang and Shasha, "Simple fast algorithms for the editing distance between trees
    and related problems" (1989), find it by a table of the first nodes of one tree by the first
    nodes of the other: the last node of either is left out, or both are paired, and then so are
    their subtrees with each other. Trees of tables allow short cuts:

    - Roots are paired, and so are sections if there is one on either side.
    - No cell is paired with a node that has children, as any leaf below gains as much, nor a
      section of one row with a row.
    - The cells of two rows that are paired are aligned, for all pairs of rows at once.
    - Sections that are paired have a table of their own, computed beside the other one.
    - Rows that share rare cells are likely pairs. They gain so much that few nodes are left out in
      the best mapping: the nodes of a pair are about as far from either end of the trees. Other
      entries of the table are not computed. They hold what some mapping gains, so that what is
      derived from them is never too much.
    """

    def __init__(self, true: list[Section], predicted: list[Section], *, texts: bool) -> None:
        numbers: tuple[dict[str, int], dict[object, int]] = {}, {}
        trees = [_tree(sections, *numbers) for sections in (true, predicted)]
        self._one, self._other = sorted(trees, key=lambda tree: tree.size)
        self._texts = list(numbers[0]) if texts else None
        self._alone = len(true) == len(predicted) == 1
        #: The most that the distance may be.
        self._most = float(self._one.size + self._other.size)
        if self._one.size * self._other.size > _FEW:
            self._most -= self._likely_gain() - _MARGIN

    def distance(self) -> float:
        """Return the least cost of turning one tree into the other."""
        one, other = self._one, self._other
        jumps = self._jumps()
        lanes = [] if self._alone else other.parts
        gained = np.zeros((1 + len(lanes), other.size + 1))
        for part in one.parts:
            for lane, second in enumerate(lanes, 1):
                gained[lane, : second.first] = -np.inf
                gained[lane, second.first :] = 0
            pairs = [(second.first, second.node + 1, 0.0) for second in other.parts]
            starts, ends, gains = map(np.array, zip(*pairs, *jumps[part.node], strict=True))
            begun = gained[:, starts]
            for rows in self._blocks(part.rows):
                self._add(rows, gained, jumps)
            for n, second in enumerate(other.parts):
                own = gained[n + 1 if lanes else 0, second.node]
                gains[n] = own + 1 + (part.tag == second.tag)
            gained[:, ends] = np.maximum(gained[:, ends], begun + gains)
            np.maximum.accumulate(gained, axis=1, out=gained)
        return float(one.size + other.size - gained[0, -1])

    def _add(self, rows: slice, gained: Numbers, jumps: _Jumps) -> None:
        """Add rows of the first tree to what is gained by the first nodes of the other."""
        one, other = self._one, self._other
        top, left = int(one.first[rows.start]), self._band(one.first[rows.start])[0]
        leaves = self._leaf_gains(rows, left, self._band(one.rows[rows.stop - 1])[1])
        right = left + leaves.shape[1] - 1
        others = slice(np.searchsorted(other.first, left), np.searchsorted(other.rows, right))
        which, second = np.nonzero(
            self._possible(
                *(one.first[rows, None], one.rows[rows, None]),
                *(other.first[others], other.rows[others]),
            )
        )
        pairs = which + rows.start, second + others.start
        gains = self._row_gains(leaves, top, left, *pairs)
        starts, ends = other.first[pairs[1]], other.rows[pairs[1]] + 1
        bounds = np.searchsorted(pairs[0], np.arange(rows.start, rows.stop + 1)).tolist()
        for row, some in zip(range(rows.start, rows.stop), pairwise(bounds), strict=True):
            first, last = int(one.first[row]), int(one.rows[row])
            found = starts[slice(*some)], ends[slice(*some)], gains[slice(*some)]
            if jumps[last]:
                found = tuple(map(np.append, found, zip(*jumps[last], strict=True)))
            begun = gained[:, found[0]] + found[2]
            low, high = self._band(first)[0], self._band(last)[1]
            paired, alone = gained[:, low:high], gained[:, low + 1 : high + 1]
            # a row without cells is a leaf itself
            for step in leaves[first - top : max(last, first + 1) - top, low - left : high - left]:
                best = paired + step
                np.maximum(best, alone, out=best)
                np.maximum.accumulate(best, axis=1, out=alone)
            gained[:, found[1]] = np.maximum(gained[:, found[1]], begun)
            np.maximum.accumulate(alone, axis=1, out=alone)

    def _blocks(self, rows: slice) -> Iterator[slice]:
        """Yield rows of the first tree, in blocks about as wide as the band."""
        width = min(self._other.size, int(self._most)) + 1
        nodes = min(max(width, _LEAST), max(1, _MANY // width))
        start = rows.start
        while start < rows.stop:
            end = int(np.searchsorted(self._one.rows, self._one.first[start] + nodes))
            end = min(max(end, start + 1), rows.stop)
            yield slice(start, end)
            start = end

    def _band(self, node: int) -> tuple[int, int]:
        """Return how many first nodes of the other tree may go with those before and up to a node.

        That is the least for those before, and the most for those up to it.
        """
        more = self._other.size - self._one.size
        aside = int(self._most - more) // 2
        return max(0, int(node) - aside), min(self._other.size, int(node) + 1 + more + aside)

    def _possible(self, first: Any, last: Any, other_first: Any, other_last: Any) -> Any:
        """Return whether nodes may be paired, given their first descendants and themselves.

        As many nodes are left out, at least, as are more in one tree: before, below and after.
        """
        more = self._other.size - self._one.size
        before, after = other_first - first, more - (other_last - last)
        return abs(before) + abs(more - before - after) + abs(after) <= self._most

    def _leaf_gains(self, rows: slice, left: int, right: int) -> Numbers:
        """Return what is gained by pairing leaves: the nodes of rows by a range of nodes.

        There is one more of each, which gains nothing.
        """
        one, other = self._one, self._other
        top, bottom = one.first[rows.start], one.rows[rows.stop - 1] + 1
        cells, others = (
            slice(*np.searchsorted(tree.cells, ends))
            for tree, ends in ((one, (top, bottom)), (other, (left, right)))
        )
        gains = np.zeros((bottom - top + 1, right - left + 1))
        nodes, other_nodes = one.cells[cells] - top, other.cells[others] - left
        blank = one.rows[rows][one.first[rows] == one.rows[rows]] - top
        other_blank = other.rows[other.first == other.rows] - left
        other_blank = other_blank[(other_blank >= 0) & (other_blank < right - left)]
        gains[blank[:, None], other_nodes] = gains[nodes[:, None], other_blank] = 1
        gains[blank[:, None], other_blank] = 2
        differ = one.spans[cells, None] != other.spans[others]
        if self._texts is None:
            costs = differ.astype(np.float64)
        else:
            costs = np.where(differ, 1.0, self._text_costs(one.texts[cells], other.texts[others]))
        gains[nodes[:, None], other_nodes] = 2 - costs
        return gains

    def _text_costs(self, texts: Indices, others: Indices) -> Numbers:
        from rapidfuzz.distance import Levenshtein
        from rapidfuzz.process import cdist

        (used, which), (other_used, other_which) = (
            np.unique(side, return_inverse=True) for side in (texts, others)
        )
        sides = ([self._texts[n] for n in side.tolist()] for side in (used, other_used))
        costs = cdist(*sides, scorer=Levenshtein.normalized_distance, dtype=np.float64)
        found: Numbers = costs[which[:, None], other_which]
        return found

    def _row_gains(
        self, leaves: Numbers, top: int, left: int, rows: Indices, others: Indices
    ) -> Numbers:
        """Return what is gained by pairing rows, given what their cells gain, by node."""
        gains = np.full(len(rows), 2.0)
        firsts = self._one.first[rows] - top, self._other.first[others] - left
        widths = (
            self._one.rows[rows] - self._one.first[rows],
            (self._other.rows[others] - self._other.first[others]),
        )
        # rows of about the same number of cells at once; what is missing gains nothing
        kinds = [np.ceil(np.log2(np.maximum(width, 1))).astype(int) for width in widths]
        kind = kinds[0] * 64 + kinds[1]
        for one_kind in np.unique(kind):
            members = np.flatnonzero(kind == one_kind)
            longest = [int(width[members].max()) for width in widths]
            step = max(1, _MANY // max(1, longest[0] * longest[1]))
            for start in range(0, len(members) if all(longest) else 0, step):
                some = members[start : start + step]
                nodes, other_nodes = (
                    np.where(
                        (at := np.arange(most)) < width[some, None], first[some, None] + at, -1
                    )
                    for first, width, most in zip(firsts, widths, longest, strict=True)
                )
                gains[some] += aligned_entries(leaves[nodes[:, :, None], other_nodes[:, None]])
        return gains

    def _jumps(self) -> _Jumps:
        """Return pairs of a section and a row: by node, before and after in the other tree."""
        one, other = self._one, self._other
        jumps: _Jumps = defaultdict(list)
        if self._alone:
            return jumps
        for part in one.parts:
            for row in range(len(other.rows)):
                first, last = int(other.first[row]), int(other.rows[row])
                if first < last and self._possible(part.first, part.node, first, last):
                    gain = self._flat_gain(part.rows, slice(row, row + 1))
                    jumps[part.node].append((first, last + 1, 1 + gain))
        for part in other.parts:
            for row in range(len(one.rows)):
                first, last = int(one.first[row]), int(one.rows[row])
                if first < last and self._possible(first, last, part.first, part.node):
                    gain = self._flat_gain(slice(row, row + 1), part.rows)
                    jumps[last].append((part.first, part.node + 1, 1 + gain))
        return jumps

    def _flat_gain(self, rows: slice, others: slice) -> float:
        """Return what the leaves of rows gain if no rows are paired."""
        other = self._other
        ends = int(other.first[others.start]), int(other.rows[others.stop - 1]) + 1
        return float(alignment_scores(self._leaf_gains(rows, *ends))[-1, -1])

    def _likely_gain(self) -> float:
        """Return what a mapping gains that pairs rows with rare cells in common."""
        one, other = self._one, self._other
        count = int(max(one.spans.max(initial=0), other.spans.max(initial=0))) + 1
        width = max(int((tree.rows - tree.first).max()) for tree in (one, other))
        blank = (len(self._texts or ()) or 1) * count
        grids = []
        for tree in (one, other):
            grid = np.full((len(tree.rows), width), -1)
            places = np.arange(width) < (tree.rows - tree.first)[:, None]
            grid[places] = (tree.texts if self._texts else 0) * count + tree.spans
            grids.append(grid)
        numbers = np.unique(np.concatenate(grids), return_inverse=True)[1].reshape(-1, width)
        guess = likely_alignment(numbers[: len(one.rows)], numbers[len(one.rows) :])
        gain, at = 0.0, 0
        for start in range(0, len(guess.true), _FEW_ROWS):
            some = slice(start, start + _FEW_ROWS)
            rows, others = guess.true[some], guess.predicted[some]
            top, left = int(one.first[rows[0]]), int(other.first[others[0]])
            block = slice(int(rows[0]), int(rows[-1]) + 1)
            leaves = self._leaf_gains(block, left, int(other.rows[others[-1]]) + 1)
            gain += self._row_gains(leaves, top, left, rows, others).sum()
        if self._alone:
            gain += 1 + (one.parts[0].tag == other.parts[0].tag)
        elif len(one.parts) == len(other.parts):
            sides = [
                np.searchsorted([p.rows.stop for p in t.parts], r, side="right")
                for t, r in ((one, guess.true), (other, guess.predicted))
            ]
            if (sides[0] == sides[1]).all():
                gain += 2 * len(one.parts)
        return gain
