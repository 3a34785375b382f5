"""`ConstructionView`: gold and predicted table side by side."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import pandas as pd
import traitlets

from extractbench_nb.construction import (
    Chunk,
    Documents,
    Holders,
    Retriever,
    TableComparison,
    TableTask,
    is_absent,
    texts_of,
)
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.support.nodes import Node, h
from extractbench_nb.support.wording import one_line, plural, ratio_text
from extractbench_nb.tables import boxed_grid
from extractbench_nb.views import controls as ui
from extractbench_nb.views.sides import MOST, Pair, whole
from extractbench_nb.views.static import MARKS, score_text
from extractbench_nb.views.tables_view import COLUMNS_A_PAGE, ROWS_A_PAGE, SHORT, TwoTables
from extractbench_nb.views.view import checked_name, part

SIDES = ("gold", "predicted")
#: Characters of the text of a cell, and of one with a sign.
_LONGEST, _BESIDE = 80, 14
#: Chunks that are listed for a value.
_MOST_CHUNKS = 5
_SCORES = ("cell_f1", "cell_precision", "cell_recall", "row_f1", "column_recall")
#: By status of a row: the sign before its number, and what the row is called.
_SIGNS = {"missed": MARKS["missed"], "spurious": MARKS["spurious"], "judge_error": "?"}
_LEGEND = (
    "3 → 2: gold's row 3 was matched with the predicted row 2 by equal keys; 3 ≈ 2: by keys that "
    "are alike. Signs: − missing in the prediction, + only in the prediction, ≠ different, ? no "
    "verdict of the judge; a cell without a sign is right or was not compared."
)


class Line(NamedTuple):
    """A row of gold, of the prediction, or both; ``lost`` if it is not matched or not all right."""

    gold: int | None
    predicted: int | None
    status: str
    rule: str | None
    similarity: float | None
    lost: bool

    def at(self, side: int) -> int | None:
        """Return the row's number in gold (0) or in the prediction (1)."""
        return self.predicted if side else self.gold


class Slot(NamedTuple):
    """A column of gold, of the prediction, or both."""

    gold: str | None
    predicted: str | None
    role: str
    status: str
    rule: str | None

    def at(self, side: int) -> str | None:
        """Return the column's name in gold (0) or in the prediction (1)."""
        return self.predicted if side else self.gold


class Verdict(NamedTuple):
    """The row of ``cells`` of a compared cell."""

    path: str
    outcome: str
    reason: str
    kind: str | None
    score: float | None
    similarity: float | None
    reasoning: str | None


class Board:
    """One comparison, with its verdicts by place."""

    def __init__(self, comparison: TableComparison) -> None:
        self.comparison = comparison
        rows, columns, cells = comparison.matches, comparison.columns, comparison.cells
        lost = (rows["status"] != "matched") | (rows["score"] < 1).fillna(False)
        names = ["gold_row", "predicted_row", "status", "rule", "similarity"]
        self.lines = [Line(*row) for row in ui.rows_of(rows[names].assign(lost=lost))]
        names = ["column", "predicted_column", "role", "status", "rule"]
        self.slots = [Slot(*row) for row in ui.rows_of(columns[names])]
        tables = (comparison.gold, comparison.predicted)
        self.texts = [{str(name): table[name].tolist() for name in table} for table in tables]
        self.sizes = [len(table) for table in tables]
        own = {slot.gold: at for at, slot in enumerate(self.slots) if slot.gold is not None}
        extra = {slot.predicted: at for at, slot in enumerate(self.slots) if slot.gold is None}
        names = ["gold_row", "predicted_row", "column", "predicted_column", *Verdict._fields]
        self._verdicts = {
            (gold, predicted, own[name] if name is not None else extra[other]): Verdict(*verdict)
            for gold, predicted, name, other, *verdict in ui.rows_of(cells[names])
        }

    def verdict(self, line: Line, slot: int) -> Verdict | None:
        """Return the verdict on a cell; None where nothing was compared."""
        return self._verdicts.get((line.gold, line.predicted, slot))

    def text(self, line: Line, slot: Slot, side: int) -> str | None:
        """Return the text of a cell on a side; None if there is no such cell."""
        row, name = line.at(side), slot.at(side)
        if row is None or name is None:
            return None
        texts = self.texts[side].get(name, [])
        return str(texts[row]) if row < len(texts) else None

    def line(self, side: int, row: int) -> Line | None:
        """Return the first line that has a row of a side."""
        return self._numbered[side].get(row)

    @cached_property
    def _numbered(self) -> list[dict[int, Line]]:
        return [
            {row: line for line in reversed(self.lines) if (row := line.at(side)) is not None}
            for side in (0, 1)
        ]

    def slot(self, side: int, name: str) -> int | None:
        """Return the place of a column of a side."""
        names = [slot.at(side) for slot in self.slots]
        return names.index(name) if name in names else None

    def keys(self, line: Line) -> list[str]:
        """Return the key of a line, gold's if it has one."""
        side = 0 if line.gold is not None else 1
        texts = (self.text(line, slot, side) for slot in self.slots if slot.role == "key")
        return [text for text in texts if text]


