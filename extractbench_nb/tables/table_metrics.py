"""Metrics of two tables beside GriTS: TEDS and its tree distance, adjacency, BLEU, exact match."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby, pairwise
from math import exp, log
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.tables.cells import Cell, Indices, Numbers, Table, header_rows
from extractbench_nb.tables.grid_similarity import (
    GRITS_VARIANTS,
    Kept,
    Measured,
    aligned_entries,
    alignment_scores,
    checked_names,
    checked_variant,
    likely_alignment,
    measured,
    ratios,
    read_pair,
    refuse_boxless,
)

#: ``"thead"`` or ``"tbody"``, and for each of its rows the cells that begin there.
Section: TypeAlias = tuple[str, list[list[Cell]]]
#: By node of one tree: how many nodes of the other come before the subtree that it may be paired
#: with, how many up to its end, and what is gained by pairing them.
_Jumps: TypeAlias = defaultdict[int, list[tuple[int, int, float]]]

#: Up to this many pairs of nodes, all are considered.
_FEW = 1 << 17
#: Least number of nodes in a block of rows, if there are as many.
_BLOCK = 128
#: Number of pairs of nodes, or of cells in pairs of rows, in memory.
_MANY = 1 << 21
#: Up to this many pairs of rows, likely ones are looked for.
_ROWS_SQUARED = 1 << 24
#: Gains are sums of floats.
_MARGIN = 1e-6


class _Part(NamedTuple):
    """The head or body: its tag, its first node, itself, and its rows."""

    tag: str
    first: int
    node: int
    rows: slice


class _Tree(NamedTuple):
    """A tree without its root; nodes are numbered in postorder."""

    size: int
    parts: list[_Part]
    #: By row: itself, its first cell, or itself if it has none, and how many cells it has.
    rows: Indices
    first: Indices
    widths: Indices
    #: By cell: itself, and the numbers of its text and its spans.
    cells: Indices
    texts: Indices
    spans: Indices


def _tree(sections: list[Section], texts: dict[str, int], spans: dict[Any, int]) -> _Tree:
    lists: tuple[list[int], ...] = ([], [], [], [], [], [])
    rows, first, widths, cells, of_texts, of_spans = lists
    parts = []
    size = 0
    for tag, lines in sections:
        start, count = size, len(rows)
        for line in lines:
            first.append(size)
            widths.append(len(line))
            for across, down, text, *_ in line:
                cells.append(size)
                of_texts.append(texts.setdefault(text, len(texts)))
                span = across[-1] - across[0], down[-1] - down[0]
                of_spans.append(spans.setdefault(span, len(spans)))
                size += 1
            rows.append(size)
            size += 1
        parts.append(_Part(tag, start, size, slice(count, len(rows))))
        size += 1
    return _Tree(size, parts, *(np.array(numbers, dtype=np.intp) for numbers in lists))


class TreePair:
    """The trees of two tables, and the best mapping of their nodes.

    A mapping keeps order and ancestors. Leaving a node out costs 1, so a pair of nodes that costs
    `c` gains `2 - c`, from 1 to 2, and the distance is the number of nodes less the most that a
    mapping gains. Zhang and Shasha, "Simple fast algorithms for the editing distance between trees
    and related problems" (1989), compute what is gained by the first nodes of one tree with the
    first nodes of the other: the last node of either is left out, or both are paired, and so are
    their subtrees with each other. Trees of tables allow short cuts:

    - Roots are paired, and so are sections if there is one on either side.
    - No cell is paired with a node that has children, as any leaf below gains as much, nor a
      section of one row with a row.
    - The cells of two rows that are paired are aligned, for all pairs of rows at once.
    - Two sections that are paired have gains of their own, computed beside those of the trees.
    - Rows that share rare cells are likely pairs. If these gain much, few nodes are left out in the
      best mapping: it stays in a band, in which about as many nodes of either tree come first. What
      is outside is not computed. It is the gain of some mapping, so nothing that is derived from it
      is too much.
    """

    def __init__(self, true: list[Section], predicted: list[Section], *, texts: bool) -> None:
        numbers: tuple[dict[str, int], dict[Any, int]] = {}, {}
        trees = [_tree(sections, *numbers) for sections in (true, predicted)]
        self._one, self._other = sorted(trees, key=lambda tree: tree.size)
        self._more = self._other.size - self._one.size
        #: By number; none if they do not count.
        self._texts = list(numbers[0]) if texts else []
        self._alone = len(true) == len(predicted) == 1
        size = self._one.size * self._other.size
        pairs_of_rows = len(self._one.rows) * len(self._other.rows)
        #: The most that the distance may be.
        self._most = float(self._one.size + self._other.size)
        if size > _FEW and pairs_of_rows <= _ROWS_SQUARED:
            self._most -= self._likely_gain() - _MARGIN
        #: How many nodes fewer may come first in the other tree.
        self._aside = int(self._most - self._more) // 2

    @property
    def size(self) -> int:
        """Number of nodes of the larger tree, with its root."""
        return self._other.size + 1

    def distance(self) -> float:
        """Return the least cost of turning one tree into the other."""
        one, other = self._one, self._other
        jumps = self._jumps()
        gained = np.zeros(other.size + 1)
        if not self._alone:
            gained = np.tile(gained, (1 + len(other.parts), 1))
        for part in one.parts:
            if not self._alone:
                for lane, second in enumerate(other.parts, 1):
                    gained[lane, : second.first] = -np.inf
                    gained[lane, second.first :] = 0
            pairs = [(second.first, second.node + 1, 0.0) for second in other.parts]
            starts, ends, gains = map(np.array, zip(*pairs, *jumps[part.node], strict=True))
            begun = gained[..., starts]
            for rows in self._blocks(part.rows):
                self._add(rows, gained, jumps)
            for n, second in enumerate(other.parts):
                own = gained[second.node] if self._alone else gained[n + 1, second.node]
                gains[n] = own + 1 + (part.tag == second.tag)
            gained[..., ends] = np.maximum(gained[..., ends], begun + gains)
            np.maximum.accumulate(gained, axis=-1, out=gained)
        return float(one.size + other.size - gained.flat[other.size])

    def _add(self, rows: slice, gained: Numbers, jumps: _Jumps) -> None:
        """Add rows of one tree to what is gained by the first nodes of the other, by their number.

        Other lines have what is gained from the beginning of a section of either tree.
        """
        one, other = self._one, self._other
        top, bottom = int(one.first[rows.start]), int(one.rows[rows.stop - 1])
        left, right = max(0, top - self._aside), self._last(bottom)
        leaves = self._leaf_gains(rows, left, right)
        others = slice(*(np.searchsorted(other.first, left), np.searchsorted(other.rows, right)))
        which, second = np.nonzero(
            self._may_pair(
                *(one.first[rows, None], one.rows[rows, None]),
                *(other.first[others], other.rows[others]),
            )
        )
        bounds = np.searchsorted(which, np.arange(rows.stop - rows.start + 1)).tolist()
        which, second = which + rows.start, second + others.start
        pairs = (
            *(other.first[second], other.rows[second] + 1),
            self._row_gains(leaves, top, left, which, second),
        )
        for row, bound in zip(range(rows.start, rows.stop), pairwise(bounds), strict=True):
            first, last = int(one.first[row]), int(one.rows[row])
            starts, ends, gains = (numbers[slice(*bound)] for numbers in pairs)
            if jumps[last]:
                more = zip(*jumps[last], strict=True)
                starts, ends, gains = map(np.append, (starts, ends, gains), more)
            begun = gained[..., starts] + gains
            low, high = max(0, first - self._aside), self._last(last)
            paired, alone = gained[..., low:high], gained[..., low + 1 : high + 1]
            # a row without cells is a leaf itself
            for step in leaves[first - top : max(last, first + 1) - top, low - left : high - left]:
                best = paired + step
                np.maximum(best, alone, out=best)
                np.maximum.accumulate(best, axis=-1, out=alone)
            gained[..., ends] = np.maximum(gained[..., ends], begun)
            np.maximum.accumulate(alone, axis=-1, out=alone)

    def _blocks(self, rows: slice) -> Iterator[slice]:
        """Yield rows of the first tree, in blocks about as wide as the band."""
        width = min(self._other.size, int(self._most)) + 1
        nodes = min(max(width, _BLOCK), max(1, _MANY // width))
        start = rows.start
        while start < rows.stop:
            end = int(np.searchsorted(self._one.rows, self._one.first[start] + nodes))
            end = min(max(end, start + 1), rows.stop)
            yield slice(start, end)
            start = end

    def _last(self, node: int) -> int:
        """Return how many nodes of the other tree may come first, with those up to this node."""
        return min(self._other.size, node + 1 + self._more + self._aside)

    def _may_pair(self, first: Any, last: Any, other_first: Any, other_last: Any) -> Any:
        """Return whether nodes may be paired, given their first descendants and themselves.

        As many nodes are left out, at least, as there are more in one tree: before, below, after.
        """
        before, after = other_first - first, self._more - (other_last - last)
        return abs(before) + abs(self._more - before - after) + abs(after) <= self._most

    def _leaf_gains(self, rows: slice, left: int, right: int) -> Numbers:
        """Return what is gained by pairing leaves: the nodes of some rows, and a range of nodes.

        There is one more of each, which gains nothing.
        """
        one, other = self._one, self._other
        top, bottom = int(one.first[rows.start]), int(one.rows[rows.stop - 1]) + 1
        cells, others = (
            slice(*np.searchsorted(tree.cells, ends).tolist())
            for tree, ends in ((one, (top, bottom)), (other, (left, right)))
        )
        costs = np.zeros((cells.stop - cells.start, others.stop - others.start))
        if self._texts:
            costs = self._text_costs(one.texts[cells], other.texts[others])
        differ = one.spans[cells, None] != other.spans[others]
        if differ.any():
            costs[differ] = 1
        gains = np.zeros((bottom - top + 1, right - left + 1))
        nodes, other_nodes = one.cells[cells, None] - top, other.cells[others] - left
        gains[nodes, other_nodes] = np.subtract(2, costs, out=costs)
        blank, other_blank = (tree.rows[tree.widths == 0] for tree in (one, other))
        if len(blank) or len(other_blank):
            blank = blank[(blank >= top) & (blank < bottom)][:, None] - top
            other_blank = other_blank[(other_blank >= left) & (other_blank < right)] - left
            gains[blank, other_nodes] = gains[nodes, other_blank] = 1
            gains[blank, other_blank] = 2
        return gains

    def _text_costs(self, texts: Indices, others: Indices) -> Numbers:
        from rapidfuzz.distance import Levenshtein
        from rapidfuzz.process import cdist

        (used, which), (other_used, other_which) = (
            np.unique(side, return_inverse=True) for side in (texts, others)
        )
        sides = ([self._texts[n] for n in side.tolist()] for side in (used, other_used))
        costs = cdist(*sides, scorer=Levenshtein.normalized_distance, dtype=np.float64)
        return costs[which[:, None], other_which]

    def _row_gains(
        self, leaves: Numbers, top: int, left: int, rows: Indices, others: Indices
    ) -> Numbers:
        """Return what is gained by pairing rows and their cells."""
        firsts = self._one.first[rows] - top, self._other.first[others] - left
        widths = self._one.widths[rows], self._other.widths[others]
        gains = np.full(len(rows), 2.0)
        # rows of about as many cells at once; a cell that is missing gains nothing
        kinds = sum(64**n * np.frexp(width)[1] for n, width in enumerate(widths))
        for kind in np.unique(kinds).tolist():
            members = np.flatnonzero(kinds == kind)
            longest = [int(width[members].max()) for width in widths]
            step = max(1, _MANY // max(1, longest[0] * longest[1]))
            for start in range(0, len(members) if all(longest) else 0, step):
                some = members[start : start + step, None]
                nodes, other_nodes = (
                    np.where(np.arange(most) < width[some], first[some] + np.arange(most), -1)
                    for first, width, most in zip(firsts, widths, longest, strict=True)
                )
                found = aligned_entries(leaves[nodes[:, :, None], other_nodes[:, None]])
                gains[some[:, 0]] += found
        return gains

    def _jumps(self) -> _Jumps:
        """Return what is gained by pairing a section with a row: leaves below are aligned."""
        jumps: _Jumps = defaultdict(list)
        if self._alone:
            return jumps
        sides = ((self._one, self._other), (self._other, self._one))
        for turned, (tree, second) in enumerate(sides):
            for part in tree.parts:
                if part.rows.stop - part.rows.start == 1:
                    continue
                for row in np.flatnonzero(second.widths).tolist():
                    nodes = (part.first, part.node), (int(second.first[row]), int(second.rows[row]))
                    rows = part.rows, slice(row, row + 1)
                    (first, last), (other_first, other_last) = nodes[::-1] if turned else nodes
                    if self._may_pair(first, last, other_first, other_last):
                        some, others = rows[::-1] if turned else rows
                        ends = other_first, int(self._other.rows[others.stop - 1]) + 1
                        gain = alignment_scores(self._leaf_gains(some, *ends))[-1, -1]
                        jumps[last].append((other_first, other_last + 1, 1 + float(gain)))
        return jumps

    def _likely_gain(self) -> float:
        """Return what a mapping gains that pairs rows with rare cells in common."""
        trees = self._one, self._other
        count = sum(tree.size for tree in trees)
        width = max(int(tree.widths.max()) for tree in trees)
        lines = []
        for tree in trees:
            numbers = np.full((len(tree.rows), width), -1)
            held = tree.texts if self._texts else 0
            numbers[np.arange(width) < tree.widths[:, None]] = held * count + tree.spans
            lines.append(numbers)
        _, entries = np.unique(np.concatenate(lines), return_inverse=True)
        guess = likely_alignment(*np.split(entries.reshape(-1, width), [len(lines[0])]))
        gain = 0.0
        for start in range(0, len(guess.true), _ROWS):
            rows, others = (side[start : start + _ROWS] for side in guess[:2])
            top, left = int(self._one.first[rows[0]]), int(self._other.first[others[0]])
            block, right = slice(rows[0], rows[-1] + 1), int(self._other.rows[others[-1]]) + 1
            leaves = self._leaf_gains(block, left, right)
            gain += float(self._row_gains(leaves, top, left, rows, others).sum())
        return gain


#: Pairs of rows that are compared at once for a guess.
_ROWS = 8


#: Text, the neighbour's text, and where the neighbour is: ``"right"`` or ``"below"``.
Relation: TypeAlias = tuple[str, str, str]


def adjacency(true: Table, predicted: Table) -> tuple[float, float, float]:
    """Return f-score, precision and recall of the adjacency relations of its content.

    Göbel, Hassan, Oro and Orsi, "A methodology for evaluating algorithms for table understanding in
    PDF documents" (2012), as used in the ICDAR 2013 table competition.
    """
    in_true, in_predicted = adjacency_relations(true), adjacency_relations(predicted)
    common = (in_true & in_predicted).total()
    precision, recall = (common / n.total() if n else 1.0 for n in (in_predicted, in_true))
    both = in_true.total() + in_predicted.total()
    return 2 * common / both if both else 1.0, precision, recall


def adjacency_relations(table: Table) -> Counter[Relation]:
    """Count the pairs of nearest neighbours; blank cells are skipped."""
    texts = ["".join(cell.text.split()) for cell in table.cells]
    grids = {"right": table.grid.tolist(), "below": table.grid.T.tolist()}
    relations: Counter[Relation] = Counter()
    for direction, lines in grids.items():
        pairs: set[tuple[int, int]] = set()
        for line in lines:
            cells = (cell for cell, _ in groupby(cell for cell in line if texts[cell]))
            pairs.update(pairwise(cells))
        relations.update((texts[a], texts[b], direction) for a, b in sorted(pairs))
    return relations


_LONGEST = 4


def bleu(true: Table, predicted: Table) -> float:
    """Return the BLEU score of a table's structure tokens, as of one sentence.

    Papineni, Roukos, Ward and Zhu, "BLEU: a method for automatic evaluation of machine translation"
    (2002); on table structure in Li et al., "TableBank" (2020). It is not symmetric: additional
    rows lower precision, missing ones incur the brevity penalty. A score of 1 means that all runs
    of four tags are equal, not that all tags are.
    """
    reference, candidate = structure_tokens(true), structure_tokens(predicted)
    longest = min(_LONGEST, len(reference), len(candidate))
    logarithms = 0.0
    for n in range(1, longest + 1):
        in_true, in_predicted = (
            Counter(zip(*(tokens[k:] for k in range(n)), strict=False))
            for tokens in (reference, candidate)
        )
        common = (in_true & in_predicted).total()
        if not common:
            return 0.0
        logarithms += log(common / in_predicted.total())
    penalty = min(0.0, 1 - len(reference) / len(candidate))
    return exp(penalty + logarithms / longest)


def structure_tokens(table: Table) -> list[str]:
    """Return the tags of a table, without its content: ``<tdy>`` is a cell with text."""
    tokens = ["<tabular>"]
    for tag, rows in table_sections(table):
        tokens.append(f"<{tag}>")
        for row in rows:
            cells = ("<tdy>" if cell.text.strip() else "<tdn>" for cell in row)
            tokens += ["<tr>", *cells, "</tr>"]
        tokens.append(f"</{tag}>")
    return [*tokens, "</tabular>"]


def table_sections(table: Table) -> list[Section]:
    """Return a table as HTML has it: head and body, rows, and the cells that begin in each."""
    rows: list[list[Cell]] = [[] for _ in table.grid] if table.cells else []
    for cell in sorted(table.cells, key=lambda cell: cell.columns[0]):
        rows[cell.rows[0]].append(cell)
    head = header_rows(table)
    return [(tag, part) for tag, part in (("thead", rows[:head]), ("tbody", rows[head:])) if part]


def header_score(
    true: Table, predicted: Table, found: Measured, kept: Kept | None = None
) -> tuple[float, float, float]:
    """Return f-score, precision and recall of positions in the column header.

    A position is right if it is aligned by content with one of the other table's header. For
    functional analysis the paper (section 7) has only the average precision of the objects.
    """
    first, second = (
        np.array([cell.is_header for cell in table.cells], dtype=bool)[table.grid]
        for table in (true, predicted)
    )
    second = second if kept is None else second[np.ix_(*kept)]
    rows, columns = (
        np.array([line[:2] for line in lines], dtype=int).reshape(-1, 2).T
        for lines in found.aligned
    )
    right = first[np.ix_(rows[0], columns[0])] & second[np.ix_(rows[1], columns[1])]
    return ratios(float(right.sum()), int(first.sum()), int(second.sum()))


def exact_match(true: Table, predicted: Table, *, topology_only: bool = False) -> bool:
    """Return whether two tables have the same cells, with the same texts or without them."""
    cells, others = (
        Counter((c.rows, c.columns, "" if topology_only else c.text) for c in table.cells)
        for table in (true, predicted)
    )
    return cells == others


#: Number of nodes that are not counted, by variant: the published code omits the root.
TEDS_VARIANTS = {"paper": 0, "released": 1}


def teds(
    true: Table, predicted: Table, *, structure_only: bool = False, variant: str = "paper"
) -> float:
    """Return the tree-edit-distance-based similarity of two tables.

    Notes
    -----
    Zhong, ShafieiBavani and Jimeno Yepes, "Image-based table recognition: data, model, and
    evaluation" (2019). The nodes are the table, its head (the first rows, as far as all cells are
    column headers) and body, rows, and cells. Inserting or deleting a node costs 1. So does
    renaming one to another tag, or a cell to one with other row or column spans; of two more cells
    it costs the Levenshtein distance of the texts over the longer length. The distance is exact.
    """
    uncounted = TEDS_VARIANTS[checked_variant(variant, TEDS_VARIANTS)]
    if not true.cells or not predicted.cells:
        return float(len(true.cells) == len(predicted.cells))
    pair = TreePair(table_sections(true), table_sections(predicted), texts=not structure_only)
    return max(0.0, 1 - pair.distance() / (pair.size - uncounted))


def count_nodes(table: Table) -> int:
    """Return the number of nodes of a table's tree: cells, rows, head and body, and the table."""
    sections = table_sections(table)
    return 1 + sum(1 + len(rows) + sum(map(len, rows)) for _, rows in sections)


