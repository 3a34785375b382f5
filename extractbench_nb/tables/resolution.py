"""From detected objects to a logical table: conflict resolution, cells and their words."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.tables.cells import (
    EMPTY,
    Cell,
    Indices,
    Numbers,
    Table,
    check_share,
    covered_grid,
    leading,
)
from extractbench_nb.tables.objects import (
    CORNER_COLUMNS,
    HALF,
    Detected,
    Words,
    areas_of,
    detected_objects,
    detected_words,
    overlaps,
)

RESOLVED_COLUMNS = FrameSpec(
    "objects",
    "one row per object of the resolved table, before rows and columns shrink to their words",
    (
        Column(
            "object",
            "Int64",
            "position in the input; missing if created during assembly",
            nullable=True,
        ),
        Column("label", "string", "class", "STRUCTURE_LABELS"),
        Column("score", "Float64", "confidence of the model", "0 to 1", nullable=True),
        *CORNER_COLUMNS,
        Column("rows", "object", "numbers of the rows that it covers"),
        Column("columns", "object", "numbers of the columns that it covers"),
    ),
)

#: In order; docs/howto/tables_from_images.md says what each of them does.
STEPS = ("read", "threshold", "table", "rows", "columns", "header", "align", "overlap")

CHANGE_COLUMNS = FrameSpec(
    "changes",
    "one row per change of an object, in the order of the steps",
    (
        Column(
            "object",
            "Int64",
            "position in the input; missing for words and new objects",
            nullable=True,
        ),
        Column("step", "string", "step of conflict resolution", ", ".join(STEPS)),
        Column("action", "string", "what was done", "dropped, aligned, shrunk"),
        Column("reason", "string", "reason"),
        Column("rows", "object", "rows covered afterwards, if that changed", nullable=True),
        Column("columns", "object", "columns covered afterwards, if that changed", nullable=True),
    ),
)


#: Without words, share of a row, column or header that a better one may cover.
_MOST_COVERED = {"rows": 0.5, "columns": 0.25, "header": 0.05}
#: Share of a word that the cell which holds most of it must hold.
_LEAST_HELD = 0.001
_SUPERSCRIPT = 1
_SPANNING = ("table spanning cell", "table projected row header")


@dataclass(frozen=True, eq=False, repr=False)
class ResolvedTable:
    """A table made of detected objects; made by `from_objects`.

    The cells of ``table`` have texts and boxes. ``confidence`` is the fit of the words into cells,
    0 to 1: the mean of the smallest and the average share of a word that one cell holds; 0 without
    words. ``threshold`` is the least score, ``given`` the arguments of `from_objects`, and ``read``
    the objects and words of these as arrays.
    """

    table: Table
    confidence: float
    threshold: float
    given: tuple[Any, Any]
    read: tuple[Detected, Words]
    _objects: Sequence[tuple[Any, ...]] = ()
    _changes: Sequence[tuple[Any, ...]] = ()

    @cached_property
    def objects(self) -> pd.DataFrame:
        """One row per resolved object: position in the input, label, score, box, rows, columns."""
        return RESOLVED_COLUMNS.from_rows(self._objects)

    @cached_property
    def changes(self) -> pd.DataFrame:
        """One row per change, in order: object, step, action, reason, rows, columns."""
        return CHANGE_COLUMNS.from_rows(self._changes)

    @cached_property
    def raw(self) -> Table:
        """The detected box of each position, for ``rawloc`` of `grits`: no conflict is resolved."""
        return _raw_grid(self.read[0], self.threshold)

    def with_threshold(self, threshold: float) -> ResolvedTable:
        """Resolve the conflicts of the same objects at another threshold, 0 to 1."""
        return from_objects(*self.given, threshold=threshold)

    def __repr__(self) -> str:
        """Return the table, the confidence and the number of changes."""
        return (
            f"ResolvedTable({self.table!r}, confidence {self.confidence:.3f}, "
            f"{len(self._changes)} changes)"
        )

    def _repr_html_(self) -> str:
        return self.table._repr_html_()


def from_objects(objects: Any, words: Any = None, *, threshold: float = 0.5) -> ResolvedTable:
    r"""Build a logical table from detected objects and the words in the image.

    Parameters
    ----------
    objects : pandas.DataFrame or list of dict
        What a model found in the image of a table. Each has a ``label``, by name or number, a box,
        as ``bbox`` (x0, y0, x1, y1) or four columns, and perhaps a ``score``, otherwise 1. Of
        several tables, the one with the highest score counts.
    words : pandas.DataFrame or list of dict, optional
        Words with a ``text`` and a box, as ``bbox`` (x0, y0, x1, y1) or four columns; perhaps
        ``block_num``, ``line_num`` and ``span_num``, which give their order (otherwise that of the
        list), and ``flags`` (1: superscript). Without words no row or column is dropped for being
        empty, and cells have no texts.
    threshold : float, optional
        The least score, 0 to 1.

    Returns
    -------
    ResolvedTable
        ``.table``, ``.confidence``, ``.objects``, ``.changes``. Every position of the table has
        exactly one cell, and the order of the objects does not matter.

    Raises
    ------
    InputError
        The objects or words are not a list, or `threshold` is not a number from 0 to 1. A single
        object or word that cannot be used is left out, see ``.changes``.

    Notes
    -----
    Section 5 of Smock, Pesala and Abraham, "PubTables-1M" (2021), which only says that overlap
    between objects of a class is removed; steps and thresholds are those of the published code,
    without its defects, which docs/howto/tables_from_images.md lists.

    Examples
    --------
    >>> boxes = [("row", (0, 0, 80, 10)), ("row", (0, 10, 80, 20)), ("column", (0, 0, 80, 20))]
    >>> objects = [{"label": f"table {kind}", "bbox": box} for kind, box in boxes]
    >>> words = [{"text": "Year", "bbox": (2, 2, 20, 8)}, {"text": "2024", "bbox": (2, 12, 20, 18)}]
    >>> found = from_objects(objects, words)
    >>> found.table.texts, found.confidence
    ([['Year'], ['2024']], 1.0)
    """
    check_share(threshold, "threshold")
    detected = detected_objects(objects, "objects")
    read = detected_words(words, "words")
    draft = _Draft(detected, read, threshold)
    structure = draft.structure()
    listed = draft.listed(structure)
    made, confidence = draft.cells(structure)
    problems: list[tuple[int | None, str]] = [*detected.problems.items()]
    problems += [(None, f"word {n}: {problem}") for n, problem in read.problems.items()]
    changes = [(n, "read", "dropped", problem, None, None) for n, problem in problems]
    given = (objects, words)
    changes += draft.changes
    return ResolvedTable(made, confidence, threshold, given, (detected, read), listed, changes)


def _raw_grid(objects: Detected, threshold: float) -> Table:
    """Return the detected box of each position, without conflict resolution.

    The box of a position is the intersection of its row and column, reversed if these do not meet;
    a spanning cell has the positions whose row and column it covers by half or more, and the box
    that the model gave. The better spanning cell counts if two overlap.
    """
    _, labels, scores, boxes, _ = objects
    ranked = [n for n in np.lexsort((*boxes.T, -scores)) if scores[n] >= threshold]
    sides = []
    for axis, label in ((1, "table row"), (0, "table column")):
        side = boxes[[n for n in ranked if labels[n] == label]]
        sides.append(side[np.argsort(side[:, axis] + side[:, axis + 2], kind="stable")])
    rows, columns = sides
    free = np.ones((len(rows), len(columns)), dtype=bool)
    cells = []
    for n in ranked:
        if labels[n] in _SPANNING and free.size:
            down = np.flatnonzero(_covered(boxes[[n]], rows, 1)[0] >= HALF)
            across = np.flatnonzero(_covered(boxes[[n]], columns, 0)[0] >= HALF)
            if len(down) and len(across) and free[np.ix_(down, across)].all():
                free[np.ix_(down, across)] = False
                box = tuple(boxes[n].tolist())
                lines = tuple(down.tolist()), tuple(across.tolist())
                cells.append(Cell(*lines, box=box, is_projected=labels[n] == _SPANNING[1]))
    down, across = np.nonzero(free)
    meets = _common(rows[down], columns[across]).tolist()
    for row, column, box in zip(down.tolist(), across.tolist(), meets, strict=True):
        cells.append(Cell((row,), (column,), box=tuple(box)))
    return Table(tuple(cells), covered_grid(cells, free.shape)[0]) if cells else EMPTY


_Lines: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
#: A row of `CHANGE_COLUMNS`, and of `RESOLVED_COLUMNS`.
_Change: TypeAlias = tuple[Any, ...]
_Listed: TypeAlias = tuple[Any, ...]


class _Structure(NamedTuple):
    """The objects of one table, by their places in the arrays; `header` has the header's rows."""

    table: int | None
    rows: list[int]
    columns: list[int]
    header: tuple[int, ...]
    spanning: list[int]
    words: Indices