class Evidence:
    """Documents cut into chunks, in which values are looked up as they are written."""

    def __init__(self, documents: Documents, retriever: str | Retriever | None, query: str) -> None:
        how = Retriever(retriever) if isinstance(retriever, str) else retriever
        texts = texts_of(documents)
        index = (how or Retriever()).index(texts)
        self.chunks = index.chunks
        self.retrieved: dict[tuple[str, int], int] | None = None
        if how is not None:
            ranked = index.select(query, how.k)
            self.retrieved = {chunk[:2]: rank for rank, (chunk, _) in enumerate(ranked, 1)}
        self._names = list(texts)
        self._in_chunks = Holders([chunk.text for chunk in self.chunks])
        self._in_documents = Holders(list(texts.values()))

    def of(
        self, value: str, keys: Sequence[str]
    ) -> tuple[list[tuple[Chunk, int | None]], list[str]]:
        """Return the chunks that hold a value, with the rank of retrieval, and the documents.

        Chunks, then chunks of documents, that name the row by its keys come first.
        """
        named = [set(self._in_chunks.of(key)) for key in keys]
        inside = [{self._names[at] for at in self._in_documents.of(key)} for key in keys]

        def order(place: int) -> tuple[int, int, int]:
            document = self.chunks[place].document
            known = sum(document in names for names in inside)
            return -sum(place in places for places in named), -known, place

        ranks = self.retrieved or {}
        chunks = [self.chunks[at] for at in sorted(self._in_chunks.of(value), key=order)]
        documents = [self._names[at] for at in self._in_documents.of(value)]
        return [(chunk, ranks.get(chunk[:2])) for chunk in chunks], documents