COMPARISON_COLUMNS = FrameSpec(
    "table_comparison",
    "one row per metric, its name in the index",
    (
        Column("score", "Float64", "f-score, similarity, or 1 for equal", "0 to 1", nullable=True),
        Column("precision", "Float64", "of the metrics that have one", "0 to 1", nullable=True),
        Column("recall", "Float64", "of the metrics that have one", "0 to 1", nullable=True),
        Column("note", "string", "why there is no score; else empty"),
    ),
)


#: All metrics, in the order of the rows.
TABLE_METRICS = (
    *("grits_top", "grits_con", "grits_loc", "grits_rawloc"),
    *("header", "adjacency", "bleu", "teds", "teds_structure", "exact", "exact_topology"),
)
_LOCATED = ("grits_loc", "grits_rawloc")
#: Larger trees have no TEDS: without much in common, 15,000 nodes take about 8 seconds.
_MOST_NODES = 20_000
_Row: TypeAlias = tuple[float | None, float | None, float | None, str]


def usual_metrics(tables: Iterable[Table]) -> tuple[str, ...]:
    """Return the default metrics of many tables."""
    return TABLE_METRICS[: 3 if all(table.has_boxes for table in tables) else 2]


def compare_tables(
    true: Any,
    predicted: Any,
    metrics: str | Sequence[str] | None = None,
    *,
    variant: str = "paper",
    tidy: bool = False,
) -> pd.DataFrame:
    """Compare two tables by all metrics that the paper names.

    Parameters
    ----------
    true, predicted : Table, list, DataFrame, str or pathlib.Path
        Two tables, in any form that `read_table` reads.
    metrics : str or sequence of str, optional
        ``grits_top``, ``grits_con``, ``grits_loc``, ``grits_rawloc``, ``adjacency`` (directed
        adjacency relations of the content), ``bleu`` (BLEU-4 on structure tokens), ``teds`` and
        ``teds_structure`` (tree edit distance, with texts and without), ``exact`` and
        ``exact_topology`` (the same cells, with the same texts or not). By default all but
        ``grits_rawloc``, and without ``grits_loc`` if a cell has no box. Tables with more than
        20,000 nodes (cells, rows and three more) have no ``teds``, and a note.
    variant : str, optional
        Variant of grid table similarity, as in `grits`; the other metrics have none.
    tidy : bool, optional
        Whether white space in texts is collapsed, as in `read_table`.

    Returns
    -------
    pandas.DataFrame
        One row per metric, in the order above: score, precision, recall (NA for metrics that have
        none), note.

    Raises
    ------
    InputError
        A table is invalid, a cell lacks the box that a metric needs, or a name is unknown.

    Examples
    --------
    >>> def row(*texts):
    ...     return [{"row_nums": [0], "column_nums": [n], "text": t} for n, t in enumerate(texts)]
    >>> found = compare_tables(row("Year", "Sales"), row("Year", "Sale"), ["teds", "exact"])
    >>> found["score"].to_dict()
    {'teds': 0.96, 'exact': 0.0}
    """
    checked_variant(variant, GRITS_VARIANTS)
    tables = read_pair(true, predicted, tidy=tidy)
    if metrics is None:
        located = all(table.has_boxes for table in tables)
        left_out = _LOCATED[1:] if located else _LOCATED
        names = [name for name in TABLE_METRICS if name not in left_out]
    else:
        names = checked_names(metrics, TABLE_METRICS)
    found = COMPARISON_COLUMNS.from_rows(compare_rows(*tables, names, variant))
    found.index = pd.Index(names, name="metric", dtype=object)
    return found