class _Draft:
    """Objects while their conflicts are resolved, by their places in the arrays.

    `ranked` has the best first. Rows of the header are flagged in `is_header`; `lines` has the
    numbers of the rows and columns of spanning cells.
    """

    def __init__(self, detected: Detected, words: Words, threshold: float) -> None:
        self.numbers, self.labels, self.scores, boxes, _ = detected
        self.boxes = boxes.copy()  # they are changed
        self.words, self.threshold = words, threshold
        self.is_header = np.zeros(len(self.labels), dtype=bool)
        self.lines: dict[int, _Lines] = {}
        self.changes: list[_Change] = []
        # of equal scores the upper left object comes first: the order of the input must not matter
        is_projected = np.array([label == _SPANNING[1] for label in self.labels], dtype=bool)
        keys = (*self.boxes.T[[3, 2, 0, 1]], is_projected, -self.scores)
        self.ranked: list[int] = np.lexsort(keys).tolist()

    def _note(
        self, n: int, step: str, action: str, reason: str, lines: tuple[Any, Any] = (None, None)
    ) -> None:
        self.changes.append((self.numbers[n], step, action, reason, *lines))

    def _members(self) -> tuple[int | None, list[int], Indices]:
        """Return the best table, the objects that count, and the words in the table."""
        for n in self.ranked:
            if self.scores[n] < self.threshold:
                self._note(n, "threshold", "dropped", f"its score is below {self.threshold}")
        ranked = [n for n in self.ranked if self.scores[n] >= self.threshold]
        tables = [n for n in ranked if self.labels[n] == "table"]
        for n in tables[1:]:
            self._note(n, "table", "dropped", "another table is resolved")
        if not tables:
            return None, ranked, np.arange(len(self.words.texts))
        shares = overlaps(self.words.boxes, self.boxes[tables[:1]])[:, 0]
        return tables[0], ranked, np.flatnonzero(shares >= HALF)

    def structure(self) -> _Structure:
        """Resolve the conflicts between the objects of a table."""
        boxes = self.boxes
        table, ranked, words = self._members()
        rows, columns, ranked_headers, spanning = (
            [n for n in ranked if self.labels[n] in labels]
            for labels in (("table row",), ("table column",), ("table column header",), _SPANNING)
        )
        self.is_header[rows] = (overlaps(boxes[rows], boxes[ranked_headers]) >= HALF).any(axis=1)
        rows, columns = self._lines(rows, "rows", words), self._lines(columns, "columns", words)
        across, down = _hull(boxes[columns]), _hull(boxes[rows])
        hull = np.array([across[0], down[1], across[2], down[3]])
        boxes[np.ix_(rows, [0, 2])] = hull[[0, 2]]
        boxes[np.ix_(columns, [1, 3])] = hull[[1, 3]]
        if table is not None:
            boxes[table] = hull
        if not rows or not columns:
            return _Structure(table, rows, columns, (), [], words)
        header = self._header(ranked_headers, rows)
        spanning = self._disjoint(self._aligned(spanning, rows, columns), rows, columns)
        return _Structure(table, rows, columns, header, spanning, words)

    def _lines(self, ranked: list[int], step: str, words: Indices) -> list[int]:
        """Return rows or columns in order, without those that have no words or overlap others."""
        boxes = self.boxes[ranked]
        if ranked and len(words):
            shares = overlaps(self.words.boxes[words], boxes)
            best = shares.argmax(axis=1)
            held = np.bincount(best[shares.max(axis=1) >= HALF], minlength=len(ranked))
            has_text = np.array([self._has_text(n) for n in words.tolist()])
            is_filled = (shares[has_text] >= HALF).any(axis=0)
            for place, n in enumerate(ranked):
                if place and not held[place]:
                    self._note(n, step, "dropped", "it holds no word")
                elif not is_filled[place]:
                    self._note(n, step, "dropped", "its words have no text")
            held[0] = 1  # the best one needs text only
            kept = np.flatnonzero((held > 0) & is_filled).tolist()
        else:
            kept = self._apart(ranked, step)
        return self._sorted([ranked[place] for place in kept], 1 if step == "rows" else 0)

    def _has_text(self, word: int) -> bool:
        """Return whether a word has text and is not a number in superscript, as for a footnote."""
        text = self.words.texts[word].strip()
        if self.words.order[word, 3] & _SUPERSCRIPT:
            with suppress(ValueError):
                int(text)
                return False
        return bool(text)

    def _apart(self, ranked: list[int], step: str) -> list[int]:
        """Return places of those that better ones do not cover too much of."""
        boxes = self.boxes[ranked]
        covered = overlaps(boxes, boxes) >= _MOST_COVERED[step]
        kept: list[int] = []
        for place, n in enumerate(ranked):
            over = [other for other in kept if covered[place, other]]
            if over:
                self._note(n, step, "dropped", f"object {self.numbers[ranked[over[0]]]} covers it")
            else:
                kept.append(place)
        return kept

    def _header(self, ranked: list[int], rows: list[int]) -> tuple[int, ...]:
        """Return the rows of the header, from the first one on; flag them."""
        kept = [ranked[place] for place in self._apart(ranked, "header")]
        covered = _covered(self.boxes[kept], self.boxes[rows], 1) >= HALF
        # from the first row of the table, until a row does not follow the one before it
        numbers = np.flatnonzero(covered.any(axis=0)).tolist()
        numbers = [*range(numbers[0]), *numbers] if numbers else []
        header_rows = tuple(range(leading(n == number for n, number in enumerate(numbers))))
        self.is_header[rows] = False
        self.is_header[[rows[n] for n in header_rows]] = True
        for n, its_rows in zip(kept, covered.tolist(), strict=True):
            if any(its_rows[row] for row in header_rows):
                reason = "to whole rows, from the first one"
                self._note(n, "header", "aligned", reason, (header_rows, None))
            else:
                why = "it does not follow the header" if any(its_rows) else "it covers no row"
                self._note(n, "header", "dropped", why)
        return header_rows

    def _aligned(self, ranked: list[int], rows: list[int], columns: list[int]) -> list[int]:
        """Align spanning cells to the rows and columns that they cover half of."""
        covered = _covered(self.boxes[ranked], self.boxes[rows], 1) >= HALF
        covered_columns = _covered(self.boxes[ranked], self.boxes[columns], 0) >= HALF
        is_header = self.is_header[rows]
        kept = []
        for n, its_rows, its_columns in zip(ranked, covered, covered_columns, strict=True):
            head, body = (
                np.flatnonzero(its_rows & part).tolist() for part in (is_header, ~is_header)
            )
            in_head = 0 < len(head) >= len(body)
            down, across = head if in_head else body, np.flatnonzero(its_columns).tolist()
            if not down or not across:
                missing = "column" if down else "row"
                self._note(n, "align", "dropped", f"it covers half of no {missing}")
                continue
            # also what lies between
            down, across = ([*range(side[0], side[-1] + 1)] for side in (down, across))
            self._set_lines(n, (tuple(down), tuple(across)), rows, columns)
            if self._is_single(n, len(columns)):
                self._note(n, "align", "dropped", "it covers one position")
                continue
            part = "the larger part, at the header's edge" if head and body else "rows and columns"
            self._note(n, "align", "aligned", f"to {part}", self.lines[n])
            kept.append(n)
        return kept

    def _set_lines(self, n: int, lines: _Lines, rows: list[int], columns: list[int]) -> None:
        """Give a spanning cell rows and columns, and their box."""
        self.lines[n] = lines
        down = self.boxes[[rows[line] for line in lines[0]]]
        across = self.boxes[[columns[line] for line in lines[1]]]
        self.boxes[n] = _common(_hull(down)[None], _hull(across)[None])[0]

    def _is_single(self, n: int, columns: int) -> bool:
        """Return whether a spanning cell does not span; a section of a single column need not."""
        sizes = [len(lines) for lines in self.lines[n]]
        is_section = columns == 1 and self.labels[n] == _SPANNING[1]
        return 0 in sizes or (sizes == [1, 1] and not is_section)

    def _disjoint(self, ranked: list[int], rows: list[int], columns: list[int]) -> list[int]:
        """Shrink spanning cells by a row or column at a time until no better one overlaps.

        The side with more lines shrinks, at its end, else at its beginning; a cell that is covered
        only in between is dropped.
        """
        kept: list[int] = []
        for place, n in enumerate(ranked):
            lines = [*self.lines[n][0]], [*self.lines[n][1]]
            for other in kept:
                common = [
                    set(mine) & {*its} for mine, its in zip(lines, self.lines[other], strict=True)
                ]
                while all(common):
                    axis = 1 if len(lines[0]) < len(lines[1]) else 0
                    end = next((end for end in (-1, 0) if lines[axis][end] in common[axis]), None)
                    if end is None:
                        lines[axis].clear()
                        break
                    common[axis].remove(lines[axis].pop(end))
            now = tuple(lines[0]), tuple(lines[1])
            is_changed, self.lines[n] = now != self.lines[n], now
            if place and self._is_single(n, len(columns)):
                self._note(n, "overlap", "dropped", "better ones cover it")
                continue
            if is_changed:
                self._note(n, "overlap", "shrunk", "by what better ones cover", now)
                self._set_lines(n, now, rows, columns)
            kept.append(n)
        return kept

    def listed(self, structure: _Structure) -> list[_Listed]:
        """Return the objects of a resolved table, rows of `RESOLVED_COLUMNS`."""
        table, rows, columns, header, spanning, _ = structure
        all_rows, all_columns = tuple(range(len(rows))), tuple(range(len(columns)))

        def row(n: int, down: tuple[int, ...], across: tuple[int, ...]) -> _Listed:
            box = self.boxes[n].tolist()
            return self.numbers[n], self.labels[n], float(self.scores[n]), *box, down, across

        listed = [] if table is None else [row(table, all_rows, all_columns)]
        listed += [row(n, all_rows, (place,)) for place, n in enumerate(columns)]
        listed += [row(n, (place,), all_columns) for place, n in enumerate(rows)]
        if header:
            box = _hull(self.boxes[[rows[n] for n in header]]).tolist()
            listed.append((None, "table column header", None, *box, header, all_columns))
        return listed + [row(n, *self.lines[n]) for n in spanning]

    def cells(self, structure: _Structure) -> tuple[Table, float]:
        """Make the cells of a table, and assign words to them; rows and columns shrink to words."""
        _, rows, columns, header, spanning, words = structure
        if not rows or not columns:
            return EMPTY, 0.0
        lines = [self.lines[n] for n in spanning]
        free = np.ones((len(columns), len(rows)), dtype=bool)
        for its_rows, its_columns in lines:
            free[np.ix_(its_columns, its_rows)] = False
        # column by column, then spanning cells
        lines = [((row,), (column,)) for column, row in np.argwhere(free).tolist()] + lines
        is_section = [False] * (len(lines) - len(spanning))
        is_section += [self.labels[n] == _SPANNING[1] for n in spanning]
        ends = np.array([(d[0], a[0], d[-1], a[-1]) for d, a in lines])
        boxes = self._cell_boxes(lines, ends, rows, columns)

        word_boxes = self.words.boxes[words]
        shares = overlaps(word_boxes, boxes)
        best = shares.max(axis=1)
        confidence = float(best.mean() + best.min()) / 2 if len(best) else 0.0
        held = np.flatnonzero(best >= _LEAST_HELD)
        holders = shares[held].argmax(axis=1)
        rows, columns = self._sorted(rows, 1), self._sorted(columns, 0)
        self._shrink(rows, columns, ends[holders], word_boxes[held])
        shrunk = self._cell_boxes(lines, ends, rows, columns)
        boxes = np.where(areas_of(shrunk)[:, None] > 0, shrunk, boxes)

        texts = self._texts(words[held], holders, len(lines))
        flags = [set(its_rows) <= {*header} for its_rows, _ in lines]
        cells = [
            Cell(*lines[n], texts[n], (x0, y0, x1, y1), flags[n], is_section[n])
            for n, (x0, y0, x1, y1) in enumerate(boxes.tolist())
        ]
        grid, _ = covered_grid(cells, (len(rows), len(columns)))
        return Table(tuple(cells), grid), confidence

    def _cell_boxes(
        self, lines: list[_Lines], ends: Indices, rows: list[int], columns: list[int]
    ) -> Numbers:
        """Return where the rows and columns of each cell meet; `ends` has the first and last."""
        sides = []
        for axis, numbers in enumerate((rows, columns)):
            boxes = self.boxes[numbers]
            hulls = np.where(areas_of(boxes)[:, None] > 0, boxes, 0.0)[ends[:, axis]]
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

        A word counts for the start of the first row and column of its cell, which are in `ends`,
        and for the end of the last ones.
        """
        both = [(rows, columns), (columns, rows)]
        for side, (corner, first) in enumerate(((1, True), (0, True), (3, False), (2, False))):
            lines, others = both[side % 2]
            edges = np.full(len(lines), np.nan)
            (np.fmin if first else np.fmax).at(edges, ends[:, side], words[:, corner])
            for n in np.flatnonzero(~np.isnan(edges)).tolist():
                self.boxes[lines[n], corner] = edges[n]
            outer = edges[0 if first else -1]
            if not np.isnan(outer):
                self.boxes[others, corner] = outer

    def _texts(self, words: Indices, holders: Indices, count: int) -> list[str]:
        """Join the words of each cell by spaces, in order; lines are stripped."""
        order = np.lexsort(self.words.order[words].T[[2, 1, 0]])
        lines: list[dict[tuple[int, ...], list[str]]] = [{} for _ in range(count)]
        keys = map(tuple, self.words.order[words[order], :2].tolist())
        ordered = zip(holders[order].tolist(), words[order].tolist(), keys, strict=True)
        for cell, word, key in ordered:
            lines[cell].setdefault(key, []).append(self.words.texts[word])
        joined = ([" ".join(line).strip() for line in cell.values()] for cell in lines)
        return [" ".join(its_lines).strip() for its_lines in joined]


def _common(a: Numbers, b: Numbers) -> Numbers:
    """Return the intersections of boxes, reversed where there is none; of an empty box, itself."""
    found = np.concatenate([np.maximum(a[:, :2], b[:, :2]), np.minimum(a[:, 2:], b[:, 2:])], axis=1)
    for side in (a, b):
        empty = areas_of(side) <= 0
        found[empty] = side[empty]
    return found


def _hull(boxes: Numbers) -> Numbers:
    """Return the smallest box around boxes; those without area do not count."""
    boxes = boxes[areas_of(boxes) > 0]
    if not len(boxes):
        return np.zeros(4)
    return np.concatenate([boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)])


def _covered(boxes: Numbers, lines: Numbers, axis: int) -> Numbers:
    """Return the share of the height (axis 1) or width of each line that each box covers."""
    low = np.maximum.outer(boxes[:, axis], lines[:, axis])
    high = np.minimum.outer(boxes[:, axis + 2], lines[:, axis + 2])
    extents = lines[:, axis + 2] - lines[:, axis]
    return (high - low) / np.where(extents > 0, extents, np.inf)
