"""Metrics of two tables beside GriTS: tree edit distance, adjacency relations, BLEU, header F1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import groupby, pairwise
from math import exp, log
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.tables.cells import Cell, Indices, Numbers, Table, header_rows
from extractbench_nb.tables.grid_alignment import aligned_entries, alignment_scores
from extractbench_nb.tables.grid_similarity import (
    GRITS_VARIANTS,
    Kept,
    Measured,
    checked_names,
    checked_variant,
    measured,
    ratios,
    read_pair,
)

#: ``"thead"`` or ``"tbody"``, and for each of its rows the cells that begin there.
Section: TypeAlias = tuple[str, list[list[Cell]]]
#: Number of pairs of cells in memory.
_MANY = 1 << 21


class _Part(NamedTuple):
    """The head or body: its tag, its first node, itself, and its rows."""

    tag: str
    first: int
    node: int
    rows: range


class _Tree(NamedTuple):
    """A tree without its root; nodes are numbered in postorder, and so are leaves.

    A leaf is a cell, or a row in which no cell begins: it has no text, and the span -1.
    """

    size: int
    parts: list[_Part]
    texts: list[str]
    #: By row: its first node, itself, and its first leaf; of leaves, one more.
    first: Indices
    rows: Indices
    starts: Indices
    #: By leaf: its node, its span as a number, and the number of its text among `texts`.
    leaves: Indices
    spans: Indices
    numbers: Indices


def _tree(sections: list[Section]) -> _Tree:
    parts: list[_Part] = []
    first, rows, starts, leaves, spans, numbers = ([] for _ in range(6))  # type: ignore[var-annotated]
    texts: dict[str, int] = {}
    size = 0
    for tag, lines in sections:
        start, before = size, len(rows)
        for line in lines:
            first.append(size)
            starts.append(len(leaves))
            for cell in line:
                leaves.append(size)
                down, across = (side[-1] - side[0] for side in (cell.rows, cell.columns))
                spans.append(down << 32 | across)
                numbers.append(texts.setdefault(cell.text, len(texts)))
                size += 1
            if not line:
                leaves.append(size)
                spans.append(-1)
                numbers.append(texts.setdefault("", len(texts)))
            rows.append(size)
            size += 1
        parts.append(_Part(tag, start, size, range(before, len(rows))))
        size += 1
    starts.append(len(leaves))
    arrays = [np.array(side) for side in (first, rows, starts, leaves, spans, numbers)]
    return _Tree(size, parts, [*texts], *arrays)


class _TreePair:
    """The trees of two tables, and the best mapping of their nodes.

    A mapping keeps order and ancestors. Leaving a node out costs 1, so a pair of nodes that costs
    `c` gains `2 - c`, from 1 to 2, and the distance is the number of nodes less the most that a
    mapping gains. Zhang and Shasha, "Simple fast algorithms for the editing distance between trees
    and related problems" (1989), compute what is gained by the first nodes of one tree with the
    first nodes of the other: the last node of either is left out, or both are paired, and so are
    their subtrees with each other. Trees of tables allow short cuts:

    - Roots are paired, and so are sections if there is one on either side.
    - No cell is paired with a node that has children, as any leaf below gains as much.
    - The cells of two rows that are paired are aligned, for all rows of the other tree at once.
    - Two sections that are paired have gains of their own, computed beside those of the trees. A
      section may also be paired with a row of the other tree; then the leaves below are aligned.
    """

    def __init__(self, true: list[Section], predicted: list[Section], *, texts: bool) -> None:
        self._one, self._other = _tree(true), _tree(predicted)
        self._texts = texts
        #: A section is paired with a row only if there are more sections.
        self._may_jump = len(self._one.parts) + len(self._other.parts) > 2  # noqa: PLR2004
        starts = self._other.starts
        widths = np.diff(starts)[:, None]
        columns = np.arange(widths.max())
        #: The leaves of each row of the other tree; in place of missing ones the number of leaves.
        self._leaves = np.where(columns < widths, starts[:-1, None] + columns, starts[-1])

    def distance(self) -> float:
        """Return the least cost of turning one tree into the other."""
        one, other = self._one, self._other
        # by number of first nodes of the other tree: from the beginning, and of each of its parts
        gained = np.zeros((1 + len(other.parts), other.size + 1))
        for part in one.parts:
            for lane, second in enumerate(other.parts, 1):
                gained[lane, : second.first] = -np.inf
                gained[lane, second.first :] = 0
            begun = gained[:, [second.first for second in other.parts]]
            begun_rows = gained[:, other.first] + self._section_gains(part)
            for row in part.rows:
                self._add(row, gained)
            for n, second in enumerate(other.parts):
                own = gained[n + 1, second.node] + 1 + (part.tag == second.tag)
                end = gained[:, second.node + 1]
                np.maximum(end, begun[:, n] + own, out=end)
            ends = other.rows + 1
            gained[:, ends] = np.maximum(gained[:, ends], begun_rows)
            np.maximum.accumulate(gained, axis=1, out=gained)
        return float(one.size + other.size - gained[0, -1])

    def _add(self, row: int, gained: Numbers) -> None:
        """Add a row of one tree to what is gained by the first nodes of the other."""
        one, other = self._one, self._other
        gains = self._leaf_gains(slice(*one.starts[row : row + 2]), slice(None))
        begun = gained[:, other.first] + self._row_gains(row, gains)
        begun_parts = [
            gained[:, part.first] + 1 + _most_gain(gains[:, self._leaves_of(other, part)])
            for part in (other.parts if self._may_jump else ())
        ]
        step = np.zeros(other.size)
        for leaf in gains:
            step[other.leaves] = leaf
            best = np.maximum(gained[:, :-1] + step, gained[:, 1:])
            np.maximum.accumulate(best, axis=1, out=gained[:, 1:])
        ends = other.rows + 1
        gained[:, ends] = np.maximum(gained[:, ends], begun)
        for part, gain in zip(other.parts, begun_parts, strict=False):
            end = gained[:, part.node + 1]
            np.maximum(end, gain, out=end)
        np.maximum.accumulate(gained, axis=1, out=gained)

    def _leaves_of(self, tree: _Tree, part: _Part) -> slice:
        return slice(tree.starts[part.rows.start], tree.starts[part.rows.stop])

    def _leaf_gains(self, some: slice, others: slice) -> Numbers:
        """Return what is gained by pairing leaves with each other."""
        from rapidfuzz.distance import Levenshtein
        from rapidfuzz.process import cdist

        one, other = self._one, self._other
        gains = np.full((len(one.leaves[some]), len(other.leaves[others])), 2.0)
        if self._texts:
            texts = [one.texts[n] for n in one.numbers[some].tolist()]
            distance = Levenshtein.normalized_distance
            used, which = np.unique(other.numbers[others], return_inverse=True)
            other_texts = [other.texts[n] for n in used.tolist()]
            costs = cdist(texts, other_texts, scorer=distance, dtype=np.float64)
            gains -= costs[:, which]
        gains[one.spans[some, None] != other.spans[others]] = 1
        return gains

    def _row_gains(self, row: int, gains: Numbers) -> Numbers:
        """Return what is gained by pairing a row, and its cells, with each row of the other."""
        gained = np.full(len(self._leaves), 2.0)
        if self._one.first[row] == self._one.rows[row]:  # no cell begins in it
            return gained
        gains = np.pad(gains, ((0, 0), (0, 1)))
        step = max(1, _MANY // max(1, len(gains) * self._leaves.shape[1]))
        for start in range(0, len(gained), step):
            rewards = gains[:, self._leaves[start : start + step]].transpose(1, 0, 2)
            gained[start : start + step] += aligned_entries(rewards)
        gained[self._other.first == self._other.rows] = 2
        return gained

    def _section_gains(self, part: _Part) -> Numbers:
        """Return what is gained by pairing a section with each row of the other."""
        if not self._may_jump:
            return np.full(len(self._leaves), -np.inf)
        starts, some = self._other.starts, self._leaves_of(self._one, part)
        pairs = pairwise(starts.tolist())
        found = [_most_gain(self._leaf_gains(some, slice(*ends))) for ends in pairs]
        blank = self._other.first == self._other.rows
        return np.where(blank, -np.inf, 1 + np.array(found))


def _most_gain(gains: Numbers) -> float:
    """Return the score of the best alignment, line by line of the shorter side."""
    shorter = gains if len(gains) <= gains.shape[1] else gains.T
    return float(alignment_scores(shorter)[-1, -1])


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


def teds(true: Table, predicted: Table, *, structure_only: bool = False) -> float:
    """Return the tree-edit-distance-based similarity of two tables.

    Notes
    -----
    Zhong, ShafieiBavani and Jimeno Yepes, "Image-based table recognition: data, model, and
    evaluation" (2019). The nodes are the table, its head (the first rows, as far as all cells are
    column headers) and body, rows, and cells. Inserting or deleting a node costs 1. So does
    renaming one to another tag, or a cell to one with other row or column spans; of two more cells
    it costs the Levenshtein distance of the texts over the longer length. The distance is exact.
    """
    if not true.cells or not predicted.cells:
        return float(len(true.cells) == len(predicted.cells))
    pair = _TreePair(table_sections(true), table_sections(predicted), texts=not structure_only)
    size = max(map(count_nodes, (true, predicted)))
    return max(0.0, 1 - pair.distance() / size)


def count_nodes(table: Table) -> int:
    """Return the number of nodes of a table's tree: cells, rows, head and body, and the table."""
    sections = table_sections(table)
    return 1 + sum(1 + len(rows) + sum(map(len, rows)) for _, rows in sections)