def compare_rows(
    true: Table, predicted: Table, names: Sequence[str], variant: str, kept: Kept | None = None
) -> list[_Row]:
    """Return score, precision, recall and note of each metric, as in `compare_tables`.

    With `kept`, some lines of the predicted table are compared: a substructure by grid table
    similarity, a table of its own by the others.
    """
    pair = true, predicted if kept is None else predicted.part(*kept)
    rows: list[_Row] = []
    found = cache(lambda metric: measured(metric, true, predicted, variant, kept))
    for name in names:
        if name in _LOCATED:
            refuse_boxless((true, predicted), name)
        row: _Row
        if name.startswith("grits_"):
            row = (*found(name.removeprefix("grits_")).scores[:3], "")
        elif name == "header":
            row = (*header_score(true, predicted, found("con"), kept), "")
        elif name == "adjacency":
            row = (*adjacency(*pair), "")
        elif name == "bleu":
            row = bleu(*pair), None, None, ""
        elif name.startswith("exact"):
            same = exact_match(*pair, topology_only=name == "exact_topology")
            row = float(same), None, None, ""
        elif (nodes := max(map(count_nodes, pair))) > _MOST_NODES:
            row = None, None, None, f"{nodes:,} nodes, more than {_MOST_NODES:,}"
        else:
            score = teds(*pair, structure_only=name == "teds_structure")
            row = score, None, None, ""
        rows.append(row)
    return rows