class ConstructionView(TwoTables):
    """A table beside the gold table, with matched rows on one line and aligned columns in order.

    Attributes
    ----------
    threshold : float
        Similarity of keys, 0 to 100, from which rows are matched; another one matches anew.
    selected : list of (str, int, str) or None
        Side (``"gold"`` or ``"predicted"``), row and column of the chosen cell.
    only_lost : bool
        Whether only rows are shown that are not matched, or of which a cell is not right.
    page, column_page : int
        Which page of rows and of columns is shown, from 0.
    comparison : TableComparison
        The comparison at `threshold`.
    """

    kind = "construction"
    styles = ("tables.css", "construction.css")
    settable = frozenset({"threshold", "only_lost", "page", "column_page"})
    sides = SIDES
    threshold = traitlets.Float(90.0)
    only_lost = traitlets.Bool(False)

    def __init__(
        self,
        comparison: TableComparison,
        *,
        documents: Documents | None = None,
        retriever: str | Retriever | None = None,
        query: str | None = None,
        name: str = "comparison",
    ) -> None:
        if not isinstance(comparison, TableComparison):
            raise InputError(
                f"comparison is of type {type(comparison).__name__}; expected a TableComparison, "
                "as xb.construction.compare() returns"
            )
        if documents is None and retriever is not None:
            raise InputError("retriever= goes with documents=")
        self._name_in_code = checked_name(name)
        self._evidence: Evidence | None = None
        if documents is not None:
            if query is None:
                columns = " ".join(map(str, comparison.gold.columns))
                query = documents.query if isinstance(documents, TableTask) else columns
            self._evidence = Evidence(documents, retriever, query)
        self._given = float(comparison.profile.threshold)
        self._fixed = _why_fixed(comparison)
        self._boards = {self._given: Board(comparison)}
        super().__init__(threshold=self._given)

    @property
    def comparison(self) -> TableComparison:
        """The comparison at the threshold that is set."""
        return self._board.comparison

    @property
    def _board(self) -> Board:
        threshold = self.threshold
        if threshold not in self._boards:
            first = self._boards[self._given]
            again = Board(first.comparison.with_threshold(threshold))
            self._boards = {self._given: first, threshold: again}
        return self._boards[threshold]

    @property
    def _lines(self) -> tuple[list[Line], list[Slot]]:
        board = self._board
        return [line for line in board.lines if line.lost or not self.only_lost], board.slots

    # --- what can be assigned ---------------------------------------------------------------------

    @traitlets.validate("threshold")
    def _known_threshold(self, proposal: Any) -> float:
        value = float(proposal["value"])
        if not 0 <= value <= 100:  # noqa: PLR2004 - per cent
            raise traitlets.TraitError(f"threshold is {value:g}; expected a number from 0 to 100")
        if self._fixed and value != self._given:
            raise traitlets.TraitError(f"threshold is fixed: {self._fixed}")
        return value

    def _problem_with(self, value: Any) -> str:
        parts = value if isinstance(value, tuple | list) else ()
        if [type(one) for one in parts] != [str, int, str]:
            return f"selected is {value!r}; expected [side, row, column], such as ['gold', 0, 'a']"
        side, row, column = value
        if side not in SIDES:
            return f"selected: no side {side!r}; {nearest(side, SIDES)}"
        at, board = SIDES.index(side), self._board
        names = [name for slot in board.slots if (name := slot.at(at)) is not None]
        if column not in names:
            return f"selected: no {side} column {column!r}; {nearest(column, names)}"
        if board.line(at, row) is None:
            return f"selected: no {side} row {row}; there are {board.sizes[at]}, counted from 0"
        return ""

    # --- what changes -----------------------------------------------------------------------------

    @traitlets.observe("only_lost")
    def _to_the_first_page(self, _: Any) -> None:
        self.page = 0

    @traitlets.observe("selected", "threshold")
    def _turn_to_selected(self, _: Any) -> None:
        self._limit = SHORT
        with self.changing():
            self.page = self.page  # there may be fewer
            if self.selected is None:
                return
            if self._problem_with(self.selected):
                self.selected = None
                return
            line, slot, _side = self._chosen
            if line not in self._lines[0]:
                self.only_lost = False
            self.page = self._lines[0].index(line) // ROWS_A_PAGE
            self.column_page = slot // COLUMNS_A_PAGE

    @property
    def _chosen(self) -> tuple[Line, int, int]:
        """The line, the place of the column and the side of the chosen cell."""
        side, row, column = self.selected
        at, board = SIDES.index(side), self._board
        line, slot = board.line(at, row), board.slot(at, column)
        assert line is not None and slot is not None  # noqa: S101, PT018 - validated
        return line, slot, at

    # --- events of the page -----------------------------------------------------------------------

    def _asked_for(self, place: Any) -> list[Any] | None:
        """Return the cell that the page names by its side, row, and place of the column."""
        match place:
            case [str(side), int(row), int(at)] if (
                side in SIDES and type(at) is int and 0 <= at < len(self._board.slots)
            ):
                cell = [side, row, self._board.slots[at].at(SIDES.index(side))]
                return None if self._problem_with(cell) else cell
        return None

    # --- what is shown ----------------------------------------------------------------------------

    def draw(self) -> dict[str, Node]:
        """Draw scores, the present page of both tables, and the chosen cell."""
        board = self._board
        lost = sum(line.lost for line in board.lines)
        pagers, pages = self._page_tools()
        label = "Row threshold"
        tools = ui.toolbar(
            h("span", f"{label} {self._given:g}: {self._fixed}", cls="xb-quiet")
            if self._fixed
            else ui.slider(label, "set:threshold", self.threshold, (0, 100), 1),
            ui.menu(
                "Rows",
                "set:only_lost",
                {False: f"all ({len(board.lines):,})", True: f"that lost points ({lost:,})"},
                self.only_lost,
            ),
            *pagers,
        )
        told = [f"{label} {self.threshold:g}{', rows that lost points' * self.only_lost}.", *pages]
        page = h(
            "div",
            self._scores(),
            tools,
            h("p", " ".join(told), static=True),
            part("tables"),
            part("cell"),
            h("p", _LEGEND, cls="xb-quiet") if board.lines else None,
            part("code"),
            cls="xb-tables",
        )
        tables, cell = self._tables(), self._cell()
        return {"page": page, "tables": tables, "cell": cell, "code": ui.code(self.code)}

    def _scores(self) -> Node:
        summary, written = self.comparison.summary, []
        for name in _SCORES:
            score = h("b", ratio_text(summary[name]))
            written.append(h("span", f"{name.replace('_', ' ')} ", score, "; ", key=name))
        rows = Counter(line.status.replace("_", " ") for line in self._board.lines)
        counts = ", ".join(f"{n:,} {status}" for status, n in rows.items())
        return h("p", written, f"rows: {counts or 'none'}", cls="xb-scores")

    def _tables(self) -> Node:
        (lines, _), board = self._lines, self._board
        if not lines:
            empty = "No row lost points." if board.lines else "Neither table has rows."
            return h("p", empty, cls="xb-empty", role="status")
        cut, across = self._pages
        slots = list(enumerate(board.slots))[across.first : across.last]
        grids = [self._table(side, cut.of(lines), slots) for side in (0, 1)]
        return h("div", grids, cls="xb-both", escape=None if self.selected is None else "clear")

    def _table(self, side: int, lines: Sequence[Line], slots: Sequence[tuple[int, Slot]]) -> Node:
        board, name = self._board, SIDES[side]
        kinds = plural(board.sizes[side], "row"), plural(len(board.texts[side]), "column")
        line_on, at_on, _ = (None, None, None) if self.selected is None else self._chosen
        if not board.texts[side]:
            why = self.comparison.meta.get("failure_mode") or "no table"
            empty = h("p", f"No table was read: {why.replace('_', ' ')}.", cls="xb-empty")
            return h("div", h("b", name), empty, key=name)
        body = []
        for top, line in enumerate(lines):
            cells = [
                self._draw_cell(side, line, at, slot, (top, left))
                for left, (at, slot) in enumerate(slots)
            ]
            key = f"{line.gold} {line.predicted}"
            body.append(h("tr", _gutter(line, side, on=line is line_on), cells, key=key))
        heads = [_head(slot, at, side, on=at == at_on) for at, slot in slots]
        return boxed_grid(name, " × ".join(kinds), heads, body)

    def _draw_cell(
        self, side: int, line: Line, at: int, slot: Slot, place: tuple[int, int]
    ) -> Node:
        text = self._board.text(line, slot, side)
        if text is None:
            return h("td", cls="xb-gap", key=f"{at}")
        verdict, shown = self._board.verdict(line, at), one_line(text, _LONGEST)
        kinds, says, sign = ["xb-key"] if slot.role == "key" else [], "not compared", ""
        if verdict is not None:
            kinds.append(f"xb-tint xb-t-{verdict.outcome}")
            says = f"{verdict.outcome}: {verdict.reason}".replace("_", " ")
            if line.status == "matched" and verdict.outcome not in ("correct", "both_absent"):
                sign = MARKS[verdict.outcome]  # a row without a partner has a sign itself
        pair, on = f"{line.gold} {line.predicted} {at}", None
        if self.selected is not None:
            chosen = self._chosen
            on = chosen[2] if chosen[0] is line and chosen[1] == at else None
        is_long = len(shown) > _BESIDE
        return h(
            "td",
            h("span", shown, cls="xb-cut") if sign and is_long else shown,
            [" ", h("small", sign)] if sign else None,
            cls=" ".join(kinds) or None,
            dir=None if shown.isascii() else "auto",
            title=f"{shown}; {says}" if is_long else says,
            key=f"{at}",
            item=True,
            do="cell",
            send=[SIDES[side], line.at(side), at],
            row=place[0],
            column=place[1],
            pair=pair,
            aria_selected="true" if on == side else None,
            aria_current="true" if on == 1 - side else None,
            reveal=None if on is None else pair,
        )

    # --- the chosen cell --------------------------------------------------------------------------

    def _cell(self) -> Node:
        board = self._board
        if self.selected is None:
            hint = "Choose a cell, by a click or by arrow keys, to see both texts and why."
            return h("p", hint if board.lines else "", cls="xb-quiet", live=True)
        line, at, _ = self._chosen
        slot, verdict = board.slots[at], board.verdict(line, at)
        texts = [board.text(line, slot, side) for side in (0, 1)]
        states = [
            "missing" if text is None else "present" if text.strip() else "null" for text in texts
        ]
        sides = whole(Pair(texts[0], texts[1], states[0], states[1]), self._limit)
        hidden = max(side.hidden for side in sides)
        facts = [("row", _row_text(line)), ("column", _column_text(slot))]
        said: Any = "not compared"
        if slot.role == "key":
            said = "a key: it names the row and has no score"
        if verdict is not None:
            reasons = [reason for reason in (verdict.reason, verdict.kind) if reason]
            score = f", score {score_text(verdict.score)}, "
            said = [ui.mark(verdict.outcome), score, h("code", " · ".join(reasons))]
            if verdict.similarity is not None:
                facts.insert(0, ("similarity", score_text(verdict.similarity)))
            if verdict.reasoning:
                facts.insert(0, ("judge", verdict.reasoning))
        return h(
            "div",
            h("p", h("b", _title(line, slot)), ": ", said),
            ui.whole_sides(dict(zip(SIDES, sides, strict=True))),
            ui.button("Show all", "whole") if hidden and self._limit < MOST else None,
            ui.facts_list(facts),
            self._stands(texts, board.keys(line)),
            cls="xb-detail",
            role="region",
            aria_label="Chosen cell",
            reveal=f"{line.gold} {line.predicted} {at}",
        )

    def _stands(self, texts: Sequence[str | None], keys: Sequence[str]) -> Node | None:
        """Draw the chunks that hold gold's text, and the predicted one where it is another."""
        if self._evidence is None:
            return None
        sought = {text: side for side, text in zip(SIDES[::-1], texts[::-1], strict=True) if text}
        parts = [
            h("div", self._chunks(self._evidence, side, text, keys), key=side)
            for text, side in reversed(sought.items())
            if not is_absent(text)
        ]
        return h("div", parts, cls="xb-beside") if parts else None

    def _chunks(
        self, evidence: Evidence, side: str, value: str, keys: Sequence[str]
    ) -> list[Node | None]:
        chunks, documents = evidence.of(value, keys)
        title = h("b", f"{side}’s text in the documents: " if side == "gold" else f"{side} text: ")
        if not chunks:
            where = ", ".join(one_line(name, 60) for name in documents[:_MOST_CHUNKS])
            lost = f"in {where}, but in no single chunk" if where else "in none as it is written"
            return [h("p", title, lost)]
        count = f"in {plural(len(chunks), 'chunk')} of {plural(len(documents), 'document')}"
        listed = [
            h(
                "details",
                h("summary", _chunk_title(chunk, rank, evidence)),
                h("div", _marked(chunk.text, value), cls="xb-value xb-whole", dir="auto"),
                open=not at,
                key=f"{side} {self.selected[1:]!r:.100} {at}",
            )
            for at, (chunk, rank) in enumerate(chunks[:_MOST_CHUNKS])
        ]
        return [h("p", title, count), *listed, ui.more(len(chunks) - len(listed), "chunks")]

    # --- results ----------------------------------------------------------------------------------

    @property
    def rows(self) -> pd.DataFrame:
        """The rows of the comparison that are shown, on all pages."""
        kept = [line.lost or not self.only_lost for line in self._board.lines]
        return self.comparison.matches[kept]

    @property
    def code(self) -> str:
        """An expression for the chosen cell, as a row of ``cells``, else for the listed rows."""
        source = self._name_in_code
        if self.threshold != self._given:
            source += f".with_threshold({self.threshold:g})"
        if self.selected is not None:
            line, slot, _ = self._chosen
            verdict = self._board.verdict(line, slot)
            if verdict is not None:
                return f'{source}.cells.set_index("path").loc[[{verdict.path!r}]]'
            return f"{source}.matches.loc[[{self._board.lines.index(line)}]]"
        return f"{source}.matches" + self.only_lost * ".query(\"status != 'matched' or score < 1\")"

    def __repr__(self) -> str:
        """Say what is compared, at which threshold."""
        summary = self.comparison.summary
        return (
            f"Table construction · {self.comparison.profile.name} · cell F1 "
            f"{ratio_text(summary['cell_f1'])} · row threshold {self.threshold:g}"
        )