COMPARISON_COLUMNS = FrameSpec(
    "table_comparison",
    "one row per metric, with its name in the index",
    (
        Column("score", "Float64", "f-score or similarity", "0 to 1", nullable=True),
        Column("precision", "Float64", "of the metrics that have one", "0 to 1", nullable=True),
        Column("recall", "Float64", "of the metrics that have one", "0 to 1", nullable=True),
        Column("note", "string", "why there is no score; else empty"),
    ),
)

#: All metrics, in the order of the rows.
TABLE_METRICS = (
    *("grits_top", "grits_con", "grits_loc", "grits_rawloc"),
    *("header", "adjacency", "bleu", "teds", "teds_structure"),
)
#: Metrics that need boxes.
LOCATED_METRICS = TABLE_METRICS[2:4]
#: Larger trees have no TEDS: 15,000 nodes take about 16 seconds.
_MOST_NODES = 20_000
_Row: TypeAlias = tuple[float | None, float | None, float | None, str]


def compare_tables(
    true: Any,
    predicted: Any,
    metrics: str | Sequence[str] | None = None,
    *,
    variant: str = "paper",
) -> pd.DataFrame:
    """Compare two tables with all metrics mentioned in the paper.

    Parameters
    ----------
    true, predicted : Table, list, DataFrame, str or pathlib.Path
        Two tables, in any form that `read_table` reads.
    metrics : str or sequence of str, optional
        ``grits_top``, ``grits_con``, ``grits_loc``, ``grits_rawloc``, ``header`` (positions of the
        column header), ``adjacency`` (directed adjacency relations of the content), ``bleu``
        (BLEU-4 on structure tokens), ``teds`` and ``teds_structure`` (tree edit distance, with
        texts and without). By default all but ``grits_rawloc``, and without ``grits_loc`` if a cell
        has no box. Tables with more than 20,000 nodes have no ``teds``, and a note.
    variant : str, optional
        Variant of grid table similarity, as in `grits`; the other metrics have none.

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
    >>> found = compare_tables(row("Year", "Sales"), row("Year", "Sale"), ["adjacency", "teds"])
    >>> found["score"].to_dict()
    {'adjacency': 0.0, 'teds': 0.96}
    """
    checked_variant(variant, GRITS_VARIANTS)
    tables = read_pair(true, predicted)
    if metrics is None:
        located = all(table.has_boxes for table in tables)
        left_out = LOCATED_METRICS[1:] if located else LOCATED_METRICS
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
        row: _Row
        if name.startswith("grits_"):
            row = (*found(name.removeprefix("grits_")).scores[:3], "")
        elif name == "header":
            row = (*header_score(true, predicted, found("con"), kept), "")
        elif name == "adjacency":
            row = (*adjacency(*pair), "")
        elif name == "bleu":
            row = bleu(*pair), None, None, ""
        elif (nodes := max(map(count_nodes, pair))) > _MOST_NODES:
            row = None, None, None, f"{nodes:,} nodes, more than {_MOST_NODES:,}"
        else:
            score = teds(*pair, structure_only=name == "teds_structure")
            row = score, None, None, ""
        rows.append(row)
    return rows
