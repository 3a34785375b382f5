"""From detected objects to a logical table: conflict resolution, cells and their words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.errors import InputError
from extractbench_nb.tables.cells import (
    Cell,
    Indices,
    Numbers,
    Table,
    covered_grid,
    is_share,
    leading,
    table_of_cells,
)
from extractbench_nb.tables.grid_similarity import checked_variant
from extractbench_nb.tables.objects import Detected, Words, detected_objects, detected_words

RESOLVED_COLUMNS = FrameSpec(
    "objects",
    "one row per object of the resolved table, before rows and columns shrink to their words",
    (
        Column("object", "Int64", "position in the input; missing: made on the way", nullable=True),
        Column("label", "string", "class", "STRUCTURE_LABELS"),
        Column("score", "Float64", "how certain the model is", "0 to 1", nullable=True),
        Column("x0", "float64", "left edge"),
        Column("y0", "float64", "upper edge"),
        Column("x1", "float64", "right edge"),
        Column("y1", "float64", "lower edge"),
        Column("rows", "object", "numbers of the rows that it covers"),
        Column("columns", "object", "numbers of the columns that it covers"),
    ),
)

#: What each step does, in the order of the steps.
STEPS = MappingProxyType(
    {
        "read": "objects and words that cannot be used are left out",
        "threshold": "objects with a low score are left out",
        "table": "objects that lie outside of the table are left out",
        "rows": "rows that hold no word, or that overlap a better one, are left out",
        "columns": "columns that hold no word, or that overlap a better one, are left out",
        "header": "the header consists of whole rows, from the first one",
        "align": "spanning cells consist of whole rows and columns, of the header or of the body",
        "overlap": "spanning cells give up what a better one covers",
        "tree": "a spanning cell of the header has one cell above it in each row",
    }
)

CHANGE_COLUMNS = FrameSpec(
    "changes",
    "one row per change of an object, in the order of the steps",
    (
        Column("object", "Int64", "position in the input; missing: a word, or made", nullable=True),
        Column("step", "string", "step of conflict resolution", ", ".join(STEPS)),
        Column("action", "string", "what was done", "dropped, aligned, shrunk"),
        Column("reason", "string", "why"),
        Column("rows", "object", "rows covered afterwards, if that changed", nullable=True),
        Column("columns", "object", "columns covered afterwards, if that changed", nullable=True),
    ),
)


class _Variant(NamedTuple):
    """How the variants differ; docs/tables.md lists the defects of the published code."""

    #: Whether the defects that the published code has in both of its paths are mended.
    mended: bool
    #: Whether it is the inference path: rows and columns are kept whatever their scores,
    #: spanning cells may cross the header's edge, words outside the table go into cells, and each
    #: table object is resolved, of the objects inside it; all tables share the same boxes.
    inference: bool


#: How conflicts are resolved: as in the paper, and as in the two paths of the published code.
RESOLUTION_VARIANTS = MappingProxyType(
    {
        "paper": _Variant(mended=True, inference=False),
        "released": _Variant(mended=False, inference=False),
        "released_inference": _Variant(mended=False, inference=True),
    }
)

#: Share of an object's area or extent that must be covered for it to be inside another.
_HALF = 0.5
#: Without words, share of a row, column or header that a better one may cover.
_MOST_COVERED = {"rows": 0.5, "columns": 0.25, "header": 0.05}
#: Share of a word that the cell which holds most of it must hold.
_LEAST_HELD = 0.001
_SUPERSCRIPT = 1
_SPANNING = ("table spanning cell", "table projected row header")
#: Where the words of an image without a table are expected by the released code.
_NO_TABLE = np.array([[0.0, 0.0, 1000.0, 1000.0]])


@dataclass(frozen=True, eq=False, repr=False)
class ResolvedTable:
    """A table made of detected objects.

    Attributes
    ----------
    table : Table
        Its cells with texts and boxes; goes into `grits`, `canonicalize` and the like.
    confidence : float
        How well the words fit into cells, 0 to 1: the mean of the smallest and the average share
        of a word that one cell holds; 0 without words.
    variant : str
        How conflicts were resolved.
    threshold : float
        The least score.
    given : tuple
        The objects and words as given.
    """

    table: Table
    confidence: float
    variant: str
    threshold: float
    given: tuple[Any, Any]
    _objects: Sequence[tuple[Any, ...]] = field(default=())
    _changes: Sequence[tuple[Any, ...]] = field(default=())

    @cached_property
    def objects(self) -> pd.DataFrame:
        """The objects that are left, as resolved: table, columns, rows, header, spanning cells.

        Returns
        -------
        pandas.DataFrame
            One row per object: ``object`` (its position in the input), ``label``, ``score``,
            ``x0``, ``y0``, ``x1``, ``y1``, ``rows``, ``columns``. Boxes are those before rows and
            columns shrink to their words.
        """
        return RESOLVED_COLUMNS.from_rows(self._objects)

    @cached_property
    def changes(self) -> pd.DataFrame:
        """What was changed, in the order of the steps.

        Returns
        -------
        pandas.DataFrame
            One row per change: ``object`` (its position in the input), ``step``, ``action``,
            ``reason``, ``rows``, ``columns``.
        """
        return CHANGE_COLUMNS.from_rows(self._changes)

    def __repr__(self) -> str:
        """Return the table, the confidence and the number of changes."""
        return (
            f"ResolvedTable({self.table!r}, confidence {self.confidence:.3f}, "
            f"{len(self._changes)} changes, variant {self.variant!r})"
        )

    def _repr_html_(self) -> str:
        return self.table._repr_html_()


def from_objects(
    objects: Any,
    words: Any = None,
    *,
    variant: str = "paper",
    threshold: float = 0.5,
    table: int | None = None,
) -> ResolvedTable:
    """Make a logical table of detected objects and of the words in the image."""
    rules = RESOLUTION_VARIANTS[checked_variant(variant, RESOLUTION_VARIANTS)]
    if not is_share(threshold):
        raise InputError(f"threshold is {threshold!r}; expected a number from 0 to 1")
    found = detected_objects(objects, "objects", flat=not rules.mended)
    read = detected_words([] if words is None else words, "words")
    if table is not None and (table, "table") not in zip(found.numbers, found.labels, strict=True):
        raise InputError(
            f"table is {table!r}; expected the position of an object with the label 'table'"
        )
    draft = _Draft(found, read, rules, threshold)
    chosen = None if table is None else found.numbers.index(table)
    if rules.inference:
        tables = draft.labelled("table", range(len(found.labels)))
        if not tables:
            raise InputError(f"objects: none has the label 'table', which {variant!r} needs")
        # all structures, then cells one table at a time: all share the boxes, and change them
        structures = [draft.structure(number) for number in tables]
        structures = structures[: 1 if chosen is None else tables.index(chosen) + 1]
    else:
        structures = [draft.structure(chosen)]
    results = [(draft.listed(structure), *draft.cells(structure)) for structure in structures]
    listed, made, confidence = results[-1]
    changes = draft.changes + structures[-1].changes
    return ResolvedTable(made, confidence, variant, threshold, (objects, words), listed, changes)


_Lines: TypeAlias = tuple[tuple[int, ...] | None, tuple[int, ...] | None]
_Note: TypeAlias = Callable[..., None]


class _Header(NamedTuple):
    """A header: its place in the arrays unless it was made, its box, and its rows once known."""

    number: int | None
    box: Numbers
    rows: list[int]


class _Structure(NamedTuple):
    """The objects of one table, by their places in the arrays; `number` is that of the table."""

    number: int | None
    rows: list[int]
    columns: list[int]
    headers: list[_Header]
    spanning: list[int]
    words: Indices
    changes: list[tuple[Any, ...]]


class _Draft:
    """Objects while their conflicts are resolved, by their places in the arrays.

    `ranked` has the best first. Rows of the header are flagged in `is_header`; `lines` has the
    numbers of the rows and columns of spanning cells, and `in_header` those in the header.
    """

    def __init__(self, found: Detected, words: Words, rules: _Variant, threshold: float) -> None:
        self.numbers, self.labels, self.scores, self.boxes, problems = found
        self.words, self.rules, self.threshold = words, rules, threshold
        self.is_header = np.zeros(len(self.labels), dtype=bool)
        self.lines: dict[int, tuple[list[int], list[int]]] = {}
        self.in_header: set[int] = set()
        self.changes: list[tuple[Any, ...]] = [
            (n, "read", "dropped", problem, None, None) for n, problem in problems.items()
        ]
        for n, problem in words.problems.items():
            self.changes.append((None, "read", "dropped", f"word {n}: {problem}", None, None))
        # of equal scores the first object, or, where the order is not to matter, the upper left one
        is_projected = np.array([label == _SPANNING[1] for label in self.labels], dtype=bool)
        positions = self.boxes.T[[3, 2, 0, 1]] if rules.mended else ()
        self.ranked: list[int] = np.lexsort((*positions, is_projected, -self.scores)).tolist()

    def labelled(self, label: str, among: Iterable[int]) -> list[int]:
        """Return the objects of a class."""
        return [n for n in among if self.labels[n] == label]

    def structure(self, table: int | None) -> _Structure:
        """Resolve the conflicts between the objects of a table, by default the best one."""
        rules, boxes = self.rules, self.boxes
        changes: list[tuple[Any, ...]] = []

        def note(n: int, step: str, what: str, lines: _Lines = (None, None)) -> None:
            action, _, reason = what.partition(": ")
            changes.append((self.numbers[n], step, action, reason, *lines))

        def high(ranked: list[int]) -> list[int]:
            for n in ranked:
                if self.scores[n] < self.threshold:
                    note(n, "threshold", f"dropped: its score is below {self.threshold}")
            return [n for n in ranked if self.scores[n] >= self.threshold]

        ranked = self.ranked if rules.inference else high(self.ranked)
        if table is not None:
            inside = _shares(boxes, boxes[[table]])[:, 0] >= _HALF
            for n in ranked:
                if not inside[n]:
                    note(n, "table", "dropped: less than half of it is in the table")
            ranked = [n for n in ranked if inside[n]]
        tables = self.labelled("table", ranked)
        table = tables[0] if table is None and tables else table
        for n in tables:
            if n != table:
                note(n, "table", "dropped: another table is resolved")
        words = np.arange(len(self.words.texts))
        if table is not None or not rules.mended:
            box = _NO_TABLE if table is None else boxes[[table]]
            words = np.flatnonzero(_shares(self.words.boxes, box)[:, 0] >= _HALF)

        headers = self.labelled("table column header", ranked)
        spanning = [n for n in ranked if self.labels[n] in _SPANNING]
        rows, columns = (self.labelled(f"table {name}", ranked) for name in ("row", "column"))
        self.is_header[rows] = (_shares(boxes[rows], boxes[headers]) >= _HALF).any(axis=1)
        rows = self._lines(rows, "rows", words, note)
        columns = self._lines(columns, "columns", words, note)
        across, down = _hull(boxes[columns]), _hull(boxes[rows])
        hull = np.array([across[0], down[1], across[2], down[3]])
        boxes[np.ix_(rows, [0, 2])] = hull[[0, 2]]
        boxes[np.ix_(columns, [1, 3])] = hull[[1, 3]]
        if table is not None:
            boxes[table] = hull
        header = [_Header(n, boxes[n], []) for n in sorted(headers)]
        refined = rows and len(columns) > (0 if rules.mended else 1)
        if refined:
            if rules.inference:
                headers, spanning = high(headers), high(spanning)
            header = self._header(headers, rows, note)
            spanning = self._aligned(spanning, rows, columns, note)
            spanning = self._disjoint(spanning, rows, columns, note)
            spanning = self._tree(spanning, len(columns), note)
        else:
            spanning.sort(key=lambda n: (self.labels[n] == _SPANNING[1], n))
        return _Structure(table, rows, columns, header, spanning, words, changes)

    def _lines(self, ranked: list[int], step: str, words: Indices, note: _Note) -> list[int]:
        """Return rows or columns in order, without those that have no words or overlap others."""
        boxes = self.boxes[ranked]
        if ranked and len(words):
            shares = _shares(self.words.boxes[words], boxes)
            best = shares.argmax(axis=1)
            held = np.bincount(best[shares.max(axis=1) >= _HALF], minlength=len(ranked))
            has_text = np.array([self._has_text(n) for n in words.tolist()])
            is_filled = (shares[has_text] >= _HALF).any(axis=0)
            for place, n in enumerate(ranked):
                if place and not held[place]:
                    note(n, step, "dropped: it holds no word")
                elif not is_filled[place]:
                    note(n, step, "dropped: its words have no text")
            held[0] = 1  # the best one needs text only
            kept = np.flatnonzero((held > 0) & is_filled).tolist()
        else:
            kept = self._apart(ranked, step, note)
        return self._sorted([ranked[place] for place in kept], 1 if step == "rows" else 0)

    def _has_text(self, word: int) -> bool:
        """Return whether a word has text and is not a number in superscript, as for a footnote."""
        text = self.words.texts[word].strip()
        if self.words.order[word, 3] & _SUPERSCRIPT:
            with suppress(ValueError):
                int(text)
                return False
        return bool(text)

    def _apart(self, ranked: list[int], step: str, note: _Note) -> list[int]:
        """Return places of those that better ones do not cover too much of."""
        boxes = self.boxes[ranked]
        covered = _shares(boxes, boxes) >= _MOST_COVERED[step]
        kept: list[int] = []
        for place, n in enumerate(ranked):
            over = [other for other in kept if covered[place, other]]
            if over:
                note(n, step, f"dropped: object {self.numbers[ranked[over[0]]]} covers it")
            else:
                kept.append(place)
        return kept

    def _header(self, ranked: list[int], rows: list[int], note: _Note) -> list[_Header]:
        """Return the header: whole rows from the first one on; flag its rows."""
        kept = [ranked[place] for place in self._apart(ranked, "header", note)]
        covered = _covered(self.boxes[kept], self.boxes[rows], 1) >= _HALF
        # row by row of each header in turn, until a number does not follow the one before it
        numbers = np.nonzero(covered)[1].tolist()
        if self.rules.mended:
            numbers = sorted(set(numbers))
            numbers = [*range(numbers[0]), *numbers] if numbers else []
        elif numbers and numbers[0]:
            numbers = [*range(numbers[0] + 1), *numbers]
        found = list(range(leading(n == number for n, number in enumerate(numbers))))
        self.is_header[rows] = False
        self.is_header[[rows[n] for n in found]] = True
        for n, its_rows in zip(kept, covered.tolist(), strict=True):
            if any(its_rows[row] for row in found):
                note(n, "header", "aligned: to whole rows, from the first one", (found, None))
            else:
                why = "it does not follow the header" if any(its_rows) else "it covers no row"
                note(n, "header", f"dropped: {why}")
        return [_Header(None, _hull(self.boxes[[rows[n] for n in found]]), found)] if found else []

    def _aligned(
        self, ranked: list[int], rows: list[int], columns: list[int], note: _Note
    ) -> list[int]:
        """Align spanning cells to the rows and columns that they cover half of."""
        down = _covered(self.boxes[ranked], self.boxes[rows], 1) >= _HALF
        across = _covered(self.boxes[ranked], self.boxes[columns], 0) >= _HALF
        is_header = self.is_header[rows] & (not self.rules.inference)
        self.in_header.difference_update(ranked)
        kept = []
        for place, n in enumerate(ranked):
            head = np.flatnonzero(down[place] & is_header).tolist()
            body = np.flatnonzero(down[place] & ~is_header).tolist()
            its_columns = np.flatnonzero(across[place]).tolist()
            its_rows = head if len(head) >= len(body) else body
            if not its_rows or not its_columns:
                missing = "column" if its_rows else "row"
                note(n, "align", f"dropped: it covers half of no {missing}")
                continue
            if self.rules.mended:
                its_rows = [*range(its_rows[0], its_rows[-1] + 1)]
                its_columns = [*range(its_columns[0], its_columns[-1] + 1)]
            self.lines[n] = its_rows, its_columns
            self._snap(n, rows, columns)
            if self._is_single(n, len(columns)):
                note(n, "align", "dropped: it covers one position")
                continue
            if head and its_rows[0] == head[0]:
                self.in_header.add(n)
            across_edge = "to the larger part, at the header's edge" if head and body else ""
            note(n, "align", f"aligned: {across_edge or 'to whole rows and columns'}", self._now(n))
            kept.append(n)
        return kept

    def _is_single(self, n: int, columns: int) -> bool:
        """Return whether a spanning cell does not span; a section of a single column may not."""
        sizes = [len(lines) for lines in self.lines[n]]
        is_section = self.rules.mended and columns == 1 and self.labels[n] == _SPANNING[1]
        return 0 in sizes or (sizes == [1, 1] and not is_section)

    def _snap(self, n: int, rows: list[int], columns: list[int]) -> None:
        """Give a spanning cell the box of its rows and columns."""
        down, across = self.lines[n]
        hulls = (self.boxes[[rows[i] for i in down]], self.boxes[[columns[i] for i in across]])
        self.boxes[n] = _common(*(_hull(boxes)[None] for boxes in hulls))[0]

    def _now(self, n: int) -> _Lines:
        rows, columns = self.lines[n]
        return tuple(rows), tuple(columns)

    def _disjoint(
        self, ranked: list[int], rows: list[int], columns: list[int], note: _Note
    ) -> list[int]:
        """Shrink spanning cells by a row or column at a time until no better one overlaps.

        The side with more lines shrinks, at its end, else at its beginning; a cell that is covered
        only in between is dropped.
        """
        kept: list[int] = []
        for place, n in enumerate(ranked):
            lines = [*self.lines[n][0]], [*self.lines[n][1]]
            for other in kept if self.rules.mended else ranked[:place]:
                common = [
                    set(a).intersection(b) for a, b in zip(lines, self.lines[other], strict=True)
                ]
                while all(common):
                    axis = 1 if len(lines[0]) < len(lines[1]) else 0
                    end = next((e for e in (-1, 0) if lines[axis][e] in common[axis]), None)
                    if end is None:
                        lines[axis].clear()
                        break
                    common[axis].remove(lines[axis].pop(end))
            is_changed = lines != self.lines[n]
            self.lines[n] = lines
            if place and self._is_single(n, len(columns)):
                note(n, "overlap", "dropped: better ones cover it")
                continue
            if is_changed:
                note(n, "overlap", "shrunk: by what better ones cover", self._now(n))
                if self.rules.mended:
                    self._snap(n, rows, columns)
            kept.append(n)
        return kept

    def _tree(self, ranked: list[int], columns: int, note: _Note) -> list[int]:
        """Drop spanning cells of the header without one cell above them in each row."""
        head = [n for n in ranked if n in self.in_header]
        dropped: set[int] = set()
        if self.rules.mended and head:
            # positions without a spanning cell have a cell each; from above, as parents may go
            height = max(self.lines[n][0][-1] for n in head) + 1
            owners = np.arange(-height * columns, 0).reshape(height, columns)
            for n in sorted(head, key=lambda n: self.lines[n][0][0]):
                down, across = self.lines[n]
                above = owners[: down[0], across[0] : across[-1] + 1]
                if (above != above[:, :1]).any():
                    dropped.add(n)
                else:
                    owners[down[0] : down[-1] + 1, across[0] : across[-1] + 1] = n
        elif head:
            for n in head:
                down, across = self.lines[n]
                above = Counter(
                    row
                    for its_rows, its_columns in map(self.lines.__getitem__, head)
                    if its_rows[-1] < down[0] and set(across).issubset(its_columns)
                    for row in its_rows
                )
                if any(above[row] != 1 for row in range(down[0])):
                    dropped.add(n)
        for n in dropped:
            note(n, "tree", "dropped: not one cell above it in each row of the header")
        return [n for n in ranked if n not in dropped]

    def listed(self, structure: _Structure) -> list[tuple[Any, ...]]:
        """Return the objects of a resolved table, rows of `RESOLVED_COLUMNS`."""
        table, rows, columns, headers, spanning, *_ = structure
        all_rows, all_columns = tuple(range(len(rows))), tuple(range(len(columns)))

        def row(n: int, down: tuple[int, ...], across: tuple[int, ...]) -> tuple[Any, ...]:
            box = self.boxes[n].tolist()
            return self.numbers[n], self.labels[n], float(self.scores[n]), *box, down, across

        listed = [] if table is None else [row(table, all_rows, all_columns)]
        listed += [row(n, all_rows, (place,)) for place, n in enumerate(columns)]
        listed += [row(n, (place,), all_columns) for place, n in enumerate(rows)]
        for n, box, its_rows in headers:
            number, score = (None, None) if n is None else (self.numbers[n], float(self.scores[n]))
            label, lines = "table column header", (tuple(its_rows), all_columns)
            listed.append((number, label, score, *box.tolist(), *lines))
        for n in spanning:
            lines = self._now(n) if n in self.lines else ((), ())
            listed.append(row(n, *lines))
        return listed

    def cells(self, structure: _Structure) -> tuple[Table, float]:
        """Make the cells of a table, and assign words to them; rows and columns shrink to words."""
        rows, columns, spanning = structure.rows, structure.columns, structure.spanning
        height, width = len(rows), len(columns)
        if not rows or not columns:
            return table_of_cells([]), 0.0
        boxes = self.boxes
        # column by column, then spanning cells
        down, across = np.tile(np.arange(height), width), np.repeat(np.arange(width), height)
        found = _common(boxes[rows][down], boxes[columns][across])
        is_header = self.is_header[rows].tolist()
        if self.rules.mended:
            parts = np.zeros((len(down), len(spanning)), dtype=bool)
            for place, n in enumerate(spanning):
                its_rows, its_columns = self.lines[n]
                parts[:, place] = np.isin(down, its_rows) & np.isin(across, its_columns)
        else:
            parts = _shares(found, boxes[spanning]) > _HALF
        alone = np.flatnonzero(~parts.any(axis=1))
        lines = [
            ((row,), (column,))
            for row, column in zip(down[alone].tolist(), across[alone].tolist(), strict=True)
        ]
        merged = [(n, np.flatnonzero(part)) for n, part in zip(spanning, parts.T, strict=True)]
        merged = [(n, part) for n, part in merged if len(part)]
        lines += [
            tuple(tuple(np.unique(axis[part]).tolist()) for axis in (down, across))
            for _, part in merged
        ]
        found = np.concatenate([found[alone], *(_hull(found[part])[None] for _, part in merged)])
        used = np.arange(len(self.words.texts)) if self.rules.inference else structure.words
        shares = _shares(self.words.boxes[used], found)
        confidence = float(best.mean() + best.min()) / 2 if len(best := shares.max(axis=1)) else 0.0
        ends = np.array([(d[0], a[0], d[-1], a[-1]) for d, a in lines])
        filled = self._cell_boxes(lines, ends, rows, columns)
        if not np.array_equal(filled, found):
            shares = _shares(self.words.boxes[used], filled)
        held = shares.max(axis=1) >= _LEAST_HELD
        used, holder = used[held], shares[held].argmax(axis=1)
        rows, columns = self._sorted(rows, 1), self._sorted(columns, 0)
        self._shrink(rows, columns, ends[holder], self.words.boxes[used])
        shrunk = self._cell_boxes(lines, ends, rows, columns)
        filled = np.where(_area(shrunk)[:, None] > 0, shrunk, filled)

        in_cell: list[list[int]] = [[] for _ in lines]
        order = np.lexsort(self.words.order[used].T[[2, 1, 0]])
        for cell, word in zip(holder[order].tolist(), used[order].tolist(), strict=True):
            in_cell[cell].append(word)
        sections = [False] * len(alone) + [self.labels[n] == _SPANNING[1] for n, _ in merged]
        cells = [
            Cell(
                its_rows,
                its_columns,
                self._text(words),
                tuple(box),
                all(is_header[n] for n in its_rows),
                section,
            )
            for (its_rows, its_columns), words, box, section in zip(
                lines, in_cell, filled.tolist(), sections, strict=True
            )
        ]
        grid, _ = covered_grid(cells, (height, width))
        return Table(tuple(cells), grid), confidence

    def _cell_boxes(self, lines, ends, rows, columns) -> Numbers:
        """Return where the hulls of rows and of columns meet, for each cell."""
        sides = []
        for axis, numbers in enumerate((rows, columns)):
            boxes = self.boxes[numbers]
            hulls = np.where(_area(boxes)[:, None] > 0, boxes, 0.0)[ends[:, axis]]
            for n in np.flatnonzero(ends[:, axis] != ends[:, axis + 2]).tolist():
                hulls[n] = _hull(boxes[list(lines[n][axis])])
            sides.append(hulls)
        return _common(*sides)

    def _sorted(self, numbers: list[int], axis: int) -> list[int]:
        """Return rows (axis 1) or columns (axis 0) in the order of their middles."""
        middles = self.boxes[numbers, axis] + self.boxes[numbers, axis + 2]
        return [numbers[n] for n in middles.argsort(kind="stable").tolist()]

    def _shrink(self, rows: list[int], columns: list[int], ends: Indices, words: Numbers) -> None:
        """Let rows and columns extend from the first to the last edge of their words.

        A word counts for the start of the first row and column of its cell, and for the end of the
        last ones.
        """
        for side, corner in enumerate((1, 0, 3, 2)):
            first = side < 2
            lines, others = (rows, columns) if side % 2 == 0 else (columns, rows)
            edges = np.full(len(lines), np.inf if first else -np.inf)
            (np.minimum if first else np.maximum).at(edges, ends[:, side], words[:, corner])
            known = np.flatnonzero(np.isfinite(edges)).tolist()
            for n in known:
                self.boxes[lines[n], corner] = edges[n]
            outer = edges[0 if first else -1]
            if np.isfinite(outer):
                self.boxes[others, corner] = outer

    def _text(self, words: list[int]) -> str:
        """Join words by spaces; lines are stripped."""
        if not words:
            return ""
        texts, order = self.words.texts, self.words.order
        lines = [
            " ".join(texts[n] for n in line)
            for _, line in groupby(words, lambda n: tuple(order[n, :2]))
        ]
        return " ".join([*(line.strip() for line in lines[:-1]), lines[-1]]).strip()


def _area(boxes: Numbers) -> Numbers:
    """Return areas; 0 for reversed boxes."""
    sides = np.maximum(boxes[:, 2:] - boxes[:, :2], 0)
    return sides[:, 0] * sides[:, 1]


def _common(a: Numbers, b: Numbers) -> Numbers:
    """Return the intersections of boxes, reversed where there is none; of an empty box, itself."""
    found = np.concatenate([np.maximum(a[:, :2], b[:, :2]), np.minimum(a[:, 2:], b[:, 2:])], axis=1)
    for side in (a, b):
        empty = _area(side) <= 0
        found[empty] = side[empty]
    return found


def _hull(boxes: Numbers) -> Numbers:
    """Return the smallest box around boxes; those without area do not count."""
    boxes = boxes[_area(boxes) > 0]
    if not len(boxes):
        return np.zeros(4)
    return np.concatenate([boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)])


def _shares(a: Numbers, b: Numbers) -> Numbers:
    """Return the share of the area of each box of the first that lies in each of the others."""
    width = np.minimum.outer(a[:, 2], b[:, 2]) - np.maximum.outer(a[:, 0], b[:, 0])
    height = np.minimum.outer(a[:, 3], b[:, 3]) - np.maximum.outer(a[:, 1], b[:, 1])
    common = np.maximum(width, 0) * np.maximum(height, 0)
    areas = _area(a)
    return common / np.where(areas > 0, areas, np.inf)[:, None]


def _covered(boxes: Numbers, lines: Numbers, axis: int) -> Numbers:
    """Return the share of the height (axis 1) or width of each line that each box covers."""
    low = np.maximum.outer(boxes[:, axis], lines[:, axis])
    high = np.minimum.outer(boxes[:, axis + 2], lines[:, axis + 2])
    extents = lines[:, axis + 2] - lines[:, axis]
    return (high - low) / np.where(extents > 0, extents, np.inf)
