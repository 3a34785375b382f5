"""`grits`: grid table similarity of two tables, or of the tables of pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, overload

import numpy as np
import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.values import canonical
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.support.cards import card_html
from extractbench_nb.support.nodes import Node, h, static_html
from extractbench_nb.tables.cells import EMPTY, Box, Numbers, Table
from extractbench_nb.tables.grid_alignment import (
    BoxEntries,
    align,
    aligned_lines,
    hull_overlap,
    iou,
    pair_similarity,
    text_entries,
    text_similarity,
)
from extractbench_nb.tables.reading import (
    is_list_of_tables,
    keys_of,
    objects_of,
    read_table,
    text_of,
    texts_of,
)
from extractbench_nb.tables.table_formats import check_size, tables_in

SIDES = ("true", "predicted")
#: What each metric compares, in a word.
METRICS = {
    "top": "topology",
    "con": "content",
    "loc": "location",
    "rawloc": "raw location",
}


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


#: What is compared: topology, content, location, and location without adjustment.
GRITS_METRICS = tuple(METRICS)
#: Metrics that need boxes.
LOCATED = GRITS_METRICS[2:]

SCORE_COLUMNS = FrameSpec(
    "scores",
    "one row per metric, with its name in the index",
    (
        Column("fscore", "float64", "2 x similarity / (positions of both grids)", "0 to 1"),
        Column("precision", "float64", "similarity / positions of the predicted grid", "0 to 1"),
        Column("recall", "float64", "similarity / positions of the true grid", "0 to 1"),
        Column("upper_bound", "float64", "upper bound of fscore over all alignments", "0 to 1"),
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
        Column("fscore", "float64", "F-score of the pair", "0 to 1"),
    ),
)


#: How boxes are compared, and texts: None is by their longest common subsequence.
GRITS_VARIANTS: Mapping[str, tuple[Callable[[Numbers, Numbers], Numbers], str | None]] = {
    "paper": (iou, None),
    "paper_substring": (iou, "substring"),
    "released": (hull_overlap, "blocks"),
}


class Measured(NamedTuple):
    """Two grids by one metric: sum of similarities, its upper bound, and the aligned lines.

    ``aligned`` has by axis (rows, columns) index, partner and similarity of each aligned line,
    ``similarity`` those of the positions that both axes align.
    """

    common: float
    bound: float
    sizes: tuple[int, int]
    aligned: tuple[Sequence[tuple[int, int, float]], Sequence[tuple[int, int, float]]] = ((), ())
    similarity: Numbers = np.zeros((0, 0))

    @property
    def scores(self) -> tuple[float, float, float, float]:
        """F-score, precision, recall and upper bound."""
        return (*ratios(self.common, *self.sizes), ratios(self.bound, *self.sizes)[0])


class _Scored:
    """What the results of two tables and of two pages have in common."""

    variant: str
    found: Mapping[str, Any]

    @cached_property
    def scores(self) -> pd.DataFrame:
        """One row per metric: fscore, precision, recall and upper_bound, 0 to 1."""
        rows = [found.scores for found in self.found.values()]
        index = pd.Index(list(self.found), name="metric", dtype=object)
        return pd.DataFrame(rows, index=index, columns=SCORE_COLUMNS.names, dtype=np.float64)

    def _described(self, about: str) -> str:
        scores = ", ".join(f"{name} {found.scores[0]:.3f}" for name, found in self.found.items())
        return f"{type(self).__name__}({scores}; {about}, variant {self.variant!r})"


@dataclass(frozen=True, eq=False, repr=False)
class GriTS(_Scored):
    """The similarity of two tables; made by `grits`, with ``scores``, ``rows`` and ``columns``.

    Attributes
    ----------
    true, predicted : Table
        The compared tables.
    variant : str
        The variant of the metric.
    found : dict of str to Measured
        By metric, the aligned lines and the similarities at the aligned positions.
    """

    true: Table
    predicted: Table
    variant: str
    found: Mapping[str, Measured]

    @cached_property
    def rows(self) -> pd.DataFrame:
        """One row per metric and pair of aligned rows: metric, true, predicted, similarity."""
        return self._aligned(0)

    @cached_property
    def columns(self) -> pd.DataFrame:
        """One row per metric and pair of aligned columns: metric, true, predicted, similarity."""
        return self._aligned(1)

    def _aligned(self, axis: int) -> pd.DataFrame:
        return ALIGNED_COLUMNS.from_rows(
            (name, *line) for name, found in self.found.items() for line in found.aligned[axis]
        )

    def __repr__(self) -> str:
        """Return the f-scores and the shapes of both tables."""
        shapes = (" x ".join(map(str, t.grid.shape)) for t in (self.true, self.predicted))
        return self._described(f"{' against '.join(shapes)} positions")

    def _repr_html_(self) -> str:
        return card_html(repr(self), static_html(scores_table(self, None)))


@dataclass(frozen=True, eq=False, repr=False)
class PageGriTS(_Scored):
    """The similarity of two lists of tables; made by `grits`, with ``scores`` and ``pairs``.

    Attributes
    ----------
    true, predicted : tuple of Table
        The tables.
    variant : str
        The variant of the metric.
    unreadable : dict of int to str
        By index of a predicted table, why it could not be read; it counts as empty.
    found : dict of str to Page
        By metric, the pairs of tables.
    """

    true: tuple[Table, ...]
    predicted: tuple[Table, ...]
    variant: str
    unreadable: Mapping[int, str]
    found: Mapping[str, Page]

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """One row per metric and pair of tables, or table without a partner."""
        rows = []
        for name, page in self.found.items():
            for n, m in page.pairs:
                sizes = (
                    (0 if n is None else self.true[n].size),
                    (0 if m is None else self.predicted[m].size),
                )
                common = 0.0 if n is None or m is None else page.found[n, m].common
                rows.append((name, n, m, common, ratios(common, *sizes)[0]))
        return PAIR_COLUMNS.from_rows(rows)

    def __repr__(self) -> str:
        """Return the f-scores and the numbers of tables."""
        more = f", {len(self.unreadable)} unreadable" if self.unreadable else ""
        return self._described(f"{len(self.true)} against {len(self.predicted)} tables{more}")

    def _repr_html_(self) -> str:
        pairs = self.pairs.to_html(index=False, border=0, float_format="{:.3f}".format)
        return card_html(repr(self), static_html(scores_table(self, None)), pairs, limit=300)


def scores_table(result: GriTS | PageGriTS, chosen: str | None) -> Node:
    """Draw the scores of all metrics."""
    names = [name.replace("_", " ") for name in result.scores.columns]
    rows = []
    for name, *numbers in result.scores.itertuples():
        shown = " (shown)" if name == chosen else ""
        cells = [h("td", f"{number:.3f}", cls="xb-num") for number in numbers]
        rows.append(h("tr", h("th", f"{name}{shown}", scope="row"), cells))
    heads = [h("th", name, scope="col", cls="xb-num") for name in names]
    return h("table", h("thead", h("tr", h("th", "metric", scope="col"), heads)), h("tbody", rows))


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
        Two tables in any form that `read_table` accepts: cells with ``row_nums`` and
        ``column_nums`` and, if known, ``text`` (or ``cell_text``), ``bbox`` (x0, y0, x1, y1) and
        ``is_column_header``; HTML, CSV or Markdown; a DataFrame; or a JSON array of objects. To
        compare the tables of a page or document, pass two lists of such tables in any order; one of
        them may be a text with several tables in HTML or Markdown.
    metrics : str or sequence of str, optional
        ``top`` (topology: which positions a cell covers), ``con`` (content: its text), ``loc``
        (location: its box) and ``rawloc`` (the predicted boxes as a model gave them, against the
        true ones dilated until rows and columns meet). By default the first three, without
        ``loc`` if a cell has no box.
    variant : str, optional
        ``"paper"``: intersection over union, and the longest common subsequence.
        ``"paper_substring"``: the longest common substring, as described in the paper's text.
        ``"released"``: the rules of the published code, for comparison with the literature (the
        smallest box around both instead of the union, and difflib's matching blocks).

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
    heuristic, so ``fscore`` is a lower bound of the best score, and ``upper_bound`` an upper bound.
    If several alignments are equally good, a fixed rule chooses one (see `align`). Two empty tables
    are equal. If one table is empty, the F-score is 0, and the ratio over its positions is 1.

    For each metric, the tables in lists are paired one to one so that the sum of their similarities
    is the greatest (Hungarian method). The scores are ratios of this sum to all positions. Smock
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
    is_page = is_list_of_tables(true) or is_list_of_tables(predicted)
    if is_page:
        trues, predictions, unreadable = read_lists(true, predicted)
    else:
        trues, predictions = ([table] for table in read_pair(true, predicted))
        unreadable = {}
    located = all(table.has_boxes for table in (*trues, *predictions))
    names = asked or list(GRITS_METRICS[: 3 if located else 2])
    if is_page:
        pages = {name: measured_page(name, trues, predictions, variant) for name in names}
        return PageGriTS(tuple(trues), tuple(predictions), variant, unreadable, pages)
    tables = trues[0], predictions[0]
    found = {name: measured(name, *tables, variant) for name in names}
    return GriTS(*tables, variant, found)


class Page(NamedTuple):
    """Two lists of tables by one metric: the sum over pairs, the pairs, and all combinations.

    Pairs have the indices of both tables, those of true tables first; None is no partner.
    """

    total: Measured
    pairs: list[tuple[int | None, int | None]]
    found: dict[tuple[int, int], Measured]

    @property
    def scores(self) -> tuple[float, float, float, float]:
        """F-score, precision, recall and upper bound over all positions."""
        return self.total.scores


def measured_page(
    name: str, true: Sequence[Table], predicted: Sequence[Table], variant: str
) -> Page:
    """Pair the tables of two lists so that the sum of their similarities is the greatest."""
    from scipy.optimize import linear_sum_assignment

    refuse_boxless(name, true, predicted)
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

    Beside a list, a text may contain several tables, and one table is a list of one. The dict has
    the reasons by index.
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


def refuse_boxless(metric: str, true: Sequence[Table], predicted: Sequence[Table]) -> None:
    """Raise `InputError` if the metric needs boxes and a cell has none."""
    for side, tables in zip(SIDES, (true, predicted), strict=True):
        for n, table in enumerate(tables if metric in LOCATED else ()):
            which = f"{side} table {n}" if max(len(true), len(predicted)) > 1 else side
            for number, cell in enumerate(table.cells):
                if cell.box is None:
                    raise InputError(
                        f"{which}, cell {number} has no bbox, which the metric {metric!r} needs"
                    )


def measured(
    name: str, true_table: Table, predicted_table: Table, variant: str, kept: Kept | None = None
) -> Measured:
    """Align two tables by one metric; with `kept`, a substructure of the predicted one."""
    refuse_boxless(name, [true_table], [predicted_table])
    tables = (dilate(true_table) if name == "rawloc" else true_table), predicted_table
    overlap, kind = GRITS_VARIANTS[variant]
    if name == "con":
        entries = text_entries(tables, kind)
    else:
        entries = BoxEntries(tables, _spans if name == "top" else _boxes, overlap)
    true, predicted = entries.true, entries.predicted
    if kept is not None:
        predicted = predicted[np.ix_(*kept)]
    sizes = true.size, predicted.size
    if not all(sizes):
        return Measured(0.0, 0.0, sizes)
    rows = aligned_lines(entries, true, predicted)
    columns = aligned_lines(entries, true.T, predicted.T)
    common = entries.similar(
        true[rows.true[:, None], columns.true],
        predicted[rows.predicted[:, None], columns.predicted],
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
    width = table.grid.shape[1]
    cells = (table.cells[n] for n in table.grid.ravel().tolist())
    return [
        _SINGLE if len(cell.rows) == len(cell.columns) == 1 else cell.span_from(*divmod(n, width))
        for n, cell in enumerate(cells)
    ]


_SINGLE: Box = (0, 0, 1, 1)


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