def _why_fixed(comparison: TableComparison) -> str:
    """Say why the threshold cannot be changed; nothing if it can."""
    if comparison.meta["judge"] != "offline":
        return "another threshold would ask the judge again"
    try:
        comparison.with_threshold(comparison.profile.threshold)
    except InputError:
        return "the comparison comes from a pickle"
    return ""


def _gutter(line: Line, side: int, *, on: bool) -> Node:
    row = line.at(side)
    if row is None:
        return h("td", cls="xb-gutter", key="gutter")
    matched = line.status == "matched"
    sign = "→" if line.rule == "exact" else "≈"
    text = f"{line.gold} {sign} {line.predicted}" if matched else f"{_SIGNS[line.status]} {row}"
    kinds = f"xb-gutter{'' if matched else ' xb-alone'}{' xb-on' if on else ''}"
    return h("th", text, scope="row", cls=kinds, title=_row_text(line), key="gutter")


def _row_text(line: Line) -> str:
    if line.status != "matched":
        return line.status.replace("_", " ")
    alike = "" if line.similarity is None else f", similarity {score_text(line.similarity)}"
    return f"matched by {line.rule} keys{alike}"


def _head(slot: Slot, at: int, side: int, *, on: bool) -> Node:
    name, other, key = slot.at(side), slot.at(1 - side), f"head {at}"
    if name is None:
        return h("td", cls="xb-gutter xb-gap", key=key)
    alone = MARKS["missed" if side == 0 else "spurious"] if other is None else ""
    sign = alone or ("≈" if slot.status == "renamed" and side else "")
    kinds = f"xb-gutter{' xb-alone' if alone else ''}{' xb-on' if on else ''}"
    shown = f"{sign} {one_line(name, _LONGEST)}".strip()
    role = h("small", " key") if slot.role == "key" else None
    return h("th", shown, role, scope="col", cls=kinds, title=_column_text(slot), key=key)


def _column_text(slot: Slot) -> str:
    said = slot.status.replace("_", " ")
    if slot.status == "renamed":
        said = f"renamed: {one_line(str(slot.predicted))}, aligned by {slot.rule}"
    return f"{slot.role}, {said}"


def _title(line: Line, slot: Slot) -> str:
    told = [
        f"{name} row {line.at(side)}, {one_line(str(slot.at(side)), 60)}"
        for side, name in enumerate(SIDES)
        if line.at(side) is not None and slot.at(side) is not None
    ]
    return " and ".join(told)


def _chunk_title(chunk: Chunk, rank: int | None, evidence: Evidence) -> str:
    where = f"{one_line(chunk.document, 60)}, chunk {chunk.number}"
    if evidence.retrieved is None:
        return where
    total = len(evidence.retrieved)
    return f"{where}; " + (
        f"retrieved as {rank} of {total}" if rank else f"not among {total} retrieved"
    )


def _marked(text: str, value: str) -> list[Any]:
    """Mark a value in a chunk, also where thousands are separated in another way."""
    digits = value.replace(",", "")
    if re.fullmatch(r"\d{4,}(\.\d+)?", digits):
        head, dot, tail = digits.partition(".")
        for written in (value, f"{int(head):,}{dot}{tail}", digits):
            if written in text:
                return ui.found(text, written)
    return ui.found(text, value)
